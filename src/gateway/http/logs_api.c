/* logs_api.c -- see logs_api.h.
 *
 * A stream looks for new lines at an interval, because lines come from any thread. The runtime
 * keeps lines only if its host takes a log. */
#include "gateway/http/logs_api.h"

#include "base/limits.h"
#include "base/log_ring.h"
#include "gateway/request/request.h"

static const char *const levels[] = {"trace", "info", "warn", "error"};

void ch_logs_api_keep(chela_gateway *gw) {
    if (gw->rt->log && !atomic_load(&gw->rt->recent_log))
        atomic_store(&gw->rt->recent_log, ch_log_ring_new());
}

static void logs_write(struct ch_jw *w, const struct ch_log_line *l) {
    ch_jw_begin(w, '{');
    ch_jw_kint(w, "seq", (int64_t)l->seq);
    ch_jw_kint(w, "ts", l->ts);
    ch_jw_kcstr(w, "level", levels[l->level]);
    ch_jw_kcstr(w, "area", l->area);
    ch_jw_kcstr(w, "text", l->text);
    ch_jw_end(w, '}');
}

/* --- a stream */

struct log_watcher {
    struct ch_request *request;
    struct ch_timer timer;
    uint64_t last; /* number of the last line that was sent */
    struct ch_buf lines;
};

static void log_watcher_add(const struct ch_log_line *l, void *user) {
    struct log_watcher *f = user;
    struct ch_jw w = ch_jw(&f->lines);
    ch_buf_add_str(&f->lines, "event: log\ndata: ");
    logs_write(&w, l);
    ch_buf_add_str(&f->lines, "\n\n");
}

static void log_watcher_look(struct ch_timer *t) {
    struct log_watcher *f = CH_CONTAINER(t, struct log_watcher, timer);
    chela_runtime *rt = f->request->gw->rt;
    f->last = ch_log_ring_read(atomic_load(&rt->recent_log), f->last, log_watcher_add, f);
    ch_timer_start(rt->loop, t, CH_DEFAULT_LOG_LOOK_MS, log_watcher_look);
    if (f->lines.n) {
        CH_BUF_AUTO lines = f->lines;
        f->lines = (struct ch_buf){0};
        ch_request_write(f->request, ch_buf_sv(&lines)); /* may end the request */
    }
}

static void log_watcher_on_disconnect(struct ch_request *req) {
    struct log_watcher *f = req->user;
    ch_timer_stop(req->gw->rt->loop, &f->timer);
    ch_buf_release(&f->lines);
    ch_free(f);
}

static void logs_follow(struct ch_request *req, uint64_t after) {
    struct log_watcher *f = ch_alloc(sizeof(*f));
    f->request = req;
    f->last = after;
    req->user = f;
    req->on_disconnect = log_watcher_on_disconnect;
    ch_request_begin_stream(req);
    ch_exchange_write(req->x, CH_SV(": listening\n\n"));
    ch_timer_start(req->gw->rt->loop, &f->timer, 0, log_watcher_look);
}

/* --- the route */

static void logs_add(const struct ch_log_line *l, void *user) {
    logs_write(user, l);
}

void ch_logs_api_get(struct ch_request *req) {
    struct ch_log_ring *ring = atomic_load(&req->gw->rt->recent_log);
    int64_t after, follow;
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    if (!ch_request_query_number(req, "after", 0, INT32_MAX, &after) ||
        !ch_request_query_number(req, "follow", 0, 1, &follow))
        return;
    if (ring && follow) {
        logs_follow(req, (uint64_t)after);
        return;
    }
    ch_jw_begin(&w, '{');
    ch_jw_kbool(&w, "kept", ring);
    ch_jw_kbegin(&w, "lines", '[');
    if (ring)
        ch_log_ring_read(ring, (uint64_t)after, logs_add, &w);
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    ch_request_respond_json(req, 200, &out);
}
