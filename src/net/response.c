/* response.c -- see response.h.
 *
 * The text of the head is released when the head is delivered, so a response that waits for
 * its body holds no memory. */
#include "net/response.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"

/* Why this file, not the parser, stopped reading. */
enum { REFUSED_NOT, REFUSED_BODY, REFUSED_INTERIM };

#define USUAL_HEADERS 24 /* listed without an allocation */

static bool is_interim(const struct ch_response *r) {
    return r->message.status / 100 == 1;
}

static bool deliver_head(struct ch_response *r) {
    size_t n = ch_http1_count(&r->message);
    struct ch_header few[USUAL_HEADERS];
    CH_AUTOFREE struct ch_header *many = n > CH_LEN(few) ? ch_malloc(n * sizeof(*many)) : NULL;
    struct ch_header *headers = many ? many : few;

    for (size_t i = 0; i < n; i++)
        ch_http1_header_at(&r->message, i, &headers[i].name, &headers[i].value);
    struct ch_http_head head = {r->message.status, headers, n};
    r->head_out = true;
    return r->events->head(&head, r->user);
}

static void take_interim(struct ch_response *r) {
    r->message.no_body = true;
    if (r->message.status == 101 || ++r->interim > CH_LIMIT_HTTP_INTERIM)
        r->refused = REFUSED_INTERIM;
}

static void take_head(struct ch_response *r) {
    struct ch_http1 *m = &r->message;
    m->no_body = r->skip_body || m->status == 204 || m->status == 304;
    if (!m->no_body && m->has_length && m->length > r->max_body) {
        r->refused = REFUSED_BODY;
        return;
    }
    r->stopped = !deliver_head(r);
    ch_http1_drop_head(m);
}

/* Bytes between the data of a chunk and the end of a read that has no further data. */
#define LAST_FRAMING 7 /* CR LF 0 CR LF CR LF */

/* The end of the joined data: where the data of the next chunk goes. */
static char *end_of(struct ch_sv joined) {
    return (char *)joined.p + joined.n;
}

static void take_data(struct ch_response *r, struct ch_sv *joined, struct ch_sv data) {
    if (data.n > r->max_body - r->body) {
        r->refused = REFUSED_BODY;
        return;
    }
    r->body += data.n;
    if (joined->n)
        memmove(end_of(*joined), data.p, data.n);
    else
        joined->p = data.p;
    joined->n += data.n;
}

/* The fast path: after the data of a chunk, all whole chunks of the read. Returns the number of
 * bytes taken. */
static size_t take_chunks(struct ch_response *r, struct ch_sv *joined, struct ch_sv bytes) {
    size_t taken;
    if (bytes.n <= LAST_FRAMING || bytes.n > r->max_body - r->body || !joined->n)
        return 0;
    size_t n = ch_http1_move_chunks(&r->message, bytes, &taken, end_of(*joined));
    joined->n += n;
    r->body += n;
    return taken;
}

/* The message is complete: the response, or an interim one before it. */
static void take_end(struct ch_response *r) {
    if (is_interim(r)) {
        ch_http1_next(&r->message);
        return;
    }
    r->done = true;
    r->keep_alive = r->message.keeps_alive;
}

void ch_response_init(struct ch_response *r, const char *peer,
                      const struct ch_response_events *events, void *user) {
    *r = (struct ch_response){.events = events, .user = user, .peer = peer};
    ch_http1_init(&r->message, true, CH_LIMIT_HTTP_HEADERS, CH_LIMIT_HTTP_HEADER_COUNT);
    r->max_body = CH_LIMIT_HTTP_STREAM;
}

void ch_response_release(struct ch_response *r) {
    ch_http1_release(&r->message);
}

bool ch_response_answered(const struct ch_response *r) {
    return r->message.status != 0;
}

static int response_fail(struct ch_response *r, struct chela_error *err) {
    int rc;
    if (r->refused == REFUSED_BODY)
        rc = ch_fail(err, CHELA_ELIMIT, "the response of %s is larger than %" PRIu64 " bytes",
                     r->peer, r->max_body);
    else if (r->refused == REFUSED_INTERIM)
        rc = ch_fail(err, CHELA_EPROTO, "%s sent an unexpected %d response", r->peer,
                     r->message.status);
    else if (r->message.fault == 431)
        rc = ch_fail(err, CHELA_ELIMIT, "the HTTP headers of %s pass %zu bytes or %d lines",
                     r->peer, CH_LIMIT_HTTP_HEADERS, CH_LIMIT_HTTP_HEADER_COUNT);
    else if (!ch_response_answered(r))
        rc = ch_fail(err, CHELA_EPROTO, "%s did not answer in HTTP: %s", r->peer, r->message.why);
    else
        rc = ch_fail(err, CHELA_EPROTO, "malformed HTTP response from %s: %s", r->peer,
                     r->message.why);
    if (err && ch_response_answered(r))
        err->http_status = r->message.status;
    return rc;
}

static enum ch_http1_state take_part(struct ch_response *r, struct ch_sv bytes, size_t *used,
                                     struct ch_sv *joined) {
    struct ch_sv data;
    enum ch_http1_state state = ch_http1_feed(&r->message, bytes, used, &data);
    if (state == CH_HTTP1_DATA)
        take_data(r, joined, data);
    else if (state == CH_HTTP1_HEAD && is_interim(r))
        take_interim(r);
    else if (state == CH_HTTP1_HEAD)
        take_head(r);
    else if (state == CH_HTTP1_DONE)
        take_end(r);
    return state;
}

/* Read all parts. Returns the state of the last one. A stream has a chunk for each event: the
 * data of a read is joined in the memory of the read and handed on by one call. */
static enum ch_http1_state take_parts(struct ch_response *r, struct ch_sv bytes, size_t *used) {
    enum ch_http1_state state = CH_HTTP1_HEAD;
    struct ch_sv joined = {NULL, 0};
    while (state != CH_HTTP1_MORE && state != CH_HTTP1_FAULT && !r->stopped && !r->done &&
           !r->refused) {
        size_t n;
        state = take_part(r, ch_sv(bytes.p + *used, bytes.n - *used), &n, &joined);
        *used += n;
        if (state == CH_HTTP1_DATA)
            *used += take_chunks(r, &joined, ch_sv(bytes.p + *used, bytes.n - *used));
    }
    if (!r->stopped && joined.n)
        r->stopped = !r->events->data(joined, r->user);
    return state;
}

int ch_response_feed(struct ch_response *r, char *bytes, size_t n, size_t *used,
                     struct chela_error *err) {
    *used = 0;
    if (r->done || n == 0)
        return r->done ? CH_RESPONSE_DONE : CH_RESPONSE_MORE;
    r->any = true;
    enum ch_http1_state state = take_parts(r, ch_sv(bytes, n), used);
    if (r->stopped)
        return CH_RESPONSE_STOPPED;
    if (r->done)
        return CH_RESPONSE_DONE;
    return state == CH_HTTP1_MORE ? CH_RESPONSE_MORE : response_fail(r, err);
}

int ch_response_eof(struct ch_response *r, struct chela_error *err) {
    if (!r->any)
        return ch_fail(err, CHELA_ENET, "connection closed by %s without a response", r->peer);
    if (r->done || (r->head_out && ch_http1_eof(&r->message)))
        return CH_RESPONSE_DONE;
    int rc = ch_fail(err, CHELA_ENET, "connection closed by %s before the response was complete",
                     r->peer);
    if (err && r->head_out)
        err->http_status = r->message.status;
    return rc;
}
