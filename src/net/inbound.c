/* inbound.c -- see inbound.h.
 *
 * The parser stops after the head, so that the owner of the connection can
 * refuse a request before its body is read. It also stops after the body, so
 * that a pipelined request stays unparsed. */
#include "net/inbound.h"

#include "base/limits.h"

int ch_inbound_refuse(struct ch_inbound *in, int status, const char *why) {
    in->refused = status;
    in->why = why;
    return -1;
}

void ch_inbound_init(struct ch_inbound *in) {
    *in = (struct ch_inbound){0};
    ch_http1_init(&in->message, false, CH_LIMIT_INBOUND_HEADERS, CH_LIMIT_INBOUND_HEADER_COUNT);
    ch_buf_init(&in->body, CH_LIMIT_INBOUND_BODY);
}

void ch_inbound_release(struct ch_inbound *in) {
    ch_http1_release(&in->message);
    ch_buf_release(&in->body);
}

/* --- the head of another parser */

int ch_inbound_add(struct ch_inbound *in, struct ch_sv name, struct ch_sv value) {
    if (in->refused)
        return -1;
    if (!ch_http1_is_value(value))
        return ch_inbound_refuse(in, 400, "a header holds a control character");
    if (ch_http1_add(&in->message, name, value) < 0)
        return ch_inbound_refuse(in, 431, "the headers are too large or too many");
    return 0;
}

int ch_inbound_set_method(struct ch_inbound *in, struct ch_sv method) {
    if (!ch_http1_is_method(method))
        return ch_inbound_refuse(in, 501, "unknown method");
    memcpy(in->message.method, method.p, method.n);
    if (ch_sv_is(method, "CONNECT"))
        return ch_inbound_refuse(in, 501, "proxy requests are not supported");
    return 0;
}

int ch_inbound_set_target(struct ch_inbound *in, struct ch_sv target) {
    struct ch_http1 *m = &in->message;
    if (target.n > CH_LIMIT_URL)
        return ch_inbound_refuse(in, 414, "the address is too long");
    if (target.n > m->max_text - m->text.n)
        return ch_inbound_refuse(in, 431, "the headers are too large");
    m->target = (uint32_t)m->text.n;
    m->target_n = (uint32_t)target.n;
    ch_buf_add_sv(&m->text, target);
    return 0;
}

/* --- feeding */

bool ch_inbound_has_begun(const struct ch_inbound *in) {
    return in->message.text.n > 0;
}

static enum ch_inbound_state on_fault(struct ch_inbound *in, int status, const char *why) {
    ch_inbound_refuse(in, status, why);
    return CH_INBOUND_REFUSED;
}

static enum ch_inbound_state inbound_on_head(struct ch_inbound *in) {
    in->has_head = true;
    if (in->message.has_length && in->message.length > CH_LIMIT_INBOUND_BODY)
        return on_fault(in, 413, "the body is too large");
    return CH_INBOUND_HEAD;
}

enum ch_inbound_state ch_inbound_feed(struct ch_inbound *in, struct ch_sv bytes, size_t *taken) {
    enum ch_http1_state state = CH_HTTP1_DATA;
    *taken = 0;
    if (in->refused)
        return CH_INBOUND_REFUSED;
    while (state == CH_HTTP1_DATA) {
        struct ch_sv data;
        size_t n;
        state = ch_http1_feed(&in->message, ch_sv(bytes.p + *taken, bytes.n - *taken), &n, &data);
        *taken += n;
        if (ch_buf_add_sv(&in->body, data) < 0)
            return on_fault(in, 413, "the body is too large");
    }
    if (state == CH_HTTP1_FAULT)
        return on_fault(in, in->message.fault, in->message.why);
    if (state == CH_HTTP1_HEAD)
        return inbound_on_head(in);
    in->whole = state == CH_HTTP1_DONE;
    return in->whole ? CH_INBOUND_WHOLE : CH_INBOUND_MORE;
}

/* --- the request */

const char *ch_inbound_method(const struct ch_inbound *in) {
    return in->message.method;
}

struct ch_sv ch_inbound_target(const struct ch_inbound *in) {
    return ch_sv(ch_buf_str(&in->message.text) + in->message.target, in->message.target_n);
}

struct ch_sv ch_inbound_header(const struct ch_inbound *in, const char *name) {
    for (size_t i = 0; i < ch_http1_count(&in->message); i++) {
        struct ch_sv key, value;
        ch_http1_header_at(&in->message, i, &key, &value);
        if (ch_sv_is(key, name))
            return value.n ? ch_sv_trim(value) : ch_sv("", 0);
    }
    return ch_sv(NULL, 0);
}

size_t ch_inbound_count(const struct ch_inbound *in, const char *name) {
    size_t n = 0;
    for (size_t i = 0; i < ch_http1_count(&in->message); i++) {
        struct ch_sv key, value;
        ch_http1_header_at(&in->message, i, &key, &value);
        n += ch_sv_is(key, name);
    }
    return n;
}

bool ch_inbound_has_body(const struct ch_inbound *in) {
    struct ch_sv length = ch_inbound_header(in, "content-length");
    return in->open || ch_inbound_header(in, "transfer-encoding").p ||
           (length.n && !ch_sv_is(length, "0"));
}

bool ch_inbound_keeps_alive(const struct ch_inbound *in) {
    return in->message.keeps_alive && !in->message.upgrade;
}

bool ch_inbound_is_old(const struct ch_inbound *in) {
    return in->message.old;
}
