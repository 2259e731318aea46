/* dingtalk_api.c -- requests, access tokens, error codes.
 *
 *   call --no token--> waits --oauth2/accessToken--> request --> answer
 *                        ^------- 401, once ------------'
 *
 * The service has two APIs. The new one reports errors by a status and `code`, the old one
 * by `errcode` in a response with status 200. */
#include "channel/dingtalk/dingtalk_api.h"

#include <stdio.h>

#include "base/form.h"

#define EARLY_MS 60000 /* a token is replaced this long before it expires */
#define LIMITED_MS 2000
#define MINUTE_MS 60000

struct dingtalk_call {
    struct ch_kit_job job; /* in the channel's jobs */
    struct ch_link waits;  /* in the channel's waiting */
    struct ch_dingtalk *d;
    const char *method; /* static */
    char *path;         /* owned: of the API, or of an upload, or a URL */
    char *type;         /* owned: Content-Type; NULL: JSON */
    struct ch_buf body;
    bool upload; /* the token is part of the address */
    bool bare;   /* without a token */
    bool again;  /* the call is repeated with a second token */
    ch_dingtalk_fn *fn;
    void *user;
};

static void api_free(struct ch_kit_job *job) {
    struct dingtalk_call *c = CH_CONTAINER(job, struct dingtalk_call, job);
    ch_list_del(&c->waits);
    ch_free(c->path);
    ch_free(c->type);
    ch_buf_release(&c->body);
    ch_free(c);
}

static void api_end(struct dingtalk_call *c, const struct ch_dingtalk_answer *a) {
    ch_dingtalk_fn *fn = c->fn;
    void *user = c->user;
    ch_kit_job_end(&c->job);
    if (fn)
        fn(a, user);
}

/* --- errors */

/* Codes of the old API: too many requests, or a failure of the service. */
static int64_t api_old_wait(int64_t code) {
    static const int64_t limits[] = {88,    90002, 90003, 90004, 90005,  90006, 90010,
                                     90018, 90019, 90020, 90021, 130101, 410100};
    for (size_t i = 0; i < CH_LEN(limits); i++)
        if (code == limits[i])
            return code == 130101 || code == 410100 ? MINUTE_MS : LIMITED_MS;
    return code == -1 ? LIMITED_MS : 0;
}

static bool api_is_old_token(int64_t code) {
    return code == 40014 || code == 40001 || code == 42001;
}

/* 403 is a limit, unless a permission is missing. */
static bool api_is_limit(int status, struct ch_sv code) {
    static const char *const words[] = {"qps", "throttl", "limit", "frequen"};
    if (status == 429)
        return true;
    for (size_t i = 0; i < CH_LEN(words); i++)
        if (ch_sv_contains_nocase(code, words[i]))
            return true;
    return status == 403 && !code.n;
}

static const char *api_text(const struct ch_json *v, int status, struct ch_arena *a) {
    struct ch_sv code = ch_json_get_str(v, "code"), text = ch_json_get_str(v, "message");
    if (!code.p && !text.p)
        text = ch_json_get_str(v, "errmsg");
    if (!code.n && !text.n)
        return ch_arena_printf(a, "the service answered with status %d", status);
    return ch_arena_printf(a, "%.*s%s%.*s", (int)CH_MIN(code.n, 100u), code.n ? code.p : "",
                           code.n ? ": " : "", (int)CH_MIN(text.n, 200u), text.n ? text.p : "");
}

void ch_dingtalk_judge(const struct chela_channel_response *r, struct ch_arena *a,
                       struct ch_dingtalk_answer *out) {
    *out = (struct ch_dingtalk_answer){.what = CHELA_RECEIPT_UNCERTAIN,
                                       .wait_ms = r->why ? 0 : ch_kit_retry_after(r)};
    bool read = !r->why &&
                ch_json_parse(a, ch_kit_sv(r->body), CH_JSON_REPLACE, &out->json, NULL, NULL) == 0;
    out->json = read && ch_json_is(out->json, CH_JSON_OBJECT) ? out->json : NULL;
    if (r->why) {
        out->why = r->why;
        return;
    }
    int64_t code = ch_json_int(ch_json_get(out->json, "errcode"), 0);
    out->why = api_text(out->json, r->status, a);
    if (api_is_limit(r->status, ch_json_get_str(out->json, "code")))
        out->wait_ms = CH_MAX(out->wait_ms, LIMITED_MS);
    else if (r->status >= 500 || r->status < 200 || r->status == 401 || r->status == 408)
        return;
    else if (r->status > 299)
        out->what = CHELA_RECEIPT_REFUSED;
    else if (!out->json)
        out->why = "the service answered with something that is not JSON";
    else if (ch_json_get_str(out->json, "code").n)
        return; /* an error, in spite of the status */
    else if (api_is_old_token(code))
        return;
    else if (code)
        out->wait_ms = CH_MAX(out->wait_ms, api_old_wait(code)),
        out->what = api_old_wait(code) ? CHELA_RECEIPT_UNCERTAIN : CHELA_RECEIPT_REFUSED;
    else
        out->what = CHELA_RECEIPT_SENT;
}

/* --- calls */

static void api_send(struct dingtalk_call *c);

static void api_want_token(struct ch_dingtalk *d);

static void api_wait(struct dingtalk_call *c) {
    ch_list_add(&c->d->waiting, &c->waits);
    api_want_token(c->d);
}

static bool api_has_token(const struct ch_dingtalk *d) {
    return d->token && d->host->now(d->host->user) < d->token_until;
}

static void api_on_response(const struct chela_channel_response *r, void *tag) {
    struct dingtalk_call *c = tag;
    CH_ARENA_AUTO arena = {0};
    struct ch_dingtalk_answer a;
    ch_dingtalk_judge(r, &arena, &a);
    bool refused =
        r->status == 401 || api_is_old_token(ch_json_int(ch_json_get(a.json, "errcode"), 0));
    if (refused && !c->bare && !c->again) {
        c->again = true;
        c->d->token_until = 0;
        api_wait(c);
        return;
    }
    api_end(c, &a);
}

static void api_send(struct dingtalk_call *c) {
    struct ch_dingtalk *d = c->d;
    CH_BUF_AUTO url = {0};
    const char *headers[] = {"Content-Type",
                             c->type ? c->type : "application/json",
                             "Accept",
                             "application/json",
                             c->bare || c->upload ? NULL : "x-acs-dingtalk-access-token",
                             d->token,
                             NULL};
    ch_buf_addf(&url, "%s%s", c->bare ? "" : c->upload ? d->oapi : d->api, c->path);
    if (c->upload) {
        ch_buf_add_str(&url, "&access_token=");
        ch_kit_percent(&url, d->token);
    }
    /* A message must not be sent twice because a connection was dead. */
    d->host->http(&(struct chela_channel_request){.method = c->method,
                                                  .url = ch_buf_str(&url),
                                                  .headers = headers,
                                                  .body = c->body.p,
                                                  .n = c->body.n,
                                                  .wait_ms = c->upload ? 120000 : 0,
                                                  .once = !c->upload},
                  api_on_response, c, d->host->user);
}

static struct dingtalk_call *api_new(struct ch_dingtalk *d, const char *method, const char *path,
                                     struct ch_sv body, ch_dingtalk_fn *fn, void *user) {
    struct dingtalk_call *c = ch_alloc(sizeof(*c));
    c->d = d;
    c->method = method;
    c->path = ch_strdup(path);
    ch_buf_add_sv(&c->body, body);
    c->fn = fn;
    c->user = user;
    ch_kit_job_begin(&d->jobs, &c->job, api_free);
    return c;
}

static void api_begin(struct dingtalk_call *c) {
    if (c->bare || api_has_token(c->d))
        api_send(c);
    else
        api_wait(c);
}

void ch_dingtalk_call(struct ch_dingtalk *d, const char *method, const char *path,
                      struct ch_sv body, ch_dingtalk_fn *fn, void *user) {
    api_begin(api_new(d, method, path, body, fn, user));
}

void ch_dingtalk_post_to(struct ch_dingtalk *d, const char *url, struct ch_sv body,
                         ch_dingtalk_fn *fn, void *user) {
    struct dingtalk_call *c = api_new(d, "POST", url, body, fn, user);
    c->bare = true;
    api_begin(c);
}

void ch_dingtalk_upload(struct ch_dingtalk *d, const char *kind, const char *name,
                        struct ch_sv bytes, ch_dingtalk_fn *fn, void *user) {
    CH_BUF_AUTO path = {0};
    struct ch_form form;
    ch_buf_addf(&path, "/media/upload?type=%s", kind);
    ch_form_init(&form);
    ch_form_file(&form, "media", name, bytes);
    ch_form_end(&form);
    struct dingtalk_call *c =
        api_new(d, "POST", ch_buf_str(&path), ch_buf_sv(&form.body), fn, user);
    c->type = ch_strdup(form.type);
    ch_form_release(&form);
    c->upload = true;
    api_begin(c);
}

/* --- tokens */

static void api_on_token(const struct ch_dingtalk_answer *a, void *user) {
    struct ch_dingtalk *d = user;
    struct ch_sv token = ch_json_get_str(a->json, "accessToken");
    int64_t ms = 1000 * ch_json_int(ch_json_get(a->json, "expireIn"), 7200);
    CH_ARENA_AUTO arena = {0};
    d->asking = false;
    ch_free(d->token);
    d->token = NULL;
    const char *text = token.n ? ch_arena_str(&arena, token) : NULL;
    if (a->what == CHELA_RECEIPT_SENT && ch_kit_is_token(text, "")) {
        d->token = ch_strdup(text);
        d->token_until =
            d->host->now(d->host->user) + CH_MAX(CH_MIN(ms, 86400000) - EARLY_MS, LIMITED_MS);
    }
    struct ch_list waiting;
    ch_list_init(&waiting);
    for (struct dingtalk_call *c; (c = CH_LIST_FIRST(&d->waiting, struct dingtalk_call, waits));) {
        ch_list_del(&c->waits);
        ch_list_add(&waiting, &c->waits);
    }
    /* The key may be wrong only temporarily: waiting calls are repeated. */
    struct ch_dingtalk_answer none = {
        .what = CHELA_RECEIPT_UNCERTAIN,
        .why = ch_arena_printf(&arena, "no access token: %s", a->why ? a->why : "it is malformed"),
        .wait_ms = a->wait_ms};
    for (struct dingtalk_call *c; (c = CH_LIST_FIRST(&waiting, struct dingtalk_call, waits));) {
        ch_list_del(&c->waits);
        if (d->token)
            api_send(c);
        else
            api_end(c, &none);
    }
}

static void api_want_token(struct ch_dingtalk *d) {
    CH_BUF_AUTO url = {0}, body = {0};
    struct ch_jw w = ch_jw(&body);
    if (d->asking)
        return;
    d->asking = true;
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "appKey", d->id);
    ch_jw_kcstr(&w, "appSecret", d->secret);
    ch_jw_end(&w, '}');
    ch_buf_addf(&url, "%s/v1.0/oauth2/accessToken", d->api);
    ch_dingtalk_post_to(d, ch_buf_str(&url), ch_buf_sv(&body), api_on_token, d);
}
