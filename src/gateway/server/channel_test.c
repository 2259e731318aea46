/* channel_test.c -- tests a channel with a message: through the running gateway, which has the
 * connection to the service, or else over a connection of its own. Blocking. */
#include "base/error.h"
#include "base/opts.h"
#include "channel/channels.h"
#include "chela/gateway.h"
#include "chela/mailbox.h"
#include "gateway/chat/channel_probe.h"
#include "io/loop_entry.h"
#include "model/provider/server_query.h"

#define CONNECT_MS 8000 /* to connect, before the message is sent in any case */
#define LOOK_MS 20

/* --- through a gateway */

struct asked {
    const char *name;
    const char *to; /* NULL: send nothing */
    const char *url, *token;
};

static int test_ask_gateway(chela_runtime *rt, const struct asked *t, struct ch_buf *body,
                            struct chela_error *err) {
    CH_BUF_AUTO url = {0}, bearer = {0}, json = {0};
    struct ch_jw w = ch_jw(&json);
    struct ch_sv base = ch_sv_str(t->url);
    int64_t ms = CH_CHANNEL_PROBE_MS + CH_SERVER_QUERY_MS;
    while (base.n && base.p[base.n - 1] == '/')
        base.n--;
    ch_buf_addf(&url, "%.*s/api/channels/%s/test", CH_SV_FMT(base), t->name);
    ch_buf_addf(&bearer, "Bearer %s", t->token ? t->token : "");
    ch_jw_begin(&w, '{');
    if (t->to)
        ch_jw_kcstr(&w, "to", t->to);
    ch_jw_end(&w, '}');
    struct ch_header headers[] = {{CH_SV("Content-Type"), CH_SV("application/json")},
                                  {CH_SV("Authorization"), ch_buf_sv(&bearer)}};
    struct ch_sv sent = ch_buf_sv(&json);
    struct ch_http_request req = {.method = "POST",
                                  .url = ch_buf_str(&url),
                                  .headers = headers,
                                  .nheaders = t->token ? 2 : 1,
                                  .body = &sent,
                                  .nbody = 1,
                                  .once = true,
                                  .timeouts = {CH_SERVER_QUERY_MS, ms, ms, ms}};
    return ch_server_query(&rt->providers, &req, body, err);
}

/* False: no gateway is there. */
static bool test_by_gateway(chela_runtime *rt, const struct asked *t, struct ch_jw *w) {
    CH_BUF_AUTO body = {0}, detail = {0};
    CH_ARENA_AUTO arena = {0};
    struct chela_error err = {0};
    const struct ch_json *v = NULL;
    int rc = test_ask_gateway(rt, t, &body, &err);
    if (rc < 0 && !err.http_status)
        return false;
    if (ch_json_parse(&arena, ch_buf_sv(&body), CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        v = NULL;
    for (CH_JSON_EACH(f, ch_json_get(v, "findings")))
        ch_jw_value(w, f);
    struct ch_sv why = ch_json_get_str(ch_json_get(v, "error"), "message");
    if (rc == 0)
        return true;
    ch_buf_addf(&detail, "the running gateway does not test it: %.*s",
                CH_SV_FMT(why.n ? why : ch_sv_str(err.message)));
    ch_channel_finding(w, t->name, "fail", ch_buf_str(&detail),
                       err.code == CHELA_EAUTH ? "CHELA_TOKEN is not the gateway's" : NULL);
    return true;
}

/* --- over a connection of its own. Messages that arrive meanwhile are not acknowledged: a
 * service that repeats delivers them to the gateway. */

struct own_test {
    struct ch_channel *channel;
    bool over;
    struct ch_timer timer;
    int64_t until; /* monotonic: no longer waits for the connection */
};

static void test_on_arrived(const struct chela_channel_arrival *in, struct ch_arena *a,
                            chela_accepted_fn *done, void *tag, void *user) {
    struct chela_error err = {0};
    (void)in;
    (void)user;
    ch_fail(&err, CHELA_ESTATE, "a test takes no messages");
    ch_arena_release(a);
    done(err.code, &err, tag);
}

static void test_on_respond(void *respond_to, int status, const char *type, struct ch_sv body) {
    (void)respond_to;
    (void)status;
    (void)type;
    (void)body;
}

static void test_on_decide(const struct chela_channel_decision *d, chela_channel_decided_fn *done,
                           void *tag, void *user) {
    (void)d;
    (void)user;
    done(ch_text(CH_SV("The gateway is not running")), tag);
}

static void test_on_note(const char *id, struct ch_sv data, chela_accepted_fn *done, void *tag,
                         void *user) {
    (void)id;
    (void)data;
    (void)user;
    if (done)
        done(0, NULL, tag);
}

static const char *test_workspace(void *user) {
    (void)user;
    return NULL;
}

static void test_on_ready(struct ch_channel *c, void *user) {
    (void)c;
    (void)user;
}

static void test_send(chela_runtime *rt, const struct chela_outbound *m, void *user) {
    (void)rt;
    ch_channel_deliver(((struct own_test *)user)->channel, m);
}

static void test_on_look(struct ch_timer *timer) {
    struct own_test *t = CH_CONTAINER(timer, struct own_test, timer);
    struct ch_loop *loop = t->channel->gateway.rt->loop;
    t->over = t->channel->last_seen || ch_mono_ms(ch_loop_clock(loop)) >= t->until;
    if (!t->over)
        ch_timer_start(loop, &t->timer, LOOK_MS, test_on_look);
}

/* Only a channel with a connection shows that it is connected; the others wait in vain. */
static void test_await_connection(struct own_test *t, const char *name, struct ch_jw *w) {
    struct ch_channel *c = t->channel;
    struct ch_loop *loop = c->gateway.rt->loop;
    if (!c->ops->post)
        return;
    t->until = ch_mono_ms(ch_loop_clock(loop)) + CONNECT_MS;
    ch_timer_start(loop, &t->timer, 0, test_on_look);
    ch_loop_run(loop, &t->over);
    ch_timer_stop(loop, &t->timer);
    if (c->last_seen)
        ch_channel_finding(w, name, "ok", "connected: the service accepts the connection", NULL);
    else if (ch_channel_trouble(c))
        ch_channel_finding(w, name, "fail", ch_channel_trouble(c), NULL);
}

static void test_on_probed(struct ch_channel_probe *p, void *user) {
    (void)p;
    ((struct own_test *)user)->over = true;
}

static int test_probe(struct own_test *t, chela_runtime *rt, const char *to, const char *name,
                      struct ch_jw *w, struct chela_error *err) {
    struct ch_channel_probe *p = NULL;
    int rc = chela_outbox_channel(rt, name, test_send, t, err);
    t->over = false;
    if (rc == 0)
        rc = ch_channel_probe_start(t->channel, to, test_on_probed, t, &p, err);
    if (rc == 0)
        rc = ch_loop_run(rt->loop, &t->over);
    if (rc == 0)
        ch_channel_probe_write(p, w);
    ch_channel_probe_drop(p);
    chela_outbox_channel(rt, name, NULL, NULL, NULL);
    return rc;
}

static int test_alone(chela_runtime *rt, const struct chela_channel_ops *ops,
                      const struct chela_channel_opts *o, const char *to, struct ch_jw *w,
                      struct chela_error *err) {
    struct own_test t = {.channel = NULL};
    struct ch_channel_gateway host = {.rt = rt,
                                      .arrived = test_on_arrived,
                                      .respond = test_on_respond,
                                      .decide = test_on_decide,
                                      .note = test_on_note,
                                      .workspace = test_workspace,
                                      .ready = test_on_ready,
                                      .user = &t};
    int rc = ch_loop_may_run(rt->loop, err);
    if (rc == 0)
        rc = ch_channel_open(ops, &host, o, &t.channel, err);
    if (rc < 0)
        return rc;
    ch_loop_hold(rt->loop);
    ch_channel_reminded(t.channel);
    test_await_connection(&t, ops->name, w);
    rc = to ? test_probe(&t, rt, to, ops->name, w, err) : 0;
    ch_channel_leave(t.channel);
    ch_channel_close(t.channel);
    ch_loop_release(rt->loop);
    return rc;
}

/* --- the test, by one of the two ways */

char *chela_channel_test(chela_runtime *rt, const struct chela_channel_opts *given, const char *to,
                         const char *url, const char *token, struct chela_error *err) {
    CH_ENTER_OR(rt, rt->loop, err, NULL);
    struct ch_buf out = {0};
    struct ch_jw w = ch_jw(&out);
    struct chela_error why = {0};
    struct chela_channel_opts o;
    const struct chela_channel_ops *ops = NULL;
    if (CH_OPTS_NEED(chela_channel_opts, &o, given, err) < 0)
        return NULL;
    int rc = ch_channel_find(o.name ? o.name : "", rt->module_path, &ops, err);
    if (rc == CHELA_ENOENT)
        ch_fail(err, rc, "there is no channel '%s'", o.name ? o.name : "");
    if (rc < 0)
        return NULL;
    ch_channel_redact(ops, &o);
    ch_jw_begin(&w, '[');
    struct asked asked = {ops->name, to, url, token};
    if (!url || !test_by_gateway(rt, &asked, &w))
        if (test_alone(rt, ops, &o, to, &w, &why) < 0)
            ch_channel_finding(&w, ops->name, "fail", why.message, NULL);
    ch_jw_end(&w, ']');
    return ch_buf_take(&out);
}
