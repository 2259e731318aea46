/* context_window.c -- see context_window.h.
 *
 * There is one entry per server and model. An entry sends its requests (server_query.h) one
 * after the other until one is answered. A server that answers none is asked again by a run
 * after AGAIN_MS. */
#include "model/provider/context_window.h"

#include "model/provider/server_query.h"
#include "model/provider/target.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#define PATIENCE_MS 3000 /* for one answer */
#define AGAIN_MS 60000

struct ch_context_window {
    struct ch_context_window *next;
    struct ch_providers *ps;
    char *base_url, *model;
    int64_t tokens;
    int64_t again; /* monotonic time from which the server may be asked again */
    /* while a request is in flight: */
    const struct ch_target *target;
    struct ch_http_call *call;
    unsigned step;
    struct ch_server_question question;
    struct ch_arena arena;
    struct ch_buf body;
    int status;
};

static int64_t context_window_now(const struct ch_context_window *w) {
    return ch_mono_ms(ch_loop_clock(w->ps->loop));
}

static void ask_next(struct ch_context_window *w);

static void context_window_on_head(const struct ch_http_head *head, void *user) {
    ((struct ch_context_window *)user)->status = head->status;
}

static void context_window_on_data(struct ch_sv data, void *user) {
    ch_buf_add_sv(&((struct ch_context_window *)user)->body, data);
}

static void context_window_on_done(const struct chela_error *err, void *user) {
    struct ch_context_window *w = user;
    w->call = NULL;
    if (!err && w->status >= 200 && w->status < 300)
        w->tokens = w->question.read(ch_buf_sv(&w->body), ch_sv_str(w->model));
    ask_next(w);
}

static void stop_asking(struct ch_context_window *w) {
    w->target = NULL;
    w->again = context_window_now(w) + AGAIN_MS;
    ch_arena_release(&w->arena);
    ch_buf_release(&w->body);
    if (w->tokens)
        ch_log(CH_LOG_INFO, "model", "%s has a context of %lld tokens for %s", w->base_url,
               (long long)w->tokens, w->model);
}

static void ask_next(struct ch_context_window *w) {
    static const struct ch_http_handler handler = {context_window_on_head, context_window_on_data,
                                                   context_window_on_done};
    ch_arena_clear(&w->arena);
    ch_buf_clear(&w->body);
    w->status = 0;
    if (w->tokens || ch_server_query_question(w->target, w->step++, &w->arena, &w->question) < 0) {
        stop_asking(w);
        return;
    }
    w->question.http.timeouts =
        (struct ch_http_timeouts){PATIENCE_MS, PATIENCE_MS, PATIENCE_MS, PATIENCE_MS};
    w->call = ch_transport_start(w->target->transport, &w->question.http, &handler, w);
}

static struct ch_context_window *context_window_find(struct ch_providers *ps,
                                                     const struct ch_target *t) {
    struct ch_context_window *w = ps->reported;
    while (w && (strcmp(w->base_url, t->base_url) != 0 || strcmp(w->model, t->model) != 0))
        w = w->next;
    if (w)
        return w;
    w = ch_alloc(sizeof(*w));
    w->ps = ps;
    w->base_url = ch_strdup(t->base_url);
    w->model = ch_strdup(t->model);
    w->again = context_window_now(w);
    w->next = ps->reported;
    ps->reported = w;
    return w;
}

/* Only the network is asked: a cassette that was recorded without the request could not be
 * replayed. */
void ch_context_window_ask(struct ch_providers *ps, struct ch_target *t, int64_t now) {
    bool network = t->transport == ch_http_transport(ps->http);
    if (!network || ch_target_window(t) || !t->local)
        return;
    if (!t->reported)
        t->reported = context_window_find(ps, t);
    struct ch_context_window *w = t->reported;
    if (w->tokens || w->target || now < w->again)
        return;
    w->target = t;
    w->step = 0;
    ask_next(w);
}

int64_t ch_context_window_of(const struct ch_context_window *w) {
    return w ? w->tokens : 0;
}

void ch_context_window_leave(const struct ch_target *t) {
    struct ch_context_window *w = t->reported;
    if (!w || w->target != t)
        return;
    ch_transport_cancel(t->transport, CH_TAKE(w->call));
    stop_asking(w);
    w->again = context_window_now(w); /* another target may ask */
}

void ch_context_windows_free(struct ch_context_window *list) {
    while (list) {
        struct ch_context_window *next = list->next;
        ch_free(list->base_url);
        ch_free(list->model);
        ch_free(list);
        list = next;
    }
}
