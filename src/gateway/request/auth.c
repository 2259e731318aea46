/* auth.c -- see auth.h.
 *
 * A web page can make a browser send requests to this machine. Three checks protect
 * against that. The token is required on loopback, too. The Host header must be one of the
 * configured names, because an attacker's DNS server can make any other name point here.
 * The Origin header, if present, must be that of the console or of a configured page. The
 * token is accepted in headers only: URLs end up in logs.
 *
 * Tokens are compared by their digests, in constant time. */
#include "gateway/request/auth.h"

#include <arpa/inet.h>

#include "base/error.h"
#include "base/log.h"
#include "base/redact.h"
#include "net/ws_peer.h"

#define TOKEN_LEAST 16

int ch_auth_init(struct ch_auth *g, const struct chela_gateway_opts *o, struct chela_error *err) {
    if (!o->token || !*o->token)
        return ch_fail(err, CHELA_ECONFIG, "the gateway needs a token");
    if (strlen(o->token) < TOKEN_LEAST)
        return ch_fail(err, CHELA_ECONFIG, "the gateway's token is too short: at least %d bytes",
                       TOKEN_LEAST);
    ch_redact_add(o->token);
    ch_sha256_of(ch_sv_str(o->token), g->token);
    g->hosts = ch_strings_dup(o->hosts);
    g->origins = ch_strings_dup(o->origins);
    return 0;
}

void ch_auth_release(struct ch_auth *g) {
    ch_strings_free(g->hosts);
    ch_strings_free(g->origins);
}

/* Removes the port from "name:port" and "[::1]:port". */
static struct ch_sv without_port(struct ch_sv host) {
    if (host.n && host.p[0] == '[') {
        const char *end = memchr(host.p, ']', host.n);
        return end ? ch_sv(host.p, (size_t)(end - host.p) + 1) : host;
    }
    const char *colon = memchr(host.p, ':', host.n);
    return colon ? ch_sv(host.p, (size_t)(colon - host.p)) : host;
}

/* An IP address involves no DNS, so it cannot be made to point elsewhere. */
static bool auth_is_address(struct ch_sv host) {
    char text[INET6_ADDRSTRLEN + 2];
    unsigned char ip[16];
    bool six = host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']';
    struct ch_sv bare = six ? ch_sv(host.p + 1, host.n - 2) : host;
    if (bare.n >= sizeof(text))
        return false;
    memcpy(text, bare.p, bare.n);
    text[bare.n] = '\0';
    return inet_pton(six ? AF_INET6 : AF_INET, text, ip) == 1;
}

static bool auth_is_listed(char *const *list, struct ch_sv word) {
    for (size_t i = 0; list[i]; i++)
        if (ch_sv_eq_nocase(ch_sv_str(list[i]), word))
            return true;
    return false;
}

static bool auth_is_known_host(const struct ch_auth *g, struct ch_sv host) {
    struct ch_sv name = without_port(host);
    return ch_sv_eq_nocase(name, CH_SV("localhost")) || auth_is_address(name) ||
           auth_is_listed(g->hosts, name);
}

/* Does the request come from a page of this gateway? */
static bool is_same_origin(struct ch_sv origin, struct ch_sv host) {
    struct ch_sv rest = origin;
    if (ch_sv_starts(rest, "http://"))
        rest = ch_sv(rest.p + 7, rest.n - 7);
    else if (ch_sv_starts(rest, "https://"))
        rest = ch_sv(rest.p + 8, rest.n - 8);
    else
        return false;
    return ch_sv_eq_nocase(rest, host);
}

const char *ch_auth_allowed_origin(const struct ch_auth *g, const struct ch_inbound *in) {
    struct ch_sv origin = ch_inbound_header(in, "origin");
    for (size_t i = 0; origin.p && g->origins[i]; i++)
        if (ch_sv_eq_nocase(ch_sv_str(g->origins[i]), origin))
            return g->origins[i];
    return NULL;
}

struct ch_auth_refusal ch_auth_check(const struct ch_auth *g, const struct ch_inbound *in) {
    struct ch_sv host = ch_inbound_header(in, "host");
    struct ch_sv origin = ch_inbound_header(in, "origin");
    if (!host.n)
        return (struct ch_auth_refusal){400, "the Host header is missing"};
    if (!auth_is_known_host(g, host))
        return (struct ch_auth_refusal){421, "unknown host name: see gateway.hosts"};
    if (origin.p && !is_same_origin(origin, host) && !ch_auth_allowed_origin(g, in))
        return (struct ch_auth_refusal){403, "origin not allowed: see gateway.origins"};
    return (struct ch_auth_refusal){0};
}

static bool auth_is_token(const struct ch_auth *g, struct ch_sv shown) {
    unsigned char its[CH_SHA256_SIZE];
    ch_sha256_of(shown, its);
    return ch_sha256_equal(its, g->token);
}

bool ch_auth_has_token(const struct ch_auth *g, const struct ch_inbound *in) {
    struct ch_sv shown = ch_inbound_header(in, "authorization");
    return ch_inbound_count(in, "authorization") == 1 && shown.n >= 7 &&
           ch_sv_eq_nocase(ch_sv(shown.p, 7), CH_SV("bearer ")) &&
           auth_is_token(g, ch_sv_trim(ch_sv(shown.p + 7, shown.n - 7)));
}

bool ch_auth_has_socket_token(const struct ch_auth *g, const struct ch_inbound *in) {
    struct ch_sv shown = ch_ws_peer_offer(in, "bearer.");
    return !ch_inbound_count(in, "authorization") && shown.p &&
           ch_ws_peer_offers(in, CH_SOCKET_PROTOCOL) && auth_is_token(g, shown);
}
