/* errand.c -- see errand.h. */
#include "model/provider/errand.h"

#include "base/arena.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"

struct ch_errand {
    struct ch_errand *next;
    struct ch_providers *ps;
    struct ch_transport *transport;
    struct ch_http_call *call;
    struct ch_http_request http;
    struct ch_arena arena; /* its texts */
    const char *what;
    int status;
};

void ch_errand_free(struct ch_errand *e) {
    if (!e)
        return;
    ch_arena_release(&e->arena);
    ch_free(e);
}

static void errand_on_head(const struct ch_http_head *head, void *user) {
    ((struct ch_errand *)user)->status = head->status;
}

static void errand_on_data(struct ch_sv data, void *user) {
    (void)data;
    (void)user;
}

static void errand_on_done(const struct chela_error *err, void *user) {
    struct ch_errand *e = user;
    struct ch_errand **at = &e->ps->errands;
    bool gone = e->status == 404 || e->status == 409; /* there is nothing left to do */
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    if (err)
        ch_log(CH_LOG_WARN, "model", "%s: %s", e->what, err->message);
    else if ((e->status < 200 || e->status > 299) && !gone)
        ch_log(CH_LOG_WARN, "model", "%s: the service answered with status %d", e->what, e->status);
    ch_errand_free(e);
}

struct ch_errand *ch_errand_new(struct ch_providers *ps, struct ch_transport *t,
                                const struct ch_http_request *like, const char *method,
                                const char *url, const char *what) {
    struct ch_errand *e = ch_alloc(sizeof(*e));
    struct ch_header *headers =
        ch_arena_alloc(&e->arena, (like->nheaders + 1) * sizeof(*headers));
    e->ps = ps;
    e->transport = t;
    e->what = what;
    e->http = (struct ch_http_request){.method = method,
                                       .url = ch_arena_str(&e->arena, ch_sv_str(url)),
                                       .headers = headers,
                                       .max_body = CH_LIMIT_HTTP_BODY,
                                       .timeouts = {.connect = CH_LIMIT_ERRAND_MS,
                                                    .first_byte = CH_LIMIT_ERRAND_MS,
                                                    .idle = CH_LIMIT_ERRAND_MS,
                                                    .total = CH_LIMIT_ERRAND_MS}};
    for (size_t i = 0; i < like->nheaders; i++)
        if (!ch_sv_eq_nocase(like->headers[i].name, CH_SV("content-type")))
            headers[e->http.nheaders++] =
                (struct ch_header){ch_arena_sv(&e->arena, like->headers[i].name),
                                   ch_arena_sv(&e->arena, like->headers[i].value)};
    return e;
}

void ch_errand_start(struct ch_errand *e) {
    static const struct ch_http_handler handler = {errand_on_head, errand_on_data, errand_on_done};
    if (!e)
        return;
    e->next = e->ps->errands;
    e->ps->errands = e;
    e->call = ch_transport_start(e->transport, &e->http, &handler, e);
}

struct patience {
    struct ch_timer timer;
    struct ch_providers *ps;
    int64_t end;
    bool over;
};

static void patience_on_timer(struct ch_timer *t) {
    struct patience *p = CH_CONTAINER(t, struct patience, timer);
    const struct ch_clock *clock = ch_loop_clock(p->ps->loop);
    p->over = !p->ps->errands || ch_mono_ms(clock) >= p->end;
    if (!p->over)
        ch_timer_start(p->ps->loop, &p->timer, 5, patience_on_timer);
}

void ch_errands_end(struct ch_providers *ps, bool may_wait) {
    struct patience p = {.ps = ps};
    if (ps->errands && may_wait && ch_loop_may_run(ps->loop, NULL) == 0) {
        p.end = ch_mono_ms(ch_loop_clock(ps->loop)) + CH_LIMIT_ERRAND_MS;
        ch_timer_start(ps->loop, &p.timer, 0, patience_on_timer);
        ch_loop_run(ps->loop, &p.over);
        ch_timer_stop(ps->loop, &p.timer);
    }
    while (ps->errands) {
        struct ch_errand *e = ps->errands;
        ps->errands = e->next;
        ch_transport_cancel(e->transport, e->call);
        ch_errand_free(e);
    }
}
