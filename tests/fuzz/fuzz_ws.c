/* fuzz_ws.c -- any bytes as what a WebSocket server sends, its answer, then
 * frames, or as a client's frames; whole and in pieces.
 *
 * Input: one byte that says whose they are and how to split, then the bytes. However they are
 * split, the messages and the verdict must be the same. */
#include <stdint.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "net/ws_codec.h"

struct outcome {
    struct ch_buf log;
    int rc;
};

static bool on_message(enum ch_ws_kind kind, struct ch_sv payload, void *user) {
    struct outcome *o = user;
    if (payload.n > CH_LIMIT_WS_MESSAGE || (kind > 2 && payload.n > 125))
        abort();
    ch_buf_addf(&o->log, "%d,%zu:", (int)kind, payload.n);
    ch_buf_add_sv(&o->log, payload);
    return payload.n != 7;
}

static void read_all(struct outcome *o, struct ch_sv bytes, size_t piece, bool of_client) {
    struct chela_error err = {0};
    struct ch_ws_reader r;
    ch_ws_reader_init(&r, on_message, o);
    r.of_client = of_client;
    for (size_t at = 0; at < bytes.n && o->rc == 0; at += piece) {
        size_t n = CH_MIN(piece, bytes.n - at);
        char *copy = ch_memdup(bytes.p + at, n);
        o->rc = ch_ws_feed(&r, ch_sv(copy, n), &err);
        ch_free(copy);
    }
    if (o->rc != err.code || (o->rc < 0) != (r.verdict > 0))
        abort();
    ch_ws_reader_release(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2)
        return 0;
    CH_AUTOFREE char *copy = ch_memdup(data + 1, size - 1);
    struct ch_sv bytes = ch_sv(copy, size - 1);
    size_t head = ch_ws_head_size(bytes);
    if (head)
        ch_ws_accepted(ch_sv(bytes.p, head), "dGhlIHNhbXBsZSBub25jZQ==", NULL);
    bytes = ch_sv(bytes.p + head, bytes.n - head);
    struct outcome whole = {0}, split = {0};
    bool of_client = data[0] & 0x80;
    read_all(&whole, bytes, size, of_client);
    read_all(&split, bytes, 1 + data[0] % 64, of_client);
    if (whole.rc != split.rc || !ch_sv_eq(ch_buf_sv(&whole.log), ch_buf_sv(&split.log)))
        abort();
    ch_buf_release(&whole.log);
    ch_buf_release(&split.log);
    return 0;
}
