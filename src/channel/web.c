/* web.c -- see web.h. */
#include "channel/web.h"

#include "base/limits.h"

struct call {
    struct ch_link link;
    struct ch_http_call *http;
    struct ch_arena arena; /* URL and headers of both directions */
    struct ch_buf body;
    struct ch_sv piece;
    struct ch_http_request request;
    struct ch_buf in;
    struct ch_header *headers; /* headers of the response */
    size_t nheaders;
    size_t most;
    bool json;
    bool large; /* the response exceeds the limit */
    int status;
    ch_web_fn *fn;
    void *user;
};

static struct ch_transport *web_transport(const struct ch_web *w) {
    return ch_http_transport(w->rt->http);
}

static void web_free_call(struct call *c) {
    ch_list_del(&c->link);
    ch_buf_release(&c->in);
    ch_buf_release(&c->body);
    ch_arena_release(&c->arena);
    ch_free(c);
}

static void web_on_head(const struct ch_http_head *head, void *user) {
    struct call *c = user;
    c->status = head->status;
    c->headers = ch_arena_zalloc(&c->arena, (head->nheaders + 1) * sizeof(*c->headers));
    c->nheaders = head->nheaders;
    for (size_t i = 0; i < c->nheaders; i++)
        c->headers[i] = (struct ch_header){ch_arena_sv(&c->arena, head->headers[i].name),
                                           ch_arena_sv(&c->arena, head->headers[i].value)};
}

static void web_on_data(struct ch_sv data, void *user) {
    struct call *c = user;
    struct ch_sv fits = ch_sv(data.p, CH_MIN(data.n, c->most - c->in.n));
    c->large |= fits.n < data.n;
    ch_buf_add_sv(&c->in, fits);
}

static void web_on_done(const struct chela_error *err, void *user) {
    struct call *c = user;
    CH_ARENA_AUTO arena = {0};
    struct ch_web_answer answer = {.status = err ? 0 : c->status,
                                   .why = err        ? err->message
                                          : c->large ? "the answer is too large"
                                                     : NULL};
    bool whole = c->json && !err && !c->large;
    ch_web_fn *fn = c->fn;
    void *fn_user = c->user;
    CH_BUF_AUTO in = c->in; /* kept until the call is freed, as are the headers */
    c->in = (struct ch_buf){0};
    answer.text = ch_buf_sv(&in);
    answer.headers = c->headers;
    answer.nheaders = c->nheaders;
    arena = c->arena;
    c->arena = (struct ch_arena){0};
    web_free_call(c);
    if (whole && ch_json_parse(&arena, answer.text, CH_JSON_REPLACE, &answer.json, NULL, NULL) < 0)
        answer.json = NULL;
    if (fn)
        fn(&answer, fn_user);
}

void ch_web_init(struct ch_web *w, chela_runtime *rt) {
    w->rt = rt;
    ch_list_init(&w->calls);
}

/* Content-Type and the others. */
static struct ch_header *web_headers(struct call *c, const struct ch_web_request *r, size_t *n) {
    size_t most = 1;
    for (size_t i = 0; r->headers && r->headers[i]; i += 2)
        most++;
    struct ch_header *out = ch_arena_zalloc(&c->arena, most * sizeof(*out));
    *n = 0;
    if (r->type)
        out[(*n)++] =
            (struct ch_header){CH_SV("Content-Type"), ch_arena_sv(&c->arena, ch_sv_str(r->type))};
    for (size_t i = 0; r->headers && r->headers[i]; i += 2)
        out[(*n)++] = (struct ch_header){ch_arena_sv(&c->arena, ch_sv_str(r->headers[i])),
                                         ch_arena_sv(&c->arena, ch_sv_str(r->headers[i + 1]))};
    return out;
}

void ch_web_start(struct ch_web *w, const struct ch_web_request *r, ch_web_fn *fn, void *user) {
    static const struct ch_http_handler handler = {web_on_head, web_on_data, web_on_done};
    struct call *c = ch_alloc(sizeof(*c));
    size_t nheaders;
    const struct ch_header *headers = web_headers(c, r, &nheaders);
    if (r->body)
        c->body = *r->body;
    if (r->body)
        *r->body = (struct ch_buf){0};
    c->piece = ch_buf_sv(&c->body);
    c->most = r->most ? r->most : CH_LIMIT_CHANNEL_ANSWER;
    c->json = !r->most;
    c->fn = fn;
    c->user = user;
    ch_buf_init(&c->in, c->most);
    ch_list_add(&w->calls, &c->link);
    c->request = (struct ch_http_request){.method = ch_arena_str(&c->arena, ch_sv_str(r->method)),
                                          .url = ch_arena_str(&c->arena, ch_sv_str(r->url)),
                                          .headers = headers,
                                          .nheaders = nheaders,
                                          .body = &c->piece,
                                          .nbody = c->piece.n > 0,
                                          .once = r->once,
                                          .timeouts = {.total = r->wait_ms}};
    c->http = ch_transport_start(web_transport(w), &c->request, &handler, c);
}

void ch_web_post(struct ch_web *w, const char *url, const char *body, int64_t wait_ms,
                 ch_web_fn *fn, void *user) {
    struct ch_buf json = {0};
    ch_buf_add_str(&json, body);
    struct ch_web_request r = {.method = "POST", .url = url, .type = "application/json",
                               .body = &json, .wait_ms = wait_ms};
    ch_web_start(w, &r, fn, user);
}

void ch_web_close(struct ch_web *w) {
    for (struct call *c; (c = CH_LIST_FIRST(&w->calls, struct call, link));) {
        ch_transport_cancel(web_transport(w), c->http);
        web_free_call(c);
    }
}
