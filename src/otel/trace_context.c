/* trace_context.c -- see trace_context.h. */
#include "otel/trace_context.h"

#include <string.h>

#include "base/mix.h"
#include "base/word.h"

static int hex_digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads 2n lower-case digits. False: others, or all are zero. */
static bool read_hex(const char *text, unsigned char *out, size_t n, bool zero_too) {
    bool any = zero_too;
    for (size_t i = 0; i < n; i++) {
        int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (unsigned char)(high << 4 | low);
        any |= out[i] != 0;
    }
    return any;
}

/* A later version may append members after another dash. Version ff is forbidden. */
bool ch_trace_context_read(struct ch_sv header, struct ch_trace_context *out) {
    struct ch_trace_context c = {.has_parent = true};
    unsigned char version, flags;
    const char *p = header.p;
    if (header.n < CH_TRACEPARENT - 1 || p[2] != '-' || p[35] != '-' || p[52] != '-' ||
        !read_hex(p, &version, 1, true) || version == 0xff ||
        !read_hex(p + 3, c.trace, CH_TRACE_ID, false) ||
        !read_hex(p + 36, c.parent.bytes, CH_SPAN_ID, false) || !read_hex(p + 53, &flags, 1, true))
        return false;
    if (header.n > CH_TRACEPARENT - 1 && (version == 0 || p[55] != '-'))
        return false;
    c.sampled = flags & 1;
    *out = c;
    return true;
}

/* The digits of four bytes, as ch_word_load loads them. */
static uint64_t hex_digits(uint64_t bytes) {
    bytes = (bytes | bytes << 16) & UINT64_C(0x0000ffff0000ffff);
    bytes = (bytes | bytes << 8) & UINT64_C(0x00ff00ff00ff00ff);
    uint64_t digits = (bytes >> 4 | bytes << 8) & CH_WORD_OF(0x0f);
    uint64_t letters = (digits + CH_WORD_OF(0x80 - 10)) >> 7 & CH_WORD_OF(1);
    return digits + CH_WORD_OF('0') + letters * ('a' - '0' - 10);
}

char *ch_otel_put_hex(char *to, const unsigned char *bytes, size_t n) {
    for (size_t i = 0; i < n; i += 4, to += 8)
        ch_word_store(to, hex_digits(ch_word_load_half((const char *)bytes + i)));
    return to;
}

void ch_trace_context_write(const struct ch_trace_context *c, struct ch_span_id span,
                            char out[CH_TRACEPARENT]) {
    memcpy(out, "00-", 3);
    ch_otel_put_hex(out + 3, c->trace, CH_TRACE_ID);
    out[35] = '-';
    ch_otel_put_hex(out + 36, span.bytes, CH_SPAN_ID);
    memcpy(out + 52, c->sampled ? "-01" : "-00", 4);
}

/* By the last seven bytes, which are random in ids of other programs as well. */
bool ch_trace_context_in_share(const struct ch_trace_context *c, double share) {
    uint64_t n = 0;
    for (size_t i = CH_TRACE_ID - 7; i < CH_TRACE_ID; i++)
        n = n << 8 | c->trace[i];
    return (double)n < share * 72057594037927936.0; /* 2^56 */
}

static struct ch_span_id span_id(uint64_t h) {
    struct ch_span_id id;
    h = ch_mix(h, 0);
    h = h ? h : 1; /* zero means none */
    for (size_t i = 0; i < CH_SPAN_ID; i++)
        id.bytes[i] = (unsigned char)(h >> (8 * i));
    return id;
}

/* The id of a run is random, so that a fast hash suffices. */
struct ch_trace_context ch_trace_context_of_run(const char *run) {
    struct ch_trace_context c = {.sampled = true};
    for (size_t i = 0; i < CH_TRACE_ID / CH_SPAN_ID; i++) {
        struct ch_span_id half = span_id(ch_mix_text(5 + i, ch_sv_str(run)));
        memcpy(c.trace + i * CH_SPAN_ID, half.bytes, CH_SPAN_ID);
    }
    return c;
}

struct ch_span_id ch_span_id_of_run(const char *run) {
    return span_id(ch_mix_text(1, ch_sv_str(run)));
}

struct ch_span_id ch_span_id_of_call(const char *run, unsigned turn, struct ch_sv call) {
    return span_id(ch_mix_text(ch_mix(ch_mix_text(2, ch_sv_str(run)), turn), call));
}

struct ch_span_id ch_span_id_below(struct ch_span_id call, struct ch_sv what, unsigned n) {
    uint64_t h = ch_mix_text(4, ch_sv((const char *)call.bytes, CH_SPAN_ID));
    return span_id(ch_mix(ch_mix_text(h, what), n));
}

struct ch_span_id ch_span_id_of_request(const char *run, unsigned turn, unsigned attempt,
                                        size_t messages, struct ch_sv model, struct ch_sv role) {
    uint64_t h = ch_mix(ch_mix_text(3, ch_sv_str(run)), turn);
    h = ch_mix(ch_mix(h, attempt), messages);
    return span_id(ch_mix_text(ch_mix_text(h, model), role));
}
