/* request.c -- see request.h.
 *
 * Headers come from configuration, hooks and tools. A header that frames the
 * message (Content-Length, Transfer-Encoding, ...) or contains a line break
 * would let its author write a second request. All requests pass this file,
 * which refuses such headers. */
#include "net/request.h"

#include "base/error.h"
#include "base/mem.h"
#include "net/http1.h"

#define LENGTH_MOST 40 /* bytes of the header Content-Length and of the last line */

/* Headers about the connection or the framing: only this client sets them. */
static bool is_reserved(struct ch_sv name) {
    static const struct ch_sv reserved[] = {
        {"content-length", 14},
        {"transfer-encoding", 17},
        {"connection", 10},
        {"keep-alive", 10},
        {"upgrade", 7},
        {"expect", 6},
        {"te", 2},
        {"trailer", 7},
        {"proxy-authorization", 19},
        {"proxy-connection", 16},
    };
    for (size_t i = 0; i < CH_LEN(reserved); i++)
        if (ch_sv_eq_nocase(name, reserved[i]))
            return true;
    return false;
}

static int check_header(const struct ch_header *h, struct chela_error *err) {
    if (!ch_http1_is_token(h->name))
        return ch_fail(err, CHELA_EINVAL, "bad HTTP header name");
    if (!ch_http1_is_value(h->value))
        return ch_fail(err, CHELA_EINVAL, "HTTP header %.*s holds a control character",
                       CH_SV_FMT(h->name));
    if (is_reserved(h->name))
        return ch_fail(err, CHELA_EINVAL, "HTTP header %.*s is set by the client itself",
                       CH_SV_FMT(h->name));
    return CHELA_OK;
}

static uint64_t body_size(const struct ch_http_request *req) {
    uint64_t n = 0;
    for (size_t i = 0; i < req->nbody; i++)
        n += req->body[i].n;
    return n;
}

static bool net_request_has_body(struct ch_sv method) {
    return !ch_sv_is(method, "GET") && !ch_sv_is(method, "HEAD") && !ch_sv_is(method, "DELETE") &&
           !ch_sv_is(method, "OPTIONS");
}

static void net_request_add_header(struct ch_buf *out, struct ch_sv name, struct ch_sv value) {
    ch_buf_add_sv(out, name);
    CH_BUF_LIT(out, ": ");
    ch_buf_add_sv(out, value);
    CH_BUF_LIT(out, "\r\n");
}

static void add_length(struct ch_buf *out, uint64_t n) {
    CH_BUF_LIT(out, "Content-Length: ");
    ch_buf_add_uint(out, n);
    CH_BUF_LIT(out, "\r\n");
}

static void add_request_line(struct ch_buf *out, const char *method, const struct ch_url *url,
                             const struct ch_proxy *proxy) {
    ch_buf_add_str(out, method);
    ch_buf_addc(out, ' ');
    if (proxy) {
        CH_BUF_LIT(out, "http://");
        ch_url_add_authority(out, url);
    }
    ch_url_add_target(out, url);
    CH_BUF_LIT(out, " HTTP/1.1\r\n");
}

static bool net_request_is_given(const struct ch_http_request *req, size_t from,
                                 struct ch_sv name) {
    for (size_t i = from; i < req->nheaders; i++)
        if (ch_sv_eq_nocase(req->headers[i].name, name))
            return true;
    return false;
}

/* --- the head that was written last */

/* Remove the header from the beginning of *head. False: head begins differently. */
static bool skip_header(struct ch_sv *head, const struct ch_header *h) {
    size_t n = h->name.n + h->value.n + 4;
    if (head->n < n || !ch_sv_eq(ch_sv(head->p, h->name.n), h->name))
        return false;
    const char *value = head->p + h->name.n + 2;
    if (memcmp(value - 2, ": ", 2) != 0 || !ch_sv_eq(ch_sv(value, h->value.n), h->value) ||
        memcmp(value + h->value.n, "\r\n", 2) != 0)
        return false;
    *head = ch_sv(head->p + n, head->n - n);
    return true;
}

/* Number of headers at the beginning of req that are those of the memo. */
static size_t common_headers(const struct ch_request_memo *m, const struct ch_http_request *req) {
    size_t method = strlen(req->method), i = 0;
    if (m->head.n <= method || memcmp(m->head.p, req->method, method) != 0 ||
        m->head.p[method] != ' ' || !ch_sv_eq(ch_buf_sv(&m->url), ch_sv_str(req->url)))
        return 0;
    struct ch_sv rest = ch_sv(m->head.p + m->fields, m->head.n - m->fields);
    while (i < m->nheaders && i < req->nheaders && skip_header(&rest, &req->headers[i]))
        i++;
    return i;
}

/* True if a header from index `from` on replaces one that the client adds. */
static bool replaces_added(const struct ch_http_request *req, size_t from) {
    return net_request_is_given(req, from, CH_SV("host")) ||
           net_request_is_given(req, from, CH_SV("user-agent"));
}

size_t ch_request_known(const struct ch_request_memo *m, const struct ch_http_request *req) {
    size_t n = common_headers(m, req);
    return n == m->nheaders && !replaces_added(req, n) ? n : 0;
}

/* Headers behind the first one that differs from the last request are left out, because such a
 * header, for example of a trace, differs from every request to the next. Returns the number of
 * headers in the memo. */
static size_t write_memo(struct ch_request_memo *m, const struct ch_http_request *req,
                         const struct ch_url *url, const struct ch_proxy *proxy) {
    struct ch_buf *out = &m->head;
    size_t n = common_headers(m, req);
    if (n == 0 || replaces_added(req, n))
        n = req->nheaders;
    ch_buf_clear(&m->url);
    ch_buf_add_str(&m->url, req->url);
    m->proxy = proxy;
    ch_buf_clear(out);
    add_request_line(out, req->method, url, proxy);
    if (!net_request_is_given(req, 0, CH_SV("host"))) {
        CH_BUF_LIT(out, "Host: ");
        ch_url_add_authority(out, url);
        CH_BUF_LIT(out, "\r\n");
    }
    if (!net_request_is_given(req, 0, CH_SV("user-agent")))
        CH_BUF_LIT(out, "User-Agent: " CH_USER_AGENT "\r\n");
    if (proxy && proxy->auth)
        net_request_add_header(out, CH_SV("Proxy-Authorization"), ch_sv_str(proxy->auth));
    m->fields = out->n;
    for (size_t i = 0; i < n; i++)
        net_request_add_header(out, req->headers[i].name, req->headers[i].value);
    m->checked = NULL;
    return m->nheaders = n;
}

void ch_request_forget(struct ch_request_memo *m) {
    ch_buf_release(&m->url);
    ch_buf_release(&m->head);
}

/* --- requests */

int ch_request_check(struct ch_request_memo *m, const struct ch_http_request *req,
                     struct chela_error *err) {
    struct ch_sv method = ch_sv_str(req->method);
    size_t i = ch_request_known(m, req);

    m->checked = req;
    m->known = i;
    if (i == 0 && (!ch_http1_is_token(method) || ch_sv_is(method, "CONNECT")))
        return ch_fail(err, CHELA_EINVAL, "bad HTTP method");
    for (; i < req->nheaders; i++) {
        int rc = check_header(&req->headers[i], err);
        if (rc < 0)
            return rc;
    }
    return CHELA_OK;
}

void ch_request_head(struct ch_request_memo *m, struct ch_buf *out,
                     const struct ch_http_request *req, const struct ch_url *url,
                     const struct ch_proxy *proxy) {
    uint64_t n = body_size(req);
    size_t i = m->proxy != proxy ? 0 : m->checked == req ? m->known : ch_request_known(m, req);
    if (i == 0)
        i = write_memo(m, req, url, proxy);
    ch_buf_reserve(out, m->head.n + LENGTH_MOST);
    ch_buf_add_sv(out, ch_buf_sv(&m->head));
    for (; i < req->nheaders; i++)
        net_request_add_header(out, req->headers[i].name, req->headers[i].value);
    if (n || net_request_has_body(ch_sv_str(req->method)))
        add_length(out, n);
    CH_BUF_LIT(out, "\r\n");
}
