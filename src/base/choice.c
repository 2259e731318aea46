/* choice.c -- the names of the values of closed sets. */
#include "base/choice.h"

#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"

struct named {
    int value;
    const char *name;
};

#define VALUE(name, value, text) {value, text},
#define ROWS(set, value, type, noun, values) \
    static const struct named type##_rows[] = {values(VALUE)};
CHELA_CHOICES(ROWS)

static const struct {
    const char *noun;
    const struct named *values;
    size_t n;
} sets[] = {
#define SET(set, value, type, noun, values) [value] = {noun, type##_rows, CH_LEN(type##_rows)},
    CHELA_CHOICES(SET)
#undef SET
};

static const char *name_of(enum chela_choice set, int value) {
    for (size_t i = 0; (size_t)set < CH_LEN(sets) && i < sets[set].n; i++)
        if (sets[set].values[i].value == value)
            return sets[set].values[i].name;
    return NULL;
}

const char *chela_choice_name(enum chela_choice set, int value) {
    const char *name = name_of(set, value);
    return name ? name : "?";
}

int chela_choice_read(enum chela_choice set, const char *name, int *out, struct chela_error *err) {
    CH_BUF_AUTO known = {0};
    if ((size_t)set >= CH_LEN(sets))
        return ch_fail(err, CHELA_EINVAL, "there is no set of values %d", (int)set);
    for (size_t i = 0; i < sets[set].n; i++) {
        const struct named *v = &sets[set].values[i];
        if (name && strcmp(v->name, name) == 0) {
            *out = v->value;
            return 0;
        }
        if (strcmp(v->name, "default") != 0)
            ch_buf_addf(&known, "%s%s", known.n ? ", " : "", v->name);
    }
    return ch_fail(err, CHELA_EINVAL, "unknown %s '%.40s' (known: %s)", sets[set].noun,
                   name ? name : "", ch_buf_str(&known));
}

int ch_choice_check(enum chela_choice set, int value, struct chela_error *err) {
    return name_of(set, value) ? 0
                               : ch_fail(err, CHELA_EINVAL, "there is no %s %d",
                                         sets[set].noun, value);
}

int ch_choice_of(enum chela_choice set, const char *name) {
    int value = 0;
    if (name)
        chela_choice_read(set, name, &value, NULL);
    return value;
}
