/* claude.c -- see claude.h. */
#include "model/catalog/claude.h"

#include "base/mem.h"

static bool claude_is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* The next word between separators. */
static struct ch_sv claude_next_word(struct ch_sv *rest) {
    size_t n = 0;
    while (n < rest->n && !memchr("-.@:/_", rest->p[n], 6))
        n++;
    struct ch_sv word = ch_sv(rest->p, n);
    size_t skip = CH_MIN(n + 1, rest->n);
    *rest = ch_sv(rest->p + skip, rest->n - skip);
    return word;
}

/* A version number of one or two digits; eight digits are a date. */
static int version_part(struct ch_sv word) {
    if (!word.n || word.n > 2 || !claude_is_digit(word.p[0]) ||
        (word.n == 2 && !claude_is_digit(word.p[1])))
        return -1;
    return word.n == 1 ? word.p[0] - '0' : 10 * (word.p[0] - '0') + (word.p[1] - '0');
}

static enum ch_claude_family family_of(struct ch_sv word) {
    static const struct {
        const char *name;
        enum ch_claude_family family;
    } families[] = {
        {"opus", CH_CLAUDE_OPUS},   {"sonnet", CH_CLAUDE_SONNET}, {"haiku", CH_CLAUDE_HAIKU},
        {"fable", CH_CLAUDE_FABLE}, {"mythos", CH_CLAUDE_MYTHOS},
    };
    for (size_t i = 0; i < CH_LEN(families); i++)
        if (ch_sv_is(word, families[i].name))
            return families[i].family;
    return CH_CLAUDE_OTHER;
}

struct ch_claude ch_claude_parse(struct ch_sv model) {
    struct ch_claude c = {.family = CH_CLAUDE_NOT};
    bool in_name = false, has_major = false, has_minor = false;
    while (model.n) {
        struct ch_sv word = claude_next_word(&model);
        int part = version_part(word);
        if (!in_name) {
            in_name = ch_sv_is(word, "claude");
            c.family = in_name ? CH_CLAUDE_OTHER : CH_CLAUDE_NOT;
        } else if (part >= 0 && !has_major) {
            c.major = part;
            has_major = true;
        } else if (part >= 0 && !has_minor) {
            c.minor = part;
            has_minor = true;
        } else if (c.family == CH_CLAUDE_OTHER) {
            c.family = family_of(word);
        } else {
            has_minor = has_major; /* no version after a date or a tag */
        }
    }
    return c;
}

bool ch_claude_same(struct ch_sv a, struct ch_sv b) {
    if (!a.n || !b.n || ch_sv_eq(a, b))
        return true;
    struct ch_claude x = ch_claude_parse(a), y = ch_claude_parse(b);
    if (x.family == CH_CLAUDE_NOT && y.family == CH_CLAUDE_NOT)
        return false;
    if (x.family == CH_CLAUDE_NOT || y.family == CH_CLAUDE_NOT)
        return true;
    return x.family == y.family && x.major == y.major && x.minor == y.minor;
}
