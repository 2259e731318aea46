/* openai_completion.c -- an answer in one of OpenAI's protocols: how it begins and ends.
 *
 *   request --read--> history, wishes --> lane --ready--> run --events--> answer
 *
 * What is said in between, and how, is each protocol's own (struct ch_completion_ops).
 * A client that leaves ends it, and the run if nobody keeps that. What fails
 * before the first word of a stream is answered with a proper status. */
#include <stdio.h>

#include "base/error.h"
#include "gateway/http/openai.h"

static void free_completion(struct ch_completion *r) {
    ch_lane_unwatch(&r->watcher);
    ch_list_del(&r->wait.link);
    if (r->lane && !r->lane->kept)
        ch_lane_close(r->lane);
    r->ops->release(r);
    ch_history_release(&r->history);
    ch_free(r->agent);
    ch_free(r);
}

static void on_left(struct ch_visit *v) {
    free_completion(v->user);
}

static void fail(struct ch_completion *r, const struct chela_event *ev) {
    bool overflow = strcmp(ev->end.reason, "context_overflow") == 0;
    ch_visit_fail(r->visit, overflow ? 400 : 502,
                  overflow ? "context_length_exceeded" : ev->end.reason, "%.*s",
                  (int)ev->end.error.n, ev->end.error.p);
}

bool ch_completion_failed(const struct chela_event *end) {
    return strcmp(end->end.status, "error") == 0 || strcmp(end->end.status, "cancelled") == 0;
}

static void on_event(struct ch_watcher *w, const struct chela_event *ev) {
    struct ch_completion *r = CH_CONTAINER(w, struct ch_completion, watcher);
    if (ev->type != CHELA_EV_RUN_END) {
        r->ops->event(r, ev);
        return;
    }
    r->visit->left = NULL;
    if (ch_completion_failed(ev) && !r->begun)
        fail(r, ev);
    else
        r->ops->end(r, ev);
    free_completion(r);
}

static void refuse(struct ch_completion *r, const struct chela_error *err) {
    struct ch_visit *v = r->visit;
    v->left = NULL;
    free_completion(r);
    ch_visit_error(v, err);
}

static void on_ready(struct ch_lane_wait *w, struct ch_lane *l, const struct chela_error *failed) {
    struct ch_completion *r = CH_CONTAINER(w, struct ch_completion, wait);
    struct chela_error err = failed ? *failed : (struct chela_error){0};
    int rc = failed ? err.code : ch_lane_converse(l, &r->history, &err);
    if (rc < 0)
        refuse(r, &err);
    else
        ch_lane_watch(l, &r->watcher);
}

static struct ch_completion *new_completion(struct ch_visit *v,
                                           const struct ch_completion_ops *ops) {
    struct ch_completion *r = ch_alloc(ops->size);
    int64_t now = ch_now_ms(ch_loop_clock(v->gw->rt->loop));
    char id[24];
    ch_random_id("", id);
    snprintf(r->id, sizeof(r->id), "%s%s", ops->prefix, id);
    r->ops = ops;
    r->visit = v;
    r->created = now / 1000;
    r->stream = ch_json_bool(ch_json_get(v->json, "stream"), false);
    r->watcher.event = on_event;
    r->wait.ready = on_ready;
    ch_history_init(&r->history, &v->arena, now);
    return r;
}

static int read_request(struct ch_completion *r, struct chela_error *err) {
    struct ch_visit *v = r->visit;
    struct ch_openai_params params = {0};
    struct ch_lane_opts opts = {0};
    int rc = ch_openai_agent(v, &opts, err);
    if (rc == 0)
        rc = ch_openai_sampling(v, &params, &opts, err);
    if (rc == 0)
        rc = ch_openai_choice(v, &opts, err);
    if (rc == 0)
        rc = r->ops->read(r, &opts, err);
    if (rc < 0)
        return rc;
    r->agent = ch_strdup(opts.agent->id);
    opts.patch.system = ch_buf_str(&r->history.system);
    return ch_lane_for(v, &opts, &r->lane, err);
}

void ch_completion_begin(struct ch_visit *v, const struct ch_completion_ops *ops) {
    struct chela_error err = {0};
    struct ch_completion *r = new_completion(v, ops);
    int rc = read_request(r, &err);
    if (rc == 0) {
        v->user = r;
        v->left = on_left;
        ch_lane_when_ready(r->lane, &r->wait);
        return;
    }
    free_completion(r);
    if (rc == CHELA_ENOENT)
        ch_visit_fail(v, 404, "model_not_found", "%s", err.message);
    else
        ch_visit_error(v, &err);
}
