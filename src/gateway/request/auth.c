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

#include "base/error.h"
#include "guard/secrets.h"
#include "net/url.h"
#include "net/ws_peer.h"

#define TOKEN_LEAST 16

int ch_auth_init(struct ch_auth *g, const struct chela_gateway_opts *o, struct chela_error *err) {
    if (!o->token || !*o->token)
        return ch_fail(err, CHELA_ECONFIG, "the gateway needs a token");
    if (strlen(o->token) < TOKEN_LEAST)
        return ch_fail(err, CHELA_ECONFIG, "the gateway's token is too short: at least %d bytes",
                       TOKEN_LEAST);
    ch_secret_add(o->token, "the token of the gateway");
    ch_sha256_of(ch_sv_str(o->token), g->token);
    g->hosts = ch_strings_dup(o->hosts);
    g->origins = ch_strings_dup(o->origins);
    return 0;
}

void ch_auth_release(struct ch_auth *g) {
    ch_strings_free(g->hosts);
    ch_strings_free(g->origins);
}

/* An IP address involves no DNS, so it cannot be made to point elsewhere. */
static bool auth_is_known_host(const struct ch_auth *g, const struct ch_url *host) {
    struct ch_url known;
    if (host->kind != CH_HOST_NAME || ch_sv_eq_nocase(host->host, CH_SV("localhost")))
        return true;
    for (size_t i = 0; g->hosts[i]; i++)
        if (ch_url_parse_host(ch_sv_str(g->hosts[i]), false, &known) == 0 &&
            ch_url_same_host(host, &known))
            return true;
    return false;
}

static bool auth_read_origin(struct ch_sv text, struct ch_url *out) {
    return ch_url_parse(text, out, NULL) == 0 && !out->userinfo.p && !out->target.n;
}

/* Does the request come from a page of this gateway? */
static bool is_same_origin(struct ch_sv origin, struct ch_sv host) {
    struct ch_url page, here;
    return auth_read_origin(origin, &page) && ch_url_parse_host(host, page.tls, &here) == 0 &&
           ch_url_same_host(&page, &here) && page.port == here.port;
}

/* Origins that are no URLs, such as those of browser extensions, are compared as text. */
static bool auth_origins_match(struct ch_sv a, struct ch_sv b) {
    struct ch_url x, y;
    if (ch_sv_eq_nocase(a, b))
        return true;
    return auth_read_origin(a, &x) && auth_read_origin(b, &y) && x.tls == y.tls &&
           x.port == y.port && ch_url_same_host(&x, &y);
}

struct ch_sv ch_auth_allowed_origin(const struct ch_auth *g, const struct ch_inbound *in) {
    struct ch_sv origin = ch_inbound_header(in, "origin");
    for (size_t i = 0; origin.p && g->origins[i]; i++)
        if (auth_origins_match(ch_sv_str(g->origins[i]), origin))
            return origin;
    return ch_sv(NULL, 0);
}

struct ch_auth_refusal ch_auth_check(const struct ch_auth *g, const struct ch_inbound *in) {
    struct ch_sv host = ch_inbound_header(in, "host");
    struct ch_sv origin = ch_inbound_header(in, "origin");
    struct ch_url url;
    if (!host.n)
        return (struct ch_auth_refusal){400, "the Host header is missing"};
    if (ch_url_parse_host(host, false, &url) < 0)
        return (struct ch_auth_refusal){400, "the Host header is invalid"};
    if (!auth_is_known_host(g, &url))
        return (struct ch_auth_refusal){421, "unknown host name: see gateway.hosts"};
    if (origin.p && !is_same_origin(origin, host) && !ch_auth_allowed_origin(g, in).p)
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

bool ch_auth_has_api_key(const struct ch_auth *g, const struct ch_inbound *in) {
    return ch_inbound_count(in, "x-api-key") == 1 &&
           auth_is_token(g, ch_sv_trim(ch_inbound_header(in, "x-api-key")));
}

void ch_auth_shown(const struct ch_inbound *in, unsigned char out[CH_SHA256_SIZE]) {
    struct ch_sv bearer = ch_inbound_header(in, "authorization");
    struct ch_sv key = ch_inbound_header(in, "x-api-key");
    memset(out, 0, CH_SHA256_SIZE);
    if (bearer.n > 7)
        ch_sha256_of(ch_sv_trim(ch_sv(bearer.p + 7, bearer.n - 7)), out);
    else if (key.n)
        ch_sha256_of(ch_sv_trim(key), out);
}

bool ch_auth_shows_token(const struct ch_inbound *in) {
    return ch_inbound_header(in, "authorization").n || ch_inbound_header(in, "x-api-key").n ||
           ch_ws_peer_offer(in, "bearer.").n;
}

bool ch_auth_has_socket_token(const struct ch_auth *g, const struct ch_inbound *in) {
    struct ch_sv shown = ch_ws_peer_offer(in, "bearer.");
    return !ch_inbound_count(in, "authorization") && shown.p &&
           ch_ws_peer_offers(in, CH_SOCKET_PROTOCOL) && auth_is_token(g, shown);
}
