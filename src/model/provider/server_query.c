/* server_query.c -- see server_query.h.
 *
 * Local servers report the size of their context window at different URLs; the table `places`
 * lists them. The reported size is the owner's setting, which may be smaller than the maximum
 * of the model. */
#include "model/provider/server_query.h"

#include "model/provider/target.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/codec/encode.h"
#include "model/catalog/listing.h"
#include "model/catalog/provider.h"
#include "model/vendor/gemini/gemini_http.h"

#define MOST_BODY (8 * 1024 * 1024)

struct answer {
    struct ch_buf *body;
    int status;
    struct chela_error err;
    bool done;
};

static void server_query_on_head(const struct ch_http_head *head, void *user) {
    ((struct answer *)user)->status = head->status;
}

static void server_query_on_data(struct ch_sv data, void *user) {
    ch_buf_add_sv(((struct answer *)user)->body, data);
}

static void server_query_on_done(const struct chela_error *err, void *user) {
    struct answer *a = user;
    if (err)
        a->err = *err;
    a->done = true;
}

int ch_server_query(struct ch_providers *ps, const struct ch_http_request *req, struct ch_buf *body,
                    struct chela_error *err) {
    static const struct ch_http_handler handler = {server_query_on_head, server_query_on_data,
                                                   server_query_on_done};
    struct answer a = {.body = body};
    struct ch_http_request sent = *req;
    int rc = ch_loop_may_run(ps->loop, err);
    if (rc < 0)
        return rc;
    if (!sent.max_body)
        sent.max_body = MOST_BODY;
    ch_transport_start(ch_http_transport(ps->http), &sent, &handler, &a);
    rc = ch_loop_run(ps->loop, &a.done);
    if (rc < 0)
        return ch_fail(err, rc, "the loop was stopped");
    if (a.err.code) {
        if (err)
            *err = a.err;
        return a.err.code;
    }
    if (a.status >= 200 && a.status < 300)
        return CHELA_OK;
    rc = ch_fail(err, a.status == 401 || a.status == 403 ? CHELA_EAUTH : CHELA_EPROTO,
                 "the server answered with HTTP status %d", a.status);
    if (err)
        err->http_status = a.status;
    return rc;
}

/* A request to a path of the target's server, with its key and headers. */
static int prepare(const struct ch_target *t, const char *url, const struct ch_sv *post,
                   struct ch_arena *a, struct ch_http_request *http, struct chela_error *err) {
    struct ch_model_request req = {
        .endpoint = &t->ep, .model = ch_sv_str(t->model), .no_stream = true};
    int rc = t->ep.codec->http(&req, a, http, err);
    if (rc < 0)
        return rc;
    http->method = post->n ? "POST" : "GET";
    http->url = url;
    http->body = post->n ? post : NULL;
    http->nbody = post->n > 0;
    http->max_body = MOST_BODY;
    http->timeouts = (struct ch_http_timeouts){CH_SERVER_QUERY_MS, CH_SERVER_QUERY_MS,
                                               CH_SERVER_QUERY_MS, CH_SERVER_QUERY_MS};
    return CHELA_OK;
}

static const char *models_url(const struct ch_target *t, struct ch_arena *a) {
    const struct ch_codec *codec = t->ep.codec->inner ? t->ep.codec->inner : t->ep.codec;
    if (t->scripted || codec == &ch_codec_bedrock)
        return NULL;
    if (codec == &ch_codec_gemini || codec == &ch_codec_interactions)
        return ch_gemini_models_url(t->base_url, a);
    bool anthropic = codec == &ch_codec_anthropic;
    return ch_encode_url(a, t->base_url, anthropic ? "/v1/models?limit=1000" : "/models");
}

int ch_server_query_models(struct ch_providers *ps, const struct ch_target *t, struct ch_buf *body,
                           struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    struct ch_http_request http = {0};
    struct ch_sv nothing = CH_SV("");
    const char *url = models_url(t, &arena);
    if (!url)
        return ch_fail(err, CHELA_EINVAL, "%s has no list of its models to ask for", t->provider);
    int rc = prepare(t, url, &nothing, &arena, &http, err);
    return rc == CHELA_OK ? ch_server_query(ps, &http, body, err) : rc;
}

/* --- size of the context */

struct wanted {
    struct ch_sv id;
    int64_t window;
};

static void look_for(const struct ch_listed *m, void *user) {
    struct wanted *w = user;
    if (ch_sv_eq(m->id, w->id))
        w->window = m->context_window;
}

static int64_t read_list(struct ch_sv body, struct ch_sv model) {
    struct wanted w = {.id = model};
    ch_listing_read(body, look_for, &w, NULL);
    return w.window;
}

static int64_t read_show(struct ch_sv body, struct ch_sv model) {
    (void)model;
    return ch_listing_show(body);
}

static int64_t read_props(struct ch_sv body, struct ch_sv model) {
    (void)model;
    return ch_listing_props(body);
}

/* Servers that report the size at a special URL. Other servers may report it in their list
 * of models. */
static const struct place {
    const char *server, *path;
    bool names_model; /* the request's body names the model */
    int64_t (*read)(struct ch_sv body, struct ch_sv model);
} places[] = {
    {"ollama", "/api/show", true, read_show},
    {"lmstudio", "/api/v0/models", false, read_list},
    {"llamacpp", "/props", false, read_props},
};

static const struct ch_provider *server_of(const struct ch_target *t) {
    const struct ch_codec *codec = t->ep.codec->inner ? t->ep.codec->inner : t->ep.codec;
    const struct ch_provider *p = ch_provider_of_url(ch_sv_str(codec->name), t->base_url);
    return p && p->local ? p : ch_provider_find(ch_sv_str(t->provider));
}

bool ch_server_query_is_local(const struct ch_target *t) {
    const struct ch_provider *p = server_of(t);
    return p && p->local && !t->scripted;
}

static const struct place *place_of(const struct ch_target *t) {
    const struct ch_provider *p = server_of(t);
    for (size_t i = 0; p && i < CH_LEN(places); i++)
        if (strcmp(places[i].server, p->name) == 0)
            return &places[i];
    return NULL;
}

/* The base URL without a final "/v1": URLs that are not part of OpenAI's protocol are not
 * below "/v1". */
static const char *root_of(struct ch_arena *a, const char *base_url, const char *path) {
    struct ch_sv query = ch_sv_str(base_url), base = ch_sv_split(&query, '?');
    if (base.n > 3 && memcmp(base.p + base.n - 3, "/v1", 3) == 0)
        base.n -= 3;
    return ch_arena_printf(a, "%.*s%s%s%.*s", CH_SV_FMT(base), path, query.p ? "?" : "",
                           CH_SV_FMT(query));
}

static struct ch_sv name_model(const struct ch_target *t, struct ch_arena *a) {
    CH_BUF_AUTO post = {0};
    struct ch_jw w = ch_jw(&post);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "model", t->model);
    ch_jw_end(&w, '}');
    return ch_arena_sv(a, ch_buf_sv(&post));
}

int ch_server_query_question(const struct ch_target *t, unsigned step, struct ch_arena *a,
                             struct ch_server_question *out) {
    const struct place *own = place_of(t);
    const char *url = NULL;
    *out = (struct ch_server_question){.read = read_list};
    if (own && step == 0) {
        url = root_of(a, t->base_url, own->path);
        out->post = own->names_model ? name_model(t, a) : CH_SV("");
        out->read = own->read;
    } else if (step == (own ? 1 : 0)) {
        url = models_url(t, a);
    }
    return url ? prepare(t, url, &out->post, a, &out->http, NULL) : CHELA_ENOENT;
}

int64_t ch_server_query_context(struct ch_providers *ps, const struct ch_target *t) {
    int64_t n = 0;
    for (unsigned step = 0; n == 0; step++) {
        CH_ARENA_AUTO arena = {0};
        CH_BUF_AUTO body = {0};
        struct ch_server_question q;
        if (ch_server_query_question(t, step, &arena, &q) < 0)
            break;
        if (ch_server_query(ps, &q.http, &body, NULL) == CHELA_OK)
            n = q.read(ch_buf_sv(&body), ch_sv_str(t->model));
    }
    return n;
}
