/* inbound.c -- see inbound.h.
 *
 * http-parser stops after the head, so that the owner of the connection can
 * refuse a request before its body is read. It also stops after the body, so
 * that a pipelined request stays unparsed. */
#include "net/inbound.h"

#include "base/limits.h"
#include "base/mem.h"

struct span {
    uint32_t name, name_n, value, value_n;
};

static struct span *spans(const struct ch_inbound *in) {
    return (struct span *)(void *)in->spans.p;
}

static size_t inbound_span_count(const struct ch_inbound *in) {
    return in->spans.n / sizeof(struct span);
}

int ch_inbound_refuse(struct ch_inbound *in, int status, const char *why) {
    in->refused = status;
    in->why = why;
    return -1;
}

static int on_url(http_parser *p, const char *at, size_t n) {
    struct ch_inbound *in = p->data;
    if (in->text.n + n > CH_LIMIT_URL)
        return ch_inbound_refuse(in, 414, "the address is too long");
    ch_buf_add(&in->text, at, n);
    in->target_n += n;
    return 0;
}

static int inbound_on_field(http_parser *p, const char *at, size_t n) {
    struct ch_inbound *in = p->data;
    if (in->has_head)
        return ch_inbound_refuse(in, 400, "trailers are not supported");
    /* Debian's http-parser is built without strict mode and accepts spaces: a
     * proxy may read such a name differently. */
    if (memchr(at, ' ', n))
        return ch_inbound_refuse(in, 400, "a header's name holds a space");
    if (in->in_value || in->spans.n == 0) {
        struct span s = {.name = (uint32_t)in->text.n};
        if (inbound_span_count(in) == CH_LIMIT_INBOUND_HEADER_COUNT)
            return ch_inbound_refuse(in, 431, "too many headers");
        ch_buf_add(&in->spans, &s, sizeof(s));
        in->in_value = false;
    }
    char *to = ch_buf_reserve(&in->text, n);
    if (!to)
        return ch_inbound_refuse(in, 431, "the headers are too large");
    for (size_t i = 0; i < n; i++)
        to[i] = (char)(at[i] >= 'A' && at[i] <= 'Z' ? at[i] + 32 : at[i]);
    ch_buf_commit(&in->text, n);
    spans(in)[inbound_span_count(in) - 1].name_n += (uint32_t)n;
    return 0;
}

static int check_value(struct ch_inbound *in, const char *at, size_t n) {
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)at[i] < ' ' && at[i] != '\t')
            return ch_inbound_refuse(in, 400, "a header holds a control character");
    return 0;
}

static int on_value(http_parser *p, const char *at, size_t n) {
    struct ch_inbound *in = p->data;
    if (in->has_head)
        return ch_inbound_refuse(in, 400, "trailers are not supported");
    if (check_value(in, at, n) < 0)
        return -1;
    struct span *s = &spans(in)[inbound_span_count(in) - 1];
    if (!in->in_value)
        s->value = (uint32_t)in->text.n;
    in->in_value = true;
    if (ch_buf_add(&in->text, at, n) < 0)
        return ch_inbound_refuse(in, 431, "the headers are too large");
    s->value_n += (uint32_t)n;
    return 0;
}

int ch_inbound_add(struct ch_inbound *in, struct ch_sv name, struct ch_sv value) {
    struct span s = {.name = (uint32_t)in->text.n,
                     .name_n = (uint32_t)name.n,
                     .value = (uint32_t)(in->text.n + name.n),
                     .value_n = (uint32_t)value.n};
    if (in->refused || check_value(in, value.p, value.n) < 0)
        return -1;
    if (inbound_span_count(in) == CH_LIMIT_INBOUND_HEADER_COUNT)
        return ch_inbound_refuse(in, 431, "too many headers");
    if (ch_buf_add_sv(&in->text, name) < 0 || ch_buf_add_sv(&in->text, value) < 0)
        return ch_inbound_refuse(in, 431, "the headers are too large");
    ch_buf_add(&in->spans, &s, sizeof(s));
    return 0;
}

/* Refuse a request with two ways to find the end of its body (request
 * smuggling). */
static int check_framing(struct ch_inbound *in) {
    struct ch_sv coding = ch_inbound_header(in, "transfer-encoding");
    if (ch_inbound_count(in, "content-length") > 1 || ch_inbound_count(in, "host") > 1 ||
        ch_inbound_count(in, "transfer-encoding") > 1)
        return ch_inbound_refuse(in, 400, "a header came twice");
    if (coding.p && !ch_sv_eq_nocase(ch_sv_trim(coding), CH_SV("chunked")))
        return ch_inbound_refuse(in, 501, "only the transfer coding chunked is supported");
    if (coding.p && ch_inbound_header(in, "content-length").p)
        return ch_inbound_refuse(in, 400, "both Content-Length and Transfer-Encoding");
    if (!coding.p && in->parser.content_length != UINT64_MAX &&
        in->parser.content_length > CH_LIMIT_INBOUND_BODY)
        return ch_inbound_refuse(in, 413, "the body is too large");
    return 0;
}

static int inbound_on_head(http_parser *p) {
    struct ch_inbound *in = p->data;
    in->has_head = true;
    if (p->http_major != 1)
        return ch_inbound_refuse(in, 505, "only HTTP/1.1 is supported");
    if (p->method == HTTP_CONNECT)
        return ch_inbound_refuse(in, 501, "proxy requests are not supported");
    if (check_framing(in) < 0)
        return -1;
    http_parser_pause(p, 1);
    return 0;
}

static int inbound_on_body(http_parser *p, const char *at, size_t n) {
    struct ch_inbound *in = p->data;
    if (ch_buf_add(&in->body, at, n) < 0)
        return ch_inbound_refuse(in, 413, "the body is too large");
    return 0;
}

static int inbound_on_end(http_parser *p) {
    struct ch_inbound *in = p->data;
    in->whole = true;
    http_parser_pause(p, 1);
    return 0;
}

static const http_parser_settings settings = {
    .on_url = on_url,
    .on_header_field = inbound_on_field,
    .on_header_value = on_value,
    .on_headers_complete = inbound_on_head,
    .on_body = inbound_on_body,
    .on_message_complete = inbound_on_end,
};

void ch_inbound_init(struct ch_inbound *in) {
    *in = (struct ch_inbound){0};
    http_parser_init(&in->parser, HTTP_REQUEST);
    in->parser.data = in;
    ch_buf_init(&in->text, CH_LIMIT_INBOUND_HEADERS);
    ch_buf_init(&in->body, CH_LIMIT_INBOUND_BODY);
}

void ch_inbound_release(struct ch_inbound *in) {
    ch_buf_release(&in->text);
    ch_buf_release(&in->spans);
    ch_buf_release(&in->body);
}

static int refuse_unread(struct ch_inbound *in) {
    if (!in->refused)
        ch_inbound_refuse(in, 400, http_errno_description(HTTP_PARSER_ERRNO(&in->parser)));
    return CH_INBOUND_REFUSED;
}

/* The fault of the next byte of the head; NULL: none. A line that begins with a
 * space continues the previous header for this parser, and may be a separate
 * header for a proxy. A carriage return without a line feed ends the head for
 * this parser, which ignores the byte after it. */
static const char *fault_of_line(const struct ch_inbound *in, char c) {
    if (in->after_cr && c != '\n')
        return "a carriage return without a line feed";
    if (in->line_n == 0 && in->lines && (c == ' ' || c == '\t'))
        return "a header spans two lines";
    return NULL;
}

/* The number of bytes before the first fault in the lines of the head, and the
 * fault. The parser does not report these faults, so the bytes are inspected
 * before it gets them. */
static size_t sound_bytes(struct ch_inbound *in, struct ch_sv bytes, const char **fault) {
    *fault = NULL;
    for (size_t i = 0; i < bytes.n && !in->past_head; i++) {
        char c = bytes.p[i];
        *fault = fault_of_line(in, c);
        if (*fault)
            return i;
        in->past_head = c == '\n' && in->line_n == 0 && in->lines;
        in->lines += c == '\n' && in->line_n;
        in->line_n = c == '\n' ? 0 : in->line_n + (c != '\r');
        in->after_cr = c == '\r';
    }
    return bytes.n;
}

/* A paused parser has not consumed the last byte it reports: the byte is fed
 * again. */
enum ch_inbound_state ch_inbound_feed(struct ch_inbound *in, struct ch_sv bytes, size_t *taken) {
    bool had_head = in->has_head;
    *taken = 0;
    if (in->refused)
        return CH_INBOUND_REFUSED;
    if (in->whole)
        return CH_INBOUND_WHOLE;
    /* The parser sees the bytes before the fault first, and its errors take
     * precedence, so that the status does not depend on how the bytes were
     * split. */
    const char *fault;
    size_t sound = sound_bytes(in, bytes, &fault);
    http_parser_pause(&in->parser, 0);
    if (sound) /* 0 bytes would signal the end of the connection */
        *taken = http_parser_execute(&in->parser, &settings, bytes.p, sound);
    enum http_errno error = HTTP_PARSER_ERRNO(&in->parser);
    if (in->refused || (error != HPE_OK && error != HPE_PAUSED))
        return refuse_unread(in);
    if (fault) {
        ch_inbound_refuse(in, 400, fault);
        return CH_INBOUND_REFUSED;
    }
    if (in->has_head && !had_head)
        return CH_INBOUND_HEAD;
    if (in->whole)
        return CH_INBOUND_WHOLE;
    return CH_INBOUND_MORE;
}

const char *ch_inbound_method(const struct ch_inbound *in) {
    return http_method_str((enum http_method)in->parser.method);
}

struct ch_sv ch_inbound_target(const struct ch_inbound *in) {
    return ch_sv(ch_buf_str(&in->text) + in->target, in->target_n);
}

static struct ch_sv inbound_text_at(const struct ch_inbound *in, uint32_t at, uint32_t n) {
    return ch_sv(in->text.p + at, n);
}

struct ch_sv ch_inbound_header(const struct ch_inbound *in, const char *name) {
    for (size_t i = 0; i < inbound_span_count(in); i++) {
        const struct span *s = &spans(in)[i];
        if (ch_sv_is(inbound_text_at(in, s->name, s->name_n), name))
            return ch_sv_trim(inbound_text_at(in, s->value, s->value_n));
    }
    return ch_sv(NULL, 0);
}

size_t ch_inbound_count(const struct ch_inbound *in, const char *name) {
    size_t n = 0;
    for (size_t i = 0; i < inbound_span_count(in); i++)
        n += ch_sv_is(inbound_text_at(in, spans(in)[i].name, spans(in)[i].name_n), name);
    return n;
}

bool ch_inbound_has_body(const struct ch_inbound *in) {
    struct ch_sv length = ch_inbound_header(in, "content-length");
    return in->open || ch_inbound_header(in, "transfer-encoding").p ||
           (length.n && !ch_sv_is(length, "0"));
}

bool ch_inbound_keeps_alive(const struct ch_inbound *in) {
    return http_should_keep_alive(&in->parser) && !in->parser.upgrade;
}

bool ch_inbound_is_old(const struct ch_inbound *in) {
    return in->parser.http_major < 1 || (in->parser.http_major == 1 && in->parser.http_minor < 1);
}
