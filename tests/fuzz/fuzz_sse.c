/* fuzz_sse.c -- any bytes as an event stream, whole and in pieces.
 *
 * Input: two bytes of settings (how to split; the largest event), then the
 * stream. However the bytes are split, the events and the verdict must be the
 * same, and no event may be larger than was allowed. */
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "net/sse.h"

struct outcome {
    struct ch_buf events;
    size_t max;
    int rc;
};

static bool on_event(struct ch_sv name, struct ch_sv data, void *user) {
    struct outcome *o = user;
    if (name.n > o->max || data.n > o->max || memchr(name.p, '\n', name.n) ||
        memchr(data.p, '\r', data.n))
        abort();
    ch_buf_addf(&o->events, "%zu,%zu:", name.n, data.n);
    ch_buf_add_sv(&o->events, name);
    ch_buf_add_sv(&o->events, data);
    return true;
}

/* Pieces of random size up to `piece` (0: all at once), each in memory of its
 * own. */
static void decode(struct outcome *o, const uint8_t *p, size_t n, size_t piece, unsigned seed) {
    struct chela_error err = {0};
    struct ch_sse s;

    ch_sse_init(&s, o->max, on_event, o);
    while (n > 0 && o->rc == 0) {
        seed = seed * 1103515245 + 12345;
        size_t k = piece ? CH_MIN(n, 1 + (seed >> 16) % piece) : n;
        char *copy = ch_memdup(p, k);
        o->rc = ch_sse_feed(&s, ch_sv(copy, k), &err);
        ch_free(copy);
        p += k;
        n -= k;
    }
    if (o->rc == 0)
        o->rc = ch_sse_end(&s, &err);
    if (o->rc != err.code)
        abort();
    ch_sse_release(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2)
        return 0;
    size_t max = data[1] ? data[1] : 1 << 20;
    struct outcome whole = {.max = max}, bytes = {.max = max}, pieces = {.max = max};

    decode(&whole, data + 2, size - 2, 0, 0);
    decode(&bytes, data + 2, size - 2, 1, 0);
    decode(&pieces, data + 2, size - 2, 1 + data[0] % 32, data[0]);
    if (whole.rc != bytes.rc || whole.rc != pieces.rc ||
        !ch_sv_eq(ch_buf_sv(&whole.events), ch_buf_sv(&bytes.events)) ||
        !ch_sv_eq(ch_buf_sv(&whole.events), ch_buf_sv(&pieces.events)))
        abort();
    ch_buf_release(&whole.events);
    ch_buf_release(&bytes.events);
    ch_buf_release(&pieces.events);
    return 0;
}
