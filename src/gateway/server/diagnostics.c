/* diagnostics.c -- asking a gateway that runs somewhere how it is.
 *
 * What a caller of it would meet, in the order in which they would: is it there,
 * does the token open it, what does it say of itself. Blocking; the findings
 * have the form that chela_runtime_survey gives its own. */
#include "agent/handle/agent.h"
#include "agent/provider/server_query.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/opts.h"
#include "channel/channel.h"
#include "chela/gateway.h"
#include "json/json.h"
#include "json/writer.h"
#include "net/url.h"

struct survey {
    chela_runtime *rt;
    const char *url, *token; /* the second may be NULL */
    struct ch_jw w;
};

static void row(struct survey *s, const char *name, const char *status, const char *detail,
                const char *mend) {
    struct ch_jw *w = &s->w;
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "area", "gateway");
    ch_jw_kcstr(w, "name", name);
    ch_jw_kcstr(w, "status", status);
    ch_jw_kcstr(w, "detail", detail);
    if (mend)
        ch_jw_kcstr(w, "mend", mend);
    ch_jw_end(w, '}');
}

static int get(struct survey *s, const char *path, struct ch_buf *body, struct chela_error *err) {
    CH_BUF_AUTO url = {0}, bearer = {0};
    struct ch_sv base = ch_sv_str(s->url);
    while (base.n && base.p[base.n - 1] == '/')
        base.n--;
    ch_buf_addf(&url, "%.*s%s", CH_SV_FMT(base), path);
    ch_buf_addf(&bearer, "Bearer %s", s->token ? s->token : "");
    struct ch_header header = {CH_SV("authorization"), ch_buf_sv(&bearer)};
    struct ch_http_request req = {
        .method = "GET",
        .url = ch_buf_str(&url),
        .headers = &header,
        .nheaders = s->token != NULL,
        .timeouts = {CH_INQUIRE_MS, CH_INQUIRE_MS, CH_INQUIRE_MS, CH_INQUIRE_MS}};
    return ch_inquire(s->rt, &req, body, err);
}

static bool look_for_it(struct survey *s) {
    CH_BUF_AUTO body = {0};
    struct chela_error err = {0};
    if (get(s, "/healthz", &body, &err) == 0) {
        row(s, "reach", "ok", s->url, NULL);
        return true;
    }
    row(s, "reach", "fail", err.message,
        "is it running, and is this its address? see gateway.listen");
    return false;
}

/* The token of who uses plain HTTP over a network is everybody's. */
static void look_at_wire(struct survey *s) {
    struct ch_url url;
    struct chela_error err;
    if (ch_url_parse(ch_sv_str(s->url), &url, &err) < 0)
        return;
    bool near = ch_sv_is(url.host, "localhost") || ch_sv_starts(url.host, "127.") ||
                ch_sv_is(url.host, "::1");
    if (!url.tls && !near)
        row(s, "tls", "warn", "the token crosses the network unencrypted",
            "give it a certificate (gateway.tls), or a proxy that has one");
}

static void look_at_agents(struct survey *s) {
    CH_BUF_AUTO body = {0}, names = {0};
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    struct chela_error err = {0};
    if (!s->token) {
        row(s, "token", "warn", "none to show: only what is open to all was looked at",
            "set CHELA_TOKEN to the gateway's");
        return;
    }
    if (get(s, "/v1/models", &body, &err) < 0) {
        row(s, "token", "fail", err.message,
            err.code == CHELA_EAUTH ? "CHELA_TOKEN is not the gateway's" : NULL);
        return;
    }
    if (ch_json_parse(&arena, ch_buf_sv(&body), CH_JSON_REPLACE, &v, NULL, NULL) == 0)
        for (CH_JSON_EACH(m, ch_json_get(v, "data")))
            ch_buf_addf(&names, "%s%.*s", names.n ? ", " : "",
                        CH_SV_FMT(ch_json_get_str(m, "id")));
    row(s, "token", "ok", "it is let in", NULL);
    row(s, "agents", names.n ? "ok" : "fail", names.n ? ch_buf_str(&names) : "this is no gateway",
        NULL);
}

static void look_at_check(struct survey *s, const struct ch_json *check) {
    CH_BUF_AUTO name = {0}, detail = {0};
    struct ch_sv why = ch_json_get_str(check, "detail");
    bool well = ch_sv_is(ch_json_get_str(check, "status"), "ok");
    ch_buf_add_sv(&name, ch_json_get_str(check, "name"));
    if (well)
        why = CH_SV("nothing is wrong with it");
    ch_buf_add_sv(&detail, why.n ? why : CH_SV("it fails"));
    bool vital = ch_sv_is(ch_buf_sv(&name), "store");
    row(s, ch_buf_str(&name), well ? "ok" : vital ? "fail" : "warn", ch_buf_str(&detail), NULL);
}

/* Its answer counts also when it says that it is not ready. */
static void look_at_checks(struct survey *s) {
    CH_BUF_AUTO body = {0};
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    struct chela_error err = {0};
    int rc = get(s, "/readyz", &body, &err);
    bool read = ch_json_parse(&arena, ch_buf_sv(&body), CH_JSON_REPLACE, &v, NULL, NULL) == 0;
    if (!read || (rc < 0 && !ch_json_get(v, "checks"))) {
        bool stopping = read && ch_sv_is(ch_json_get_str(v, "status"), "stopping");
        row(s, "ready", "fail", stopping ? "it is stopping" : rc < 0 ? err.message : "no answer",
            NULL);
        return;
    }
    row(s, "ready", rc < 0 ? "fail" : "ok", rc < 0 ? "not ready for work" : "ready for work", NULL);
    for (CH_JSON_EACH(c, ch_json_get(v, "checks")))
        look_at_check(s, c);
}

char *chela_gateway_survey(chela_runtime *rt, const char *url, const char *token) {
    struct ch_buf out = {0};
    struct survey s = {.rt = rt, .url = url, .token = token && *token ? token : NULL};
    s.w = ch_jw(&out);
    ch_jw_begin(&s.w, '[');
    if (look_for_it(&s)) {
        look_at_wire(&s);
        look_at_agents(&s);
        look_at_checks(&s);
    }
    ch_jw_end(&s.w, ']');
    return ch_buf_take(&out);
}

char *chela_channel_survey(chela_runtime *rt, const struct chela_channel_opts *given,
                           struct chela_error *err) {
    struct ch_buf out = {0};
    struct ch_jw w = ch_jw(&out);
    struct chela_channel_opts o;
    if (CH_OPTS_NEED(chela_channel_opts, &o, given, err) < 0)
        return NULL;
    const struct ch_channel_ops *ops = ch_channel_find(o.name);
    ch_redact_add(o.secret ? o.secret : "");
    ch_jw_begin(&w, '[');
    if (ops && ops->survey && o.secret)
        ops->survey(rt, &o, &w);
    ch_jw_end(&w, ']');
    return ch_buf_take(&out);
}
