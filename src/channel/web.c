/* web.c -- see web.h. */
#include "channel/web.h"

#include "base/limits.h"

struct call {
    struct ch_link link;
    struct ch_web *web;
    struct ch_http_call *http;
    char *url, *body; /* owned */
    struct ch_sv piece;
    struct ch_http_request request;
    struct ch_buf in;
    bool large; /* more came than `in` may have */
    int status;
    ch_web_fn *fn;
    void *user;
};

static struct ch_transport *transport(const struct ch_web *w) {
    return ch_http_transport(w->rt->http);
}

static void free_call(struct call *c) {
    ch_list_del(&c->link);
    ch_buf_release(&c->in);
    ch_free(c->url);
    ch_free(c->body);
    ch_free(c);
}

static void on_head(const struct ch_http_head *head, void *user) {
    ((struct call *)user)->status = head->status;
}

static void on_data(struct ch_sv data, void *user) {
    struct call *c = user;
    struct ch_sv fits = ch_sv(data.p, CH_MIN(data.n, CH_LIMIT_CHANNEL_ANSWER - c->in.n));
    c->large |= fits.n < data.n;
    ch_buf_add_sv(&c->in, fits);
}

static void on_done(const struct chela_error *err, void *user) {
    struct call *c = user;
    CH_ARENA_AUTO arena = {0};
    struct ch_web_answer answer = {.status = err ? 0 : c->status,
                                   .why = err        ? err->message
                                          : c->large ? "the answer is too large"
                                                     : NULL};
    bool whole = !err && !c->large;
    ch_web_fn *fn = c->fn;
    void *fn_user = c->user;
    answer.text = ch_arena_sv(&arena, ch_buf_sv(&c->in)); /* read after the call is gone */
    free_call(c);
    if (whole && ch_json_parse(&arena, answer.text, CH_JSON_REPLACE, &answer.json, NULL, NULL) < 0)
        answer.json = NULL;
    if (fn)
        fn(&answer, fn_user);
}

void ch_web_init(struct ch_web *w, chela_runtime *rt) {
    w->rt = rt;
    ch_list_init(&w->calls);
}

void ch_web_post(struct ch_web *w, const char *url, const char *body, int64_t wait_ms,
                 ch_web_fn *fn, void *user) {
    static const struct ch_http_handler handler = {on_head, on_data, on_done};
    static const struct ch_header json = {{"Content-Type", 12}, {"application/json", 16}};
    struct call *c = ch_alloc(sizeof(*c));
    c->web = w;
    c->url = ch_strdup(url);
    c->body = ch_strdup(body);
    c->piece = ch_sv_str(c->body);
    c->fn = fn;
    c->user = user;
    ch_buf_init(&c->in, CH_LIMIT_CHANNEL_ANSWER);
    ch_list_add(&w->calls, &c->link);
    c->request = (struct ch_http_request){.method = "POST", .url = c->url, .headers = &json,
                                          .nheaders = 1, .body = &c->piece, .nbody = 1,
                                          .timeouts = {.total = wait_ms}};
    c->http = ch_transport_start(transport(w), &c->request, &handler, c);
}

void ch_web_close(struct ch_web *w) {
    for (struct call *c; (c = CH_LIST_FIRST(&w->calls, struct call, link));) {
        ch_transport_cancel(transport(w), c->http);
        free_call(c);
    }
}
