/* chat_commands.c -- see chat_commands.h.
 *
 * A message that begins with a command is not passed to the agent. The reply goes through
 * the outbox, and the message leaves the inbox with it. Some commands are for the channel's
 * owners only. */
#include "gateway/chat/chat_commands.h"

#include <stdio.h>
#include <time.h>

#include "agent/handle/agent.h"
#include "agent/journal/journal.h"
#include "model/provider/target.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "gateway/chat/approval_decision.h"
#include "gateway/chat/approval_prompt.h"
#include "gateway/chat/chat_dispatch.h"
#include "gateway/chat/chat_event.h"
#include "gateway/chat/chat_lane.h"
#include "gateway/chat/chat_language.h"
#include "gateway/chat/chat_overrides.h"
#include "gateway/chat/chat_pairing.h"
#include "gateway/lane/client_input.h"
#include "gateway/lane/lane.h"
#include "gateway/lane/orphans.h"
#include "gateway/request/gateway_state.h"
#include "io/worker.h"
#include "store/store.h"
#include "store/writer.h"

/* --- calls of the store, on a worker thread */

struct command_work {
    struct ch_work work;
    struct ch_chat_event *event; /* used on the loop thread only */
    chela_store *store;
    char *session;        /* owned */
    char *to, *id;        /* owned; of /new only: key of the copy; id of the event */
    bool running, paused; /* the state of the session, which another gateway may hold */
    bool held, waits;     /* of /new: the session has a holder; the inbox has the command */
    int rc;
    struct chela_error err;
    void (*then)(struct ch_chat_event *e, const struct command_work *r);
};

static void command_work_free(struct command_work *r) {
    ch_free(r->session);
    ch_free(r->to);
    ch_free(r->id);
    ch_free(r);
}

/* The gateway was closed: the inbox keeps the event. */
static void command_work_dropped(struct ch_work *w) {
    struct command_work *r = CH_CONTAINER(w, struct command_work, work);
    ch_chat_event_drop(r->event);
    command_work_free(r);
}

static void command_work_done(struct ch_work *w) {
    struct command_work *r = CH_CONTAINER(w, struct command_work, work);
    struct ch_chat_event *e = r->event;
    if (!e->chat) {
        command_work_dropped(w);
        return;
    }
    e->accepting = false;
    r->then(e, r);
    command_work_free(r);
}

static void command_work_start(struct ch_chat_event *e, char *to, void (*run)(struct ch_work *w),
                               void (*then)(struct ch_chat_event *e,
                                            const struct command_work *r)) {
    struct command_work *r = ch_alloc(sizeof(*r));
    r->work = (struct ch_work){
        .run = run, .done = command_work_done, .dropped = command_work_dropped};
    r->event = e;
    r->store = e->chat->gw->store;
    r->session = ch_strdup(e->in.session);
    r->to = to;
    r->id = to ? ch_strdup(e->in.id) : NULL;
    r->then = then;
    e->accepting = true;
    ch_work_submit(e->chat->gw->rt->workers, &r->work);
}

static int status_read(const struct chela_store_session *s, void *user) {
    struct command_work *r = user;
    r->running = strcmp(s->status, "running") == 0;
    r->paused = strcmp(s->status, "paused") == 0;
    return 0;
}

static void status_run(struct ch_work *w) {
    struct command_work *r = CH_CONTAINER(w, struct command_work, work);
    chela_store_session(r->store, r->session, status_read, r, &r->err); /* none: nothing runs */
}

/* --- /stop */

static int stop_apply(struct ch_delivery *d, struct ch_lane *l, struct chela_error *err) {
    struct ch_chat_service *chat = ch_chat_service_of_session(d->gw, d->key);
    int rc = ch_client_input_cancel(d, l, "stopped by /stop", err);
    if (rc == 0 && chat)
        ch_approval_prompts_forget(chat, d->key);
    return rc;
}

const struct ch_delivery_kind ch_chat_stop = {.name = "stop",
                                              .turn = CH_TURN_CONTROLS,
                                              .open = ch_chat_lane_open,
                                              .apply = stop_apply};

static void stop_session(struct ch_chat_event *e, const struct command_work *r) {
    const struct ch_lane *l = ch_lane_find(e->chat->gw, ch_sv_str(e->in.session));
    CH_BUF_AUTO id = {0};
    if (!r->running && !r->paused && !(l && l->running)) {
        ch_chat_language_tell(e, CH_SAY_NOTHING_RUNS);
        return;
    }
    ch_buf_addf(&id, CH_PRESS_EVENT "stop/%s", e->in.id);
    ch_delivery_accept(ch_delivery_new(e->chat->gw, ch_chat_stop.name, ch_buf_str(&id),
                                       e->in.session, "", CH_SV("")),
                       NULL, NULL);
    ch_chat_language_tell(e, CH_SAY_STOPPED); /* the store commits the reply after the event */
}

static void command_stop(struct ch_chat_event *e, struct ch_sv rest) {
    (void)rest;
    command_work_start(e, NULL, status_run, stop_session);
}

/* --- /status */

static void tell_status(struct ch_chat_event *e, const struct command_work *r) {
    chela_gateway *gw = e->chat->gw;
    struct ch_lane *l = ch_lane_find(gw, ch_sv_str(e->in.session));
    chela_agent *agent = l ? l->agent : ch_gateway_agent(gw, ch_sv_str(e->chat->agent));
    enum ch_say state = r->running  ? CH_SAY_STATE_WORKING
                        : r->paused ? CH_SAY_STATE_WAITING
                                    : CH_SAY_STATE_IDLE;
    agent = agent ? agent : gw->agents[0];
    ch_chat_language_reply(
        e, CH_SAY_STATUS,
        CH_SAY_VALUES(ch_sv_str(agent->id ? agent->id : "-"),
                      ch_sv_str(agent->ntargets ? agent->targets[0]->spec : "-"),
                      ch_sv_str(e->in.session), ch_sv_str(ch_say(state, ch_chat_language(e)))));
}

static void command_status(struct ch_chat_event *e, struct ch_sv rest) {
    (void)rest;
    command_work_start(e, NULL, status_run, tell_status);
}

/* --- /new: the conversation so far is moved to another key */

/* The release of the lease may not have reached the store yet. If another gateway runs the same
 * command, the records vanish while they are copied. A gateway that holds the session may be slow;
 * if it has died, its lease ends within CH_LEASE_MS. */
#define TRIES 50
#define TRY_MS 20
#define HELD_TRY_MS 100 /* after TRIES attempts */
#define HELD_TRIES (TRIES + CH_LEASE_MS / HELD_TRY_MS + TRIES)

static int new_on_waiting(const struct chela_store_item *i, void *user) {
    struct command_work *r = user;
    r->waits |= strcmp(i->id, r->id) == 0;
    return 0;
}

static int new_on_row(const struct chela_store_session *s, void *user) {
    struct command_work *r = user;
    r->held = ch_orphans_lease_is_held(s, ch_store_now());
    return 0;
}

/* The holder writes no record after the copy is made. Two gateways may run the command. */
static int new_move(struct command_work *r) {
    r->held = r->waits = false;
    int rc = ch_store_waiting(r->store, r->session, CH_LIMIT_LANE_EVENTS, new_on_waiting, r,
                              &r->err);
    if (rc < 0 || !r->waits)
        return rc; /* 0: the other gateway has run it */
    rc = chela_store_session(r->store, r->session, new_on_row, r, &r->err);
    if (rc == 0 && r->held)
        return ch_fail(&r->err, CHELA_EBUSY, "another process holds it");
    if (rc == 0)
        rc = chela_store_fork(r->store, r->session, -1, r->to, &r->err);
    if (rc == 0 || rc == CHELA_EEXIST) /* a copy of a process that died before the next step */
        rc = ch_store_delete_records(r->store, r->session, &r->err);
    return rc == CHELA_ENOENT ? 0 : rc;
}

static void new_run(struct ch_work *w) {
    struct command_work *r = CH_CONTAINER(w, struct command_work, work);
    for (int i = 0; (r->rc = new_move(r)) < 0; i++) {
        if (i >= (r->rc == CHELA_EBUSY ? HELD_TRIES : TRIES))
            return;
        nanosleep(&(struct timespec){.tv_nsec = (i < TRIES ? TRY_MS : HELD_TRY_MS) * 1000000L},
                  NULL);
    }
}

static void new_on_settled(int rc, const struct chela_error *err, void *user) {
    struct ch_chat_event *e = user;
    struct ch_chat_service *chat = e->chat;
    CH_AUTOFREE char *session = ch_strdup(e->in.session);
    (void)rc;
    (void)err;
    if (!chat) {
        ch_chat_event_drop(e);
        return;
    }
    ch_chat_event_settle(e); /* also in an open lane */
    ch_chat_dispatch_next(chat, session);
}

/* Later messages wait until the inbox has the command no more: a lane that they open would find
 * the command there. */
static void new_end(struct ch_chat_event *e, const struct command_work *r) {
    struct ch_journal *j = e->chat->gw->rt->journal;
    struct chela_store_change c = {.kind = CHELA_STORE_SETTLE, .id = e->in.id};
    if (r->rc < 0)
        ch_log(CH_LOG_WARN, "gateway", "session %s cannot be replaced: %s", r->session,
               r->err.message);
    ch_chat_event_say(e, ch_say(r->rc < 0 ? CH_SAY_NEW_FAILED : CH_SAY_NEW_DONE,
                                ch_chat_language(e)));
    e->accepting = true;
    j->ops->change(j, &c, j->gate, new_on_settled, e);
}

static void command_new(struct ch_chat_event *e, struct ch_sv rest) {
    (void)rest;
    struct ch_lane *l = ch_lane_find(e->chat->gw, ch_sv_str(e->in.session));
    const char *message = e->in.about.message_id;
    CH_BUF_AUTO to = {0};
    if (l)
        ch_lane_close(l);
    e->preparing = true;
    ch_buf_addf(&to, "%s~%s", e->in.session, message ? message : e->in.id);
    command_work_start(e, ch_buf_take(&to), new_run, new_end);
}

/* --- /compact [WHAT MATTERS] */

/* Keeps the sentence until the end of the run. */
static void tell_condensed(struct ch_chat_event *e, size_t after, size_t before) {
    CH_BUF_AUTO text = {0};
    char now[24], then[24];
    snprintf(now, sizeof(now), "%zu", after);
    snprintf(then, sizeof(then), "%zu", before);
    ch_say_add(&text, CH_SAY_CONDENSED, ch_chat_language(e),
               CH_SAY_VALUES(ch_sv_str(now), ch_sv_str(then)));
    e->in.text = ch_arena_str(&e->arena, ch_buf_sv(&text));
}

static void command_on_compact_event(struct ch_lane_watcher *w, const struct chela_event *ev) {
    struct ch_chat_event *e = CH_CONTAINER(w, struct ch_chat_event, watcher);
    if (ev->type == CHELA_EV_COMPACTION)
        tell_condensed(e, ev->compaction.tokens_after, ev->compaction.tokens_before);
    if (ev->type != CHELA_EV_RUN_END)
        return;
    if (ev->end.ending.n) /* the log has the words of the service */
        e->in.text = ch_arena_str(&e->arena, ch_sv(ev->end.ending.p, ev->end.ending.n));
    ch_chat_event_reply(e, e->in.text);
}

static void command_on_compact_ready(struct ch_lane_wait *w, struct ch_lane *l,
                                     const struct chela_error *failed) {
    struct ch_chat_event *e = CH_CONTAINER(w, struct ch_chat_event, wait);
    struct chela_error err = failed ? *failed : (struct chela_error){0};
    struct ch_sv rest = ch_sv_trim(ch_sv_str(e->in.text));
    ch_sv_split(&rest, ' ');
    const char *focus = rest.p ? ch_arena_str(&e->arena, ch_sv_trim(rest)) : NULL;
    if (failed && err.code == CHELA_EBUSY) { /* the gateway that holds the session runs it */
        ch_chat_event_drop(e);
        return;
    }
    int rc = failed ? err.code : ch_lane_compact(l, focus, &err);
    if (rc < 0) {
        if (rc != CHELA_EBUSY && rc != CHELA_ESTATE)
            ch_log(CH_LOG_WARN, "gateway", "/compact in %s: %s", e->in.session, err.message);
        ch_chat_language_tell(e, rc == CHELA_EBUSY || rc == CHELA_ESTATE ? CH_SAY_CONDENSE_BUSY
                                                                         : CH_SAY_COMMAND_FAILED);
        return;
    }
    e->in.text = ch_say(CH_SAY_CONDENSE_NOTHING, ch_chat_language(e));
    e->watcher.event = command_on_compact_event;
    ch_lane_watch(l, &e->watcher);
}

static void command_compact(struct ch_chat_event *e, struct ch_sv rest) {
    struct chela_error err = {0};
    struct ch_lane *l;
    (void)rest;
    if (ch_chat_lane_use(e->chat, e->in.session, &l, &err) < 0) {
        ch_log(CH_LOG_WARN, "gateway", "/compact in %s: %s", e->in.session, err.message);
        ch_chat_language_tell(e, CH_SAY_COMMAND_FAILED);
        return;
    }
    e->wait.ready = command_on_compact_ready;
    ch_lane_when_ready(l, &e->wait);
}

/* --- /approve [ID] [allow-once|allow-always|deny], /deny [ID] [REASON] */

static bool is_decision(struct ch_sv word) {
    return ch_sv_is(word, "allow-once") || ch_sv_is(word, "allow-always") ||
           ch_sv_is(word, "deny");
}

static void command_on_decided(struct chela_text said, void *tag) {
    struct ch_sv answer = ch_sv_of(said);
    struct ch_chat_event *e = tag;
    e->accepting = false;
    if (e->chat)
        ch_chat_event_reply(e, ch_arena_str(&e->arena, answer));
    else
        ch_chat_event_drop(e);
}

/* id empty: the only question of the session, whichever gateway asked. */
static void command_decide(struct ch_chat_event *e, struct ch_sv id, const char *word,
                           const char *reason) {
    struct chela_channel_decision d = {.session = e->in.session,
                                       .approval = ch_arena_str(&e->arena, id),
                                       .word = word,
                                       .by = e->in.about.sender_id};
    e->accepting = true;
    ch_approval_decision_apply_in_words(e->chat, &d, reason, ch_chat_language(e),
                                        command_on_decided, e);
}

static void command_approve(struct ch_chat_event *e, struct ch_sv rest) {
    struct ch_sv id = ch_sv_split(&rest, ' '), word = ch_sv_trim(rest);
    if (is_decision(id) && !word.n) {
        word = id;
        id = ch_sv("", 0);
    }
    command_decide(e, id, word.n ? ch_arena_str(&e->arena, word) : "allow-once", NULL);
}

/* A first word that is not an id belongs to the reason. */
static void command_deny(struct ch_chat_event *e, struct ch_sv rest) {
    struct ch_sv reason = rest, id = ch_sv_split(&reason, ' ');
    if (!ch_sv_starts(id, "ap_")) {
        id = ch_sv("", 0);
        reason = rest;
    }
    command_decide(e, id, "deny", reason.n ? ch_arena_str(&e->arena, ch_sv_trim(reason)) : NULL);
}

/* --- all commands */

static void command_help(struct ch_chat_event *e, struct ch_sv rest);

static const struct {
    const char *name;
    enum ch_say words, help;
    bool owner; /* for owners only */
    void (*run)(struct ch_chat_event *e, struct ch_sv rest);
} commands[] = {
    {"/stop", CH_SAY_WORDS_NONE, CH_SAY_HELP_STOP, false, command_stop},
    {"/new", CH_SAY_WORDS_NONE, CH_SAY_HELP_NEW, false, command_new},
    {"/compact", CH_SAY_WORDS_COMPACT, CH_SAY_HELP_COMPACT, false, command_compact},
    {"/status", CH_SAY_WORDS_NONE, CH_SAY_HELP_STATUS, false, command_status},
    {"/approve", CH_SAY_WORDS_APPROVE, CH_SAY_HELP_APPROVE,
     true, command_approve},
    {"/deny", CH_SAY_WORDS_DENY, CH_SAY_HELP_DENY, true, command_deny},
    {"/pair", CH_SAY_WORDS_PAIR, CH_SAY_HELP_PAIR, true, ch_chat_pairing_command},
    {"/model", CH_SAY_WORDS_MODEL, CH_SAY_HELP_MODEL, true,
     ch_chat_overrides_model_command},
    {"/reasoning", CH_SAY_WORDS_REASONING, CH_SAY_HELP_REASONING, true,
     ch_chat_overrides_reasoning_command},
    {"/help", CH_SAY_WORDS_NONE, CH_SAY_HELP_HELP, false, command_help},
};

static void command_help(struct ch_chat_event *e, struct ch_sv rest) {
    enum chela_language to = ch_chat_language(e);
    CH_BUF_AUTO text = {0};
    (void)rest;
    for (size_t i = 0; i < CH_LEN(commands); i++)
        ch_buf_addf(&text, "%s%s%s: %s", i ? "\n" : "", commands[i].name,
                    ch_say(commands[i].words, to), ch_say(commands[i].help, to));
    ch_chat_event_reply(e, ch_buf_str(&text));
}

static bool command_is_owner(const struct ch_chat_event *e) {
    return e->in.about.sender_id && ch_channel_is_owner(e->chat->channel, e->in.about.sender_id);
}

bool ch_chat_commands_run(struct ch_chat_event *e) {
    struct ch_sv rest = ch_sv_trim(ch_sv_str(e->in.text)), word = ch_sv_split(&rest, ' ');
    rest = rest.p ? ch_sv_trim(rest) : ch_sv("", 0);
    for (size_t i = 0; i < CH_LEN(commands); i++) {
        if (!ch_sv_eq_nocase(word, ch_sv_str(commands[i].name)) ||
            (rest.n && commands[i].words == CH_SAY_WORDS_NONE))
            continue;
        if (commands[i].owner && !command_is_owner(e))
            ch_chat_language_tell(e, CH_SAY_ONLY_OWNER);
        else
            commands[i].run(e, rest);
        return true;
    }
    return false;
}
