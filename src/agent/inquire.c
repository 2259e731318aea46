/* inquire.c -- asking a server about itself, outside any run.
 *
 * One short request, waited for; only with a loop of our own. Where a server
 * says how large its context really is, is known here: on this machine that is
 * what its owner gave it, not what the model could do. */
#include "agent/inquire.h"

#include "base/error.h"
#include "base/mem.h"
#include "model/encode.h"
#include "model/listing.h"
#include "model/provider.h"

#define MOST_BODY (8 * 1024 * 1024)

struct answer {
    struct ch_buf *body;
    int status;
    struct chela_error err;
    bool done;
};

static void on_head(const struct ch_http_head *head, void *user) {
    ((struct answer *)user)->status = head->status;
}

static void on_data(struct ch_sv data, void *user) {
    ch_buf_add_sv(((struct answer *)user)->body, data);
}

static void on_done(const struct chela_error *err, void *user) {
    struct answer *a = user;
    if (err)
        a->err = *err;
    a->done = true;
}

int ch_inquire(chela_runtime *rt, const struct ch_http_request *req, struct ch_buf *body,
               struct chela_error *err) {
    static const struct ch_http_handler handler = {on_head, on_data, on_done};
    struct answer a = {.body = body};
    struct ch_http_request sent = *req;
    if (!rt->own_loop)
        return ch_fail(err, CHELA_ESTATE, "a blocking call needs a loop of our own");
    sent.max_body = MOST_BODY;
    ch_transport_start(ch_http_transport(rt->http), &sent, &handler, &a);
    int rc = ch_loop_run(rt->loop, &a.done);
    if (rc < 0)
        return ch_fail(err, rc, "the loop was stopped");
    if (a.err.code) {
        if (err)
            *err = a.err;
        return a.err.code;
    }
    if (a.status < 200 || a.status >= 300)
        return ch_fail(err, a.status == 401 || a.status == 403 ? CHELA_EAUTH : CHELA_EPROTO,
                       "the server answered with HTTP status %d", a.status);
    return CHELA_OK;
}

/* A request to a path of the target's server, with its key and headers. */
static int ask(chela_runtime *rt, const struct ch_target *t, const char *url, struct ch_sv post,
               int64_t ms, struct ch_buf *body, struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    struct ch_http_request http = {0};
    struct ch_model_request req = {
        .endpoint = &t->ep, .model = ch_sv_str(t->model), .no_stream = true};
    int rc = t->ep.codec->http(&req, &arena, &http, err);
    if (rc < 0)
        return rc;
    http.method = post.n ? "POST" : "GET";
    http.url = url;
    http.body = post.n ? &post : NULL;
    http.nbody = post.n > 0;
    http.timeouts = (struct ch_http_timeouts){ms, ms, ms, ms};
    return ch_inquire(rt, &http, body, err);
}

int ch_inquire_models(chela_runtime *rt, const struct ch_target *t, struct ch_buf *body,
                      struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_codec *codec = t->ep.codec->inner ? t->ep.codec->inner : t->ep.codec;
    bool anthropic = codec == &ch_codec_anthropic;
    if (t->scripted || strcmp(codec->name, "bedrock") == 0)
        return ch_fail(err, CHELA_EINVAL, "%s has no list of its models to ask for", t->provider);
    const char *url =
        ch_encode_url(&arena, t->base_url, anthropic ? "/v1/models?limit=1000" : "/models");
    return ask(rt, t, url, CH_SV(""), CH_INQUIRE_MS, body, err);
}

/* The address without the "/v1" at its end: what is not OpenAI's is there. */
static const char *root_of(struct ch_arena *a, const char *base_url, const char *path) {
    struct ch_sv base = ch_sv_str(base_url);
    if (base.n > 3 && memcmp(base.p + base.n - 3, "/v1", 3) == 0)
        base.n -= 3;
    return ch_arena_printf(a, "%.*s%s", CH_SV_FMT(base), path);
}

struct wanted {
    struct ch_sv id;
    int64_t window;
};

static void look_for(const struct ch_listed *m, void *user) {
    struct wanted *w = user;
    if (ch_sv_eq(m->id, w->id))
        w->window = m->context_window;
}

static int64_t ask_list(chela_runtime *rt, const struct ch_target *t, const char *url) {
    CH_BUF_AUTO body = {0};
    struct wanted w = {.id = ch_sv_str(t->model)};
    int rc = url ? ask(rt, t, url, CH_SV(""), CH_INQUIRE_MS, &body, NULL)
                 : ch_inquire_models(rt, t, &body, NULL);
    if (rc == CHELA_OK)
        ch_listing_read(ch_buf_sv(&body), look_for, &w, NULL);
    return w.window;
}

static int64_t ask_ollama(chela_runtime *rt, const struct ch_target *t, const char *url) {
    CH_BUF_AUTO body = {0};
    CH_BUF_AUTO post = {0};
    struct ch_jw w = ch_jw(&post);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "model", t->model);
    ch_jw_end(&w, '}');
    int rc = ask(rt, t, url, ch_buf_sv(&post), CH_INQUIRE_MS, &body, NULL);
    return rc == CHELA_OK ? ch_listing_show(ch_buf_sv(&body)) : 0;
}

static int64_t ask_props(chela_runtime *rt, const struct ch_target *t, const char *url) {
    CH_BUF_AUTO body = {0};
    int rc = ask(rt, t, url, CH_SV(""), CH_INQUIRE_MS, &body, NULL);
    return rc == CHELA_OK ? ch_listing_props(ch_buf_sv(&body)) : 0;
}

int64_t ch_inquire_context(chela_runtime *rt, const struct ch_target *t) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_codec *codec = t->ep.codec->inner ? t->ep.codec->inner : t->ep.codec;
    const struct ch_provider *p = ch_provider_of_url(ch_sv_str(codec->name), t->base_url);
    if (t->scripted)
        return 0;
    if (!p || !p->local)
        p = ch_provider_find(ch_sv_str(t->provider));
    const char *name = p ? p->name : "";
    int64_t n = 0;
    if (strcmp(name, "ollama") == 0)
        n = ask_ollama(rt, t, root_of(&arena, t->base_url, "/api/show"));
    if (strcmp(name, "lmstudio") == 0)
        n = ask_list(rt, t, root_of(&arena, t->base_url, "/api/v0/models"));
    if (strcmp(name, "llamacpp") == 0)
        n = ask_props(rt, t, root_of(&arena, t->base_url, "/props"));
    return n ? n : ask_list(rt, t, NULL);
}
