/* h2_meter.c -- see h2_meter.h. */
#include "net/h2_meter.h"

#include "base/limits.h"
#include "base/mem.h"

enum { DATA = 0, HEADERS = 1, CONTINUATION = 9 };
enum { END_STREAM = 0x1, END_HEADERS = 0x4, PADDED = 0x8 };

#define WHOLE 1000 /* one unit of an account */
#define EARNED 4   /* control frames earned by a frame of an answer */

void ch_h2_meter_init(struct ch_h2_meter *m, int64_t now_ms) {
    *m = (struct ch_h2_meter){.skip = sizeof(CH_H2_PREFACE) - 1,
                              .requests = (int64_t)CH_LIMIT_H2_UNANSWERED * WHOLE,
                              .control = (int64_t)CH_LIMIT_H2_CONTROL * WHOLE,
                              .decoded = (int64_t)CH_LIMIT_H2_DECODED * WHOLE,
                              .at = now_ms};
}

static void h2_meter_fill(int64_t *account, int64_t by, size_t full) {
    *account = CH_MIN(*account + by, (int64_t)full * WHOLE);
}

static void let_time_pass(struct ch_h2_meter *m, int64_t now_ms) {
    int64_t ms = CH_MIN(CH_MAX(now_ms - m->at, 0), 60000);
    h2_meter_fill(&m->requests, ms * CH_LIMIT_H2_UNANSWERED_S, CH_LIMIT_H2_UNANSWERED);
    h2_meter_fill(&m->control, ms * CH_LIMIT_H2_CONTROL_S, CH_LIMIT_H2_CONTROL);
    h2_meter_fill(&m->decoded, ms * (int64_t)CH_LIMIT_H2_DECODED_S, CH_LIMIT_H2_DECODED);
    m->at = now_ms;
}

void ch_h2_meter_answered(struct ch_h2_meter *m) {
    h2_meter_fill(&m->requests, WHOLE, CH_LIMIT_H2_UNANSWERED);
    h2_meter_fill(&m->decoded, (int64_t)CH_LIMIT_H2_DECODED_ANSWER * WHOLE, CH_LIMIT_H2_DECODED);
}

void ch_h2_meter_sent(struct ch_h2_meter *m, size_t n, bool more) {
    if (!more || n >= CH_LIMIT_H2_TINY)
        h2_meter_fill(&m->control, EARNED * WHOLE, CH_LIMIT_H2_CONTROL);
}

static const char *h2_meter_pay(int64_t *account, const char *what) {
    *account -= WHOLE;
    return *account < 0 ? what : NULL;
}

const char *ch_h2_meter_decoded(struct ch_h2_meter *m, size_t size, size_t block) {
    m->decoded -= (int64_t)size * WHOLE;
    return block > CH_LIMIT_H2_BLOCK || m->decoded < 0 ? "decoded header bytes" : NULL;
}

static const char *add_to_block(struct ch_h2_meter *m, size_t n, unsigned flags) {
    m->in_block = !(flags & END_HEADERS);
    m->block += n;
    m->pieces++;
    if (m->pieces > CH_LIMIT_H2_CONTINUATIONS + 1 || m->block > CH_LIMIT_H2_BLOCK)
        return "header bytes or CONTINUATION frames";
    return NULL;
}

static const char *h2_meter_judge(struct ch_h2_meter *m, unsigned type, unsigned flags, size_t n) {
    switch (type) {
    case HEADERS:
        m->block = m->pieces = 0;
        m->blocks++;
        if (h2_meter_pay(&m->requests, ""))
            return "unanswered requests";
        return add_to_block(m, n, flags);
    case CONTINUATION:
        return add_to_block(m, n, flags);
    case DATA:
        if (flags & END_STREAM || (n && !(flags & PADDED)))
            return NULL;
        return h2_meter_pay(&m->control, "empty frames");
    }
    return h2_meter_pay(&m->control, "control frames");
}

const char *ch_h2_meter_feed(struct ch_h2_meter *m, struct ch_sv bytes, int64_t now_ms) {
    const char *why = NULL;
    let_time_pass(m, now_ms);
    while (bytes.n && !why) {
        size_t n = CH_MIN(bytes.n, m->skip ? m->skip : sizeof(m->head) - m->head_n);
        if (m->skip) {
            m->skip -= n;
        } else {
            memcpy(m->head + m->head_n, bytes.p, n);
            m->head_n += n;
        }
        bytes = ch_sv(bytes.p + n, bytes.n - n);
        if (m->head_n < sizeof(m->head))
            continue;
        m->head_n = 0;
        m->skip = (size_t)m->head[0] << 16 | (size_t)m->head[1] << 8 | m->head[2];
        why = h2_meter_judge(m, m->head[3], m->head[4], m->skip);
    }
    return why;
}
