/* eventstream.c -- see eventstream.h.
 *
 * A message that is complete in the chunk is used in place. Only a message that
 * the chunk's end splits is copied, after its first twelve bytes were verified,
 * so that a damaged size causes neither waiting nor allocation. */
#include "net/eventstream.h"

#include "base/crc32.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"

#define PRELUDE 12
#define AROUND (PRELUDE + 4) /* bytes of a message besides headers and payload */

void ch_eventstream_init(struct ch_eventstream *s, ch_es_fn *fn, void *user) {
    *s = (struct ch_eventstream){.fn = fn, .user = user};
    ch_buf_init(&s->part, CH_LIMIT_EVENT_MESSAGE);
}

void ch_eventstream_release(struct ch_eventstream *s) {
    ch_buf_release(&s->part);
    s->stopped = true;
}

static uint32_t u32(const char *at) {
    const unsigned char *p = (const unsigned char *)at;
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static size_t u16(const char *at) {
    const unsigned char *p = (const unsigned char *)at;
    return (size_t)p[0] << 8 | p[1];
}

/* --- headers */

enum { H_STRING = 7, H_TYPES = 10 };

/* The size of a header value of the given type at `at`, including its length
 * prefix; SIZE_MAX if the type is unknown or the value does not fit. */
static size_t value_size(unsigned type, const char *at, const char *end) {
    static const unsigned char fixed[H_TYPES] = {
        0, 0,  1, 2, 4, 8, /* true, false, i8, i16, i32, i64 */
        0, 0,              /* bytes, string: u16 length before them */
        8, 16,             /* time, uuid */
    };
    size_t room = (size_t)(end - at), n;
    if (type >= H_TYPES)
        return SIZE_MAX;
    if (type != H_STRING - 1 && type != H_STRING)
        n = fixed[type];
    else if (room < 2)
        return SIZE_MAX;
    else
        n = 2 + u16(at);
    return n <= room ? n : SIZE_MAX;
}

static void eventstream_take_header(struct ch_es_message *m, struct ch_sv name,
                                    struct ch_sv value) {
    if (ch_sv_is(name, ":event-type"))
        m->event = value;
    else if (ch_sv_is(name, ":message-type"))
        m->type = value;
    else if (ch_sv_is(name, ":exception-type"))
        m->exception = value;
    else if (ch_sv_is(name, ":error-code"))
        m->code = value;
    else if (ch_sv_is(name, ":error-message"))
        m->text = value;
}

static bool eventstream_read_headers(struct ch_sv headers, struct ch_es_message *m) {
    const char *at = headers.p, *end = at + headers.n;
    while (at < end) {
        size_t n = (unsigned char)*at++;
        if (n == 0 || (size_t)(end - at) < n + 1)
            return false;
        struct ch_sv name = ch_sv(at, n);
        unsigned type = (unsigned char)at[n];
        at += n + 1;
        size_t size = value_size(type, at, end);
        if (size == SIZE_MAX)
            return false;
        if (type == H_STRING)
            eventstream_take_header(m, name, ch_sv(at + 2, size - 2));
        at += size;
    }
    return true;
}

/* --- messages */

/* Check the first twelve bytes of a message; *size receives its total size. */
static int check_prelude(const char *at, size_t *size, struct chela_error *err) {
    size_t total = u32(at), headers = u32(at + 4);
    if (ch_crc32(0, at, 8) != u32(at + 8))
        return ch_fail(err, CHELA_EPARSE, "the event stream is damaged: a size fails its checksum");
    if (total > CH_LIMIT_EVENT_MESSAGE || headers > CH_LIMIT_EVENT_HEADERS)
        return ch_fail(err, CHELA_ELIMIT, "a message of the event stream is larger than %zu bytes",
                       (size_t)CH_LIMIT_EVENT_MESSAGE);
    if (total < AROUND || headers > total - AROUND)
        return ch_fail(err, CHELA_EPARSE, "the event stream is damaged: impossible sizes");
    *size = total;
    return CHELA_OK;
}

/* Parse a complete message whose prelude was checked. */
static int eventstream_read_message(const char *at, size_t size, struct ch_es_message *m,
                                    struct chela_error *err) {
    size_t headers = u32(at + 4);
    *m = (struct ch_es_message){0};
    if (ch_crc32(0, at, size - 4) != u32(at + size - 4))
        return ch_fail(err, CHELA_EPARSE, "the event stream is damaged: checksum mismatch");
    if (!eventstream_read_headers(ch_sv(at + PRELUDE, headers), m))
        return ch_fail(err, CHELA_EPARSE, "the event stream is damaged: malformed headers");
    m->payload = ch_sv(at + PRELUDE + headers, size - AROUND - headers);
    return CHELA_OK;
}

/* `stopped` is set during the call, since a callback that returns false may
 * have released s. */
static int eventstream_deliver(struct ch_eventstream *s, const char *at, size_t size,
                               struct chela_error *err) {
    struct ch_es_message m;
    int rc = eventstream_read_message(at, size, &m, err);
    if (rc < 0)
        return rc;
    s->stopped = true;
    if (s->fn(&m, s->user))
        s->stopped = false;
    return CHELA_OK;
}

/* Complete the message in s->part from *bytes, if a message was begun: first its prelude,
 * then the rest. */
static int complete_part(struct ch_eventstream *s, struct ch_sv *bytes, struct chela_error *err) {
    while (s->part.n) {
        size_t size = PRELUDE;
        int rc = s->part.n < PRELUDE ? CHELA_OK : check_prelude(s->part.p, &size, err);
        if (rc < 0)
            return rc;
        size_t take = CH_MIN(size - s->part.n, bytes->n);
        ch_buf_add(&s->part, bytes->p, take);
        *bytes = ch_sv(bytes->p + take, bytes->n - take);
        if (s->part.n < size)
            return CHELA_OK;
        if (size == PRELUDE)
            continue;
        rc = eventstream_deliver(s, s->part.p, size, err);
        if (rc < 0 || s->stopped)
            return rc;
        ch_buf_clear(&s->part);
    }
    return CHELA_OK;
}

static int eventstream_feed(struct ch_eventstream *s, struct ch_sv bytes, struct chela_error *err) {
    size_t size;
    int rc = complete_part(s, &bytes, err);
    while (rc == CHELA_OK && !s->stopped && bytes.n >= PRELUDE) {
        if ((rc = check_prelude(bytes.p, &size, err)) < 0 || bytes.n < size)
            break;
        rc = eventstream_deliver(s, bytes.p, size, err);
        bytes = ch_sv(bytes.p + size, bytes.n - size);
    }
    if (rc == CHELA_OK && !s->stopped && bytes.n)
        ch_buf_add_sv(&s->part, bytes);
    return rc;
}

int ch_eventstream_feed(struct ch_eventstream *s, struct ch_sv bytes, struct chela_error *err) {
    if (s->stopped)
        return CHELA_OK;
    int rc = eventstream_feed(s, bytes, err);
    if (rc < 0)
        s->stopped = true;
    return rc;
}

/* --- writing */

static void add_u32(struct ch_buf *out, uint32_t n) {
    for (int shift = 24; shift >= 0; shift -= 8)
        ch_buf_addc(out, (char)(n >> shift));
}

static void eventstream_add_message(struct ch_buf *out, struct ch_sv headers,
                                    struct ch_sv payload) {
    size_t start = out->n;
    add_u32(out, (uint32_t)(AROUND + headers.n + payload.n));
    add_u32(out, (uint32_t)headers.n);
    add_u32(out, ch_crc32(0, out->p + start, 8));
    ch_buf_add_sv(out, headers);
    ch_buf_add_sv(out, payload);
    add_u32(out, ch_crc32(0, out->p + start, out->n - start));
}

size_t ch_eventstream_rewrite(struct ch_sv bytes, ch_es_payload_fn *fn, void *user,
                              struct ch_buf *out) {
    CH_BUF_AUTO changed = {0};
    struct ch_es_message m;
    struct chela_error ignored;
    size_t at = 0, size;
    while (bytes.n - at >= PRELUDE && check_prelude(bytes.p + at, &size, &ignored) == CHELA_OK &&
           size <= bytes.n - at &&
           eventstream_read_message(bytes.p + at, size, &m, &ignored) == CHELA_OK) {
        struct ch_sv headers = ch_sv(bytes.p + at + PRELUDE, u32(bytes.p + at + 4));
        ch_buf_clear(&changed);
        fn(headers, &changed, user);
        if (!ch_sv_eq(ch_buf_sv(&changed), headers))
            break;
        ch_buf_clear(&changed);
        fn(m.payload, &changed, user);
        eventstream_add_message(out, headers, ch_buf_sv(&changed));
        at += size;
    }
    return at;
}
