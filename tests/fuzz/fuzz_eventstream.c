/* fuzz_eventstream.c -- any bytes as a binary event stream, whole and in
 * pieces.
 *
 * Input: one byte of settings (how to split; whether to mend the checksums,
 * without which hardly any input is a message), then the stream. However the
 * bytes are split, the messages and the verdict must be the same. */
#include <stdint.h>
#include <stdlib.h>

#include "base/crc32.h"
#include "base/limits.h"
#include "base/mem.h"
#include "net/eventstream.h"

struct outcome {
    struct ch_buf log;
    int rc;
};

static bool on_message(const struct ch_es_message *m, void *user) {
    struct outcome *o = user;
    if (m->payload.n > CH_LIMIT_EVENT_MESSAGE || m->event.n > UINT16_MAX)
        abort();
    ch_buf_addf(&o->log, "%.*s,%.*s,%.*s,%.*s,%.*s,%zu:", CH_SV_FMT(m->type), CH_SV_FMT(m->event),
                CH_SV_FMT(m->exception), CH_SV_FMT(m->code), CH_SV_FMT(m->text), m->payload.n);
    ch_buf_add_sv(&o->log, m->payload);
    return m->payload.n != 7;
}

static void decode(struct outcome *o, struct ch_sv bytes, size_t piece) {
    struct chela_error err = {0};
    struct ch_eventstream s;

    ch_eventstream_init(&s, on_message, o);
    for (size_t at = 0; at < bytes.n && o->rc == 0; at += piece) {
        size_t n = CH_MIN(piece, bytes.n - at);
        char *copy = ch_memdup(bytes.p + at, n);
        o->rc = ch_eventstream_feed(&s, ch_sv(copy, n), &err);
        ch_free(copy);
    }
    if (o->rc != err.code)
        abort();
    ch_eventstream_release(&s);
}

static size_t u32(const unsigned char *p) {
    return (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
}

static void put_crc(unsigned char *at, const unsigned char *from) {
    uint32_t crc = ch_crc32(0, from, (size_t)(at - from));
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(crc >> (24 - 8 * i));
}

static void mend(unsigned char *p, size_t n) {
    for (size_t at = 0; n - at >= 16; at += u32(p + at)) {
        size_t size = u32(p + at);
        put_crc(p + at + 8, p + at);
        if (size < 16 || size > n - at)
            return;
        put_crc(p + at + size - 4, p + at);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2)
        return 0;
    CH_AUTOFREE unsigned char *copy = ch_memdup(data + 1, size - 1);
    if (data[0] & 1)
        mend(copy, size - 1);
    struct ch_sv bytes = ch_sv((const char *)copy, size - 1);
    struct outcome whole = {0}, split = {0};
    decode(&whole, bytes, size);
    decode(&split, bytes, 1 + (data[0] >> 1) % 64);
    if (whole.rc != split.rc || !ch_sv_eq(ch_buf_sv(&whole.log), ch_buf_sv(&split.log)))
        abort();
    ch_buf_release(&whole.log);
    ch_buf_release(&split.log);
    return 0;
}
