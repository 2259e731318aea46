/* fuzz_h2.c -- any bytes after the preface of HTTP/2, whole and in pieces.
 *
 * Input: one byte that says how to split, then frames, or, with the top bit of that byte
 * set, a program that writes frames: what a fuzzer edits are then types, flags, streams and
 * header fields instead of bytes. The meter looks at them
 * first, then the module, as in net/h2.c; each request is answered as soon as it
 * is whole. However the bytes are split, the requests must be the same, up to the
 * point where the meter stops, and nothing may be larger than its bound. */
#include <stdint.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/list.h"
#include "base/mem.h"
#include "chela/sys/http2.h"
#include "chela/sys/module.h"
#include "net/h2_head.h"
#include "net/h2_meter.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

/* The module is linked in, so that a fuzzer sees into it. */
extern const struct chela_module chela_module;

struct world {
    const struct chela_http2_ops *ops;
    struct chela_http2 *session;
    struct ch_h2_meter meter;
    struct ch_list streams;
    struct ch_buf *told;
    size_t decoded; /* nothing is earned back: no answer is counted, no time passes */
};

struct stream {
    struct world *w;
    struct ch_link link;
    uint32_t id;
    struct ch_inbound in;
    struct ch_h2_head head;
};

static void *on_begin(uint32_t id, void *user) {
    struct stream *s = ch_alloc(sizeof(*s));
    s->w = user;
    s->id = id;
    s->head.in = &s->in;
    ch_inbound_init(&s->in);
    ch_list_add(&s->w->streams, &s->link);
    return s;
}

static void on_field(void *stream, const struct chela_http2_field *f) {
    struct stream *s = stream;
    ch_h2_head_field(&s->head, ch_sv(f->name, f->name_n), ch_sv(f->value, f->value_n));
    if (s->in.message.text.n > CH_LIMIT_INBOUND_HEADERS)
        abort();
}

static void on_head(void *stream, int last) {
    ch_h2_head_end(&((struct stream *)stream)->head, last);
}

static void on_data(void *stream, const void *data, size_t n) {
    struct stream *s = stream;
    ch_h2_head_body(&s->head, ch_sv(data, n));
    if (s->in.body.n > CH_LIMIT_INBOUND_BODY)
        abort();
}

static void on_whole(void *stream) {
    static const struct chela_http2_field ok = {":status", 7, "200", 3};
    struct stream *s = stream;
    ch_h2_head_whole(&s->head);
    ch_buf_addf(s->w->told, "%u %d %s %.*s %zu:%s;", s->id, s->in.refused,
                ch_inbound_method(&s->in), CH_SV_FMT(ch_inbound_target(&s->in)), s->in.body.n,
                ch_buf_str(&s->in.body));
    s->w->ops->respond(s->w->session, s->id, &ok, 1, s->id % 4 == 1);
}

static size_t on_pull(void *stream, void *out, size_t max, int *last) {
    (void)stream;
    size_t n = CH_MIN(max, 5);
    memcpy(out, "hello", n);
    *last = 1;
    return n;
}

/* What is decoded is charged before anything is done with it. */
static int on_decoded(size_t size, size_t block, void *user) {
    struct world *w = user;
    w->decoded += size;
    if (w->decoded > CH_LIMIT_H2_DECODED + 2 * CH_LIMIT_H2_BLOCK || block < size)
        abort();
    return ch_h2_meter_decoded(&w->meter, size, block) != NULL;
}

static void on_closed(void *stream) {
    struct stream *s = stream;
    ch_list_del(&s->link);
    ch_inbound_release(&s->in);
    ch_free(s);
}

static const struct chela_http2_events events = {
    .begin = on_begin,
    .field = on_field,
    .head = on_head,
    .data = on_data,
    .whole = on_whole,
    .pull = on_pull,
    .closed = on_closed,
    .decoded = on_decoded,
};

static void drain(struct world *w) {
    char out[4096];
    while (w->ops->drain(w->session, out, sizeof(out)) > 0)
        ;
}

static int hear(struct world *w, const void *p, size_t n) {
    char *copy = ch_memdup(p, n); /* so that a read past its end is seen */
    int rc = ch_h2_meter_feed(&w->meter, ch_sv(copy, n), 0) ? -1 : 0;
    if (rc == 0)
        rc = w->ops->feed(w->session, copy, n, NULL);
    ch_free(copy);
    return rc;
}

static void play(const struct chela_http2_ops *ops, const uint8_t *p, size_t n, size_t piece,
                 struct ch_buf *out) {
    static const struct chela_http2_settings settings = {
        .streams = CH_LIMIT_H2_STREAMS,
        .header_list = CH_LIMIT_INBOUND_HEADERS,
        .header_table = CH_LIMIT_H2_TABLE,
        .window = CH_LIMIT_H2_WINDOW,
        .connection_window = CH_LIMIT_H2_WINDOWS,
    };
    struct world w = {.ops = ops, .told = out};
    ch_list_init(&w.streams);
    ch_h2_meter_init(&w.meter, 0);
    if (ops->open(&settings, &events, &w, &w.session, NULL) < 0)
        abort();
    int rc = hear(&w, CH_H2_PREFACE, sizeof(CH_H2_PREFACE) - 1);
    for (size_t at = 0; at < n && rc == 0; at += piece)
        rc = hear(&w, p + at, CH_MIN(n - at, piece));
    drain(&w);
    ops->close(w.session);
    for (struct stream *s; (s = CH_LIST_FIRST(&w.streams, struct stream, link));)
        on_closed(s);
}

/* --- frames from a program: four bytes each, see add_frame */

static void add_number(struct ch_buf *out, uint64_t n, unsigned bytes) {
    while (bytes--)
        ch_buf_addc(out, (char)(n >> 8 * bytes));
}

static void add_text(struct ch_buf *out, const char *text) {
    ch_buf_addc(out, (char)strlen(text)); /* below 127: a length of one byte */
    ch_buf_add_str(out, text);
}

/* A header block: one field for each bit of `what`, and references for its high bits. */
static void add_block(struct ch_buf *out, unsigned what, unsigned more) {
    static const char *const fields[][2] = {
        {"content-length", "3"}, {"host", "evil"},    {"x", "a long value that is kept"},
        {"connection", "close"}, {"X-Capital", "y"}, {"te", "trailers"},
        {":path", "/again"},     {"x", "a\rb"},
    };
    if (!(more & 0x80)) {
        static const char head[] = "\x83\x86\x84\x01\x01h"; /* POST http / of h */
        ch_buf_add(out, head, sizeof(head) - 1);
    }
    for (unsigned i = 0; i < 8; i++) {
        if (!(what >> i & 1))
            continue;
        ch_buf_addc(out, i & 1 ? 0 : 0x40);
        add_text(out, fields[i][0]);
        add_text(out, fields[i][1]);
    }
    for (unsigned i = 0; i < (more & 0x7f) * 16; i++)
        ch_buf_addc(out, (char)(128 + 62));
}

/* type, flags, stream, and a byte that shapes the payload. */
static void add_frame(struct ch_buf *out, const uint8_t p[4]) {
    CH_BUF_AUTO payload = {0};
    unsigned type = p[0] % 12;
    if (type == 1 || type == 9)
        add_block(&payload, p[3], p[0] / 12);
    else if (type == 0)
        ch_buf_add(&payload, "abcdefgh", p[3] % 9);
    else if (type == 4)
        for (unsigned i = 0; i < p[3] % 4U; i++) {
            add_number(&payload, 1 + p[3] % 6, 2);
            add_number(&payload, (uint32_t)p[3] << (p[3] % 25), 4);
        }
    else
        add_number(&payload, (uint32_t)p[3] * 0x01000193U, p[3] & 1 ? 4 : 4 + p[3] % 5U);
    if (type == 6 && payload.n < 8)
        ch_buf_add(&payload, "12345678", 8 - payload.n);
    add_number(out, (uint32_t)payload.n, 3);
    ch_buf_addc(out, (char)type);
    ch_buf_addc(out, (char)p[1]);
    add_number(out, type == 4 || type == 6 || type == 7 ? 0 : p[2] % 16U, 4);
    ch_buf_add_sv(out, ch_buf_sv(&payload));
}

static bool begins_with(const struct ch_buf *a, const struct ch_buf *b) {
    return a->n >= b->n && ch_sv_eq(ch_sv(ch_buf_str(a), b->n), ch_buf_sv(b));
}

/* Is there a GOAWAY frame? nghttp2 ignores what follows it, except in the same piece. */
static bool says_goodbye(const uint8_t *p, size_t n) {
    for (size_t at = 0; at + 9 <= n;) {
        if (p[at + 3] == 7)
            return true;
        at += 9 + ((size_t)p[at] << 16 | (size_t)p[at + 1] << 8 | p[at + 2]);
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    CH_BUF_AUTO whole = {0}, pieces = {0}, made = {0};
    if (n < 1)
        return 0;
    if (p[0] & 0x80) {
        ch_buf_add(&made, "\0\0\0\4\0\0\0\0\0", 9); /* settings come first */
        for (size_t i = 1; i + 4 <= n && made.n < 65536; i += 4)
            add_frame(&made, p + i);
    } else {
        ch_buf_add(&made, p + 1, n - 1);
    }
    const uint8_t *all = (const uint8_t *)ch_buf_str(&made);
    play(chela_module.ops, all, made.n, made.n + 1, &whole);
    play(chela_module.ops, all, made.n, 1 + p[0] % 128U, &pieces);
    /* The meter stops before a piece that is too much, of which some may be fine. */
    if (!says_goodbye(all, made.n) && !begins_with(&pieces, &whole))
        abort();
    return 0;
}
