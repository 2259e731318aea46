/* h2_head.c -- see h2_head.h. */
#include "net/h2_head.h"

#include "base/limits.h"
#include "base/mem.h"
#include "net/url.h"

enum { METHOD = 1, SCHEME = 2, AUTHORITY = 4, PATH = 8 };

static void h2_head_refuse(struct ch_h2_head *h, const char *why) {
    ch_inbound_refuse(h->in, 400, why);
}

/* --- fields */

static void set_path(struct ch_h2_head *h, struct ch_sv value) {
    for (size_t i = 0; i < value.n; i++)
        if ((unsigned char)value.p[i] <= ' ' || value.p[i] == 0x7f)
            h2_head_refuse(h, "the address holds a space or a control character");
    if (!value.n || (value.p[0] != '/' && !ch_sv_is(value, "*")))
        h2_head_refuse(h, "the address is not a path");
    if (!h->in->refused)
        ch_inbound_set_target(h->in, value);
}

static void set_pseudo(struct ch_h2_head *h, struct ch_sv name, struct ch_sv value) {
    static const struct {
        const char *name;
        unsigned bit;
    } known[] = {
        {":method", METHOD}, {":scheme", SCHEME}, {":authority", AUTHORITY}, {":path", PATH}};
    unsigned bit = 0;
    for (size_t i = 0; i < CH_LEN(known); i++)
        if (ch_sv_is(name, known[i].name))
            bit = known[i].bit;
    if (!bit || h->seen & bit || h->regular) {
        h2_head_refuse(h, "a pseudo header is unknown, came twice or too late");
        return;
    }
    h->seen |= bit;
    if (bit == METHOD)
        ch_inbound_set_method(h->in, value);
    else if (bit == PATH)
        set_path(h, value);
    else if (bit == AUTHORITY)
        ch_inbound_add(h->in, CH_SV("host"), value);
    else if (!ch_sv_is(value, "http") && !ch_sv_is(value, "https"))
        h2_head_refuse(h, "the scheme is neither http nor https");
}

/* Names are tokens in lower case. */
static bool h2_head_is_name(struct ch_sv name) {
    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] >= 'A' && name.p[i] <= 'Z')
            return false;
    return ch_http1_is_token(name);
}

/* Connection headers of HTTP/1.1 are not allowed: a proxy that converts the
 * request would see two possible ends of it. */
static bool is_about_connection(struct ch_sv name, struct ch_sv value) {
    static const char *const names[] = {"connection", "keep-alive", "proxy-connection",
                                        "transfer-encoding", "upgrade"};
    for (size_t i = 0; i < CH_LEN(names); i++)
        if (ch_sv_is(name, names[i]))
            return true;
    return ch_sv_is(name, "te") && !ch_sv_is(value, "trailers");
}

static void set_length(struct ch_h2_head *h, struct ch_sv value) {
    if (h->has_length || !ch_http1_read_length(value, &h->length))
        h2_head_refuse(h, "the content length is not a number or is repeated");
    else if (h->length > CH_LIMIT_INBOUND_BODY)
        ch_inbound_refuse(h->in, 413, "the body is too large");
    h->has_length = true;
}

/* ":authority" and Host must name the same, otherwise the request is ambiguous. */
static void check_host(struct ch_h2_head *h, struct ch_sv value) {
    struct ch_sv first = ch_inbound_header(h->in, "host");
    struct ch_url a, b;
    if (!first.p)
        ch_inbound_add(h->in, CH_SV("host"), value);
    else if (h->has_host || !(h->seen & AUTHORITY) || ch_url_parse_host(first, false, &a) < 0 ||
             ch_url_parse_host(value, false, &b) < 0 || !ch_url_same_host(&a, &b) ||
             a.port != b.port)
        h2_head_refuse(h, "the request names two hosts");
    h->has_host = true;
}

void ch_h2_head_field(struct ch_h2_head *h, struct ch_sv name, struct ch_sv value) {
    if (h->in->refused)
        return;
    if (h->in->has_head) {
        h2_head_refuse(h, "trailers are not supported");
        return;
    }
    if (name.n && name.p[0] == ':') {
        set_pseudo(h, name, value);
        return;
    }
    h->regular = true;
    if (!h2_head_is_name(name))
        h2_head_refuse(h, "a header's name is invalid");
    else if (is_about_connection(name, value))
        h2_head_refuse(h, "connection headers are not allowed");
    else if (ch_sv_is(name, "host"))
        check_host(h, value);
    else if (ch_inbound_add(h->in, name, value) == 0 && ch_sv_is(name, "content-length"))
        set_length(h, value);
}

/* --- head */

void ch_h2_head_end(struct ch_h2_head *h, bool last) {
    const unsigned needed = METHOD | SCHEME | PATH;
    h->in->has_head = true;
    if (h->in->refused)
        return;
    if ((h->seen & needed) != needed)
        h2_head_refuse(h, "method, scheme or path are missing");
    h->in->open = !last && !h->has_length;
}

void ch_h2_head_body(struct ch_h2_head *h, struct ch_sv bytes) {
    struct ch_inbound *in = h->in;
    if (in->refused)
        return;
    if (h->has_length && bytes.n > h->length - in->body.n)
        h2_head_refuse(h, "the body is longer than its content length");
    else if (ch_buf_add_sv(&in->body, bytes) < 0)
        ch_inbound_refuse(in, 413, "the body is too large");
}

void ch_h2_head_whole(struct ch_h2_head *h) {
    if (h->in->refused)
        return;
    if (h->has_length && h->length != h->in->body.n)
        h2_head_refuse(h, "the body is shorter than its content length");
    h->in->whole = !h->in->refused;
}
