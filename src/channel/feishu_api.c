/* feishu_api.c -- calls of the open platform.
 *
 * Every call uses a tenant token. The token is requested on demand, once for all waiting
 * calls, and again half an hour before it expires or when the service rejects it; a call
 * that failed because of the token is repeated once. Other failures are reported; the
 * caller decides about a retry.
 *
 *       ch_feishu_call --token there--> in progress --answer--> fn
 *            \--none--> waiting --token came--/      \--token rejected--> waiting */
#include "channel/feishu_api.h"

#include "base/limits.h"
#include "base/list.h"
#include "base/log.h"
#include "channel/feishu.h"
#include "guard/secrets.h"
#include "json/writer.h"

#define TOKEN_SPARE_MS (30 * 60 * 1000)
#define CALL_MS 30000

struct ch_feishu_api {
    chela_runtime *rt;
    char *base, *app_id, *secret; /* owned */
    char *token;                  /* owned; NULL: none */
    int64_t token_until;          /* monotonic time; request a new token afterwards */
    struct call *asking;          /* the token request; in `calls`; NULL: none */
    struct ch_list calls, waiting;
};

struct call {
    struct ch_link link;
    struct ch_feishu_api *api;
    struct ch_http_call *http; /* NULL while waiting */
    char *method, *path, *body, *auth; /* owned; body may be NULL */
    struct ch_header headers[2];
    struct ch_sv piece;
    struct ch_http_request request;
    struct ch_buf in;
    int status;
    int64_t wait_ms;
    bool again; /* repeated with a new token */
    bool bare;  /* needs no token */
    bool raw;   /* the response is a file */
    size_t nbody;
    const char *type; /* Content-Type of the body */
    ch_feishu_fn *fn;
    void *user;
};

static struct ch_transport *feishu_api_transport(const struct ch_feishu_api *api) {
    return ch_http_transport(api->rt->http);
}

static int64_t feishu_api_mono(const struct ch_feishu_api *api) {
    return ch_mono_ms(ch_loop_clock(api->rt->loop));
}

/* --- a call */

static struct call *feishu_api_new_call(struct ch_feishu_api *api, const char *method,
                                        const char *path, const char *body, ch_feishu_fn *fn,
                                        void *user) {
    struct call *c = ch_alloc(sizeof(*c));
    c->api = api;
    c->method = ch_strdup(method);
    c->path = ch_strdup(path);
    c->body = body ? ch_strdup(body) : NULL;
    c->nbody = body ? strlen(body) : 0;
    c->type = "application/json; charset=utf-8";
    c->fn = fn;
    c->user = user;
    ch_buf_init(&c->in, CH_LIMIT_CHANNEL_ANSWER);
    return c;
}

static void feishu_api_free_call(struct call *c) {
    ch_list_del(&c->link);
    ch_buf_release(&c->in);
    ch_free((char *)c->request.url);
    ch_free(c->method);
    ch_free(c->path);
    ch_free(c->body);
    ch_free(c->auth);
    ch_free(c);
}

static bool is_token_problem(int64_t code) {
    return code == 99991661 || code == 99991663 || code == 99991664 || code == 99991668 ||
           code == 99991671 || code == 99991677;
}

static void feishu_api_read_answer(const struct call *c, const struct chela_error *err,
                                   struct ch_arena *a, struct ch_feishu_answer *out) {
    const struct ch_json *v = NULL;
    *out = (struct ch_feishu_answer){.code = -1, .status = c->status, .wait_ms = c->wait_ms};
    if (err) {
        out->why = ch_arena_str(a, ch_sv_str(err->message));
        out->status = 0;
        return;
    }
    /* copied, because the call is freed first */
    struct ch_sv text = ch_arena_sv(a, ch_buf_sv(&c->in));
    if (c->raw && c->status == 200) { /* failures have another status */
        out->code = 0;
        out->body = text;
        return;
    }
    if (ch_json_parse(a, text, CH_JSON_REPLACE, &v, NULL, NULL) < 0) {
        out->why = ch_arena_printf(a, "HTTP %d without JSON", c->status);
        return;
    }
    out->json = v;
    out->code = ch_json_int(ch_json_get(v, "code"), -1);
    if (out->code != 0)
        out->why = ch_arena_printf(a, "HTTP %d, code %lld: %.*s", c->status, (long long)out->code,
                                   CH_SV_FMT(ch_json_get_str(v, "msg")));
}

static void need_token(struct ch_feishu_api *api);
static void feishu_api_start(struct call *c);

static void drop_token(struct ch_feishu_api *api) {
    ch_free(CH_TAKE(api->token));
}

static void wait_for_token(struct call *c) {
    ch_list_del(&c->link);
    ch_list_add(&c->api->waiting, &c->link);
    need_token(c->api);
}

static void feishu_api_finish(struct call *c, const struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    struct ch_feishu_answer answer;
    c->http = NULL;
    feishu_api_read_answer(c, err, &arena, &answer);
    if (is_token_problem(answer.code) && !c->again && !c->bare) {
        c->again = true;
        ch_buf_clear(&c->in);
        if (c->api->token && strcmp(c->auth + strlen("Bearer "), c->api->token) == 0)
            drop_token(c->api);
        if (c->api->token)
            feishu_api_start(c); /* another call has already replaced the token */
        else
            wait_for_token(c);
        return;
    }
    ch_feishu_fn *fn = c->fn;
    void *user = c->user;
    feishu_api_free_call(c);
    if (fn)
        fn(&answer, user);
}

static int64_t feishu_api_seconds(struct ch_sv text) {
    int64_t n = 0;
    for (size_t i = 0; i < text.n && i < 6; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            break;
        n = 10 * n + (text.p[i] - '0');
    }
    return n;
}

static void feishu_api_on_head(const struct ch_http_head *head, void *user) {
    struct call *c = user;
    c->status = head->status;
    int64_t wait =
        feishu_api_seconds(ch_header_find(head->headers, head->nheaders, "x-ogw-ratelimit-reset"));
    if (!wait)
        wait = feishu_api_seconds(ch_header_find(head->headers, head->nheaders, "retry-after"));
    c->wait_ms = wait * 1000;
}

static void feishu_api_on_data(struct ch_sv data, void *user) {
    ch_buf_add_sv(&((struct call *)user)->in, data);
}

static void feishu_api_on_done(const struct chela_error *err, void *user) {
    feishu_api_finish(user, err);
}

static uint64_t most(const struct call *c) {
    return c->raw ? CH_LIMIT_CHANNEL_FILE : CH_LIMIT_CHANNEL_ANSWER;
}

static void feishu_api_start(struct call *c) {
    static const struct ch_http_handler handler = {feishu_api_on_head, feishu_api_on_data,
                                                   feishu_api_on_done};
    struct ch_feishu_api *api = c->api;
    CH_BUF_AUTO url = {0}, auth = {0};
    size_t n = 0;
    ch_list_del(&c->link);
    ch_list_add(&api->calls, &c->link);
    ch_buf_addf(&url, "%s%s", api->base, c->path);
    ch_free((char *)c->request.url);
    ch_free(CH_TAKE(c->auth));
    if (!c->bare) {
        ch_buf_addf(&auth, "Bearer %s", api->token);
        c->auth = ch_buf_take(&auth);
        c->headers[n++] = (struct ch_header){CH_SV("Authorization"), ch_sv_str(c->auth)};
    }
    if (c->body)
        c->headers[n++] = (struct ch_header){CH_SV("Content-Type"), ch_sv_str(c->type)};
    c->piece = ch_sv(c->body, c->nbody);
    c->status = 0;
    c->wait_ms = 0;
    c->request = (struct ch_http_request){.method = c->method,
                                          .url = ch_buf_take(&url),
                                          .headers = c->headers,
                                          .nheaders = n,
                                          .body = c->body ? &c->piece : NULL,
                                          .nbody = c->body ? 1 : 0,
                                          .timeouts = {.total = CALL_MS},
                                          .max_body = most(c)};
    c->http = ch_transport_start(feishu_api_transport(api), &c->request, &handler, c);
}

/* --- tokens */

static void feishu_api_start_waiting(struct ch_feishu_api *api) {
    for (struct call *c; (c = CH_LIST_FIRST(&api->waiting, struct call, link));)
        feishu_api_start(c);
}

/* The waiting calls fail with the same error. They are moved to a separate list first,
 * because a callback may make a new call. */
static void fail_waiting(struct ch_feishu_api *api, const struct ch_feishu_answer *answer) {
    struct ch_list failed;
    ch_list_init(&failed);
    for (struct call *c; (c = CH_LIST_FIRST(&api->waiting, struct call, link));) {
        ch_list_del(&c->link);
        ch_list_add(&failed, &c->link);
    }
    for (struct call *c; (c = CH_LIST_FIRST(&failed, struct call, link));) {
        ch_feishu_fn *fn = c->fn;
        void *user = c->user;
        feishu_api_free_call(c);
        if (fn)
            fn(answer, user);
    }
}

static struct call *feishu_api_ask(struct ch_feishu_api *api, const char *path, const char *body,
                                   ch_feishu_fn *fn, void *user) {
    struct call *c = feishu_api_new_call(api, "POST", path, body, fn, user);
    c->bare = true;
    feishu_api_start(c);
    return c;
}

static void on_token(const struct ch_feishu_answer *a, void *user) {
    struct ch_feishu_api *api = user;
    struct ch_sv token = ch_json_get_str(a->json, "tenant_access_token");
    int64_t lasts = ch_json_int(ch_json_get(a->json, "expire"), 0) * 1000;
    api->asking = NULL;
    if (a->code != 0 || !token.n || memchr(token.p, 0, token.n)) {
        ch_log(CH_LOG_WARN, "feishu", "there is no access token: %s",
               a->why ? a->why : "none came");
        struct ch_feishu_answer failed = *a;
        failed.code = a->code ? a->code : -1;
        failed.why = a->why ? a->why : "the service gave no access token";
        fail_waiting(api, &failed);
        return;
    }
    drop_token(api);
    api->token = ch_strndup(token.p, token.n);
    ch_secret_add(api->token, "the access token of Feishu");
    api->token_until = feishu_api_mono(api) + CH_MAX(lasts - TOKEN_SPARE_MS, lasts / 2);
    feishu_api_start_waiting(api);
}

static void need_token(struct ch_feishu_api *api) {
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    if (api->asking)
        return;
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "app_id", api->app_id);
    ch_jw_kcstr(&w, "app_secret", api->secret);
    ch_jw_end(&w, '}');
    api->asking = feishu_api_ask(api, CH_FEISHU_TOKEN_PATH, ch_buf_str(&body), on_token, api);
}

/* --- interface for the channel */

static void feishu_api_begin(struct call *c) {
    if (c->api->token && feishu_api_mono(c->api) < c->api->token_until)
        feishu_api_start(c);
    else
        wait_for_token(c);
}

void ch_feishu_call(struct ch_feishu_api *api, const char *method, const char *path,
                    const char *body, ch_feishu_fn *fn, void *user) {
    feishu_api_begin(feishu_api_new_call(api, method, path, body, fn, user));
}

void ch_feishu_download(struct ch_feishu_api *api, const char *path, ch_feishu_fn *fn,
                        void *user) {
    struct call *c = feishu_api_new_call(api, "GET", path, NULL, fn, user);
    c->raw = true;
    ch_buf_init(&c->in, CH_LIMIT_CHANNEL_FILE);
    feishu_api_begin(c);
}

void ch_feishu_send_form(struct ch_feishu_api *api, const char *path, const char *type,
                         struct ch_buf *body, ch_feishu_fn *fn, void *user) {
    struct call *c = feishu_api_new_call(api, "POST", path, NULL, fn, user);
    c->nbody = body->n;
    c->body = ch_buf_take(body);
    c->type = type;
    feishu_api_begin(c);
}

void ch_feishu_ask(struct ch_feishu_api *api, const char *path, const char *body,
                   ch_feishu_fn *fn, void *user) {
    feishu_api_ask(api, path, body, fn, user);
}

struct ch_feishu_api *ch_feishu_api_new(chela_runtime *rt, const char *base, const char *app_id,
                                        const char *secret) {
    struct ch_feishu_api *api = ch_alloc(sizeof(*api));
    size_t n = strlen(base);
    while (n && base[n - 1] == '/')
        n--;
    api->rt = rt;
    api->base = ch_strndup(base, n);
    api->app_id = ch_strdup(app_id);
    api->secret = ch_strdup(secret);
    ch_list_init(&api->calls);
    ch_list_init(&api->waiting);
    return api;
}

bool ch_feishu_api_is_idle(const struct ch_feishu_api *api) {
    return ch_list_empty(&api->calls) && ch_list_empty(&api->waiting);
}

void ch_feishu_api_close(struct ch_feishu_api *api) {
    if (!api)
        return;
    for (struct call *c; (c = CH_LIST_FIRST(&api->waiting, struct call, link));)
        feishu_api_free_call(c);
    for (struct call *c; (c = CH_LIST_FIRST(&api->calls, struct call, link));) {
        ch_transport_cancel(feishu_api_transport(api), c->http);
        feishu_api_free_call(c);
    }
    drop_token(api);
    ch_free(api->base);
    ch_free(api->app_id);
    ch_free(api->secret);
    ch_free(api);
}
