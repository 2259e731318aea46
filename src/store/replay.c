/* replay.c -- replay a journal through the run's state machine.
 *
 * The machine (agent/machine/run.c) is pure: given the model's replies and the
 * tools' results of the journal, it must make the same decisions. Each STATE
 * record is a decision. If the machine decides differently now, because it was
 * changed or has other limits, the replay reports a difference. Other
 * differences: instructions, a model, a history or a tool that no longer exist,
 * and results that do not match their calls. The replay calls nothing and
 * writes nothing.
 *
 * A journal does not contain failed model calls: their usage is taken from the
 * states. The states also give the agent that a conversation was handed to,
 * with which the replay continues, and the decisions of roles (mode.h): that a
 * turn belonged to a role, or that it was the last. */
#include <stdio.h>

#include "agent/feature/mode/mode_settings.h"
#include "agent/handle/lookup.h"
#include "agent/journal/journal_replay.h"
#include "agent/machine/principal.h"
#include "agent/machine/run.h"
#include "io/loop_entry.h"
#include "model/provider/target.h"
#include "agent/run/driver.h"
#include "agent/run/feature.h"
#include "agent/session/session.h"
#include "base/error.h"
#include "json/json.h"
#include "store/store.h"

struct replaying {
    chela_agent *agent;     /* the agent that holds the conversation */
    chela_session *session; /* a session of that agent, not stored and without a run */
    bool orphan;            /* the conversation was handed to a missing agent */
    struct ch_journal_replay *past; /* owned: the history up to the record */
    const struct chela_store_record *record;
    struct ch_run m;
    bool begun;             /* m holds a run */
    int64_t recoveries;     /* recoveries of the run, from its last state */
    unsigned waiting;       /* messages accepted and not delivered */
    size_t calls, done;     /* tool calls of the last reply; results so far */
    struct ch_input results; /* results of these calls so far */
    bool acted, unacted;     /* some of these calls were actions that end a run; some were not */
    bool due;               /* all results came; fed before the next record */
    struct ch_input reply;  /* the last reply; fed before the next record */
    bool replied;
    chela_replay_fn *fn;
    void *user;
    int rc;
    struct chela_error *err;
};

/* Feed an input. An input that does not fit the machine's state is skipped: the
 * machine has taken another path, and the next comparison reports it. */
static void replay_feed(struct replaying *r, const struct ch_input *in) {
    static const enum ch_run_state wants[] = {
        [CH_IN_INPUT] = CH_RUN_OBSERVE, [CH_IN_REPLY] = CH_RUN_THINK,
        [CH_IN_FAILED] = CH_RUN_THINK,  [CH_IN_RESULTS] = CH_RUN_ACT,
        [CH_IN_COMPACTED] = CH_RUN_THINK,
        [CH_IN_UNANSWERED] = CH_RUN_ACT, [CH_IN_RESUMED] = CH_RUN_WAITING,
    };

    if (in->kind >= CH_IN_DEADLINE || r->m.state == wants[in->kind])
        ch_run_step(&r->m, in);
}

/* --- differences ----------------------------------------------------------------- */

static void replay_tell(struct replaying *r, const struct ch_buf *then, const struct ch_buf *now,
                        bool same) {
    struct chela_replay_step step = {.seq = r->record->seq,
                                     .turn = r->m.turns,
                                     .then = ch_buf_str(then),
                                     .now = ch_buf_str(now),
                                     .same = same};
    r->fn(&step, r->user);
}

/* Compare NAME@VERSION#DIGEST; versions with the same digest are equal. */
static void compare_prompts(struct replaying *r, struct ch_sv then, struct ch_sv now) {
    struct ch_sv was = then, is = now;
    CH_BUF_AUTO before = {0}, after = {0};

    if (!then.n || !ch_sv_eq(ch_sv_split(&was, '@'), ch_sv_split(&is, '@')))
        return; /* the run had its own prompt */
    ch_sv_split(&was, '#');
    ch_sv_split(&is, '#');
    ch_buf_addf(&before, "instructions %.*s", CH_SV_FMT(then));
    ch_buf_addf(&after, "instructions %.*s", CH_SV_FMT(now));
    replay_tell(r, &before, &after, ch_sv_eq(was, is));
}

/* Compare the instructions with those that a run would get now. Only a run can
 * compute them, so a run is created that never starts. */
static void compare_prompt(struct replaying *r, const struct ch_json *v) {
    struct ch_principal principal = ch_principal_read(v);
    struct chela_run_opts opts = CHELA_RUN_OPTS(.on_event = NULL);
    chela_run *run;

    ch_principal_apply(&principal, &opts);
    if (ch_run_new(r->session, &opts, NULL, &run, NULL) == 0) {
        compare_prompts(r, ch_json_get_str(v, "prompt"), ch_sv_str(ch_run_prompt(run)));
        ch_run_unref(run);
    }
    ch_principal_release(&principal);
}

/* Any model of the chain matches: which one was used depended on failures. */
static const char *model_now(const struct replaying *r, struct ch_sv then) {
    const chela_agent *a = r->agent;

    for (size_t i = 0; i < a->ntargets; i++)
        if (ch_sv_is(then, a->targets[i]->spec))
            return a->targets[i]->spec;
    return a->targets[0]->spec;
}

static void compare_request(struct replaying *r, const struct ch_json *request) {
    struct ch_sv model = ch_json_get_str(request, "model");
    int64_t messages = ch_json_int(ch_json_get(request, "messages"), 0);
    const char *now = model_now(r, model);
    CH_BUF_AUTO before = {0}, after = {0};

    if (!request)
        return;
    ch_buf_addf(&before, "%.*s is asked with %lld messages", CH_SV_FMT(model), (long long)messages);
    ch_buf_addf(&after, "%s is asked with %zu messages", now, r->past->transcript.n);
    replay_tell(r, &before, &after, strcmp(ch_buf_str(&before), ch_buf_str(&after)) == 0);
}

/* Tools that an agent has in a gateway only. */
static bool gateway_adds(const chela_agent *a, struct ch_sv name) {
    return (a->send_to && ch_sv_is(name, "sessions_send")) ||
           (a->chat_actions && ch_sv_starts(name, "chat_")) ||
           (a->gateway_tool && ch_sv_is(name, "gateway"));
}

static void compare_result(struct replaying *r, const struct ch_json *v, struct ch_sv name) {
    int64_t call = ch_json_int(ch_json_get(v, "call"), -1);
    bool ran = ch_json_bool(ch_json_get(v, "ran"), false);
    bool fits = call >= 0 && (size_t)call < r->past->ncalls && !r->past->calls[call].result;
    CH_BUF_AUTO before = {0}, after = {0};

    if (fits && (!ran || ch_registry_find(&r->agent->registry, name) ||
                 gateway_adds(r->agent, name)))
        return;
    ch_buf_addf(&before, "call %lld, %.*s, has a result", (long long)call, CH_SV_FMT(name));
    ch_buf_add_str(&after, fits ? "there is no such tool" : "no such call waits for one");
    replay_tell(r, &before, &after, false);
}

/* --- recorded inputs ----------------------------------------------------------------- */

static enum ch_stop replay_stop_of(struct ch_sv word) {
    for (int s = CH_STOP_STOP; s <= CH_STOP_ERROR; s++)
        if (ch_sv_is(word, ch_stop_name((enum ch_stop)s)))
            return (enum ch_stop)s;
    return CH_STOP_STOP;
}

static bool is_person(const struct ch_json *message) {
    return ch_json_bool(ch_json_get(message, "person"), false);
}

static void feed_reply(struct replaying *r, const struct ch_json *v) {
    const struct ch_json *u = ch_json_get(v, "usage");
    struct ch_input in = {.kind = CH_IN_REPLY,
                          .stop = replay_stop_of(ch_json_get_str(v, "stop")),
                          .follow_ups = r->waiting,
                          .usage = {.input = ch_json_int(ch_json_get(u, "input"), 0),
                                    .output = ch_json_int(ch_json_get(u, "output"), 0)}};

    for (CH_JSON_EACH(block, ch_json_path(v, "message", "content", NULL))) {
        struct ch_sv type = ch_json_get_str(block, "type");
        in.calls += ch_sv_is(type, "tool_call");
        in.has_text |= ch_sv_is(type, "text") && ch_sv_trim(ch_json_get_str(block, "text")).n > 0;
    }
    if (is_person(v)) { /* a person took over, at any step */
        r->reply = (struct ch_input){.kind = CH_IN_TAKEN_OVER};
        r->replied = true;
        return;
    }
    compare_request(r, ch_json_get(v, "request"));
    r->calls = in.calls;
    r->done = 0;
    r->results = (struct ch_input){.kind = CH_IN_RESULTS, .calls = in.calls};
    r->acted = r->unacted = false;
    r->reply = in;
    r->replied = true;
}

static void feed_done(struct replaying *r, const struct ch_json *v) {
    const struct ch_json *block = ch_json_at(ch_json_path(v, "message", "content", NULL), 0);
    bool denied = ch_json_bool(ch_json_get(block, "denied"), false);
    bool failed = ch_json_bool(ch_json_get(block, "is_error"), false);
    bool refused = ch_json_bool(ch_json_get(v, "refused"), false);

    compare_result(r, v, ch_json_get_str(block, "name"));
    r->results.any_ok |= !denied && !failed;
    if (!denied)
        r->results.trailing_errors = failed ? r->results.trailing_errors + 1 : 0;
    r->results.calls -= refused;
    r->results.over_limit |= refused;
    bool ends = ch_json_bool(ch_json_get(v, "terminates"), false);
    const struct ch_tool *tool =
        ch_registry_find(&r->agent->registry, ch_json_get_str(block, "name"));
    bool action = tool && tool->flags & CHELA_TOOL_ACTION;
    r->acted |= ends && action;
    r->unacted |= !ends;
    r->results.terminated |= ends && !action;
    r->due = ++r->done == r->calls;
    r->results.terminated |= r->due && r->acted && !r->unacted;
}

/* --- agent of the conversation ------------------------------------------------------ */

static void replay_follow(struct replaying *r, struct ch_sv id) {
    CH_BUF_AUTO before = {0}, after = {0};
    CH_AUTOFREE char *name = ch_strndup(id.p, id.n);
    chela_session *s;

    if (!id.n || ch_sv_is(id, r->agent->id))
        return;
    chela_agent *a = ch_agent_find(r->agent->rt, name);
    ch_buf_addf(&before, "the agent %s has the conversation", name);
    if (!a || ch_session_open(a, NULL, false, &s, NULL) < 0) {
        ch_buf_add_str(&after, "there is no such agent");
        if (!r->orphan) /* reported once */
            replay_tell(r, &before, &after, false);
        r->orphan = true;
        return;
    }
    chela_session_close(r->session);
    r->session = s;
    r->agent = a;
    r->orphan = false;
    r->m.limits = a->limits;
    r->m.model = 0;
    replay_tell(r, &before, &before, true);
}

/* --- decisions of roles --------------------------------------------------------------- */

static bool has_roles(const struct replaying *r, const struct ch_json *state) {
    const struct ch_reflecting *f = &ch_mode_settings(r->agent)->reflection;
    struct ch_sv mode = ch_json_get_str(state, "mode");

    return ch_sv_is(mode, "plan") || ch_sv_is(mode, "route") || ch_sv_is(mode, "heartbeat") ||
           f->answers || f->errors || f->tools;
}

static bool is_next_turn(const struct replaying *r, const struct ch_json *state) {
    return ch_sv_is(ch_json_get_str(state, "state"), "THINK") && r->m.state == CH_RUN_THINK &&
           ch_json_int(ch_json_get(state, "turns"), 0) == (int64_t)r->m.turns + 1;
}

/* Mark a reply that a role reviewed, or that is a role's own text. */
static void mark_reply(struct replaying *r, const struct ch_json *state) {
    struct ch_sv reason = ch_json_get_str(state, "reason");

    if (r->reply.calls || !r->reply.has_text || !has_roles(r, state))
        return;
    r->reply.review = is_next_turn(r, state);
    enum ch_reason declined = ch_reason_of(reason);
    if (ch_reason_status(declined) == CH_STATUS_DECLINED && r->reply.stop == CH_STOP_STOP)
        r->reply = (struct ch_input){.kind = CH_IN_DECIDED, .reason = declined};
}

static void feed_role(struct replaying *r, const struct ch_json *state) {
    struct ch_sv reason = ch_json_get_str(state, "reason");

    if (!has_roles(r, state))
        return;
    if (is_next_turn(r, state))
        replay_feed(r, &(struct ch_input){.kind = CH_IN_ROLE});
    else if (r->m.state == CH_RUN_THINK && ch_sv_is(reason, "task_completed"))
        replay_feed(r, &(struct ch_input){.kind = CH_IN_DECIDED, .reason = CH_REASON_COMPLETED});
}

/* --- external events --------------------------------------------------------------------- */

static const struct outside {
    const char *reason;
    enum ch_in kind;
} outside[] = {{"cancelled", CH_IN_CANCEL},      {"deadline_exceeded", CH_IN_DEADLINE},
               {"internal_error", CH_IN_BROKEN}, {"store_error", CH_IN_LOST},
               {"model_error", CH_IN_FAILED},    {"context_overflow", CH_IN_FAILED},
               {"refused", CH_IN_FAILED}}; /* a refused reply is not in the journal */

static const struct outside *outside_of(struct ch_sv reason) {
    for (size_t i = 0; i < CH_LEN(outside); i++)
        if (ch_sv_is(reason, outside[i].reason))
            return &outside[i];
    return NULL;
}

/* Whether the event came during the tool calls, so that their results ended no
 * turn. */
static bool came_before_results(const struct replaying *r, const struct ch_json *state) {
    return outside_of(ch_json_get_str(state, "reason")) &&
           ch_json_int(ch_json_get(state, "turns"), 0) == (int64_t)r->m.turns;
}

/* Feed inputs before this record that could not be interpreted without it. A
 * hand-over takes effect after the results that announce it and before the
 * machine processes them. */
static void feed_pending(struct replaying *r, const struct ch_json *v) {
    bool state = r->record->type == CH_REC_STATE;

    if (state) {
        replay_follow(r, ch_json_get_str(v, "agent"));
        ch_features_recall(r->agent, v, NULL); /* it has the tools for the run's mode */
    }
    if (r->replied && state)
        mark_reply(r, v);
    if (r->replied)
        replay_feed(r, &r->reply);
    r->replied = false;
    if (state && ch_json_get(v, "acting"))
        return; /* the next state decides about the results */
    if (r->due && !is_person(v) && !(state && came_before_results(r, v)))
        replay_feed(r, &r->results);
    r->due = false;
}

/* A compaction outside of a run was a separate run. */
static void feed_compaction(struct replaying *r, const struct ch_json *v) {
    const struct ch_json *u = ch_json_get(v, "usage");
    struct ch_input in = {.kind = CH_IN_COMPACTED,
                          .shorter = true,
                          .usage = {.input = ch_json_int(ch_json_get(u, "input"), 0),
                                    .output = ch_json_int(ch_json_get(u, "output"), 0)}};

    if (!r->begun || ch_run_over(&r->m)) {
        ch_run_init(&r->m, &r->agent->limits);
        replay_feed(r, &(struct ch_input){.kind = CH_IN_INPUT, .compact = true});
        r->begun = true;
    }
    replay_feed(r, &in);
}

/* If an external event ended the run, feed the event again. */
static void feed_end(struct replaying *r, struct ch_sv reason) {
    const struct outside *o = outside_of(reason);
    enum ch_error_class cls = ch_sv_is(reason, "context_overflow") ? CH_ERR_OVERFLOW
                              : ch_sv_is(reason, "refused")        ? CH_ERR_REFUSED
                                                                   : CH_ERR_SERVER;

    if (!o || ch_run_over(&r->m))
        return;
    r->m.limits.models = 1; /* the other models of the chain had been tried */
    replay_feed(r, &(struct ch_input){.kind = o->kind, .cls = cls});
}

/* --- comparison --------------------------------------------------------------------- */

/* Take the usage from the state, including failed attempts. */
static void adopt_usage(struct replaying *r, const struct ch_json *v) {
    const struct ch_json *u = ch_json_get(v, "usage");

    r->m.usage.input = ch_json_int(ch_json_get(u, "input"), r->m.usage.input);
    r->m.usage.output = ch_json_int(ch_json_get(u, "output"), r->m.usage.output);
    r->m.cost = ch_json_double(ch_json_get(v, "cost"), r->m.cost);
    const struct ch_json *below = ch_json_get(v, "below");
    r->m.below.turns = (unsigned)ch_json_int(ch_json_get(below, "turns"), r->m.below.turns);
    r->m.below.tool_calls =
        (unsigned)ch_json_int(ch_json_get(below, "tool_calls"), r->m.below.tool_calls);
}

static void replay_compare(struct replaying *r, const struct ch_json *v) {
    CH_BUF_AUTO then = {0}, now = {0};
    struct ch_sv state = ch_json_get_str(v, "state"), reason = ch_json_get_str(v, "reason");

    ch_buf_addf(&then, "%.*s%s%.*s, %lld turns, %lld calls", CH_SV_FMT(state), reason.n ? " " : "",
                CH_SV_FMT(reason), (long long)ch_json_int(ch_json_get(v, "turns"), 0),
                (long long)ch_json_int(ch_json_get(v, "tool_calls"), 0));
    const char *why = ch_reason_name(r->m.reason);
    ch_buf_addf(&now, "%s%s%s, %u turns, %u calls", ch_run_state_name(r->m.state), *why ? " " : "",
                why, r->m.turns, r->m.tool_calls);
    bool same = strcmp(ch_buf_str(&then), ch_buf_str(&now)) == 0;
    replay_tell(r, &then, &now, same);
    adopt_usage(r, v);
    if (same)
        return;
    /* Continue with the recorded values, so that one difference is reported
     * once. */
    r->m.turns = (unsigned)ch_json_int(ch_json_get(v, "turns"), 0);
    r->m.tool_calls = (unsigned)ch_json_int(ch_json_get(v, "tool_calls"), 0);
    r->m.errors = (unsigned)ch_json_int(ch_json_get(v, "errors"), 0);
    r->m.reason = CH_REASON_NONE;
    for (enum ch_run_state s = CH_RUN_OBSERVE; s <= CH_RUN_DECLINED; s++)
        if (ch_sv_is(state, ch_run_state_name(s)))
            r->m.state = s;
}

/* Read the count of recoveries. True: the run was recovered before this state. The
 * count stays in the states until the model has answered; resuming a parked run
 * starts the count again. */
static bool count_recoveries(struct replaying *r, const struct ch_json *state) {
    int64_t before = r->recoveries, now = ch_json_int(ch_json_get(state, "recoveries"), 0);
    bool parked = ch_sv_is(ch_json_get_str(state, "status"), "parked");

    r->recoveries = parked ? 0 : now;
    return now > before;
}

static void feed_state(struct replaying *r, const struct ch_json *v) {
    struct ch_sv status = ch_json_get_str(v, "status"), reason = ch_json_get_str(v, "reason");

    if (!r->begun)
        return;
    bool running = ch_sv_is(status, "running"), taken_up = count_recoveries(r, v);
    struct ch_sv state = ch_json_get_str(v, "state");
    if (taken_up || (running && ch_sv_is(state, "OBSERVE")))
        return; /* started or recovered: not a decision of the machine */
    if (running && ch_json_get(v, "acting")) {
        adopt_usage(r, v);
        return; /* usage of a called agent: not a decision either */
    }
    if (running && r->m.state == CH_RUN_WAITING) {
        replay_feed(r, &(struct ch_input){.kind = CH_IN_RESUMED});
        return;
    }
    if (ch_sv_is(status, "paused"))
        replay_feed(r, &(struct ch_input){.kind = CH_IN_UNANSWERED,
                                          .approvals = ch_sv_is(reason, "approval_required")});
    feed_end(r, reason);
    feed_role(r, v);
    replay_compare(r, v);
}

static void replay_begin(struct replaying *r, const struct ch_json *v) {
    ch_run_init(&r->m, &r->agent->limits);
    replay_feed(r, &(struct ch_input){.kind = CH_IN_INPUT});
    r->begun = true;
    r->recoveries = 0;
    r->calls = r->done = 0;
    compare_prompt(r, v);
}

static int replay_record(const struct chela_store_record *record, void *user) {
    struct replaying *r = user;
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;

    if (ch_record_is_request(record->type))
        return 0;
    r->record = record;
    r->rc = ch_json_parse(&arena, ch_sv(record->data, record->n), CH_JSON_STRICT, &v, NULL, r->err);
    if (r->rc < 0)
        return 1;
    feed_pending(r, v);
    bool start = ch_sv_is(ch_json_get_str(v, "mode"), "start");
    struct ch_sv role = ch_json_str(ch_json_path(v, "message", "role", NULL));
    if (record->type == CH_REC_INBOUND && start)
        replay_begin(r, v);
    else if (record->type == CH_REC_INBOUND)
        r->waiting++;
    else if (record->type == CH_REC_MESSAGE && ch_json_get(v, "of"))
        r->waiting -= r->waiting > 0;
    else if (record->type == CH_REC_MESSAGE && ch_sv_is(role, "assistant") &&
             ch_json_get(v, "stop") && r->begun)
        feed_reply(r, v);
    else if (record->type == CH_REC_DONE && r->begun)
        feed_done(r, v);
    else if (record->type == CH_REC_COMPACTION &&
             (ch_json_get(v, "messages") || ch_json_get(v, "message")))
        feed_compaction(r, v); /* otherwise it came with a reply */
    else if (record->type == CH_REC_STATE)
        feed_state(r, v);
    r->rc = ch_journal_replay_fold(record, r->past, r->err);
    return r->rc < 0;
}

int chela_replay(chela_agent *agent, chela_store *store, const char *key, chela_replay_fn *fn,
                 void *user, struct chela_error *err) {
    CH_ENTER(agent, agent->rt->loop, err);
    CH_NEEDS(store, err);
    struct chela_error why = {0};
    struct replaying r = {.agent = agent,
                          .past = ch_journal_replay_new(),
                          .fn = fn,
                          .user = user,
                          .err = err ? err : &why};

    int rc = ch_session_open(agent, NULL, false, &r.session, r.err);
    if (rc == 0)
        rc = chela_store_records(store, key, 1, replay_record, &r, r.err);
    chela_session_close(r.session);
    ch_journal_replay_free(r.past);
    return rc < 0 ? rc : r.rc;
}
