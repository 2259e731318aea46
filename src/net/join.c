/* join.c -- see join.h.
 *
 * Unlike in browsers a backslash does not count as a slash: it is encoded, so
 * it cannot turn a path into a host. */
#include "net/join.h"

#include "base/uri.h"

/* Append ref without surrounding white space and inner line breaks,
 * percent-encoded. */
static void join_clean(struct ch_buf *out, struct ch_sv ref) {
    while (ref.n && (unsigned char)ref.p[0] <= ' ')
        ref = ch_sv(ref.p + 1, ref.n - 1);
    while (ref.n && (unsigned char)ref.p[ref.n - 1] <= ' ')
        ref.n--;
    for (size_t i = 0; i < ref.n; i++) {
        unsigned char c = (unsigned char)ref.p[i];
        if (c == '\t' || c == '\r' || c == '\n')
            continue;
        if (c <= ' ' || c >= 0x7f || strchr("\"<>\\^`{|}", c))
            ch_buf_addf(out, "%%%02X", c);
        else
            ch_buf_addc(out, (char)c);
    }
}

void ch_url_join(struct ch_buf *out, struct ch_sv base, struct ch_sv ref) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO text = {0};

    join_clean(&text, ref);
    ch_buf_add_sv(out, ch_uri_resolve(&arena, base, ch_buf_sv(&text)));
}
