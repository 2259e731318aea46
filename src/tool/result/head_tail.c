/* head_tail.c -- see head_tail.h. */
#include "tool/result/head_tail.h"

#include "base/limits.h"
#include "base/mem.h"

static void add_to_ring(struct ch_ends *e, struct ch_sv data) {
    if (!e->ring)
        e->ring = ch_malloc(CH_LIMIT_OUTPUT_END);
    if (data.n > CH_LIMIT_OUTPUT_END)
        data = ch_sv(data.p + data.n - CH_LIMIT_OUTPUT_END, CH_LIMIT_OUTPUT_END);
    while (data.n > 0) {
        size_t part = CH_MIN(data.n, CH_LIMIT_OUTPUT_END - e->at);
        memcpy(e->ring + e->at, data.p, part);
        e->at = (e->at + part) % CH_LIMIT_OUTPUT_END;
        e->n = CH_MIN(e->n + part, CH_LIMIT_OUTPUT_END);
        data = ch_sv(data.p + part, data.n - part);
    }
}

void ch_ends_add(struct ch_ends *e, struct ch_sv data) {
    size_t room = CH_LIMIT_OUTPUT_END - e->head.n, part = CH_MIN(data.n, room);

    e->total += data.n;
    if (part > 0)
        ch_buf_add(&e->head, data.p, part);
    if (data.n > part)
        add_to_ring(e, ch_sv(data.p + part, data.n - part));
}

void ch_ends_release(struct ch_ends *e) {
    ch_buf_release(&e->head);
    ch_free(e->ring);
    *e = (struct ch_ends){0};
}

void ch_ends_text(const struct ch_ends *e, struct ch_buf *out) {
    uint64_t lost = e->total - e->head.n - e->n;
    size_t from = e->n < CH_LIMIT_OUTPUT_END ? 0 : e->at;

    ch_buf_add_sv(out, ch_buf_sv(&e->head));
    if (lost > 0)
        ch_buf_addf(out, "\n[... %llu bytes were not kept ...]\n", (unsigned long long)lost);
    if (e->n == 0)
        return;
    ch_buf_add(out, e->ring + from, e->n - from);
    ch_buf_add(out, e->ring, from);
}
