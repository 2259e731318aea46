/* delivery.c -- see delivery.h. */
#include "gateway/lane/delivery.h"

#include <stdlib.h>

#include "agent/handle/agent.h"
#include "agent/handle/run.h"
#include "agent/journal/journal.h"
#include "agent/journal/schedule.h"
#include "agent/journal/timer.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "gateway/lane/lane.h"
#include "gateway/request/gateway_state.h"
#include "json/writer.h"
#include "model/message/message_json.h"
#include "prompt/directive.h"
#include "store/store.h"

#define RETRY_MS 300 /* doubled each time */
#define RETRIES 3
#define LATE_MS 1000 /* longest time that a sender waits for the turn of its event */
#define OUTCOME "outcome/" /* prefix of the id of an outcome that the store keeps */
#define OUTCOME_MS 60000

/* Nothing is called back any more, except by the store. */
static void delivery_stop(struct ch_delivery *d) {
    if (ch_timer_armed(&d->retry))
        ch_timer_stop(d->gw->rt->loop, &d->retry);
    ch_list_del(&d->wait.link);
    ch_list_del(&d->budget.link);
    ch_list_del(&d->turn.link);
}

static void delivery_free(struct ch_delivery *d) {
    delivery_stop(d);
    ch_list_del(&d->link);
    ch_buf_release(&d->text);
    ch_arena_release(&d->arena);
    ch_free(d);
}

static void delivery_tell(struct ch_delivery *d, enum ch_delivery_stage stage, struct ch_lane *l,
                          const struct chela_error *err) {
    if (d->on_stage)
        d->on_stage(d, stage, l, err, d->user);
}

static void delivery_end(struct ch_delivery *d, enum ch_delivery_stage stage, struct ch_lane *l,
                         const struct chela_error *err) {
    delivery_tell(d, stage, l, err);
    delivery_free(d);
}

void ch_delivery_leave(struct ch_delivery *d) {
    d->on_stage = NULL;
    d->lane_opts = NULL;
}

/* --- as data of the inbox */

static const struct ch_delivery_kind *delivery_kind(const chela_gateway *gw, struct ch_sv name) {
    const struct ch_delivery_kind *const *k = gw->delivery_kinds;
    if (!name.n)
        return *k;
    for (; *k; k++)
        if (ch_sv_is(name, (*k)->name))
            return *k;
    return NULL;
}

static const char *delivery_text(struct ch_delivery *d, const char *key) {
    struct ch_sv text = ch_json_get_str(d->data, key);
    return text.p ? ch_arena_str(&d->arena, text) : "";
}

static struct ch_delivery *delivery_parse(chela_gateway *gw, const char *id, const char *key,
                                          struct ch_sv data) {
    struct ch_delivery *d = ch_alloc(sizeof(*d));
    d->gw = gw;
    d->id = ch_arena_str(&d->arena, ch_sv_str(id));
    d->key = ch_arena_str(&d->arena, ch_sv_str(key));
    d->turn.id = d->id;
    if (ch_json_parse(&d->arena, ch_arena_sv(&d->arena, data), CH_JSON_REPLACE, &d->data, NULL,
                      NULL) == 0)
        d->kind = delivery_kind(gw, ch_json_get_str(d->data, "kind"));
    /* An event without text cannot begin a run, and would stay in the inbox for ever. */
    if (d->kind == &ch_delivery_event && !ch_json_get_str(d->data, "text").n)
        d->kind = NULL;
    if (!d->kind) {
        delivery_free(d);
        return NULL;
    }
    d->turn.kind = d->kind->turn;
    d->agent = delivery_text(d, "agent");
    d->awaited = ch_json_bool(ch_json_get(d->data, "awaited"), false);
    d->bounds =
        (struct ch_bounds){.cost_usd = ch_json_double(ch_json_get(d->data, "cost_usd"), 0),
                           .turns = ch_json_int(ch_json_get(d->data, "turns"), 0),
                           .timeout_ms = ch_json_int(ch_json_get(d->data, "timeout_ms"), 0)};
    return d;
}

struct ch_delivery *ch_delivery_new(chela_gateway *gw, const char *kind, const char *id,
                                    const char *key, const char *agent, struct ch_sv data) {
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    ch_jw_begin(&w, '{');
    if (kind)
        ch_jw_kcstr(&w, "kind", kind);
    ch_jw_kcstr(&w, "agent", agent ? agent : "");
    if (data.n)
        ch_buf_addf(&text, ",%.*s", CH_SV_FMT(data));
    ch_jw_end(&w, '}');
    struct ch_delivery *d = delivery_parse(gw, id, key, ch_buf_sv(&text));
    if (d)
        ch_buf_add_sv(&d->text, ch_buf_sv(&text));
    return d;
}

/* --- its turn */

/* The store keeps the event; a later scan tries again. */
static void delivery_postpone(struct ch_delivery *d, const struct chela_error *err) {
    ch_log(CH_LOG_WARN, "gateway", "an event for session %s waits: %s", d->key, err->message);
    delivery_free(d);
}

/* Keeps the outcome for a gateway whose client may wait; a refusal also for a client that
 * repeats the request. */
static void delivery_keep_outcome(struct ch_delivery *d, int code, const char *message) {
    CH_BUF_AUTO data = {0};
    ch_buf_addf(&data, "%d %s", code, message);
    ch_gateway_keep(d->gw, OUTCOME, ch_sv_str(d->id), NULL, ch_buf_sv(&data),
                    code ? CH_DEFAULT_IDEMPOTENCY_MS : OUTCOME_MS);
}

/* The id of the run, and whether the run is in progress. */
static void delivery_keep_success(struct ch_delivery *d, const struct ch_lane *l) {
    CH_BUF_AUTO text = {0};
    ch_buf_addf(&text, "%s%s", l->run ? l->run->id : "none", l->running ? " running" : "");
    delivery_keep_outcome(d, 0, ch_buf_str(&text));
}

static int delivery_on_outcome(const struct chela_store_item *item, void *user) {
    struct ch_sv text = ch_sv(item->data, item->n), code = ch_sv_split(&text, ' ');
    ch_fail(user, (int)strtol(code.p, NULL, 10), "%.*s", CH_SV_FMT(text));
    return 0;
}

void ch_delivery_read_outcome(chela_store *store, const char *id, struct chela_error *out) {
    struct chela_error ignored = {0};
    CH_BUF_AUTO name = {0};
    ch_buf_addf(&name, OUTCOME "%s", id);
    ch_store_kept(store, ch_buf_str(&name), delivery_on_outcome, out, &ignored);
}

/* Why the store did not make a change; err may be NULL. */
static struct chela_error delivery_failure(int rc, const struct chela_error *err) {
    struct chela_error why = err ? *err : (struct chela_error){0};
    if (rc < 0 && !err)
        ch_fail(&why, rc, "%s", chela_error_text(rc));
    return why;
}

/* The store has answered, and this gateway does not deliver the event. A lane that read the event
 * meanwhile expects d to deliver it, so the lane is notified. */
static void delivery_end_undelivered(struct ch_delivery *d, enum ch_delivery_stage stage,
                                     const struct chela_error *err) {
    struct ch_lane *l = ch_lane_find(d->gw, ch_sv_str(d->key));
    delivery_end(d, stage, NULL, err);
    if (l)
        ch_lane_inbox_poke(l);
}

static void delivery_on_removed(int rc, const struct chela_error *err, void *user) {
    struct ch_delivery *d = user;
    struct chela_error why = delivery_failure(rc, err);
    d->accepting = false;
    if (!d->on_stage && !d->closed) /* the sender has left meanwhile, and may repeat the request */
        delivery_keep_outcome(d, d->refusal->code, d->refusal->message);
    if (d->closed)
        delivery_free(d);
    else if (rc < 0 && rc != CHELA_ENOENT) /* ENOENT: the session was deleted */
        delivery_end_undelivered(d, CH_DELIVERY_FAILED, &why);
    else
        delivery_end_undelivered(d, CH_DELIVERY_REFUSED, d->refusal);
}

/* The sender is told when the store has removed the event: otherwise the next process could
 * deliver an event that was refused. */
static void delivery_drop(struct ch_delivery *d, const struct chela_error *err) {
    if (!d->on_stage) {
        ch_log(CH_LOG_WARN, "gateway", "event %s of session %s is dropped: %s", d->id, d->key,
               err->message);
        delivery_keep_outcome(d, err->code, err->message);
        ch_lane_inbox_settle(d->gw, d->key, d->id, NULL, NULL);
        delivery_free(d);
        return;
    }
    d->refusal = ch_arena_zalloc(&d->arena, sizeof(*d->refusal));
    *d->refusal = *err;
    d->accepting = true;
    delivery_stop(d);
    ch_lane_inbox_settle(d->gw, d->key, d->id, delivery_on_removed, d);
}

static void delivery_refuse(struct ch_delivery *d, const struct chela_error *err) {
    if (d->kind->retried && !d->on_stage)
        delivery_postpone(d, err);
    else
        delivery_drop(d, err);
}

static int delivery_take(struct ch_turn *t, struct ch_lane *l, const struct chela_error *failed) {
    struct ch_delivery *d = CH_CONTAINER(t, struct ch_delivery, turn);
    struct chela_error err = {0};
    if (failed) {
        delivery_end(d, CH_DELIVERY_QUEUED, NULL, NULL);
        return 0;
    }
    int rc = d->kind->apply(d, l, &err);
    bool full = rc == CHELA_ELIMIT && d->kind->turn != CH_TURN_CONTROLS && ch_lane_is_busy(l);
    if (full) /* too many messages wait in the session */
        rc = d->on_stage || d->awaited ? (err.code = CHELA_EOVERLOAD) : CH_TURN_WAITS;
    if (rc == CH_TURN_WAITS && (d->kind->sender_waits || ch_timer_armed(&d->retry)))
        return rc; /* delivery_on_late tells the sender */
    if (rc == CH_TURN_WAITS) {
        delivery_tell(d, CH_DELIVERY_QUEUED, NULL, NULL);
        ch_delivery_leave(d);
    } else if (rc == 0) {
        if (d->awaited && !d->on_stage && d->kind->turn == CH_TURN_CONTROLS)
            delivery_keep_success(d, l);
        delivery_end(d, CH_DELIVERY_TAKEN, l, NULL);
    } else {
        delivery_refuse(d, &err);
    }
    return rc;
}

static void delivery_start(struct ch_delivery *d);

static bool delivery_is_awaited(struct ch_sv data) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;
    return ch_json_parse(&arena, data, CH_JSON_REPLACE, &v, NULL, NULL) == 0 &&
           ch_json_bool(ch_json_get(v, "awaited"), false);
}

static int delivery_on_waiting(const struct chela_store_item *item, void *user) {
    struct ch_delivery *d = user;
    d->still_waits = strcmp(item->id, d->id) == 0;
    d->refusable = d->still_waits && delivery_is_awaited(ch_sv(item->data, item->n));
    return d->still_waits;
}

static void delivery_read_waiting(struct ch_delivery *d) {
    struct chela_error ignored = {0};
    ch_store_waiting(d->store, d->key, CH_LIMIT_LANE_EVENTS, delivery_on_waiting, d, &ignored);
}

static void delivery_look(struct ch_work *w) {
    delivery_read_waiting(CH_CONTAINER(w, struct ch_delivery, lookup));
}

static void delivery_on_look_dropped(struct ch_work *w) {
    delivery_free(CH_CONTAINER(w, struct ch_delivery, lookup));
}

static void delivery_on_looked(struct ch_work *w) {
    struct ch_delivery *d = CH_CONTAINER(w, struct ch_delivery, lookup);
    d->accepting = false;
    if (d->still_waits && !d->closed)
        delivery_start(d);
    else
        delivery_free(d);
}

/* The holder may have taken up the event, and the session may be deleted since: to open the
 * session would create the session again. */
static void delivery_on_retry(struct ch_timer *t) {
    struct ch_delivery *d = CH_CONTAINER(t, struct ch_delivery, retry);
    d->lookup = (struct ch_work){
        .run = delivery_look, .done = delivery_on_looked, .dropped = delivery_on_look_dropped};
    d->store = d->gw->store;
    d->still_waits = false;
    d->accepting = true;
    ch_work_submit(d->gw->rt->workers, &d->lookup);
}

/* Another gateway has the session and takes the event up, unless it is about to release the
 * session. So the delivery is retried a few times; after that, the scan of the inbox finds
 * the event. An event that needs an open lane is not retried: without a lane here it would be
 * settled before the holder, which may poll the store, has seen it. */
static void delivery_leave_to_holder(struct ch_delivery *d) {
    delivery_tell(d, CH_DELIVERY_QUEUED, NULL, NULL);
    ch_delivery_leave(d);
    if (d->retries == RETRIES || d->kind->needs_open_lane)
        delivery_free(d);
    else
        ch_timer_start(d->gw->rt->loop, &d->retry, (int64_t)RETRY_MS << d->retries++,
                       delivery_on_retry);
}

/* The event waits behind others: the sender learns that the store has it. */
static void delivery_on_late(struct ch_timer *t) {
    struct ch_delivery *d = CH_CONTAINER(t, struct ch_delivery, retry);
    delivery_tell(d, CH_DELIVERY_QUEUED, NULL, NULL);
    ch_delivery_leave(d);
}

static void delivery_on_ready(struct ch_lane_wait *w, struct ch_lane *l,
                              const struct chela_error *failed) {
    struct ch_delivery *d = CH_CONTAINER(w, struct ch_delivery, wait);
    if (!failed && d->on_stage && d->kind->turn != CH_TURN_CONTROLS && !d->kind->sender_waits)
        ch_timer_start(d->gw->rt->loop, &d->retry, LATE_MS, delivery_on_late);
    if (!failed)
        ch_lane_inbox_wait(l, &d->turn);
    else if (failed->code == CHELA_EBUSY)
        delivery_leave_to_holder(d);
    else if (failed->code == CHELA_ESTATE)
        delivery_end(d, CH_DELIVERY_QUEUED, NULL, NULL);
    else if (failed->code == CHELA_ENOENT) /* the session was deleted, and its runs with it */
        delivery_drop(d, failed);
    else if (!d->on_stage) /* it was acknowledged, and the store may work again */
        delivery_postpone(d, failed);
    else if (failed->code == CHELA_EOVERLOAD) /* the store fails now, but it holds the event */
        delivery_end(d, CH_DELIVERY_QUEUED, NULL, NULL);
    else
        delivery_refuse(d, failed);
}

static bool delivery_is_bounded(const struct ch_delivery *d) {
    return d->bounds.cost_usd > 0 || d->bounds.turns || d->bounds.timeout_ms;
}

/* An event without lane options uses the open lane, whatever options the lane was opened
 * with. */
static int delivery_find_lane(struct ch_delivery *d, struct ch_lane **out,
                              struct chela_error *err) {
    chela_agent *agent = ch_gateway_agent(d->gw, ch_sv_str(d->agent));
    struct ch_lane_opts o = {.agent = agent,
                             .key = d->key,
                             .own_agent = !*d->agent && d->kind != &ch_delivery_event,
                             .exists = d->kind->turn == CH_TURN_CONTROLS,
                             .patch.bounds = d->bounds};
    *out = ch_lane_find(d->gw, ch_sv_str(d->key));
    if (*out)
        return 0;
    if (d->kind->open)
        return d->kind->open(d, out, err);
    if (!agent)
        return ch_fail(err, CHELA_ENOENT, "there is no agent '%s'", d->agent);
    return ch_lane_use(d->gw, &o, out, err);
}

/* The store has the event. */
static void delivery_start(struct ch_delivery *d) {
    struct chela_error err = {0};
    struct ch_lane *lane = ch_lane_find(d->gw, ch_sv_str(d->key));
    bool controls = d->kind->turn == CH_TURN_CONTROLS && lane && lane->running;
    if (d->gw->draining && !controls) {
        delivery_end(d, CH_DELIVERY_QUEUED, NULL, NULL);
        return;
    }
    if (d->kind->needs_open_lane && !d->on_stage && !lane) {
        if (d->awaited)
            delivery_keep_outcome(d, 0, "none");
        ch_lane_inbox_settle(d->gw, d->key, d->id, NULL, NULL);
        delivery_free(d);
        return;
    }
    d->turn.take = delivery_take;
    d->wait.ready = delivery_on_ready;
    int rc = delivery_find_lane(d, &lane, &err);
    if (rc == 0)
        ch_lane_when_ready(lane, &d->wait);
    else if (rc == CHELA_EOVERLOAD) /* the store keeps it; a later scan tries again */
        delivery_end(d, CH_DELIVERY_QUEUED, NULL, NULL);
    else
        delivery_refuse(d, &err);
}

static void delivery_look_back(struct ch_work *w) {
    struct ch_delivery *d = CH_CONTAINER(w, struct ch_delivery, lookup);
    delivery_read_waiting(d);
    ch_delivery_read_outcome(d->store, d->id, d->refusal);
}

/* An event whose first sender waited may still be refused, so this sender waits as well, or has to
 * ask again. */
static void delivery_on_looked_back(struct ch_work *w) {
    struct ch_delivery *d = CH_CONTAINER(w, struct ch_delivery, lookup);
    struct chela_error undecided = {0};
    d->accepting = false;
    ch_fail(&undecided, CHELA_EOVERLOAD,
            "the session has not taken up the first copy of the message yet");
    if (d->closed)
        delivery_free(d);
    else if (d->refusal->code)
        delivery_end_undelivered(d, CH_DELIVERY_REFUSED, d->refusal);
    else if (!d->refusable)
        delivery_end_undelivered(d, CH_DELIVERY_DUPLICATE, NULL);
    else if (d->awaited && ch_gateway_is_shared(d->gw))
        delivery_end_undelivered(d, CH_DELIVERY_QUEUED, NULL);
    else
        delivery_end_undelivered(d, CH_DELIVERY_FAILED, &undecided);
}

/* The store has the event already. The event may still wait, or the session may have refused the
 * event when nobody waited. */
static void delivery_on_duplicate(struct ch_delivery *d) {
    d->lookup = (struct ch_work){.run = delivery_look_back,
                               .done = delivery_on_looked_back,
                               .dropped = delivery_on_look_dropped};
    d->store = d->gw->store;
    d->refusal = ch_arena_zalloc(&d->arena, sizeof(*d->refusal));
    d->accepting = true;
    ch_work_submit(d->gw->rt->workers, &d->lookup);
}

static void delivery_on_accepted(int rc, const struct chela_error *err, void *user) {
    struct ch_delivery *d = user;
    struct chela_error why = delivery_failure(rc, err);
    d->accepting = false;
    if (d->closed) {
        delivery_free(d);
    } else if (rc == CHELA_EEXIST) {
        delivery_on_duplicate(d);
    } else if (rc < 0) {
        delivery_end_undelivered(d, CH_DELIVERY_FAILED, &why);
    } else {
        delivery_tell(d, CH_DELIVERY_ACCEPTED, NULL, NULL);
        delivery_start(d);
    }
}

static void delivery_store(struct ch_delivery *d) {
    struct ch_journal *j = d->gw->rt->journal;
    struct chela_store_change c = {.kind = CHELA_STORE_ACCEPT,
                                   .id = d->id,
                                   .key = d->key,
                                   .data = d->text.p,
                                   .n = d->text.n,
                                   .now = ch_now_ms(ch_loop_clock(d->gw->rt->loop))};
    d->accepting = true;
    j->ops->change(j, &c, j->gate, delivery_on_accepted, d);
    ch_buf_release(&d->text);
}

static void delivery_begin(struct ch_delivery *d, ch_delivery_fn *on_stage, void *user) {
    d->on_stage = on_stage;
    d->user = user;
    ch_list_add(&d->gw->deliveries, &d->link);
}

void ch_delivery_accept(struct ch_delivery *d, ch_delivery_fn *on_stage, void *user) {
    delivery_begin(d, on_stage, user);
    delivery_store(d);
}

/* The agent of the session, if it is open. */
static struct ch_spender delivery_spender(const struct ch_delivery *d) {
    const struct ch_lane *l = ch_lane_find(d->gw, ch_sv_str(d->key));
    const chela_agent *agent = ch_gateway_agent(d->gw, ch_sv_str(d->agent));
    return (struct ch_spender){.agent = l ? l->agent->id : agent ? agent->id : d->agent,
                               .channel = l ? l->session->channel->name : NULL};
}

/* A session refuses a longer text. Its sender must learn that before the event is stored. */
static int delivery_check_size(const struct ch_delivery *d, struct chela_error *err) {
    size_t n = ch_json_get_str(d->data, "text").n;
    struct ch_msg *m;
    if (d->text.n <= CH_LIMIT_INPUT) /* the JSON is no shorter than the text */
        return 0;
    if (ch_msg_read(ch_json_get(d->data, "message"), &m, NULL) == 0) {
        n = ch_msg_words(m).n;
        ch_msg_free(m);
    }
    return n <= CH_LIMIT_INPUT ? 0
                               : ch_fail(err, CHELA_ELIMIT, "the input is larger than %zu MB",
                                         CH_LIMIT_INPUT / CH_MB);
}

static void delivery_on_too_large(struct ch_timer *t) {
    struct ch_delivery *d = CH_CONTAINER(t, struct ch_delivery, retry);
    struct chela_error err = {0};
    delivery_check_size(d, &err);
    delivery_end(d, CH_DELIVERY_REFUSED, NULL, &err);
}

static void delivery_on_budgets(struct ch_budget_wait *w) {
    struct ch_delivery *d = CH_CONTAINER(w, struct ch_delivery, budget);
    struct chela_error err = {0};
    struct ch_spender who = delivery_spender(d);
    if (ch_budgets_admit(d->gw, &who, &err) < 0)
        delivery_end(d, CH_DELIVERY_REFUSED, NULL, &err);
    else if (delivery_check_size(d, &err) < 0) /* ch_delivery_admit must not call on_stage */
        ch_timer_start(d->gw->rt->loop, &d->retry, 0, delivery_on_too_large);
    else
        delivery_store(d);
}

void ch_delivery_admit(struct ch_delivery *d, ch_delivery_fn *on_stage, void *user) {
    if (!d->gw->store) { /* on_stage must not be called from here */
        ch_delivery_accept(d, on_stage, user);
        return;
    }
    delivery_begin(d, on_stage, user);
    d->budget.known = delivery_on_budgets;
    ch_budgets_when_known(d->gw, &d->budget);
}

static struct ch_delivery *delivery_find(const chela_gateway *gw, const char *id) {
    for (CH_LIST_EACH(k, &gw->deliveries)) {
        struct ch_delivery *d = CH_CONTAINER(k, struct ch_delivery, link);
        if (strcmp(d->id, id) == 0)
            return d;
    }
    return NULL;
}

bool ch_delivery_joins(const chela_gateway *gw, struct ch_sv key) {
    for (CH_LIST_EACH(k, &gw->deliveries)) {
        const struct ch_delivery *d = CH_CONTAINER(k, struct ch_delivery, link);
        if (d->on_stage && d->kind->turn == CH_TURN_JOINS && ch_sv_is(key, d->key))
            return true;
    }
    return false;
}

bool ch_delivery_owns(const char *id) {
    static const char *const prefixes[] = {"hook/", CH_SCHEDULE_NOTE, CH_API_EVENT, CH_SEND_EVENT,
                                           CH_PRESS_EVENT, CH_TIMER_NOTE};
    for (size_t i = 0; i < CH_LEN(prefixes); i++)
        if (strncmp(id, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

enum ch_restored ch_delivery_restore(chela_gateway *gw, const char *id, const char *key,
                                     struct ch_sv data) {
    struct ch_delivery *d = delivery_find(gw, id);
    if (d && d->retries && ch_timer_armed(&d->retry)) /* now rather than later */
        ch_timer_start(gw->rt->loop, &d->retry, 0, delivery_on_retry);
    if (d)
        return d->accepting ? CH_RESTORED_LATER : CH_RESTORED;
    d = delivery_parse(gw, id, key, data);
    if (!d) {
        ch_log(CH_LOG_ERROR, "gateway", "event %s of session %s is dropped: its data is malformed",
               id, key);
        ch_lane_inbox_settle(gw, key, id, NULL, NULL);
        return CH_RESTORED;
    }
    ch_list_add(&gw->deliveries, &d->link);
    delivery_start(d);
    return CH_RESTORED;
}

/* --- webhooks and schedules */

static int delivery_begin_run(struct ch_delivery *d, struct ch_lane *l, struct chela_error *err) {
    bool timer = ch_json_bool(ch_json_get(d->data, "timer"), false),
         wake = ch_json_bool(ch_json_get(d->data, "wake"), false);
    int64_t now = ch_now_ms(ch_loop_clock(d->gw->rt->loop));
    struct ch_msg *m = ch_msg_text(timer ? CH_MSG_TIMER : CH_MSG_WEBHOOK,
                                   ch_sv_str(delivery_text(d, "text")), now);
    struct chela_run_opts opts = CHELA_RUN_OPTS(.approve = CHELA_APPROVE_ASK, .event_id = d->id,
                                                .drop_if = wake ? CH_WAKE_OK : NULL,
                                                .traceparent = delivery_text(d, "traceparent"));
    int rc = timer ? d->gw->attach_chat(l, &opts.answer_to, &opts.approve, err) : 0;
    if (rc < 0) {
        ch_msg_free(m);
        return rc;
    }
    if (wake)
        opts.approve = CHELA_APPROVE_DENY;
    d->action = "run";
    return ch_lane_begin(l, m, &opts, err);
}

static int delivery_apply_event(struct ch_delivery *d, struct ch_lane *l,
                                struct chela_error *err) {
    struct ch_lane_opts o = {.agent = ch_gateway_agent(d->gw, ch_sv_str(d->agent)),
                             .key = d->key,
                             .patch.bounds = d->bounds};
    if (ch_lane_resume_first(l, CHELA_APPROVE_ASK)) /* the interrupted run is resumed first */
        return CH_TURN_WAITS;
    if (chela_session_status(l->session) == CHELA_SESSION_PAUSED)
        return CH_TURN_WAITS;
    /* the event's bounds may require another agent, with which the session is opened again */
    if (delivery_is_bounded(d)) {
        if (!o.agent)
            return ch_fail(err, CHELA_ENOENT, "there is no agent '%s'", d->agent);
        int rc = ch_lane_use(d->gw, &o, &l, err);
        if (rc < 0 || !l->ready)
            return rc < 0 ? rc : CH_TURN_WAITS;
    }
    return delivery_begin_run(d, l, err);
}

const struct ch_delivery_kind ch_delivery_event = {
    .name = "event", .turn = CH_TURN_BEGINS, .retried = true, .apply = delivery_apply_event};

/* --- all deliveries */

/* An event whose session waits for a person may wait for days. */
static bool delivery_is_active(const struct ch_delivery *d) {
    const struct ch_lane *l = d->turn.link.next ? ch_lane_find(d->gw, ch_sv_str(d->key)) : NULL;
    return !l || !l->ready || chela_session_status(l->session) != CHELA_SESSION_PAUSED;
}

bool ch_deliveries_busy(const chela_gateway *gw) {
    for (CH_LIST_EACH(k, &gw->deliveries))
        if (delivery_is_active(CH_CONTAINER(k, struct ch_delivery, link)))
            return true;
    return false;
}

void ch_deliveries_stop(chela_gateway *gw) {
    for (CH_LIST_EACH(k, &gw->deliveries)) {
        struct ch_delivery *d = CH_CONTAINER(k, struct ch_delivery, link);
        ch_delivery_leave(d);
        d->closed = true;
        delivery_stop(d);
    }
}

void ch_deliveries_free(chela_gateway *gw) {
    for (struct ch_delivery *d; (d = CH_LIST_FIRST(&gw->deliveries, struct ch_delivery, link));) {
        ch_list_del(&d->link);
        if (!d->accepting)
            delivery_free(d);
    }
}
