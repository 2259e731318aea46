/* fuzz_mcp_template.c -- a URI template and a URI.
 *
 * Input: the template, a newline, the URI. A match puts the template together again. A short URI
 * matches if and only if trying every split of it finds a match. */
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "mcp/mcp_template.h"

/* Every split is tried: exponential, so for short texts only. */
static bool tries_match(struct ch_sv t, struct ch_sv uri) {
    if (!t.n)
        return uri.n == 0;
    if (t.p[0] != '{')
        return uri.n && uri.p[0] == t.p[0] &&
               tries_match(ch_sv(t.p + 1, t.n - 1), ch_sv(uri.p + 1, uri.n - 1));
    bool any = t.p[1] == '+';
    size_t end = (size_t)((const char *)memchr(t.p, '}', t.n) - t.p) + 1;
    for (size_t n = 1; n <= uri.n && (any || uri.p[n - 1] != '/'); n++)
        if (tries_match(ch_sv(t.p + end, t.n - end), ch_sv(uri.p + n, uri.n - n)))
            return true;
    return false;
}

/* The template with its variables replaced. */
static void expand(struct ch_sv t, const struct ch_mcp_variables *v, struct ch_buf *out) {
    size_t k = 0;

    for (size_t i = 0; i < t.n; i++) {
        if (t.p[i] != '{') {
            ch_buf_addc(out, t.p[i]);
            continue;
        }
        ch_buf_add_sv(out, v->values[k++]);
        while (t.p[i] != '}')
            i++;
    }
    if (k != v->n)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ch_sv uri = ch_sv((const char *)data, size), t = ch_sv_split(&uri, '\n');
    struct ch_mcp_variables v;

    if (!uri.p || !ch_mcp_template_is_valid(t))
        return 0;
    bool found = ch_mcp_template_match(t, uri, &v);
    if (found) {
        CH_BUF_AUTO text = {0};
        expand(t, &v, &text);
        if (!ch_sv_eq(ch_buf_sv(&text), uri))
            abort();
    }
    if (uri.n <= 16 && t.n <= 64 && found != tries_match(t, uri))
        abort();
    return 0;
}
