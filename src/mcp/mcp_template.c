/* mcp_template.c -- see mcp_template.h. */
#include "mcp/mcp_template.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/limits.h"

/* Split "{name}" or "{+name}" from the front of a template. */
static bool cut_variable(struct ch_sv *rest, struct ch_sv *name, bool *any) {
    const char *end = rest->n > 1 && rest->p[0] == '{' ? memchr(rest->p, '}', rest->n) : NULL;

    if (!end)
        return false;
    *any = rest->p[1] == '+';
    const char *start = rest->p + 1 + *any;
    *name = ch_sv(start, (size_t)(end - start));
    *rest = ch_sv(end + 1, rest->n - (size_t)(end + 1 - rest->p));
    return true;
}

static bool is_variable_name(struct ch_sv name) {
    for (size_t i = 0; i < name.n; i++)
        if (!isalnum((unsigned char)name.p[i]) && !strchr("_-.", name.p[i]))
            return false;
    return name.n > 0 && name.n <= CH_LIMIT_MCP_NAME && !memchr(name.p, '\0', name.n);
}

bool ch_mcp_template_is_valid(struct ch_sv t) {
    struct ch_sv name;
    bool any, after = false;
    unsigned n = 0;

    while (t.n) {
        if (cut_variable(&t, &name, &any)) {
            if (after || ++n > CH_MCP_VARIABLES || !is_variable_name(name))
                return false;
            after = true; /* two variables in a row are ambiguous */
            continue;
        }
        if (t.p[0] == '{' || t.p[0] == '}')
            return false;
        after = false;
        t = ch_sv(t.p + 1, t.n - 1);
    }
    return true;
}

/* A variable that found no end at one place finds none at a later place of the same reach: its
 * ends there are some of those that it tried. */
struct matching {
    const char *uri;
    struct ch_mcp_variables *out;
    size_t from[CH_MCP_VARIABLES], to[CH_MCP_VARIABLES]; /* places without a match */
};

/* The template after a variable, from place `at` of the URI, whose rest is `uri`. */
static bool match_from(struct matching *m, struct ch_sv t, struct ch_sv uri) {
    struct ch_sv rest = t, name;
    bool any;

    while (rest.n && rest.p[0] != '{') {
        if (!uri.n || uri.p[0] != rest.p[0])
            return false;
        rest = ch_sv(rest.p + 1, rest.n - 1);
        uri = ch_sv(uri.p + 1, uri.n - 1);
    }
    if (!cut_variable(&rest, &name, &any))
        return uri.n == 0;
    size_t k = m->out->n, at = (size_t)(uri.p - m->uri), n;
    if (uri.n == 0 || (at >= m->from[k] && at < m->to[k]))
        return false;
    m->out->n = k + 1;
    for (n = 1; n <= uri.n && (any || uri.p[n - 1] != '/'); n++)
        if ((rest.n || n == uri.n) && match_from(m, rest, ch_sv(uri.p + n, uri.n - n))) {
            m->out->names[k] = name;
            m->out->values[k] = ch_sv(uri.p, n);
            return true;
        }
    m->out->n = k;
    m->from[k] = at;
    m->to[k] = any ? SIZE_MAX : at + n;
    return false;
}

bool ch_mcp_template_match(struct ch_sv t, struct ch_sv uri, struct ch_mcp_variables *out) {
    struct matching m = {.uri = uri.p ? uri.p : "", .out = out};

    memset(out, 0, sizeof(*out));
    return match_from(&m, t, ch_sv(m.uri, uri.n));
}
