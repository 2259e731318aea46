/* mcp_ask.c -- see mcp_ask.h.
 *
 *   call --> lane ready --> event stored --> taken up --> events of the run --> result
 *                                               '--> of a task: the answer, at once
 *
 * A call during a run of its session waits for the end of the run, as in the other protocols whose
 * clients wait for the answer to their own message. */
#include "gateway/http/mcp_ask.h"

#include "agent/handle/run.h"
#include "base/error.h"
#include "base/random_id.h"
#include "gateway/lane/client_input.h"
#include "gateway/lane/lane.h"
#include "gateway/lane/record_events.h"
#include "gateway/lane/tail.h"
#include "mcp/mcp_server_agent.h"
#include "store/store.h"

#define ID_DIGITS 20 /* digits in the key of a session that an idempotency key names */
#define OWNER_DIGITS 16

/* What a tool ask_ID works on. */
struct asked_agent {
    chela_gateway *gw;
    struct ch_list *calls;
    char *id; /* owned */
};

struct asking {
    struct ch_link link;
    chela_gateway *gw;
    chela_mcp_call *call;
    struct ch_lane_watcher watcher;
    struct ch_lane_wait wait;
    struct ch_delivery *delivery;  /* being stored or delivered; else NULL */
    char *agent, *id, *key, *event; /* owned; event: NULL: any */
    char *message;                 /* owned */
    bool admitted; /* the message is stored, or about to be */
    unsigned steps;
};

static void asking_free(struct asking *a) {
    ch_list_del(&a->link);
    ch_lane_unwatch(&a->watcher);
    ch_list_del(&a->wait.link);
    if (a->delivery)
        ch_delivery_leave(a->delivery);
    ch_free(a->agent);
    ch_free(a->id);
    ch_free(a->key);
    ch_free(a->event);
    ch_free(a->message);
    ch_free(a);
}

/* The result is set. */
static void asking_finish(struct asking *a) {
    chela_mcp_call *call = a->call;

    asking_free(a);
    chela_mcp_call_finish(call);
}

static void asking_fail(struct asking *a, const struct chela_error *err) {
    chela_mcp_result_error(a->call, "%s", err->message);
    asking_finish(a);
}

static void asking_on_cancel(chela_mcp_call *call, void *user) {
    struct asking *a = user;
    CH_BUF_AUTO nothing = {0};

    if (a->delivery) /* the message waits for its turn: the run in progress is another call's */
        ch_lane_inbox_settle(a->gw, a->key, a->delivery->id, NULL, NULL);
    else if (a->admitted)
        ch_client_input_accept(a->gw, &ch_client_cancel, a->key, a->agent, &nothing, NULL, NULL,
                               NULL);
    asking_free(a);
    chela_mcp_call_finish(call);
}

void ch_mcp_ask_end(struct ch_list *calls) {
    struct asking *a;

    while ((a = CH_LIST_FIRST(calls, struct asking, link))) {
        chela_mcp_call_on_cancel(a->call, NULL, NULL);
        chela_mcp_result_error(a->call, "the gateway stops; session %s keeps the task", a->id);
        asking_finish(a);
    }
}

/* --- the run */

static void asking_on_event(struct ch_lane_watcher *w, const struct chela_event *ev) {
    struct asking *a = CH_CONTAINER(w, struct asking, watcher);

    if (ev->type == CHELA_EV_TOOL_CALL) {
        CH_AUTOFREE char *name = ch_strndup(ev->call.name.p, ev->call.name.n);
        chela_mcp_call_progress(a->call, ++a->steps, 0, name);
    }
    if (ev->type != CHELA_EV_RUN_END)
        return;
    ch_mcp_ask_result(a->call, a->id, ev);
    asking_finish(a);
}

/* An earlier call delivered the message: its run has ended, or waits for a person. */
static void asking_take_past(struct asking *a) {
    struct ch_lane *l = ch_lane_find(a->gw, ch_sv_str(a->key));
    bool paused = l && chela_session_status(l->session) == CHELA_SESSION_PAUSED;
    char *text = l ? chela_session_last_text(l->session) : NULL;

    if (l)
        ch_mcp_ask_outcome(a->call, a->id, paused ? CHELA_STATUS_PAUSED : CHELA_STATUS_DONE,
                           paused ? CHELA_REASON_HUMAN : CHELA_REASON_COMPLETED,
                           ch_sv_str(text ? text : ""));
    else
        chela_mcp_result_error(a->call, "the call was made before; session %s has the answer",
                               a->id);
    chela_free(text);
    asking_finish(a);
}

static void asking_answer_task(struct asking *a) {
    int64_t now = ch_now_ms(ch_loop_clock(a->gw->rt->loop));

    ch_mcp_call_task(a->call, &(struct ch_mcp_task){a->id, "working", NULL, now, now});
    asking_finish(a);
}

static void asking_settled(const struct chela_error *err, void *user) {
    if (err)
        asking_fail(user, err);
}

static bool asking_is_busy(const struct asking *a) {
    const struct ch_lane *l = ch_lane_find(a->gw, ch_sv_str(a->key));
    return l && l->running;
}

static void asking_told(struct ch_delivery *d, enum ch_delivery_stage stage, struct ch_lane *l,
                        const struct chela_error *err, void *user) {
    struct asking *a = user;
    struct chela_error why = err ? *err : (struct chela_error){0};

    if (stage == CH_DELIVERY_ACCEPTED && !(a->call->wants_task && asking_is_busy(a)))
        return;
    ch_delivery_leave(d);
    a->delivery = NULL;
    if (stage == CH_DELIVERY_DUPLICATE)
        l = ch_client_input_find_run(d);
    if (!why.code && a->call->wants_task) {
        asking_answer_task(a);
    } else if (l) {
        ch_lane_unwatch(&a->watcher); /* the session may have come here meanwhile */
        ch_lane_watch(l, &a->watcher);
    } else if (stage == CH_DELIVERY_QUEUED && a->watcher.tail) {
        ch_tail_await(&a->watcher, d->id, true, asking_settled, a);
    } else if (stage == CH_DELIVERY_DUPLICATE) {
        asking_take_past(a);
    } else {
        if (!why.code)
            ch_fail(&why, CHELA_EBUSY, "session %s is busy; the message waits", a->id);
        asking_fail(a, &why);
    }
}

static void asking_admit(struct asking *a) {
    struct ch_block text = {.type = CH_BLOCK_TEXT, .text = ch_sv_str(a->message)};
    struct ch_msg *m = ch_msg_new(CH_MSG_USER, &text, 1, ch_now_ms(ch_loop_clock(a->gw->rt->loop)));
    CH_BUF_AUTO data = {0};
    struct ch_jw w = ch_jw(&data);

    ch_client_input_write(&w, m, CH_SV("run"));
    if (a->watcher.tail && !a->call->wants_task)
        ch_jw_kbool(&w, "awaited", true);
    if (a->call->traceparent)
        ch_jw_kcstr(&w, "traceparent", a->call->traceparent);
    ch_msg_free(m);
    a->admitted = true;
    a->delivery = ch_client_input_accept(a->gw, &ch_client_turn, a->key, a->agent, &data,
                                         a->event, asking_told, a);
}

static void asking_on_tail(struct ch_lane_watcher *w, bool gap, const struct chela_error *err,
                           void *user) {
    (void)w;
    (void)gap;
    if (err)
        asking_fail(user, err);
    else
        asking_admit(user);
}

/* Another gateway may have the session: its answer comes from its journal. */
static void asking_on_lane(struct ch_lane_wait *w, struct ch_lane *l,
                           const struct chela_error *failed) {
    struct asking *a = CH_CONTAINER(w, struct asking, wait);

    (void)l;
    if (!failed)
        asking_admit(a);
    else if (failed->code == CHELA_EBUSY)
        ch_tail_open(a->gw, a->key, CH_TAIL_AWAIT, CH_SV(""), &a->watcher, asking_on_tail, a);
    else
        asking_fail(a, failed);
}

/* --- sessions of clients */

/* The first digits of the digest of two texts. */
static void add_digest(struct ch_buf *out, const char *a, const char *b, int digits) {
    unsigned char digest[CH_SHA256_SIZE];
    char hex[2 * CH_SHA256_SIZE + 1];
    CH_BUF_AUTO text = {0};

    ch_buf_addf(&text, "%s\n%s", a, b);
    ch_sha256_of(ch_buf_sv(&text), digest);
    ch_sha256_hex(digest, hex);
    ch_buf_addf(out, "%.*s", digits, hex);
}

void ch_mcp_ask_prefix(struct ch_buf *out, const char *principal) {
    ch_buf_add_str(out, "mcp:");
    if (strncmp(principal, CH_MCP_OPERATOR, strlen(CH_MCP_OPERATOR)) == 0)
        return;
    add_digest(out, principal, "", OWNER_DIGITS);
    ch_buf_addc(out, ':');
}

static char *session_key(const char *principal, const char *id) {
    CH_BUF_AUTO key = {0};

    ch_mcp_ask_prefix(&key, principal);
    ch_buf_add_str(&key, id);
    return ch_buf_take(&key);
}

/* A repeated call has the same session and the same event as the first. */
static void name_session(struct asking *a, const char *given) {
    const chela_mcp_call *call = a->call;
    CH_BUF_AUTO id = {0};
    char made[24];

    ch_random_id("ask_", made);
    if (given) {
        ch_buf_add_str(&id, given);
    } else if (call->key) {
        CH_BUF_LIT(&id, "ask_");
        add_digest(&id, call->principal, call->key, ID_DIGITS);
    } else {
        ch_buf_add_str(&id, made);
    }
    a->id = ch_buf_take(&id);
    a->key = session_key(call->principal, a->id);
    if (call->key) {
        CH_BUF_AUTO event = {0};
        add_digest(&event, a->key, call->key, 2 * CH_SHA256_SIZE);
        a->event = ch_buf_take(&event);
    }
}

static int ask(chela_mcp_call *call, void *user) {
    const struct asked_agent *on = user;
    const char *given = chela_mcp_call_argument(call, "session");
    chela_agent *agent = ch_gateway_agent(on->gw, ch_sv_str(on->id));
    struct chela_error err = {0};
    struct ch_lane *lane;

    if (given && !ch_mcp_is_session_id(given))
        return chela_mcp_result_error(call, "session is an id that an earlier call returned");
    if (!agent)
        return chela_mcp_result_error(call, "there is no agent %s any more", on->id);
    struct asking *a = ch_alloc(sizeof(*a));
    a->gw = on->gw;
    a->call = call;
    a->agent = ch_strdup(on->id);
    a->message = ch_strdup(chela_mcp_call_argument(call, "message"));
    a->watcher.event = asking_on_event;
    a->wait.ready = asking_on_lane;
    name_session(a, given);
    ch_list_add(on->calls, &a->link);
    struct ch_lane_opts o = {.agent = agent, .key = a->key};
    if (ch_lane_use(on->gw, &o, &lane, &err) < 0) {
        asking_free(a);
        return chela_mcp_result_error(call, "%s", err.message);
    }
    chela_mcp_call_defer(call);
    chela_mcp_call_on_cancel(call, asking_on_cancel, a);
    ch_lane_when_ready(lane, &a->wait);
    return 0;
}

/* --- tasks */

struct task_look {
    const char *key;
    struct ch_mcp_task task;
    bool found, over;
};

static int look_at_session(const struct chela_store_session *s, void *user) {
    struct task_look *l = user;

    l->found = true;
    l->over = strcmp(s->status, "idle") == 0;
    l->task.status = l->over ? "completed" : "working";
    l->task.message = strcmp(s->status, "paused") == 0   ? "The run waits for a person."
                      : strcmp(s->status, "parked") == 0 ? "The run was stopped by a fault."
                                                         : NULL;
    l->task.created = s->created;
    l->task.updated = s->updated;
    return 0;
}

/* A message waits for the session. */
static int look_at_event(const struct chela_store_item *i, void *user) {
    struct task_look *l = user;

    if (strcmp(i->key, l->key) != 0)
        return 0;
    if (!l->found)
        l->task.created = l->task.updated = i->ts;
    l->found = true;
    l->over = false;
    l->task.status = "working";
    return 1;
}

/* The end of a session's last run. */
struct task_end {
    struct ch_record_events state;
    struct ch_record_batch *batch; /* with the event; NULL: no run has ended */
    const struct chela_event *event;
};

static int look_at_record(const struct chela_store_record *r, void *user) {
    struct task_end *end = user;
    struct ch_record_batch *b = ch_record_events_read(&end->state, r);

    if (b && b->n && b->events[b->n - 1].type == CHELA_EV_RUN_END) {
        ch_record_batch_free(end->batch);
        end->event = &b->events[b->n - 1];
        end->batch = b;
    } else {
        ch_record_batch_free(b);
    }
    return 0;
}

static void task_set_result(chela_mcp_call *call, struct ch_mcp_task *task,
                            const struct chela_event *ev) {
    if (!ev) {
        chela_mcp_result_error(call, "the run ended without an answer");
        return;
    }
    if (ev->end.status == CHELA_STATUS_CANCELLED) {
        task->status = "cancelled";
        chela_mcp_result_error(call, "the task was cancelled");
        return;
    }
    ch_mcp_ask_result(call, task->id, ev);
}

/* Runs on a separate thread. */
static int task_get(chela_mcp_call *call, void *user) {
    const chela_gateway *gw = user;
    const char *id = chela_mcp_call_argument(call, "taskId");
    CH_AUTOFREE char *key = session_key(chela_mcp_call_principal(call), id);
    struct task_look look = {.key = key, .task = {.id = id}};
    struct task_end end = {0};

    if (!ch_mcp_is_session_id(id))
        return chela_mcp_result_not_found(call);
    int rc = chela_store_session(gw->store, key, look_at_session, &look, NULL);
    if (rc == 0 || rc == CHELA_ENOENT)
        rc = chela_store_items(gw->store, CHELA_STORE_INBOX, look_at_event, &look, NULL);
    if (rc == 0 && look.over)
        rc = chela_store_records(gw->store, key, 0, look_at_record, &end, NULL);
    if (rc == 0 && look.over)
        task_set_result(call, &look.task, end.event);
    ch_record_batch_free(end.batch);
    ch_record_events_release(&end.state);
    if (rc < 0)
        return rc;
    if (!look.found)
        return chela_mcp_result_not_found(call);
    ch_mcp_call_task(call, &look.task);
    return 0;
}

/* The first outcome: the store has the cancellation, or failed. The session is not awaited. */
static void task_on_cancel_stored(struct ch_delivery *d, enum ch_delivery_stage stage,
                                  struct ch_lane *l, const struct chela_error *err, void *user) {
    struct asking *a = user;
    int64_t now = ch_now_ms(ch_loop_clock(a->gw->rt->loop));

    (void)stage;
    (void)l;
    ch_delivery_leave(d);
    a->delivery = NULL;
    if (err) {
        asking_fail(a, err);
        return;
    }
    ch_mcp_call_task(a->call, &(struct ch_mcp_task){a->id, "cancelled", NULL,
                                                    a->call->task.created, now});
    asking_finish(a);
}

static int task_cancel(chela_mcp_call *call, void *user) {
    const char *id = chela_mcp_call_argument(call, "taskId");
    CH_BUF_AUTO nothing = {0};

    if (!ch_mcp_is_session_id(id))
        return chela_mcp_result_not_found(call);
    struct asking *a = ch_alloc(sizeof(*a));
    a->gw = user;
    a->call = call;
    a->id = ch_strdup(id);
    a->key = session_key(chela_mcp_call_principal(call), id);
    chela_mcp_call_defer(call);
    chela_mcp_call_on_cancel(call, asking_on_cancel, a);
    a->delivery = ch_client_input_accept(a->gw, &ch_client_cancel, a->key, "", &nothing, NULL,
                                         task_on_cancel_stored, a);
    return 0;
}

void ch_mcp_ask_offer_tasks(chela_mcp_server *s, chela_gateway *gw) {
    ch_mcp_server_tasks(s, task_get, task_cancel, gw);
}

/* --- offering */

static void asked_agent_free(void *user) {
    struct asked_agent *on = user;

    ch_free(on->id);
    ch_free(on);
}

int ch_mcp_ask_offer(chela_mcp_server *s, chela_gateway *gw, struct ch_list *calls,
                     const chela_agent *agent, struct chela_error *err) {
    struct asked_agent *on = ch_alloc(sizeof(*on));

    *on = (struct asked_agent){gw, calls, ch_strdup(agent->id)};
    struct chela_mcp_tool_opts opts =
        CHELA_MCP_TOOL_OPTS(.fn = ask, .user = on, .flags = CHELA_MCP_ON_LOOP | CH_MCP_TASKABLE,
                            .release = asked_agent_free);
    int rc = ch_mcp_server_ask_tool(s, agent, &opts, err);
    if (rc < 0)
        asked_agent_free(on);
    return rc;
}
