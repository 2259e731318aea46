/* option_keys.c -- see option_keys.h. */
#include "config/option_keys.h"

const struct ch_option *ch_option_find(enum ch_scope scope, struct ch_sv key) {
    for (const struct ch_option *o = ch_options; o->key; o++)
        if (o->scope == scope && ch_sv_is(key, o->key))
            return o;
    return NULL;
}

/* The rest of an option's key after "above."; {NULL,0} if the key is not below. */
static struct ch_sv option_below(const struct ch_option *o, enum ch_scope scope,
                                 struct ch_sv above) {
    struct ch_sv key = ch_sv_str(o->key), none = {NULL, 0};
    if (o->scope != scope)
        return none;
    if (above.n == 0)
        return key;
    bool under =
        key.n > above.n + 1 && key.p[above.n] == '.' && ch_sv_eq(ch_sv(key.p, above.n), above);
    return under ? ch_sv(key.p + above.n + 1, key.n - above.n - 1) : none;
}

bool ch_option_each_key(enum ch_scope scope, struct ch_sv above, const struct ch_option **at,
                        struct ch_sv *name) {
    const struct ch_option *o = *at ? *at + 1 : ch_options;
    struct ch_sv last = {NULL, 0};
    if (*at) {
        struct ch_sv rest = option_below(*at, scope, above);
        last = ch_sv_split(&rest, '.');
    }
    for (; o->key; o++) {
        struct ch_sv rest = option_below(o, scope, above);
        *name = ch_sv_split(&rest, '.');
        if (!name->p || ch_sv_eq(*name, last))
            continue;
        *at = o;
        return true;
    }
    return false;
}

bool ch_option_is_group(enum ch_scope scope, struct ch_sv key) {
    for (const struct ch_option *o = ch_options; o->key; o++)
        if (key.n && option_below(o, scope, key).p)
            return true;
    return false;
}
