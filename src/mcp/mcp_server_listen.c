/* mcp_server_listen.c -- see mcp_server.h: a listener without a gateway.
 *
 * A web page can make a browser send requests to this machine. The name of the host must be
 * localhost, an IP address or a configured name, because an attacker's DNS server can make any
 * other name point here. An origin must be this address or a configured one: any program of any
 * user can serve pages of this machine. The token decides about the rest. */
#include "mcp/mcp_server_listen.h"

#include "base/error.h"
#include "base/log.h"
#include "io/loop_entry.h"
#include "mcp/mcp_server_http.h"
#include "net/server.h"
#include "net/url.h"

#define PATH "/mcp"

static bool is_listed(const char *const *list, struct ch_sv text) {
    for (; *list; list++)
        if (ch_sv_eq_nocase(ch_sv_str(*list), text))
            return true;
    return false;
}

static bool is_known_host(const chela_mcp_server *s, struct ch_sv host) {
    struct ch_url url;

    if (ch_url_parse_host(host, false, &url) < 0)
        return false;
    return url.kind != CH_HOST_NAME || ch_sv_eq_nocase(url.host, CH_SV("localhost")) ||
           is_listed(s->hosts, url.host);
}

/* A page of this very address is ours, and another port of the machine is not. */
static bool is_known_origin(const chela_mcp_server *s, struct ch_sv origin, struct ch_sv host) {
    struct ch_sv scheme = CH_SV("http://");

    return is_listed(s->origins, origin) ||
           (ch_sv_starts(origin, scheme.p) &&
            ch_sv_eq_nocase(ch_sv(origin.p + scheme.n, origin.n - scheme.n), host));
}

static bool has_token(const chela_mcp_server *s, const struct ch_inbound *in) {
    struct ch_sv shown = ch_inbound_header(in, "authorization");
    unsigned char its[CH_SHA256_SIZE];

    if (!s->has_token)
        return true;
    if (ch_inbound_count(in, "authorization") != 1 || shown.n < 7 ||
        !ch_sv_eq_nocase(ch_sv(shown.p, 7), CH_SV("bearer ")))
        return false;
    ch_sha256_of(ch_sv_trim(ch_sv(shown.p + 7, shown.n - 7)), its);
    return ch_sha256_equal(its, s->token);
}

/* --- the answer of an exchange */

static void listen_on_gone(struct ch_exchange *x, void *user) {
    (void)x;
    ch_mcp_http_gone(user);
}

static void listen_attach(void *x, struct ch_mcp_stream *stream) {
    ch_exchange_attach(x, listen_on_gone, stream);
}

static void listen_header(void *x, const char *name, const char *value) {
    ch_exchange_header(x, name, value);
}

static void listen_respond(void *x, int status, const char *type, struct ch_sv body) {
    ch_exchange_respond(x, status, type, body);
}

static void listen_stream(void *x) {
    ch_exchange_header(x, "Cache-Control", "no-cache");
    ch_exchange_header(x, "X-Accel-Buffering", "no");
    ch_exchange_stream(x, 200, "text/event-stream");
}

static int listen_write(void *x, struct ch_sv bytes) {
    return ch_exchange_write(x, bytes);
}

static void listen_end(void *x) {
    ch_exchange_end(x);
}

static const struct ch_mcp_http_ops listen_ops = {
    .attach = listen_attach,
    .header = listen_header,
    .respond = listen_respond,
    .stream = listen_stream,
    .write = listen_write,
    .end = listen_end,
};

/* --- requests */

static struct ch_sv path_of(const struct ch_inbound *in) {
    struct ch_sv target = ch_inbound_target(in);
    const char *query = target.n ? memchr(target.p, '?', target.n) : NULL;

    return query ? ch_sv(target.p, (size_t)(query - target.p)) : target;
}

static void listen_refuse(struct ch_exchange *x) {
    ch_exchange_header(x, "WWW-Authenticate", "Bearer");
    ch_exchange_respond(x, 401, "text/plain", CH_SV("the token is missing or wrong\n"));
}

static void listen_on_head(struct ch_exchange *x, void *user) {
    const chela_mcp_server *s = user;
    const struct ch_inbound *in = ch_exchange_inbound(x);
    struct ch_sv host = ch_inbound_header(in, "host"), origin = ch_inbound_header(in, "origin");

    if (!host.n || !is_known_host(s, host))
        ch_exchange_respond(x, 403, "text/plain", CH_SV("unknown host name\n"));
    else if (origin.p && !is_known_origin(s, origin, host))
        ch_exchange_respond(x, 403, "text/plain", CH_SV("origin not allowed\n"));
    else if (!has_token(s, in))
        listen_refuse(x);
    else if (!ch_sv_is(path_of(in), PATH))
        ch_exchange_respond(x, 404, "text/plain", CH_SV("not found\n"));
}

static void listen_on_request(struct ch_exchange *x, void *user) {
    struct ch_mcp_http_request q = {
        .ops = &listen_ops, .x = x, .in = ch_exchange_inbound(x), .principal = ""};

    ch_mcp_http_serve(user, &q);
}

int chela_mcp_server_listen(chela_mcp_server *s, const char *address, struct chela_error *err) {
    CH_ENTER(s, s->rt->loop, err);
    struct ch_server_opts opts = {.listen = address,
                                  .module_path = s->rt->module_path,
                                  .head = listen_on_head,
                                  .request = listen_on_request,
                                  .user = s};
    CH_LOG_SCOPE(s->rt->sink);

    if (s->http)
        return ch_fail(err, CHELA_ESTATE, "the server listens at %s already",
                       ch_server_address(s->http));
    if (!address)
        return ch_fail(err, CHELA_EINVAL, "there is no address");
    return ch_server_new(s->rt->loop, &opts, &s->http, err);
}

const char *chela_mcp_server_address(const chela_mcp_server *s) {
    CH_ENTER_OR(s, s->rt->loop, NULL, NULL);
    return s->http ? ch_server_address(s->http) : NULL;
}

void ch_mcp_listen_close(chela_mcp_server *s) {
    if (s->http)
        ch_server_close(CH_TAKE(s->http));
}
