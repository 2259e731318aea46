/* fetch.c -- see fetch.h.
 *
 *       start -> check -> ask -> head --redirect--> check -> ask ...
 *                                  \--2xx, accepted type--> body -> done
 *                                   \--else-----------------------> done with an error
 *
 * Every fetch ends in fetch_finish(), exactly once. */
#include "tool/builtin/web/fetch.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "egress/egress.h"
#include "egress/secret_refs.h"
#include "net/address.h"
#include "net/join.h"

/* --- rules ------------------------------------------------------------------------- */

static bool fetch_ends_with(struct ch_sv s, struct ch_sv tail) {
    return s.n >= tail.n && ch_sv_eq_nocase(ch_sv(s.p + s.n - tail.n, tail.n), tail);
}

static bool fetch_name_matches(struct ch_sv pattern, struct ch_sv host) {
    if (ch_sv_is(pattern, "*"))
        return true;
    if (pattern.n > 1 && pattern.p[pattern.n - 1] == '.')
        pattern.n--; /* the root's dot, which the host of a URL does not have either */
    if (ch_sv_starts(pattern, "*."))
        return host.n > pattern.n - 1 && fetch_ends_with(host, ch_sv(pattern.p + 1, pattern.n - 1));
    if (ch_sv_starts(pattern, "."))
        return fetch_ends_with(host, pattern) ||
               ch_sv_eq_nocase(host, ch_sv(pattern.p + 1, pattern.n - 1));
    return ch_sv_eq_nocase(pattern, host) || ch_address_same(pattern, host);
}

/* 2001:db8::1 without brackets has no port. */
static bool is_ipv6(struct ch_sv pattern) {
    unsigned char ip[16];

    return ch_ip_parse(pattern, ip) == sizeof(ip);
}

enum match { MATCH_NONE, MATCH_HOST, MATCH_PORT /* MATCH_PORT: the pattern names the port too */ };

static enum match fetch_match(struct ch_sv pattern, const struct ch_url *u) {
    struct ch_sv host = pattern, port = ch_sv(NULL, 0);
    const char *close = memchr(pattern.p, ']', pattern.n);
    const char *colon = memrchr(pattern.p, ':', pattern.n);

    if (colon && (!close || colon > close) && !is_ipv6(pattern)) {
        host = ch_sv(pattern.p, (size_t)(colon - pattern.p));
        port = ch_sv(colon + 1, pattern.n - host.n - 1);
    }
    if (close && host.n > 2 && host.p[0] == '[')
        host = ch_sv(host.p + 1, host.n - 2);
    if (!fetch_name_matches(host, u->host))
        return MATCH_NONE;
    if (!port.p)
        return MATCH_HOST;
    CH_AUTOFREE char *digits = ch_strndup(port.p, port.n);
    return ch_sv_is(port, "*") || strtoul(digits, NULL, 10) == u->port ? MATCH_PORT : MATCH_NONE;
}

/* The most specific match of all patterns. */
static enum match match_any(const char *patterns, const struct ch_url *u) {
    struct ch_sv rest = ch_sv_str(patterns);
    enum match best = MATCH_NONE;

    while (rest.n) {
        struct ch_sv pattern = ch_sv_trim(ch_sv_split(&rest, ','));
        enum match m = pattern.n ? fetch_match(pattern, u) : MATCH_NONE;
        best = CH_MAX(best, m);
    }
    return best;
}

bool ch_fetch_is_listed(const char *patterns, const struct ch_url *url) {
    return patterns && match_any(patterns, url) != MATCH_NONE;
}

static bool is_web_port(uint16_t port) {
    return port == 80 || port == 443 || port == 8080 || port == 8443;
}

/* With the lists of egress, a port that none of them names is asked about, unless the list of hosts
 * to fetch from has allowed the host already. */
static bool judges_ports(const struct ch_fetch_rules *rules, const struct ch_url *url) {
    return rules->egress &&
           (!rules->allow || ch_egress_judge(rules->egress, url).verdict == CH_EGRESS_ALLOW);
}

int ch_fetch_check(struct ch_sv text, const struct ch_fetch_rules *rules, struct ch_url *out,
                   struct chela_error *err) {
    struct ch_url url;
    int rc = ch_url_parse(text, &url, err);

    if (rc < 0)
        return rc;
    if (url.userinfo.p)
        return ch_fail(err, CHELA_EPERM, "a URL with a user name or password is not fetched");
    enum match allowed = rules->allow ? match_any(rules->allow, &url) : MATCH_HOST;
    if (allowed == MATCH_NONE)
        return ch_fail(err, CHELA_EPERM, "%.*s is not among the hosts that may be fetched from",
                       CH_SV_FMT(url.host));
    if (match_any(rules->deny, &url) != MATCH_NONE)
        return ch_fail(err, CHELA_EPERM, "%.*s is a host that must not be fetched from",
                       CH_SV_FMT(url.host));
    if (allowed != MATCH_PORT && !is_web_port(url.port) && !judges_ports(rules, &url))
        return ch_fail(err, CHELA_EPERM,
                       "port %u is not one of 80, 443, 8080 and 8443, and neither "
                       "webFetch.allowHosts nor egress.allow names it",
                       url.port);
    if (out)
        *out = url;
    return 0;
}

/* A denied address is denied under every name. */
static bool is_denied(const struct ch_fetch *f, const struct sockaddr *to) {
    const struct sockaddr_in *v4 = (const void *)to;
    const struct sockaddr_in6 *v6 = (const void *)to;
    bool six = to->sa_family == AF_INET6;
    char text[INET6_ADDRSTRLEN] = "";

    inet_ntop(to->sa_family, six ? (const void *)&v6->sin6_addr : &v4->sin_addr, text,
              sizeof(text));
    struct ch_url url = {.host = ch_sv_str(text),
                         .port = ntohs(six ? v6->sin6_port : v4->sin_port)};
    return match_any(f->opts.rules.deny, &url) != MATCH_NONE;
}

static const char *refuse_address(const struct sockaddr *to, void *user) {
    const struct ch_fetch *f = user;

    if (is_denied(f, to))
        return "denied";
    if (f->opts.rules.refuses) {
        struct ch_url url;
        if (ch_url_parse(ch_buf_sv(&f->url), &url, NULL) < 0)
            return "unknown";
        return f->opts.rules.refuses(&url, to, f->opts.rules.user);
    }
    if (f->opts.rules.allow_private)
        return NULL;
    const char *kind = ch_address_kind(to);
    if (!kind && ch_address_is_own(to))
        kind = "this machine's own";
    return kind;
}

const char *ch_fetch_error_type(const struct chela_error *err, int status) {
    switch (status) {
    case 404:
    case 410:
        return "not_found";
    case 401:
    case 403:
    case 407:
    case 451:
        return "permission_denied";
    case 429:
        return "rate_limited";
    }
    if (status >= 500)
        return "unavailable";
    switch (err->code) {
    case CHELA_EPERM:
        return "permission_denied";
    case CHELA_ETIMEOUT:
        return "timeout";
    case CHELA_ENET:
        return "network";
    case CHELA_EMODULE:
        return "internal";
    }
    return "invalid_arguments"; /* the URL leads to nothing useful */
}

/* --- the end ------------------------------------------------------------------------ */

static void fetch_release(struct ch_fetch *f) {
    if (f->call)
        ch_transport_cancel(f->opts.transport, f->call);
    ch_task_cancel(f->opts.loop, &f->failing);
    ch_buf_release(&f->url);
    ch_buf_release(&f->type);
    ch_buf_release(&f->body);
    ch_arena_release(&f->arena);
    ch_free(f);
}

static void fetch_finish(struct ch_fetch *f, const struct chela_error *err) {
    if (f->call)
        ch_transport_cancel(f->opts.transport, CH_TAKE(f->call));
    f->done(f, err, f->user);
    fetch_release(f);
}

static void fetch_fail_now(struct ch_task *task) {
    struct ch_fetch *f = CH_CONTAINER(task, struct ch_fetch, failing);
    fetch_finish(f, &f->failure);
}

void ch_fetch_cancel(struct ch_fetch *f) {
    if (f)
        fetch_release(f);
}

/* --- one request ---------------------------------------------------------------------- */

static void fetch_ask(struct ch_fetch *f);

/* The host that was agreed to may send the request around on itself. */
static bool may_follow(const struct ch_fetch *f, const struct ch_url *before,
                       const struct ch_url *url, struct ch_sv text) {
    const struct ch_fetch_rules *r = &f->opts.rules;
    bool same = ch_url_same_host(before, url) &&
                (before->port == url->port || (!before->tls && url->tls && url->port == 443));

    return !r->may_follow || same || r->may_follow(url, text, r->user);
}

static int refuse_redirect(const struct ch_url *url, struct chela_error *err) {
    CH_BUF_AUTO host = {0};

    ch_url_add_authority(&host, url);
    return ch_fail(err, CHELA_EPERM,
                   "%s is a destination of its own, which nobody has allowed: a fetch of that "
                   "address asks for it",
                   ch_buf_str(&host));
}

static void fetch_follow(struct ch_fetch *f, struct ch_sv location) {
    struct chela_error err = {0};
    CH_BUF_AUTO next = {0};
    struct ch_url url, before;
    int rc = ch_url_parse(ch_buf_sv(&f->url), &before, &err);

    ch_transport_cancel(f->opts.transport, CH_TAKE(f->call));
    ch_url_join(&next, ch_buf_sv(&f->url), location);
    if (rc == 0 && ++f->redirects > CH_LIMIT_WEB_REDIRECTS)
        rc = ch_fail(&err, CHELA_ELIMIT, "more than %d redirects", CH_LIMIT_WEB_REDIRECTS);
    if (rc == 0)
        rc = ch_fetch_check(ch_buf_sv(&next), &f->opts.rules, &url, &err);
    if (rc == 0 && !may_follow(f, &before, &url, ch_buf_sv(&next)))
        rc = refuse_redirect(&url, &err);
    if (rc == 0 && before.tls && !url.tls)
        rc = ch_fail(&err, CHELA_EPERM, "redirected from https to http, which is not followed");
    if (rc < 0) {
        ch_fail(&err, rc, "redirected: %s", err.message);
        fetch_finish(f, &err);
        return;
    }
    ch_buf_clear(&f->url);
    ch_buf_add_sv(&f->url, ch_buf_sv(&next));
    fetch_ask(f);
}

static bool fetch_is_wanted(const char *const *types, struct ch_sv type) {
    if (type.n == 0)
        return true; /* no type given: accept, the content will show */
    for (; *types; types++) {
        struct ch_sv want = ch_sv_str(*types);
        if (want.p[0] == '+' ? fetch_ends_with(type, want)
            : want.p[want.n - 1] == '/'
                ? type.n >= want.n && ch_sv_eq_nocase(ch_sv(type.p, want.n), want)
                : ch_sv_eq_nocase(type, want))
            return true;
    }
    return false;
}

static bool is_redirect(int status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

static void note_retry_after(struct ch_fetch *f, struct ch_sv value) {
    CH_AUTOFREE char *text = ch_strndup(value.p, value.n);
    char *end;
    long seconds = strtol(text, &end, 10);

    if (value.n && !*end && seconds > 0 && seconds < 86400)
        f->retry_after_ms = seconds * 1000;
}

static int judge_head(struct ch_fetch *f, const struct ch_http_head *head,
                      struct chela_error *err) {
    struct ch_sv type = ch_header_find(head->headers, head->nheaders, "content-type");
    struct ch_sv coding = ch_header_find(head->headers, head->nheaders, "content-encoding");
    struct ch_sv rest = type, plain = ch_sv_trim(ch_sv_split(&rest, ';'));

    ch_buf_add_sv(&f->type, type);
    note_retry_after(f, ch_header_find(head->headers, head->nheaders, "retry-after"));
    if (head->status / 100 != 2) {
        err->http_status = head->status;
        return ch_fail(err, CHELA_EPROTO, "the server answered with status %d", head->status);
    }
    if (!fetch_is_wanted(f->opts.types, plain))
        return ch_fail(err, CHELA_EINVAL, "content of type %.*s cannot be shown as text",
                       CH_SV_FMT(plain));
    if (coding.n && !ch_sv_eq_nocase(coding, CH_SV("identity")))
        return ch_fail(err, CHELA_EPROTO, "the server sent compressed data although asked not to");
    return 0;
}

static void fetch_on_head(const struct ch_http_head *head, void *user) {
    struct ch_fetch *f = user;
    struct chela_error err = {0};
    struct ch_sv location = ch_header_find(head->headers, head->nheaders, "location");

    f->status = head->status;
    if (is_redirect(head->status) && location.n)
        fetch_follow(f, location);
    else if (judge_head(f, head, &err) < 0)
        fetch_finish(f, &err);
}

static void fetch_on_data(struct ch_sv data, void *user) {
    struct ch_fetch *f = user;
    size_t room = f->opts.max_bytes - CH_MIN(f->body.n, f->opts.max_bytes);

    f->cut = data.n > room;
    ch_buf_add(&f->body, data.p, CH_MIN(data.n, room));
    if (f->cut)
        fetch_finish(f, NULL);
}

static void fetch_on_done(const struct chela_error *err, void *user) {
    struct ch_fetch *f = user;

    f->call = NULL;
    fetch_finish(f, err);
}

/* Each destination of a chain of redirects gets the secrets that it owns. */
static void add_secrets(struct ch_fetch *f) {
    const char *lines[CH_FETCH_SECRETS];
    struct ch_url to;

    ch_arena_clear(&f->arena);
    f->req.nheaders = 2;
    if (ch_url_parse(ch_buf_sv(&f->url), &to, NULL) < 0)
        return;
    size_t n = ch_secret_refs_headers(f->opts.rules.secrets, &to, &f->arena, lines, CH_LEN(lines));
    for (size_t i = 0; i < n; i++) {
        struct ch_sv value = ch_sv_str(lines[i]), name = ch_sv_split(&value, ':');
        f->headers[f->req.nheaders++] = (struct ch_header){name, ch_sv_trim(value)};
    }
    f->authorised |= n > 0;
}

static void fetch_ask(struct ch_fetch *f) {
    static const struct ch_http_handler handler = {fetch_on_head, fetch_on_data, fetch_on_done};
    int64_t left = CH_MAX(f->due - ch_mono_ms(ch_loop_clock(f->opts.loop)), 1);

    ch_buf_clear(&f->type);
    add_secrets(f);
    f->req.url = ch_buf_str(&f->url);
    f->req.timeouts = (struct ch_http_timeouts){.first_byte = left, .idle = left, .total = left};
    f->call = ch_transport_start(f->opts.transport, &f->req, &handler, f);
}

struct ch_fetch *ch_fetch_start(struct ch_sv url, const struct ch_fetch_opts *opts,
                                void (*done)(struct ch_fetch *f, const struct chela_error *err,
                                             void *user),
                                void *user) {
    struct ch_fetch *f = ch_alloc(sizeof(*f));

    f->opts = *opts;
    f->done = done;
    f->user = user;
    f->due = ch_mono_ms(ch_loop_clock(opts->loop)) + opts->timeout_ms;
    f->filter = (struct ch_address_filter){refuse_address, f};
    f->headers[0] = (struct ch_header){CH_SV("Accept"), ch_sv_str(opts->accept)};
    f->headers[1] = (struct ch_header){CH_SV("Accept-Encoding"), CH_SV("identity")};
    f->req = (struct ch_http_request){
        .method = "GET", .headers = f->headers, .nheaders = 2, .filter = &f->filter};
    ch_url_join(&f->url, CH_SV(""), url);
    if (ch_fetch_check(ch_buf_sv(&f->url), &opts->rules, NULL, &f->failure) < 0) {
        f->failing.fn = fetch_fail_now;
        ch_task_defer(opts->loop, &f->failing);
    } else {
        fetch_ask(f);
    }
    return f;
}
