/* delivery.c -- see delivery.h. */
#include "agent/handle/run.h"
#include "gateway/lane/delivery.h"

#include "agent/handle/agent.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "gateway/lane/lane.h"
#include "gateway/request/gateway_state.h"

#define LONGEST_REST_MS 60000

struct ch_delivery {
    struct ch_link link; /* in the gateway's deliveries, once started */
    struct ch_lane_wait wait;
    struct ch_lane_watcher watcher; /* of the run that must end first */
    struct ch_task again;
    chela_gateway *gw;
    struct ch_arena arena;
    struct ch_delivery_opts is; /* texts are in the arena */
    int64_t not_before;         /* monotonic; of a postponed delivery */
    unsigned failures;
};

static void delivery_try(struct ch_task *t);

struct ch_delivery *ch_delivery_new(chela_gateway *gw, const struct ch_delivery_opts *o) {
    struct ch_delivery *d = ch_alloc(sizeof(*d));
    d->gw = gw;
    d->is = *o;
    d->is.id = ch_arena_str(&d->arena, ch_sv_str(o->id));
    d->is.key = ch_arena_str(&d->arena, ch_sv_str(o->key));
    d->is.agent = ch_arena_str(&d->arena, ch_sv_str(o->agent ? o->agent : ""));
    d->is.text = ch_arena_str(&d->arena, ch_sv_str(o->text));
    d->again.fn = delivery_try;
    return d;
}

void ch_delivery_free(struct ch_delivery *d) {
    if (!d)
        return;
    ch_list_del(&d->link);
    ch_list_del(&d->wait.link);
    ch_lane_unwatch(&d->watcher);
    if (ch_task_queued(&d->again))
        ch_task_cancel(d->gw->rt->loop, &d->again);
    ch_arena_release(&d->arena);
    ch_free(d);
}

const char *ch_delivery_key(const struct ch_delivery *d) {
    return d->is.key;
}

/* --- as an item of the inbox */

void ch_delivery_write(const struct ch_delivery *d, struct ch_buf *out) {
    const struct ch_bounds *b = &d->is.bounds;
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "agent", d->is.agent);
    ch_jw_kcstr(&w, "text", d->is.text);
    if (d->is.timer)
        ch_jw_kbool(&w, "timer", true);
    if (d->is.wake)
        ch_jw_kbool(&w, "wake", true);
    if (b->cost_usd > 0) {
        ch_jw_key(&w, "cost_usd");
        ch_jw_double(&w, b->cost_usd);
    }
    if (b->turns)
        ch_jw_kint(&w, "turns", b->turns);
    if (b->timeout_ms)
        ch_jw_kint(&w, "timeout_ms", b->timeout_ms);
    ch_jw_end(&w, '}');
}

static const char *delivery_text_of(struct ch_arena *a, const struct ch_json *v, const char *key) {
    struct ch_sv text = ch_json_get_str(v, key);
    return text.p ? ch_arena_str(a, text) : "";
}

struct ch_delivery *ch_delivery_restore(chela_gateway *gw, const char *id, const char *key,
                                        struct ch_sv data) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    if (ch_json_parse(&arena, data, CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return NULL;
    struct ch_delivery_opts o = {
        .id = id,
        .key = key,
        .agent = delivery_text_of(&arena, v, "agent"),
        .text = delivery_text_of(&arena, v, "text"),
        .timer = ch_json_bool(ch_json_get(v, "timer"), false),
        .wake = ch_json_bool(ch_json_get(v, "wake"), false),
        .bounds = {.cost_usd = ch_json_double(ch_json_get(v, "cost_usd"), 0),
                   .turns = ch_json_int(ch_json_get(v, "turns"), 0),
                   .timeout_ms = ch_json_int(ch_json_get(v, "timeout_ms"), 0)}};
    return ch_delivery_new(gw, &o);
}

/* --- delivering */

static void delivery_postpone(struct ch_delivery *d, const struct chela_error *why) {
    int64_t ms = CH_MIN(1000LL << CH_MIN(d->failures, 10u), (int64_t)LONGEST_REST_MS);
    if (why->code == CHELA_EBUSY) /* another gateway holds the session for a short time */
        ms = CH_DEFAULT_SHARED_ORPHAN_SCAN_MS;
    d->not_before = ch_mono_ms(ch_loop_clock(d->gw->rt->loop)) + ms;
    if ((d->failures & (d->failures + 1)) == 0) /* log the 1st, 2nd, 4th, 8th... failure */
        ch_log(why->code == CHELA_EBUSY ? CH_LOG_INFO : CH_LOG_WARN, "gateway",
               "an event for session %s waits: %s", d->is.key, why->message);
    d->failures++;
}

/* Tries again from the loop: inside the event the lane is not idle yet. */
static void delivery_on_event(struct ch_lane_watcher *w, const struct chela_event *ev) {
    struct ch_delivery *d = CH_CONTAINER(w, struct ch_delivery, watcher);
    if (ev->type != CHELA_EV_RUN_END)
        return;
    ch_lane_unwatch(w);
    ch_task_defer(d->gw->rt->loop, &d->again);
}

static int delivery_begin_run(struct ch_delivery *d, struct ch_lane *l, struct chela_error *err) {
    int64_t now = ch_now_ms(ch_loop_clock(d->gw->rt->loop));
    struct ch_msg *m = ch_msg_text(d->is.timer ? CH_MSG_TIMER : CH_MSG_WEBHOOK,
                                   ch_sv_str(d->is.text), now);
    struct chela_run_opts opts =
        CHELA_RUN_OPTS(.approve = CHELA_APPROVE_ASK, .event_id = d->is.id,
                       .drop_if = d->is.wake ? CH_WAKE_OK : NULL);
    int rc = d->is.timer ? d->gw->attach_chat(l, &opts.answer_to, &opts.approve, err) : 0;
    if (rc < 0) {
        ch_msg_free(m);
        return rc;
    }
    if (d->is.wake)
        opts.approve = CHELA_APPROVE_DENY;
    return ch_lane_begin(l, m, &opts, err);
}

static void delivery_on_ready(struct ch_lane_wait *w, struct ch_lane *l,
                              const struct chela_error *failed) {
    struct ch_delivery *d = CH_CONTAINER(w, struct ch_delivery, wait);
    struct chela_error err = failed ? *failed : (struct chela_error){0};
    int rc = err.code;
    /* An interrupted run goes first. If it cannot be resumed, the event is delivered all the
     * same. */
    if (rc == 0 && ch_lane_was_interrupted(l) && ch_lane_resume(l, CHELA_APPROVE_ASK, &err) < 0)
        ch_log(CH_LOG_WARN, "gateway", "the interrupted run of session %s cannot be resumed: %s",
               d->is.key, err.message);
    if (rc == 0 && l->running) {
        d->watcher.event = delivery_on_event;
        ch_lane_watch(l, &d->watcher);
        return;
    }
    if (rc == 0)
        rc = delivery_begin_run(d, l, &err);
    if (rc == 0 || rc == CHELA_EEXIST)
        ch_delivery_free(d);
    else
        delivery_postpone(d, &err);
}

/* An event without bounds uses the open lane as it is, whatever options the lane was opened
 * with. */
static int delivery_find_lane(const struct ch_delivery *d, struct ch_lane **out,
                              struct chela_error *err) {
    const struct ch_bounds *b = &d->is.bounds;
    chela_agent *agent = ch_gateway_agent(d->gw, ch_sv_str(d->is.agent));
    bool bounded = b->cost_usd > 0 || b->turns || b->timeout_ms;
    struct ch_lane_opts o = {.agent = agent, .key = d->is.key, .patch.bounds = *b};
    *out = bounded ? NULL : ch_lane_find(d->gw, ch_sv_str(d->is.key));
    if (*out)
        return 0;
    if (!agent)
        return ch_fail(err, CHELA_ENOENT, "there is no agent '%s'", d->is.agent);
    return ch_lane_use(d->gw, &o, out, err);
}

static void delivery_try(struct ch_task *t) {
    struct ch_delivery *d = CH_CONTAINER(t, struct ch_delivery, again);
    struct chela_error err = {0};
    struct ch_lane *lane;
    if (d->gw->draining)
        return; /* the event stays in the inbox */
    d->wait.ready = delivery_on_ready;
    if (delivery_find_lane(d, &lane, &err) == 0)
        ch_lane_when_ready(lane, &d->wait);
    else
        delivery_postpone(d, &err);
}

void ch_delivery_start(struct ch_delivery *d) {
    ch_list_add(&d->gw->deliveries, &d->link);
    delivery_try(&d->again);
}

/* --- all deliveries */

bool ch_delivery_is_known(const chela_gateway *gw, const char *id) {
    for (CH_LIST_EACH(k, &gw->deliveries))
        if (strcmp(CH_CONTAINER(k, struct ch_delivery, link)->is.id, id) == 0)
            return true;
    return false;
}

static bool delivery_is_active(const struct ch_delivery *d) {
    return d->wait.link.next || d->watcher.link.next || ch_task_queued(&d->again);
}

bool ch_deliveries_busy(const chela_gateway *gw) {
    for (CH_LIST_EACH(k, &gw->deliveries))
        if (delivery_is_active(CH_CONTAINER(k, struct ch_delivery, link)))
            return true;
    return false;
}

void ch_deliveries_retry(chela_gateway *gw) {
    int64_t now = ch_mono_ms(ch_loop_clock(gw->rt->loop));
    struct ch_link *k = gw->deliveries.head.next, *next;
    for (; k != &gw->deliveries.head; k = next) {
        struct ch_delivery *d = CH_CONTAINER(k, struct ch_delivery, link);
        next = k->next;
        if (!delivery_is_active(d) && now >= d->not_before)
            ch_task_defer(gw->rt->loop, &d->again);
    }
}

void ch_deliveries_free(chela_gateway *gw) {
    for (struct ch_delivery *d; (d = CH_LIST_FIRST(&gw->deliveries, struct ch_delivery, link));)
        ch_delivery_free(d);
}
