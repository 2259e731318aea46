/* response.c -- see response.h.
 *
 * The text of all headers is in one buffer, with names in lower case. Spans
 * hold offsets, because the buffer moves as it grows. Both are released when
 * the head is delivered, so a response that waits for its body holds no memory. */
#include "net/response.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"

struct span {
    uint32_t name, name_n, value, value_n;
};

/* Why this file, not the parser, stopped reading. */
enum { REFUSED_NOT, REFUSED_HEADERS, REFUSED_BODY, REFUSED_INTERIM, REFUSED_NAME };

#define TYPICAL_HEAD 512 /* one allocation instead of five */

static struct span *span_at(struct ch_response *r, size_t i) {
    return (struct span *)(void *)r->spans.p + i;
}

static size_t response_span_count(const struct ch_response *r) {
    return r->spans.n / sizeof(struct span);
}

static int response_refuse(struct ch_response *r, int why) {
    r->refused = why;
    return -1;
}

static int on_header_field(http_parser *p, const char *at, size_t n) {
    struct ch_response *r = p->data;
    if (r->head_out)
        return 0; /* a trailer */
    /* Debian's http-parser is built without strict mode and accepts spaces;
     * "Transfer-Encoding : chunked" must not be ignored. */
    if (memchr(at, ' ', n))
        return response_refuse(r, REFUSED_NAME);
    if (r->in_value || r->spans.n == 0) {
        struct span s = {.name = (uint32_t)r->text.n};
        if (response_span_count(r) == CH_LIMIT_HTTP_HEADER_COUNT)
            return response_refuse(r, REFUSED_HEADERS);
        if (r->text.cap == 0)
            ch_buf_reserve(&r->text, TYPICAL_HEAD);
        ch_buf_add(&r->spans, &s, sizeof(s));
        r->in_value = false;
    }
    char *to = ch_buf_reserve(&r->text, n);
    if (!to)
        return response_refuse(r, REFUSED_HEADERS);
    for (size_t i = 0; i < n; i++)
        to[i] = (char)(at[i] >= 'A' && at[i] <= 'Z' ? at[i] + 32 : at[i]);
    ch_buf_commit(&r->text, n);
    span_at(r, response_span_count(r) - 1)->name_n += (uint32_t)n;
    return 0;
}

static int on_header_value(http_parser *p, const char *at, size_t n) {
    struct ch_response *r = p->data;
    if (r->head_out)
        return 0;
    struct span *s = span_at(r, response_span_count(r) - 1);
    if (!r->in_value)
        s->value = (uint32_t)r->text.n;
    r->in_value = true;
    if (ch_buf_add(&r->text, at, n) < 0)
        return response_refuse(r, REFUSED_HEADERS);
    s->value_n += (uint32_t)n;
    return 0;
}

static void drop_head(struct ch_response *r) {
    ch_buf_release(&r->text);
    ch_buf_release(&r->spans);
    r->in_value = false;
}

static bool deliver_head(struct ch_response *r) {
    size_t n = response_span_count(r);
    CH_AUTOFREE struct ch_header *headers = ch_malloc((n + 1) * sizeof(*headers));

    for (size_t i = 0; i < n; i++) {
        const struct span *s = span_at(r, i);
        headers[i].name = ch_sv(r->text.p + s->name, s->name_n);
        headers[i].value = ch_sv_trim(ch_sv(r->text.p + s->value, s->value_n));
    }
    struct ch_http_head head = {(int)r->parser.status_code, headers, n};
    r->head_out = true;
    return r->events->head(&head, r->user);
}

static bool is_interim(const http_parser *p) {
    return p->status_code / 100 == 1;
}

/* For http-parser, 0 means continue and 1 means that no body follows. */
static int on_headers_complete(http_parser *p) {
    struct ch_response *r = p->data;
    if (is_interim(p)) {
        drop_head(r);
        if (p->status_code == 101 || ++r->interim > CH_LIMIT_HTTP_INTERIM)
            return response_refuse(r, REFUSED_INTERIM);
        return 1;
    }
    bool no_body = r->skip_body || p->status_code == 204 || p->status_code == 304;
    bool counted = !(p->flags & F_CHUNKED) && p->content_length != UINT64_MAX;
    if (!no_body && counted && p->content_length > r->max_body)
        return response_refuse(r, REFUSED_BODY);
    r->stopped = !deliver_head(r);
    drop_head(r);
    return r->stopped ? -1 : no_body;
}

static int response_on_body(http_parser *p, const char *at, size_t n) {
    struct ch_response *r = p->data;
    if (n > r->max_body - r->body)
        return response_refuse(r, REFUSED_BODY);
    r->body += n;
    r->stopped = !r->events->data(ch_sv(at, n), r->user);
    return r->stopped ? -1 : 0;
}

static int on_message_complete(http_parser *p) {
    struct ch_response *r = p->data;
    if (is_interim(p))
        return 0;
    r->done = true;
    /* Both chunked and Content-Length: read the body, but do not reuse the
     * connection. */
    bool two_lengths = (p->flags & F_CHUNKED) && (p->flags & F_CONTENTLENGTH);
    r->keep_alive = http_should_keep_alive(p) && !two_lengths;
    http_parser_pause(p, 1);
    return 0;
}

static const http_parser_settings settings = {
    .on_header_field = on_header_field,
    .on_header_value = on_header_value,
    .on_headers_complete = on_headers_complete,
    .on_body = response_on_body,
    .on_message_complete = on_message_complete,
};

void ch_response_init(struct ch_response *r, const char *peer,
                      const struct ch_response_events *events, void *user) {
    *r = (struct ch_response){.events = events, .user = user, .peer = peer};
    http_parser_init(&r->parser, HTTP_RESPONSE);
    r->parser.data = r;
    r->parser.allow_chunked_length = 1;
    r->text.max = CH_LIMIT_HTTP_HEADERS;
    r->max_body = CH_LIMIT_HTTP_STREAM;
}

void ch_response_release(struct ch_response *r) {
    drop_head(r);
}

bool ch_response_answered(const struct ch_response *r) {
    return r->parser.status_code != 0;
}

static int response_fail(struct ch_response *r, struct chela_error *err) {
    enum http_errno e = HTTP_PARSER_ERRNO(&r->parser);
    int rc;

    if (r->refused == REFUSED_HEADERS || e == HPE_HEADER_OVERFLOW)
        rc = ch_fail(err, CHELA_ELIMIT, "the HTTP headers of %s pass %zu bytes or %d lines",
                     r->peer, CH_LIMIT_HTTP_HEADERS, CH_LIMIT_HTTP_HEADER_COUNT);
    else if (r->refused == REFUSED_BODY)
        rc = ch_fail(err, CHELA_ELIMIT, "the response of %s is larger than %" PRIu64 " bytes",
                     r->peer, r->max_body);
    else if (r->refused == REFUSED_INTERIM)
        rc = ch_fail(err, CHELA_EPROTO, "%s sent an unexpected %d response", r->peer,
                     (int)r->parser.status_code);
    else if (!ch_response_answered(r))
        rc = ch_fail(err, CHELA_EPROTO, "%s did not answer in HTTP: %s", r->peer,
                     http_errno_description(e));
    else if (r->refused == REFUSED_NAME)
        rc =
            ch_fail(err, CHELA_EPROTO, "malformed HTTP response from %s: bad header name", r->peer);
    else
        rc = ch_fail(err, CHELA_EPROTO, "malformed HTTP response from %s: %s", r->peer,
                     http_errno_description(e));
    if (err && ch_response_answered(r))
        err->http_status = (int)r->parser.status_code;
    return rc;
}

int ch_response_feed(struct ch_response *r, struct ch_sv bytes, size_t *used,
                     struct chela_error *err) {
    *used = 0;
    if (r->done || bytes.n == 0)
        return r->done ? CH_RESPONSE_DONE : CH_RESPONSE_MORE;
    r->any = true;
    *used = http_parser_execute(&r->parser, &settings, bytes.p, bytes.n);
    if (r->stopped)
        return CH_RESPONSE_STOPPED;
    if (r->done)
        return CH_RESPONSE_DONE;
    if (HTTP_PARSER_ERRNO(&r->parser) != HPE_OK || *used < bytes.n)
        return response_fail(r, err);
    return CH_RESPONSE_MORE;
}

int ch_response_eof(struct ch_response *r, struct chela_error *err) {
    if (!r->any)
        return ch_fail(err, CHELA_ENET, "connection closed by %s without a response", r->peer);
    if (!r->done && HTTP_PARSER_ERRNO(&r->parser) == HPE_OK)
        http_parser_execute(&r->parser, &settings, NULL, 0);
    if (r->done)
        return CH_RESPONSE_DONE;
    int rc = ch_fail(err, CHELA_ENET, "connection closed by %s before the response was complete",
                     r->peer);
    if (err && r->head_out)
        err->http_status = (int)r->parser.status_code;
    return rc;
}
