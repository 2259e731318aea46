/* response_run.c -- see response_run.h. */
#include "gateway/http/response_run.h"

#include <stdio.h>

#include "base/error.h"
#include "base/limits.h"
#include "gateway/http/openai_responses.h"
#include "gateway/http/response_store.h"
#include "gateway/lane/delivery.h"
#include "gateway/lane/record_events.h"
#include "gateway/lane/tail.h"
#include "store/store.h"

int ch_response_run_keep(chela_gateway *gw, const struct ch_response_run *run,
                         struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "session", run->session);
    ch_jw_kstr(&w, "event", run->event);
    ch_jw_kcstr(&w, "agent", run->agent);
    ch_jw_kint(&w, "after", (int64_t)run->after);
    ch_jw_kint(&w, "created", run->created);
    ch_jw_kstr(&w, "input", run->input);
    ch_jw_kvalue(&w, "request", run->request);
    ch_jw_kbool(&w, "cancelled", run->cancelled);
    ch_jw_end(&w, '}');
    if (out.overflow || out.n > CH_LIMIT_SHARED_RESPONSE)
        return ch_fail(err, CHELA_ELIMIT,
                       "the request is too large for a background response: at most %zu KB",
                       CH_LIMIT_SHARED_RESPONSE / 1024);
    ch_response_store_keep_run(gw, run->id, ch_arena_str(&arena, run->session), ch_buf_sv(&out));
    return 0;
}

bool ch_response_run_read(struct ch_arena *a, const char *id, struct ch_sv text,
                          struct ch_response_run *out) {
    const struct ch_json *v = NULL;
    if (ch_json_parse(a, text, CH_JSON_REPLACE, &v, NULL, NULL) < 0 ||
        !ch_json_get_str(v, "event").n)
        return false;
    *out = (struct ch_response_run){.id = id,
                                    .agent = ch_arena_str(a, ch_json_get_str(v, "agent")),
                                    .session = ch_json_get_str(v, "session"),
                                    .event = ch_json_get_str(v, "event"),
                                    .input = ch_json_get_str(v, "input"),
                                    .after = (uint64_t)ch_json_int(ch_json_get(v, "after"), 0),
                                    .created = ch_json_int(ch_json_get(v, "created"), 0),
                                    .request = ch_json_get(v, "request"),
                                    .cancelled = ch_json_bool(ch_json_get(v, "cancelled"), false)};
    return true;
}

/* An end of the run that has no record. */
static struct chela_event run_end_without_record(enum chela_status status, const char *why) {
    enum chela_reason reason =
        status == CHELA_STATUS_CANCELLED ? CHELA_REASON_CANCELLED : CHELA_REASON_STORE;
    return (struct chela_event){
        .type = CHELA_EV_RUN_END,
        .run = "",
        .end = {.status = status,
                .reason = reason,
                .text = {"", 0},
                .error = {why, strlen(why)},
                .ending = {why, strlen(why)}}};
}

/* --- from the records so far, on a worker thread */

struct run_records {
    const struct ch_response_run *run;
    struct openai_response *view;
    struct ch_record_events state;
    bool taken, complete;
};

static int run_on_record(const struct chela_store_record *record, void *user) {
    struct run_records *r = user;
    struct ch_record_batch *b = r->complete ? NULL : ch_record_events_read(&r->state, record);
    if (b && b->taken && ch_sv_is(r->run->event, b->taken))
        r->taken = true;
    for (size_t i = 0; b && r->taken && !r->complete && i < b->n; i++)
        r->complete = ch_openai_response_show(r->view, &b->events[i]);
    ch_record_batch_free(b);
    return 0;
}

/* The session was not created yet, or was deleted. */
static int run_read_records(chela_store *store, struct run_records *r, struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    int rc = chela_store_records(store, ch_arena_str(&arena, r->run->session), r->run->after + 1,
                                 run_on_record, r, err);
    if (rc == CHELA_ENOENT)
        *err = (struct chela_error){0};
    return rc == CHELA_ENOENT ? 0 : rc;
}

/* The session refused the event, or the event was cancelled before its turn. */
static void run_settle(chela_store *store, struct run_records *r) {
    struct chela_error outcome = {0};
    CH_ARENA_AUTO arena = {0};
    if (!r->run->cancelled)
        ch_delivery_read_outcome(store, ch_arena_str(&arena, r->run->event), &outcome);
    if (!r->run->cancelled && !outcome.code)
        return;
    struct chela_event end = run_end_without_record(
        r->run->cancelled ? CHELA_STATUS_CANCELLED : CHELA_STATUS_ERROR, outcome.message);
    r->complete = ch_openai_response_show(r->view, &end);
}

int ch_response_run_write(chela_store *store, const struct ch_response_run *run,
                          struct ch_buf *object, struct ch_buf *items, struct chela_error *err) {
    struct ch_request req = {0};
    struct run_records r = {.run = run, .view = ch_openai_response_view(run, &req, false)};
    int rc = run_read_records(store, &r, err);
    if (rc == 0 && !r.taken)
        run_settle(store, &r);
    if (rc == 0) {
        struct ch_sv output = ch_openai_response_output(r.view);
        ch_buf_add_sv(object,
                      ch_openai_response_object(r.view, r.taken ? "in_progress" : "queued"));
        ch_buf_add_sv(items, run->input);
        if (output.n)
            ch_buf_addf(items, "%s%.*s", items->n ? "," : "", CH_SV_FMT(output));
    }
    ch_openai_response_free(r.view);
    ch_record_events_release(&r.state);
    ch_arena_release(&req.arena);
    return rc < 0 ? rc : r.complete;
}

/* --- as a stream */

struct run_stream {
    struct ch_lane_watcher watcher;
    struct ch_request *request;
    struct openai_response *view;
    const char *event; /* in the request's arena */
    int64_t skip;
};

static void run_stream_free(struct run_stream *s) {
    ch_lane_unwatch(&s->watcher);
    ch_openai_response_free(s->view);
    ch_free(s);
}

static void run_stream_on_disconnect(struct ch_request *req) {
    run_stream_free(req->user);
}

static void run_stream_show(struct run_stream *s, const struct chela_event *ev) {
    struct ch_request *req = s->request;
    if (ev->type == CHELA_EV_RUN_END)
        req->on_disconnect = NULL;
    if (ch_openai_response_show(s->view, ev))
        run_stream_free(s);
    else
        req->on_disconnect = run_stream_on_disconnect;
}

static void run_stream_on_event(struct ch_lane_watcher *w, const struct chela_event *ev) {
    run_stream_show(CH_CONTAINER(w, struct run_stream, watcher), ev);
}

static void run_stream_on_settled(const struct chela_error *err, void *user) {
    if (!err)
        return;
    struct chela_event end = run_end_without_record(CHELA_STATUS_ERROR, err->message);
    run_stream_show(user, &end);
}

static void run_stream_on_open(struct ch_lane_watcher *w, bool gap, const struct chela_error *err,
                               void *user) {
    struct run_stream *s = user;
    struct ch_request *req = s->request;
    (void)gap;
    if (err) {
        req->on_disconnect = NULL;
        run_stream_free(s);
        ch_request_fail_with(req, err);
        return;
    }
    ch_openai_response_begin(s->view, s->skip);
    ch_tail_await(w, s->event, true, run_stream_on_settled, s);
}

void ch_response_run_stream(struct ch_request *req, const struct ch_response_run *run,
                            int64_t skip) {
    struct run_stream *s = ch_alloc(sizeof(*s));
    char after[24];
    int n = snprintf(after, sizeof(after), "%llu", (unsigned long long)run->after);
    s->request = req;
    s->skip = skip;
    s->event = ch_arena_str(&req->arena, run->event);
    s->view = ch_openai_response_view(run, req, true);
    s->watcher.event = run_stream_on_event;
    req->user = s;
    req->on_disconnect = run_stream_on_disconnect;
    ch_tail_open(req->gw, ch_arena_str(&req->arena, run->session), CH_TAIL_AFTER,
                 ch_sv(after, (size_t)n), &s->watcher, run_stream_on_open, s);
}
