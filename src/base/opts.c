/* opts.c -- reading option structs by the size that their maker gave them. */
#include "base/opts.h"

#include <string.h>

#include "base/mem.h"

#define LARGEST 65536 /* no struct is larger: a larger size was never set */

static size_t size_of(const void *opts) {
    size_t size;
    memcpy(&size, opts, sizeof(size)); /* the first member of each */
    return size;
}

/* "chela_agent_opts" as its macro is called. */
static void name_macro(const char *name, char *out, size_t max) {
    size_t i = 0;
    for (; name[i] && i + 1 < max; i++)
        out[i] = (char)(name[i] >= 'a' && name[i] <= 'z' ? name[i] - 'a' + 'A' : name[i]);
    out[i] = 0;
}

static int check(const void *opts, size_t size, size_t first, const char *name,
                 struct chela_error *err) {
    size_t given = size_of(opts);
    const char *bytes = opts;
    char macro[64];
    name_macro(name, macro, sizeof(macro));
    if (given < first || given > LARGEST)
        return ch_fail(err, CHELA_EINVAL,
                       "struct %s: its size is %zu, and at least %zu is needed: initialise it "
                       "with %s(...)",
                       name, given, first, macro);
    for (size_t i = size; i < given; i++)
        if (bytes[i])
            return ch_fail(err, CHELA_EINVAL,
                           "struct %s: an option is set that this version of the library (%s) "
                           "does not have",
                           name, CHELA_VERSION);
    return 0;
}

int ch_opts_read(void *out, size_t size, const void *given, size_t first, const char *name,
                 struct chela_error *err) {
    int rc = given ? check(given, size, first, name, err) : 0;
    memset(out, 0, size);
    if (rc < 0)
        return rc;
    if (given)
        memcpy(out, given, CH_MIN(size_of(given), size));
    memcpy(out, &size, sizeof(size));
    return 0;
}

int ch_opts_overlay(void *out, size_t size, const void *given, size_t first, const char *name,
                    struct chela_error *err) {
    int rc = given ? check(given, size, first, name, err) : 0;
    if (rc == 0 && given)
        memcpy(out, given, CH_MIN(size_of(given), size));
    memcpy(out, &size, sizeof(size));
    return rc;
}

int ch_opts_need(void *out, size_t size, const void *given, size_t first, const char *name,
                 struct chela_error *err) {
    memset(out, 0, size);
    if (!given)
        return ch_fail(err, CHELA_EINVAL, "struct %s: it is missing (NULL)", name);
    return ch_opts_read(out, size, given, first, name, err);
}

int ch_opts_write(void *to, const void *from, size_t size, size_t first, const char *name,
                  struct chela_error *err) {
    int rc = check(to, size, first, name, err);
    if (rc < 0)
        return rc;
    size_t whole = size_of(to);
    memcpy(to, from, CH_MIN(whole, size));
    memcpy(to, &whole, sizeof(whole));
    return 0;
}
