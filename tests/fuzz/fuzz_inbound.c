/* fuzz_inbound.c -- any bytes as requests that reach us, whole and in pieces.
 *
 * Input: one byte that says how to split, then what a client sends. However it
 * is split, the requests, the status they are refused with and the reason must be the
 * same, and nothing may be larger than its bound. */
#include <stdint.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "net/inbound.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void tell(const struct ch_inbound *in, struct ch_buf *out) {
    if (in->message.text.n > CH_LIMIT_INBOUND_HEADERS || in->body.n > CH_LIMIT_INBOUND_BODY)
        abort();
    ch_buf_addf(out, "%s %.*s %zu:%s;", ch_inbound_method(in), CH_SV_FMT(ch_inbound_target(in)),
                in->body.n, ch_buf_str(&in->body));
}

static void play(const uint8_t *p, size_t n, size_t piece, struct ch_buf *out) {
    struct ch_inbound in;
    enum ch_inbound_state state = CH_INBOUND_MORE;
    size_t taken = 0;
    ch_inbound_init(&in);
    for (size_t at = 0; at < n && state != CH_INBOUND_REFUSED; at += taken) {
        size_t k = CH_MIN(n - at, piece);
        char *copy = ch_memdup(p + at, k);
        state = ch_inbound_feed(&in, ch_sv(copy, k), &taken);
        ch_free(copy);
        if (taken > k)
            abort();
        if (state == CH_INBOUND_REFUSED)
            ch_buf_addf(out, "refused %d %s", in.refused, in.why);
        if (state != CH_INBOUND_WHOLE)
            continue;
        tell(&in, out);
        ch_inbound_release(&in);
        ch_inbound_init(&in);
    }
    ch_inbound_release(&in);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    CH_BUF_AUTO whole = {0}, pieces = {0};
    if (n < 1)
        return 0;
    play(p + 1, n - 1, n, &whole);
    for (size_t i = 0; i < 2; i++) {
        ch_buf_clear(&pieces);
        play(p + 1, n - 1, i ? 1 + p[0] : 1, &pieces);
        if (!ch_sv_eq(ch_buf_sv(&whole), ch_buf_sv(&pieces)))
            abort();
    }
    return 0;
}
