/* lane.c -- see lane.h. */
#include "gateway/lane/lane.h"

#include <stdio.h>

#include "agent/api/runtime.h"
#include "agent/handle/lookup.h"
#include "agent/handle/run.h"
#include "agent/journal/inbox.h"
#include "agent/journal/journal_replay.h"
#include "agent/journal/outbox.h"
#include "agent/journal/run_journal.h"
#include "agent/machine/event.h"
#include "agent/machine/run.h"
#include "agent/run/driver.h"
#include "agent/run/recover.h"
#include "agent/session/agent_override.h"
#include "agent/session/agent_parts.h"
#include "agent/session/input_queue.h"
#include "agent/session/restore.h"
#include "agent/session/session.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "gateway/lane/client_history.h"
#include "gateway/lane/health_state.h"
#include "gateway/lane/lane_inbox.h"
#include "gateway/lane/tail.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"

/* --- events */

static void count_event(struct ch_counters *c, const struct chela_event *ev) {
    if (ev->type == CHELA_EV_CHILD && ev->child.event->type != CHELA_EV_RUN_END)
        ev = ev->child.event;
    if (ev->type == CHELA_EV_TOOL_RESULT) {
        c->tool_calls++;
        c->tool_errors += ev->result.is_error;
    }
    if (ev->type == CHELA_EV_TURN_END) {
        c->turns++;
        c->input_tokens += (uint64_t)CH_MAX(ev->turn.usage.input, 0);
        c->output_tokens += (uint64_t)CH_MAX(ev->turn.usage.output, 0);
        c->cost_usd += ev->turn.usage.cost_usd > 0 ? ev->turn.usage.cost_usd : 0;
    }
    if (ev->type == CHELA_EV_RUN_END) {
        c->runs++;
        c->runs_failed += ev->end.status == CHELA_STATUS_ERROR;
    }
}

/* The lane becomes the last one of the gateway's lanes. */
static void lane_set_idle(struct ch_lane *l) {
    l->running = false;
    l->idle_since = ch_mono_ms(ch_loop_clock(l->gw->rt->loop));
    if (!l->link.next) /* the lane is being closed */
        return;
    ch_list_del(&l->link);
    ch_list_add(&l->gw->lanes, &l->link);
}

uint64_t ch_lane_position(const struct ch_lane *l) {
    return l->session->journal ? l->session->journal->last_record : 0;
}

uint64_t ch_lane_committed(const struct ch_lane *l) {
    return l->session->journal ? l->session->journal->safe : 0;
}

bool ch_lane_is_unrecorded(const struct ch_lane *l) {
    return !ch_run_journal_of_session(l->session);
}

struct ch_sv ch_lane_event_json(struct ch_lane *l, const struct chela_event *ev) {
    char cursor[24];
    if (!l->event_json.n) {
        snprintf(cursor, sizeof(cursor), "%llu", (unsigned long long)ch_lane_position(l));
        ch_event_write(ev, &(struct ch_event_place){cursor, true}, &l->event_json);
    }
    return ch_buf_sv(&l->event_json);
}

static void lane_on_event(const struct chela_event *ev, void *user);

static void set_run(struct ch_lane *l, chela_run *run) {
    chela_run_free(l->run);
    l->run = run;
    l->running = true;
    if (l->stored)
        ch_input_queue_listen(l->session, lane_on_event, l);
}

static void lane_begin_run(struct ch_lane *l, chela_run *run) {
    set_run(l, run);
    l->hops = l->sends = 0;
}

/* Takes over a run that the session began with a queued message. */
static void adopt_run(struct ch_lane *l) {
    chela_run *run = l->session->run;
    if (!run || run->over || run == l->run)
        return;
    ch_run_ref(run);
    lane_begin_run(l, run);
    l->hops = l->queued_hops;
    if (!ch_input_queue_waiting(l->session))
        l->queued_hops = 0;
}

/* If a message remains queued, keeps the number of hops that led to it. */
static void carry_hops(struct ch_lane *l) {
    if (ch_input_queue_waiting(l->session))
        l->queued_hops = CH_MAX(l->queued_hops, l->hops);
}

void ch_lane_take_later(struct ch_lane *l, const char *event) {
    ch_buf_add(&l->taking, event, strlen(event) + 1);
}

static void lane_take_applied(struct ch_lane *l) {
    for (size_t at = 0; at < l->taking.n; at += strlen(l->taking.p + at) + 1)
        ch_inbox_take(l->session, l->taking.p + at);
    ch_buf_clear(&l->taking);
}

/* Does the event change what a list of sessions shows? */
static bool changes_session(enum chela_event_type type) {
    return type == CHELA_EV_RUN_START || type == CHELA_EV_RUN_END ||
           type == CHELA_EV_APPROVAL_REQUIRED || type == CHELA_EV_CLIENT_TOOL_REQUIRED;
}

static void lane_on_event(const struct chela_event *ev, void *user) {
    struct ch_lane *l = user;
    struct ch_link *k = l->watchers.head.next, *next;
    count_event(&l->gw->counters, ev);
    ch_event_log_end(l->session->key, ev);
    ch_health_state_observe(l->gw->health_state, ev);
    if (ev->type == CHELA_EV_RUN_START) {
        adopt_run(l);
        ch_lane_inbox_poke(l); /* events may join the run */
    }
    if (ev->type == CHELA_EV_CHILD || ev->type == CHELA_EV_RUN_END)
        ch_budgets_count(l);
    if (l->taking.n && (ev->type == CHELA_EV_MODEL_REQUEST || ev->type == CHELA_EV_RUN_END))
        lane_take_applied(l);
    if (ev->type == CHELA_EV_RUN_END) {
        carry_hops(l);
        lane_set_idle(l);
        ch_lane_inbox_poke(l);
    }
    if (ev->type == CHELA_EV_APPROVAL_REQUIRED && l->on_approval)
        l->on_approval(ev, l->on_approval_user);
    if (l->stored && changes_session(ev->type))
        l->gw->session_changed(l->gw);
    if (l->gw->on_event)
        l->gw->on_event(ev, l->gw->user);
    ch_buf_clear(&l->event_json);
    for (; k != &l->watchers.head; k = next) {
        struct ch_lane_watcher *w = CH_CONTAINER(k, struct ch_lane_watcher, link);
        next = k->next;
        w->event(w, ev);
    }
    if (l->lost && ev->type == CHELA_EV_RUN_END && l->link.next)
        ch_lane_close(l);
}

void ch_lane_watch(struct ch_lane *l, struct ch_lane_watcher *w) {
    ch_list_add(&l->watchers, &w->link);
    if (w->committed)
        ch_run_journal_watch(l->session, true);
}

static void lane_on_committed(chela_session *s, uint64_t seq, void *user) {
    struct ch_lane *l = user;
    (void)s;
    (void)seq;
    for (CH_LIST_EACH(k, &l->watchers)) {
        struct ch_lane_watcher *w = CH_CONTAINER(k, struct ch_lane_watcher, link);
        if (w->committed)
            w->committed(w);
    }
}

void ch_lane_unwatch(struct ch_lane_watcher *w) {
    ch_list_del(&w->link);
    w->tail = NULL;
}

/* --- life */

static int lane_make_agent(chela_gateway *gw, const struct ch_lane_opts *o, chela_agent **out,
                           struct chela_error *err) {
    chela_agent *a;
    int rc = ch_agent_override_new(o->agent, &o->patch, &a, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < o->ntools; i++)
        rc = ch_agent_override_client_tool(a, &o->tools[i], err);
    if (rc == 0 && o->add_tools)
        rc = o->add_tools(gw, a, o->key, err);
    if (rc < 0)
        ch_agent_close(a);
    else
        *out = a;
    return rc;
}

int ch_lane_check_opts(chela_gateway *gw, const struct ch_lane_opts *o, struct chela_error *err) {
    chela_agent *a;
    int rc = lane_make_agent(gw, o, &a, err);
    if (rc == 0)
        ch_agent_close(a);
    return rc;
}

static void free_lane(struct ch_lane *l) {
    ch_lane_inbox_free(l->inbox);
    ch_buf_release(&l->taking);
    ch_buf_release(&l->event_json);
    chela_run_free(l->run);
    if (l->agent)
        ch_agent_close(l->agent);
    ch_free(l);
}

static void lane_digest_opts(const struct ch_lane_opts *o, unsigned char out[CH_SHA256_SIZE]) {
    const struct ch_agent_override *p = &o->patch;
    CH_BUF_AUTO text = {0};
    ch_buf_addf(&text, "%g %lld %lld %d %lld ", p->bounds.cost_usd, (long long)p->bounds.turns,
                (long long)p->bounds.timeout_ms, p->one_call, (long long)p->top_k);
    ch_buf_addf(&text, "%p %g %g %lld %lld %d %s %s %s %s", (void *)o->agent,
                p->temperature ? *p->temperature : -1, p->top_p ? *p->top_p : -1,
                p->seed ? (long long)*p->seed : -1, (long long)p->max_output_tokens,
                (int)p->reasoning, p->tool_choice ? p->tool_choice : "",
                p->output_schema ? p->output_schema : "", p->model ? p->model : "",
                p->system ? p->system : "");
    ch_buf_addf(&text, "%c%s", o->add_tools ? 4 : 5, p->passed ? p->passed : "");
    for (size_t i = 0; p->stop && p->stop[i]; i++)
        ch_buf_addf(&text, "%c%s", 1, p->stop[i]);
    for (size_t i = 0; i < o->ntools; i++)
        ch_buf_addf(&text, "%c%s%c%s%c%s", 2, o->tools[i].name, 3, o->tools[i].description, 3,
                    o->tools[i].schema ? o->tools[i].schema : "");
    ch_sha256_of(ch_buf_sv(&text), out);
}

/* --- reading the journal */

static void notify_waiters(struct ch_lane *l, const struct chela_error *err) {
    struct ch_lane_wait *w;
    while ((err || l->ready) && /* a waiter may open the session again, with other options */
           (w = CH_LIST_FIRST(&l->waits, struct ch_lane_wait, link))) {
        ch_list_del(&w->link);
        w->ready(w, l, err);
    }
}

/* A store that fails now may not fail later: whoever asks may try again. */
static bool is_passing(int code) {
    return code == CHELA_ELIMIT || code == CHELA_EIO || code == CHELA_ENET ||
           code == CHELA_ETIMEOUT;
}

static void lane_set_ready(struct ch_lane *l, const struct chela_error *err) {
    l->ready = !err;
    struct chela_error copy = err ? *err : (struct chela_error){0};
    if (is_passing(copy.code))
        copy.code = CHELA_EOVERLOAD;
    notify_waiters(l, err ? &copy : NULL);
    l->lost |= err && l->agent; /* watchers may be left from before reattach_session */
    if (err && l->link.next)    /* a waiter may have closed the lane */
        ch_lane_close(l);
}

static int reattach_session(struct ch_lane *l, const struct ch_lane_opts *o,
                            struct chela_error *err);

static void lane_on_session_ready(chela_session *s, const struct chela_error *err, void *user) {
    struct ch_lane *l = user;
    chela_agent *own =
        !err && l->own_agent ? ch_gateway_agent(l->gw, ch_sv_str(s->journal->agent)) : NULL;
    struct chela_error why = {0};
    if (own && strcmp(own->id, l->agent->id) != 0) {
        if (reattach_session(l, &(struct ch_lane_opts){.agent = own}, &why) == 0)
            return;
        err = &why;
    }
    if (err || !l->inbox)
        lane_set_ready(l, err);
    else
        ch_lane_inbox_open(l->inbox, lane_set_ready);
}

/* Another process has the session, or the store failed. The next use opens it again. */
static void lane_on_lost(chela_session *s, const struct chela_error *err, void *user) {
    struct ch_lane *l = user;
    (void)s;
    (void)err;
    l->lost = true;
    if (!l->running && l->link.next)
        ch_lane_close(l);
}

/* Until the run emits its first event, nothing else says that the session is busy. */
static void lane_on_begun(chela_session *s, void *user) {
    (void)s;
    adopt_run(user);
}

void ch_lane_when_ready(struct ch_lane *l, struct ch_lane_wait *w) {
    if (l->ready)
        w->ready(w, l, NULL);
    else
        ch_list_add(&l->waits, &w->link);
}

static void lane_free_deferred(struct ch_task *t);

static void lane_close_session(struct ch_lane *l) {
    chela_run_free(CH_TAKE(l->run));
    chela_session_close(l->session);
    ch_agent_close(CH_TAKE(l->agent));
}

static bool lane_has_readers(const struct ch_lane *l) {
    for (CH_LIST_EACH(k, &l->watchers))
        if (CH_CONTAINER(k, struct ch_lane_watcher, link)->committed)
            return true;
    return false;
}

/* If the agent cannot be made, the lane keeps the session that it has. */
static int attach_session(struct ch_lane *l, const struct ch_lane_opts *o,
                          struct chela_error *err) {
    chela_agent *agent;
    int rc = lane_make_agent(l->gw, o, &agent, err);
    if (rc < 0)
        return rc;
    if (l->agent)
        lane_close_session(l);
    rc = ch_session_open(agent, o->key, o->key && !o->exists, &l->session, err);
    if (rc < 0) {
        ch_agent_close(agent);
        return rc;
    }
    if (o->exists) {
        l->session->exists = true;
        ch_restore_open(l->session);
    }
    l->agent = agent;
    lane_digest_opts(o, l->agent_digest);
    l->has_chat_tools = o->add_tools && (l->agent->chat_actions || l->agent->gateway_tool);
    l->ready = !l->session->journal;
    l->own_agent = o->own_agent;
    l->session->on_lost = lane_on_lost;
    l->session->lost_user = l;
    l->session->on_begun = lane_on_begun;
    l->session->begun_user = l;
    l->session->on_committed = lane_on_committed;
    l->session->committed_user = l;
    ch_run_journal_watch(l->session, lane_has_readers(l));
    ch_budgets_attach(l);
    chela_session_on_ready(l->session, lane_on_session_ready, l);
    return 0;
}

/* True if the lane can be closed: the store holds everything. The holder of a session sends
 * its messages, so a lane with unsent messages stays open. A gateway that drains takes up no
 * events: it leaves them to others. */
static bool lane_rests(const struct ch_lane *l) {
    bool used = !l->ready || l->running || !ch_list_empty(&l->watchers) ||
                (l->inbox && !l->gw->draining && ch_lane_inbox_waits(l)) ||
                (l->session->inherited && ch_lane_was_interrupted(l));
    return !used && !(l->stored && ch_outbox_has(l->gw->rt, l->session->key));
}

/* Closes the stored lane that has rested longest. False: all are in use. */
static bool lane_make_room(chela_gateway *gw) {
    for (CH_LIST_EACH(k, &gw->lanes)) {
        struct ch_lane *l = CH_CONTAINER(k, struct ch_lane, link);
        if (!l->stored || !lane_rests(l))
            continue;
        ch_lane_close(l);
        return true;
    }
    return false;
}

int ch_lane_open(chela_gateway *gw, const struct ch_lane_opts *o, struct ch_lane **out,
                 struct chela_error *err) {
    if (gw->nlanes >= CH_LIMIT_LANES && !lane_make_room(gw))
        return ch_fail(err, CHELA_EOVERLOAD, "too many sessions are in use (%d)", CH_LIMIT_LANES);
    struct ch_lane *l = ch_alloc(sizeof(*l));
    l->gw = gw;
    l->stored = o->key != NULL;
    l->free_task.fn = lane_free_deferred;
    ch_list_init(&l->watchers);
    ch_list_init(&l->waits);
    int rc = attach_session(l, o, err);
    if (rc < 0) {
        ch_free(l);
        return rc;
    }
    if (l->stored && l->session->journal && gw->store)
        l->inbox = ch_lane_inbox_new(l);
    ch_list_add(&gw->lanes, &l->link);
    gw->nlanes++;
    lane_set_idle(l);
    if (l->stored)
        ch_tails_join(l);
    *out = l;
    return 0;
}

int ch_lane_key_check(struct ch_sv key, struct chela_error *err) {
    bool plain = true;
    for (size_t i = 0; i < key.n; i++)
        plain &= (unsigned char)key.p[i] >= ' ' && key.p[i] != 0x7f;
    if (!plain)
        return ch_fail(err, CHELA_EINVAL, "a session key must have no control characters");
    return ch_session_key_check(key, err);
}

struct ch_lane *ch_lane_find(const chela_gateway *gw, struct ch_sv key) {
    const chela_session *s = ch_session_find(gw->rt, key);
    struct ch_lane *l = s && s->on_lost == lane_on_lost ? s->lost_user : NULL;
    return l && l->gw == gw && l->stored ? l : NULL;
}

/* Opens the session again with another agent; the journal holds the whole session. */
static int reattach_session(struct ch_lane *l, const struct ch_lane_opts *o,
                            struct chela_error *err) {
    struct ch_lane_opts opts = *o;
    opts.key = ch_strdup(l->session->key);
    int rc = attach_session(l, &opts, err);
    ch_free((char *)opts.key);
    return rc;
}

int ch_lane_use(chela_gateway *gw, const struct ch_lane_opts *o, struct ch_lane **out,
                struct chela_error *err) {
    unsigned char wants[CH_SHA256_SIZE];
    struct ch_lane *l = ch_lane_find(gw, ch_sv_str(o->key));
    if (!l)
        return ch_lane_open(gw, o, out, err);
    lane_digest_opts(o, wants);
    if (!l->running && l->ready && memcmp(wants, l->agent_digest, sizeof(wants)) != 0) {
        int rc = reattach_session(l, o, err);
        if (rc < 0 && !l->agent)
            ch_lane_close(l);
        if (rc < 0)
            return rc;
    }
    *out = l;
    return 0;
}

static void lane_detach(struct ch_lane *l) {
    ch_list_del(&l->link);
    l->gw->nlanes--;
    if (l->agent)
        chela_session_close(l->session);
}

static void lane_dismiss_watchers(struct ch_lane *l, const struct chela_event *end) {
    struct ch_lane_watcher *w;
    while ((w = CH_LIST_FIRST(&l->watchers, struct ch_lane_watcher, link))) {
        void (*deleted)(struct ch_lane_watcher *) = w->deleted; /* without it, event may free w */
        ch_list_del(&w->link);
        if (end)
            w->event(w, end);
        if (deleted)
            deleted(w);
    }
}

/* Sends the RUN_END of an interrupted run, which emits no more events. */
static void lane_send_cancelled(struct ch_lane *l, const char *why) {
    struct chela_event end = {.type = CHELA_EV_RUN_END,
                              .run = l->run ? l->run->id : "",
                              .seq = l->run ? l->run->m.seq + 1 : 0,
                              .ts = ch_now_ms(ch_loop_clock(l->agent->rt->loop)),
                              .end = {.status = CHELA_STATUS_CANCELLED,
                                      .reason = CHELA_REASON_CANCELLED,
                                      .text = ch_str(CH_SV("")),
                                      .error = ch_str(ch_sv_str(why))}};
    lane_dismiss_watchers(l, &end);
}

/* Tells waiters and watchers before the lane is freed. */
static void lane_free_deferred(struct ch_task *t) {
    struct ch_lane *l = CH_CONTAINER(t, struct ch_lane, free_task);
    struct chela_error closed = {0};
    ch_fail(&closed, CHELA_ESTATE, "the session was closed");
    notify_waiters(l, &closed);
    if (l->unfinished)
        lane_send_cancelled(l, closed.message);
    lane_dismiss_watchers(l, NULL);
    ch_list_del(&l->closed);
    free_lane(l);
}

/* Readers of the journal continue without the lane. */
static void lane_dismiss_readers(struct ch_lane *l) {
    struct ch_link *k = l->watchers.head.next, *next;
    for (; k != &l->watchers.head; k = next) {
        struct ch_lane_watcher *w = CH_CONTAINER(k, struct ch_lane_watcher, link);
        next = k->next;
        if (!w->committed)
            continue;
        ch_lane_unwatch(w);
        w->deleted(w);
    }
}

void ch_lane_close(struct ch_lane *l) {
    struct ch_loop *loop = l->gw->rt->loop;
    lane_dismiss_readers(l);
    l->unfinished = l->running ||
                    (l->agent && (chela_session_status(l->session) == CHELA_SESSION_PAUSED ||
                                  ch_input_queue_waiting(l->session) > 0));
    l->ready = false;
    ch_lane_inbox_stop(l->inbox);
    lane_detach(l);
    ch_list_add(&l->gw->closed_lanes, &l->closed);
    ch_task_defer(loop, &l->free_task);
}

/* --- runs */

static int lane_restore_message(struct ch_lane *l, struct ch_msg *m, struct chela_error *err) {
    int rc = ch_transcript_add(&l->session->transcript, m);
    return rc < 0 ? ch_fail(err, rc, "the history is too long") : 0;
}

#define ACTS "chat_*,gateway"

void ch_lane_deny_chat_tools(const struct ch_lane *l, struct chela_run_opts *opts,
                             struct ch_buf *deny) {
    bool given = opts->deny && *opts->deny;
    if (!l->has_chat_tools || (given && strstr(opts->deny, ACTS)))
        return;
    ch_buf_addf(deny, "%s%s" ACTS, given ? opts->deny : "", given ? "," : "");
    opts->deny = ch_buf_str(deny);
}

static void lane_restrict_tools(const struct ch_lane *l, struct chela_run_opts *opts,
                                struct ch_buf *deny) {
    if (!opts->channel)
        ch_lane_deny_chat_tools(l, opts, deny);
}

int ch_lane_begin(struct ch_lane *l, struct ch_msg *input, struct chela_run_opts *opts,
                  struct chela_error *err) {
    CH_BUF_AUTO deny = {0};
    chela_run *run;
    lane_restrict_tools(l, opts, &deny);
    opts->on_event = lane_on_event;
    opts->user = l;
    int rc = ch_session_start(l->session, input, opts, &run, err);
    if (rc == 0)
        lane_begin_run(l, run);
    return rc;
}

int ch_lane_queue(struct ch_lane *l, struct ch_msg *input, struct chela_run_opts *opts,
                  struct chela_error *err) {
    CH_BUF_AUTO deny = {0};
    lane_restrict_tools(l, opts, &deny);
    opts->on_event = lane_on_event;
    opts->user = l;
    int rc = ch_input_queue_send(l->session, input, opts, err);
    if (rc == 0)
        adopt_run(l);
    return rc;
}

bool ch_lane_is_busy(const struct ch_lane *l) {
    return l->running || ch_input_queue_waiting(l->session) > 0;
}

bool ch_lane_was_interrupted(const struct ch_lane *l) {
    return !l->running && chela_session_status(l->session) == CHELA_SESSION_RUNNING;
}

/* A run that began with DENY has nobody who could be asked, such as a wake or the run of a chat
 * without owners. */
static enum chela_approve lane_approve(const struct ch_lane *l, enum chela_approve approve) {
    const struct ch_run_journal *j = l->session->journal;
    bool denies = j && j->past && j->past->principal.approve == CHELA_APPROVE_DENY;
    return denies ? CHELA_APPROVE_DENY : approve;
}

int ch_lane_resume(struct ch_lane *l, enum chela_approve approve, struct chela_error *err) {
    struct ch_batch_waits waits = ch_recover_waits(l->session);
    if (waits.answers + waits.approvals > 0)
        return ch_fail(err, CHELA_ESTATE, "session '%s' still waits for %s", l->session->key,
                       waits.approvals ? "approval" : "answers");
    return ch_lane_recall(l, approve, err);
}

int ch_lane_recall(struct ch_lane *l, enum chela_approve approve, struct chela_error *err) {
    approve = lane_approve(l, approve);
    struct chela_run_opts opts =
        CHELA_RUN_OPTS(.on_event = lane_on_event, .user = l, .approve = approve);
    chela_run *run;
    int rc = chela_run_resume(l->session, &opts, &run, err);
    if (rc == 0)
        set_run(l, run);
    return rc;
}

bool ch_lane_resume_first(struct ch_lane *l, enum chela_approve approve) {
    struct chela_error err = {0};
    if (!ch_lane_was_interrupted(l))
        return false;
    if (ch_lane_resume(l, approve, &err) == 0)
        return true;
    ch_log(CH_LOG_WARN, "gateway", "the interrupted run of session %s cannot be resumed: %s",
           l->session->key, err.message);
    return false;
}

void ch_lane_wake(struct ch_lane *l, enum chela_approve approve) {
    struct chela_error ignored = {0};
    if (!l->running && ch_session_sleeps(l->session))
        ch_lane_resume(l, approve, &ignored);
}

int ch_lane_compact(struct ch_lane *l, const char *focus, struct chela_error *err) {
    struct chela_run_opts opts = CHELA_RUN_OPTS(.on_event = lane_on_event, .user = l);
    chela_run *run;
    int rc = chela_session_compact(l->session, focus, &opts, &run, err);
    if (rc == 0)
        lane_begin_run(l, run);
    return rc;
}

int ch_lane_send(struct ch_lane *l, struct ch_sv text, struct chela_run_opts *opts,
                 struct chela_error *err) {
    CH_BUF_AUTO deny = {0};
    if (text.p) {
        lane_restrict_tools(l, opts, &deny);
        ch_lane_wake(l, opts->approve);
    }
    opts->on_event = lane_on_event;
    opts->user = l;
    int rc = chela_session_send(l->session, text.p, text.n, opts, err);
    if (rc == 0)
        adopt_run(l);
    return rc;
}

bool ch_lane_start_waiting(struct ch_lane *l) {
    struct chela_run_opts opts = CHELA_RUN_OPTS(.approve = CHELA_APPROVE_ASK);
    if (l->running || !ch_input_queue_waiting(l->session) ||
        chela_session_status(l->session) == CHELA_SESSION_PAUSED)
        return false;
    l->gw->attach_chat(l, &opts.answer_to, &opts.approve, NULL); /* the messages may be of a chat */
    return ch_lane_resume_first(l, CHELA_APPROVE_ASK) ||
           ch_lane_send(l, ch_sv(NULL, 0), &opts, NULL) == 0;
}

int ch_lane_for_request(struct ch_request *req, struct ch_lane_opts *o, struct ch_lane **out,
                        struct chela_error *err) {
    if (!req->session.p)
        return ch_lane_open(req->gw, o, out, err);
    if (!req->gw->store)
        return ch_fail(err, CHELA_EINVAL, "this gateway has no store");
    int rc = ch_lane_key_check(req->session, err);
    o->key = ch_arena_str(&req->arena, req->session);
    return rc < 0 ? rc : ch_lane_use(req->gw, o, out, err);
}

int ch_lane_converse(struct ch_lane *l, struct ch_client_history *h, const char *traceparent,
                     struct chela_error *err) {
    struct chela_run_opts opts =
        CHELA_RUN_OPTS(.approve = CHELA_APPROVE_DENY, .traceparent = traceparent);
    struct ch_msg *input;
    int rc = ch_client_history_finish(h, &input, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < h->n; i++)
        rc = lane_restore_message(l, CH_TAKE(h->msgs[i]), err);
    if (rc == 0)
        return ch_lane_begin(l, input, &opts, err);
    ch_msg_free(input);
    return rc;
}

/* --- all lanes */

bool ch_lanes_busy(const chela_gateway *gw) {
    for (CH_LIST_EACH(k, &gw->lanes))
        if (CH_CONTAINER(k, struct ch_lane, link)->running)
            return true;
    return false;
}

void ch_lanes_close_idle(chela_gateway *gw) {
    int64_t now = ch_mono_ms(ch_loop_clock(gw->rt->loop));
    bool shared = ch_gateway_is_shared(gw);
    int64_t most = shared ? CH_DEFAULT_SHARED_LANE_MS : CH_DEFAULT_LANE_MS;
    struct ch_link *k = gw->lanes.head.next, *next;
    for (; k != &gw->lanes.head; k = next) {
        struct ch_lane *l = CH_CONTAINER(k, struct ch_lane, link);
        next = k->next;
        if (now - l->idle_since > most && lane_rests(l))
            ch_lane_close(l);
    }
}

/* Frees a detached lane whose gateway closes: nobody is told. */
static void lane_free_silently(struct ch_lane *l) {
    ch_task_cancel(l->gw->rt->loop, &l->free_task);
    ch_list_del(&l->closed);
    while (!ch_list_empty(&l->watchers))
        ch_list_del(l->watchers.head.next);
    while (!ch_list_empty(&l->waits))
        ch_list_del(l->waits.head.next);
    free_lane(l);
}

/* Closes all lanes without notifying watchers and waiters. The gateway has already ended the
 * requests, chat services, UI streams and resumed orphans, and stopped the deliveries; this
 * function ends the runs. */
void ch_lanes_close(chela_gateway *gw) {
    for (struct ch_lane *l; (l = CH_LIST_FIRST(&gw->lanes, struct ch_lane, link));) {
        ch_lane_inbox_stop(l->inbox);
        lane_detach(l);
        lane_free_silently(l);
    }
    for (struct ch_lane *l; (l = CH_LIST_FIRST(&gw->closed_lanes, struct ch_lane, closed));)
        lane_free_silently(l);
    ch_runtime_free_closed(gw->rt); /* frees also the gateway's own tools */
}
