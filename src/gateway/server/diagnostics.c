/* diagnostics.c -- checks a running gateway from the outside, as its clients see it: is it
 * reachable, does it accept the token, what does it report about itself. Blocking. The
 * findings have the form of chela_runtime_survey. */
#include <time.h>

#include "agent/api/diagnostics.h"
#include "agent/handle/agent.h"
#include "agent/handle/session.h"
#include "io/loop_entry.h"
#include "model/provider/server_query.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/opts.h"
#include "channel/channel.h"
#include "channel/channels.h"
#include "chela/gateway.h"
#include "json/json.h"
#include "json/writer.h"
#include "net/url.h"

struct gateway_diagnostics {
    chela_runtime *rt;
    const char *url, *token; /* token may be NULL */
    struct ch_jw w;
};

static void diagnostics_row(struct gateway_diagnostics *s, const char *name, const char *status,
                            const char *detail, const char *mend) {
    ch_diagnostics_row(&s->w, "gateway", name, status, detail, mend);
}

static int diagnostics_get(struct gateway_diagnostics *s, const char *path, struct ch_buf *body,
                           struct chela_error *err) {
    CH_BUF_AUTO url = {0}, bearer = {0};
    struct ch_sv base = ch_sv_str(s->url);
    while (base.n && base.p[base.n - 1] == '/')
        base.n--;
    ch_buf_addf(&url, "%.*s%s", CH_SV_FMT(base), path);
    ch_buf_addf(&bearer, "Bearer %s", s->token ? s->token : "");
    struct ch_header header = {CH_SV("authorization"), ch_buf_sv(&bearer)};
    struct ch_http_request req = {.method = "GET",
                                  .url = ch_buf_str(&url),
                                  .headers = &header,
                                  .nheaders = s->token != NULL,
                                  .timeouts = {CH_SERVER_QUERY_MS, CH_SERVER_QUERY_MS,
                                               CH_SERVER_QUERY_MS, CH_SERVER_QUERY_MS}};
    return ch_server_query(&s->rt->providers, &req, body, err);
}

static bool check_reach(struct gateway_diagnostics *s) {
    CH_BUF_AUTO body = {0};
    struct chela_error err = {0};
    if (diagnostics_get(s, "/healthz", &body, &err) == 0) {
        diagnostics_row(s, "reach", "ok", s->url, NULL);
        return true;
    }
    diagnostics_row(s, "reach", "fail", err.message,
                    "check that it is running, and its address: gateway.listen");
    return false;
}

/* Plain HTTP over a network exposes the token. */
static void check_tls(struct gateway_diagnostics *s) {
    struct ch_url url;
    struct chela_error err;
    if (ch_url_parse(ch_sv_str(s->url), &url, &err) < 0)
        return;
    bool near = ch_sv_is(url.host, "localhost") || ch_sv_starts(url.host, "127.") ||
                ch_sv_is(url.host, "::1");
    if (!url.tls && !near)
        diagnostics_row(s, "tls", "warn", "the token crosses the network unencrypted",
                        "configure a certificate (gateway.tls), or a proxy with one");
}

static void check_agents(struct gateway_diagnostics *s) {
    CH_BUF_AUTO body = {0}, names = {0};
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    struct chela_error err = {0};
    if (!s->token) {
        diagnostics_row(s, "token", "warn", "no token given: only the open routes were checked",
                        "set CHELA_TOKEN to the gateway's token");
        return;
    }
    if (diagnostics_get(s, "/v1/models", &body, &err) < 0) {
        diagnostics_row(s, "token", "fail", err.message,
                        err.code == CHELA_EAUTH ? "CHELA_TOKEN is not the gateway's" : NULL);
        return;
    }
    if (ch_json_parse(&arena, ch_buf_sv(&body), CH_JSON_REPLACE, &v, NULL, NULL) == 0)
        for (CH_JSON_EACH(m, ch_json_get(v, "data")))
            ch_buf_addf(&names, "%s%.*s", names.n ? ", " : "",
                        CH_SV_FMT(ch_json_get_str(m, "id")));
    diagnostics_row(s, "token", "ok", "accepted", NULL);
    diagnostics_row(s, "agents", names.n ? "ok" : "fail",
                    names.n ? ch_buf_str(&names) : "this is not a gateway", NULL);
}

/* Of a channel: the time of its last event, and its last error. */
static void add_last_event(struct ch_buf *out, const struct ch_json *check) {
    time_t s = (time_t)(ch_json_int(ch_json_get(check, "last_event"), 0) / 1000);
    struct ch_sv error = ch_json_get_str(check, "last_error");
    char when[32];
    struct tm tm;
    if (s && gmtime_r(&s, &tm) && strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm))
        ch_buf_addf(out, "; last event %s", when);
    if (error.n)
        ch_buf_addf(out, "; last error: %.*s", CH_SV_FMT(error));
}

static void add_check(struct gateway_diagnostics *s, const struct ch_json *check) {
    CH_BUF_AUTO name = {0}, detail = {0};
    struct ch_sv why = ch_json_get_str(check, "detail");
    bool well = ch_sv_is(ch_json_get_str(check, "status"), "ok");
    ch_buf_add_sv(&name, ch_json_get_str(check, "name"));
    if (well)
        why = CH_SV("no problem found");
    ch_buf_add_sv(&detail, why.n ? why : CH_SV("failing"));
    add_last_event(&detail, check);
    bool vital = ch_sv_is(ch_buf_sv(&name), "store");
    diagnostics_row(s, ch_buf_str(&name),
                    well    ? "ok"
                    : vital ? "fail"
                            : "warn",
                    ch_buf_str(&detail), NULL);
}

/* Also reads a response with status 503, because it lists the failures. */
static void check_readiness(struct gateway_diagnostics *s) {
    CH_BUF_AUTO body = {0};
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    struct chela_error err = {0};
    int rc = diagnostics_get(s, "/readyz", &body, &err);
    bool read = ch_json_parse(&arena, ch_buf_sv(&body), CH_JSON_REPLACE, &v, NULL, NULL) == 0;
    if (!read || (rc < 0 && !ch_json_get(v, "checks"))) {
        bool stopping = read && ch_sv_is(ch_json_get_str(v, "status"), "stopping");
        diagnostics_row(s, "ready", "fail",
                        stopping ? "the gateway is stopping"
                        : rc < 0 ? err.message
                                 : "no response",
                        NULL);
        return;
    }
    diagnostics_row(s, "ready", rc < 0 ? "fail" : "ok", rc < 0 ? "not ready" : "ready", NULL);
    for (CH_JSON_EACH(c, ch_json_get(v, "checks")))
        add_check(s, c);
}

char *chela_gateway_survey(chela_runtime *rt, const char *url, const char *token) {
    CH_ENTER_OR(rt, rt->loop, NULL, NULL);
    struct ch_buf out = {0};
    struct gateway_diagnostics s = {.rt = rt, .url = url, .token = token && *token ? token : NULL};
    s.w = ch_jw(&out);
    ch_jw_begin(&s.w, '[');
    if (check_reach(&s)) {
        check_tls(&s);
        check_agents(&s);
        check_readiness(&s);
    }
    ch_jw_end(&s.w, ']');
    return ch_buf_take(&out);
}

struct channel_diagnostics {
    chela_runtime *rt;
    struct ch_jw *w;
    const char *name;
};

static void channel_row(const char *status, const char *detail, const char *mend, void *user) {
    struct channel_diagnostics *d = user;
    struct ch_jw *w = d->w;
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "area", "channel");
    ch_jw_kcstr(w, "name", d->name);
    ch_jw_kcstr(w, "status", status);
    ch_jw_kcstr(w, "detail", detail);
    if (mend)
        ch_jw_kcstr(w, "mend", mend);
    ch_jw_end(w, '}');
}

static struct chela_text no_header(const struct chela_channel_response *r, const char *name) {
    (void)r;
    (void)name;
    return (struct chela_text){NULL, 0};
}

/* `http` of a survey: waits. */
static void channel_query(const struct chela_channel_request *r, chela_channel_response_fn *done,
                          void *tag, void *user) {
    struct channel_diagnostics *d = user;
    CH_BUF_AUTO body = {0};
    struct chela_error err = {0};
    struct ch_header headers[16];
    struct ch_sv sent = ch_sv(r->body, r->n);
    size_t n = 0;
    for (size_t i = 0; r->headers && r->headers[i] && n < CH_LEN(headers); i += 2)
        headers[n++] = (struct ch_header){ch_sv_str(r->headers[i]), ch_sv_str(r->headers[i + 1])};
    struct ch_http_request req = {.method = r->method,
                                  .url = r->url,
                                  .headers = headers,
                                  .nheaders = n,
                                  .body = &sent,
                                  .nbody = sent.n > 0,
                                  .timeouts = {CH_SERVER_QUERY_MS, CH_SERVER_QUERY_MS,
                                               CH_SERVER_QUERY_MS, CH_SERVER_QUERY_MS}};
    int rc = ch_server_query(&d->rt->providers, &req, &body, &err);
    struct chela_channel_response answer = {.status = rc < 0 ? err.http_status : 200,
                                            .why = rc < 0 && !err.http_status ? err.message : NULL,
                                            .body = ch_text(ch_buf_sv(&body)),
                                            .header = no_header};
    done(&answer, tag);
}

char *chela_channel_survey(chela_runtime *rt, const struct chela_channel_opts *given,
                           struct chela_error *err) {
    CH_ENTER_OR(rt, rt->loop, err, NULL);
    struct ch_buf out = {0};
    struct ch_jw w = ch_jw(&out);
    struct chela_channel_opts o;
    if (CH_OPTS_NEED(chela_channel_opts, &o, given, err) < 0)
        return NULL;
    const struct chela_channel_ops *ops = NULL;
    if (o.name && ch_channel_find(o.name, rt->module_path, &ops, NULL) < 0)
        ops = NULL;
    ch_channel_redact(ops, &o);
    ch_jw_begin(&w, '[');
    struct channel_diagnostics d = {.rt = rt, .w = &w, .name = o.name};
    struct chela_channel_survey s = {channel_row, channel_query, &d};
    if (ops && ops->survey && o.secret)
        ops->survey(rt, &o, &s);
    ch_jw_end(&w, ']');
    return ch_buf_take(&out);
}

static void describe_add(struct ch_jw *w, const char *key, const char *text) {
    if (text)
        ch_jw_kcstr(w, key, text);
}

static void describe_option(struct ch_jw *w, const struct chela_channel_option *p) {
    static const char *const kinds[] = {"text", "secret", "choice", "bool", "url"};
    bool needed = p->enables || p->member == CHELA_CHANNEL_ACCOUNT ||
                  (p->kind == CHELA_CHANNEL_SECRET && !p->may_lack);
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "name", p->name);
    ch_jw_kcstr(w, "kind", (size_t)p->kind < CH_LEN(kinds) ? kinds[p->kind] : "text");
    ch_jw_kbool(w, "enables", p->enables);
    ch_jw_kbool(w, "needed", needed);
    describe_add(w, "mode", p->mode);
    describe_add(w, "words", p->words);
    describe_add(w, "default", p->otherwise);
    describe_add(w, "help", p->help);
    ch_jw_end(w, '}');
}

static void describe_channel(struct ch_jw *w, const struct chela_channel_ops *ops) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "name", ops->name);
    ch_jw_kcstr(w, "title", ops->title ? ops->title : ops->name);
    describe_add(w, "docs", ops->docs);
    describe_add(w, "setup", ops->setup);
    ch_jw_kbegin(w, "options", '[');
    for (const struct chela_channel_option *p = ops->options; p && p->name; p++)
        describe_option(w, p);
    ch_jw_end(w, ']');
    ch_jw_end(w, '}');
}

static void describe_unknown(const char *name, struct chela_error *err) {
    struct ch_nearest near = ch_nearest(ch_sv_str(name));
    for (size_t i = 0; ch_channel_name(i); i++)
        ch_nearest_try(&near, ch_sv_str(ch_channel_name(i)));
    if (near.best.n && !ch_sv_eq(near.best, near.word))
        ch_fail(err, CHELA_ENOENT, "there is no channel '%s', did you mean %.*s?", name,
                CH_SV_FMT(near.best));
    else
        ch_fail(err, CHELA_ENOENT, "there is no channel '%s': no module libchela-channel-%s.so",
                name, name);
}

char *chela_channel_describe(chela_runtime *rt, const char *name, struct chela_error *err) {
    CH_ENTER_OR(rt, rt->loop, err, NULL);
    struct ch_buf out = {0};
    struct ch_jw w = ch_jw(&out);
    const struct chela_channel_ops *ops = NULL;
    if (!name) {
        ch_jw_begin(&w, '[');
        for (size_t i = 0; (ops = ch_channel_listed(i, rt->module_path)); i++)
            ch_jw_cstr(&w, ops->name);
        ch_jw_end(&w, ']');
        return ch_buf_take(&out);
    }
    int rc = ch_channel_find(name, rt->module_path, &ops, err);
    if (rc == CHELA_ENOENT)
        describe_unknown(name, err);
    if (rc == 0)
        describe_channel(&w, ops);
    return rc == 0 ? ch_buf_take(&out) : NULL;
}
