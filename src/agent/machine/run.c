/* run.c -- the run machine; see run.h.
 *
 *             input                 reply with calls         calls left to the host,
 *   OBSERVE ---------> THINK -----------------------------> ACT ---- or to approve ---> WAITING
 *      ^               |  ^ \--- retry, pause, nudge --/     | ^                          |
 *      |               |  |                                  | `--------- resumed --------'
 *      |               |  `---------- continue ----------.   v every call has one result
 *      |               |                                REFLECT
 *      `- follow-up ---+--- reply without calls --> DONE    |
 *                      |                                    |
 *                      |--- refused, or a question to a person --> DECLINED
 *                      |                                    |
 *   any --- cancel, deadline, limit, failure ---> ERROR <---'
 *   any --- taken over by a person ---> DONE
 *
 * The content of a reply decides, not its stop reason: complete calls are executed whatever
 * stop reason the vendor gave. The exceptions are a refusal, whose calls are ignored, and a
 * failed reply, which is never used.
 *
 * The cost of a call is known or unknown, never assumed. A budget counts the known costs. */
#include "agent/machine/run.h"

#include <assert.h>

#include "base/limits.h"
#include "base/mem.h"

#define FIRST_DELAY_MS 500
#define LONGEST_DELAY_MS 8000
#define LONGEST_WITH_SUBSTITUTE_MS 10000

const char *ch_run_state_name(enum ch_run_state s) {
    return chela_state_name((enum chela_state)s);
}

const char *ch_reason_name(enum ch_reason r) {
    return r == CH_REASON_NONE ? "" : chela_reason_name((enum chela_reason)r);
}

enum ch_reason ch_reason_of(struct ch_sv name) {
#define IS(reason, status)                            \
    if (ch_sv_is(name, ch_reason_name(CH_REASON_##reason))) \
        return CH_REASON_##reason;
    CH_REASONS(IS)
#undef IS
    return CH_REASON_NONE;
}

enum ch_run_status ch_reason_status(enum ch_reason r) {
    static const enum ch_run_status statuses[] = {
#define STATUS(reason, status) [CH_REASON_##reason] = CH_STATUS_##status,
        CH_REASONS(STATUS)
#undef STATUS
    };
    return statuses[r];
}

bool ch_reason_answers(enum ch_reason r) {
    enum ch_run_status status = ch_reason_status(r);
    return status == CH_STATUS_DONE || (status == CH_STATUS_DECLINED && r != CH_REASON_REFUSED);
}

const char *ch_run_status_name(enum ch_run_status s) {
    return chela_status_name((enum chela_status)s);
}

void ch_run_limits_lower(int64_t *limit, int64_t most) {
    if (most > 0 && (*limit < 0 || *limit > most))
        *limit = most;
}

void ch_run_limits_bound(struct ch_run_limits *limits, const struct ch_bounds *b) {
    ch_run_limits_lower(&limits->max_turns, b->turns);
    if (b->cost_usd > 0 && (limits->cost_budget < 0 || limits->cost_budget > b->cost_usd))
        limits->cost_budget = b->cost_usd;
}

void ch_run_init(struct ch_run *r, const struct ch_run_limits *limits) {
    *r = (struct ch_run){.limits = *limits};
}

size_t ch_run_calls_left(const struct ch_run *r) {
    if (r->closing != CH_REASON_NONE)
        return 0;
    if (r->limits.max_tool_calls < 0)
        return SIZE_MAX;
    size_t max = (size_t)r->limits.max_tool_calls;
    size_t made = (size_t)r->tool_calls + r->below.tool_calls;
    return max > made ? max - made : 0;
}

static void enter(struct ch_run *r, enum ch_run_state next) {
    assert(r->npath < CH_LEN(r->path));
    r->path[r->npath++] = next;
    r->state = next; /* nothing else writes the state */
}

void ch_run_restore(struct ch_run *r, const struct ch_run *stored, bool waits, bool acts) {
    struct ch_run_limits limits = r->limits;
    *r = *stored;
    r->limits = limits;
    r->reason = CH_REASON_NONE;
    if (r->model >= limits.models)
        r->model = 0;
    if (r->state == CH_RUN_THINK && r->turns > 0)
        r->turns--; /* the repeated call is counted again */
    if (!waits || r->state != CH_RUN_WAITING)
        enter(r, acts ? CH_RUN_ACT : CH_RUN_OBSERVE);
    r->npath = 0;
}

static enum ch_do run_finish(struct ch_run *r, enum ch_reason reason) {
    r->reason = reason;
    enum ch_run_status status = ch_reason_status(reason);
    enter(r, status == CH_STATUS_DONE       ? CH_RUN_DONE
             : status == CH_STATUS_DECLINED ? CH_RUN_DECLINED
                                            : CH_RUN_ERROR);
    return CH_DO_FINISH;
}

static bool reached(int64_t limit, int64_t value) {
    return limit >= 0 && value >= limit;
}

/* The limit that forbids another model call; NONE: no limit does. */
static enum ch_reason exhausted(const struct ch_run *r) {
    if (reached(r->limits.max_errors, r->errors))
        return CH_REASON_TOO_MANY_ERRORS;
    if (reached(r->limits.max_turns, (int64_t)r->turns + r->below.turns))
        return CH_REASON_MAX_TURNS;
    if (reached(r->limits.token_budget, r->usage.input + r->usage.output))
        return CH_REASON_TOKEN_BUDGET;
    if (r->limits.cost_budget >= 0 && r->cost >= r->limits.cost_budget)
        return CH_REASON_COST_BUDGET;
    return CH_REASON_NONE;
}

static void use_model(struct ch_run *r, unsigned next) {
    r->before = r->model;
    r->model = next;
    r->attempt = 0;
    r->fell_back = true;
}

/* The first model from index `from` on that is not cooling down; `from` if all are. */
static unsigned next_cool(const struct ch_run *r, const struct ch_input *in, unsigned from) {
    for (unsigned i = from; i < r->limits.models; i++)
        if (!(in->cooling >> i & 1))
            return i;
    return from;
}

/* The closing turn costs a model call, so it is omitted after a spent budget or a deadline. */
static bool may_sum_up(const struct ch_run *r, enum ch_reason limit) {
    return r->limits.sums_up && r->turns > 0 &&
           (limit == CH_REASON_MAX_TURNS || limit == CH_REASON_MAX_TOOL_CALLS ||
            limit == CH_REASON_TOO_MANY_ERRORS || limit == CH_REASON_LOOP);
}

/* Starts a model call, unless `limit` forbids it. At a limit: starts the closing turn if
 * that is allowed, otherwise ends the run. */
static enum ch_do think_unless(struct ch_run *r, const struct ch_input *in, enum ch_reason limit) {
    if (limit != CH_REASON_NONE && !may_sum_up(r, limit))
        return run_finish(r, limit);
    r->closing = limit;
    r->sum_up = limit != CH_REASON_NONE;
    r->turns++;
    r->attempt = 0;
    unsigned model = next_cool(r, in, r->model);
    if (model != r->model) {
        use_model(r, model);
        r->passed_over = true;
    }
    enter(r, CH_RUN_THINK);
    return CH_DO_CALL_MODEL;
}

static enum ch_do run_think(struct ch_run *r, const struct ch_input *in) {
    return think_unless(r, in, r->closing != CH_REASON_NONE ? r->closing : exhausted(r));
}

static enum ch_do observe_and_think(struct ch_run *r, const struct ch_input *in) {
    enter(r, CH_RUN_OBSERVE);
    return run_think(r, in);
}

void ch_run_add_usage(struct ch_usage *to, const struct ch_usage *u) {
    to->input += u->input;
    to->output += u->output;
    to->cache_read += u->cache_read;
    to->cache_write += u->cache_write;
    to->reasoning += u->reasoning;
}

void ch_run_spend(struct ch_run *r, const struct ch_usage *usage, double cost) {
    ch_run_add_usage(&r->usage, usage);
    if (cost < 0)
        r->cost_unknown = true;
    else
        r->cost += cost;
}

void ch_run_charge(struct ch_run *r, const struct ch_usage *usage, double cost) {
    ch_run_add_usage(&r->turn.usage, usage);
    r->turn.cost = cost < 0 || r->turn.cost < 0 ? -1 : r->turn.cost + cost;
}

/* Counts the usage of a call, whatever its outcome. */
static void run_count(struct ch_run *r, const struct ch_input *in) {
    ch_run_spend(r, &in->usage, in->cost);
}

static int64_t backoff(unsigned attempt, int64_t retry_after_ms) {
    if (retry_after_ms > 0)
        return CH_MIN(retry_after_ms, CH_LIMIT_RETRY_AFTER);
    int64_t delay = FIRST_DELAY_MS;
    while (attempt-- && delay < LONGEST_DELAY_MS)
        delay *= 2;
    return CH_MIN(delay, LONGEST_DELAY_MS);
}

/* An overload is temporary. Without a fallback model the only remedy is to retry more often. */
static int retries_of(const struct ch_run *r, const struct ch_input *in, bool substitute) {
    bool patient = in->cls == CH_ERR_OVERLOADED && !substitute;
    return patient ? CH_MAX(r->limits.retries, r->limits.overload_retries) : r->limits.retries;
}

/* Retries the call, then tries the next model of the chain, then ends the run. A reply that
 * was partly shown is not retried, because the reader would see the text twice. A history
 * that does not fit is compacted first, once. */
static enum ch_do on_failed(struct ch_run *r, const struct ch_input *in) {
    run_count(r, in);
    if (in->cls == CH_ERR_OVERFLOW && r->limits.compacts && !r->compacted && !in->output_shown) {
        r->compacted = true;
        return CH_DO_COMPACT;
    }
    if (in->mended && !in->output_shown)
        return CH_DO_CALL_MODEL;
    bool may_repeat = in->retryable && !in->output_shown;
    bool substitute = r->model + 1 < r->limits.models &&
                      !(in->cooling >> next_cool(r, in, r->model + 1) & 1);
    bool waits_too_long = in->retry_after_ms > (substitute ? LONGEST_WITH_SUBSTITUTE_MS
                                                           : CH_LIMIT_RETRY_AFTER);
    if (may_repeat && !waits_too_long && (int)r->attempt < retries_of(r, in, substitute)) {
        r->delay_ms = backoff(r->attempt, in->retry_after_ms);
        r->attempt++;
        return CH_DO_CALL_MODEL;
    }
    r->errors++;
    bool other_model_may_do = in->cls != CH_ERR_REFUSED && !in->output_shown;
    if (other_model_may_do && r->model + 1 < r->limits.models &&
        !reached(r->limits.max_errors, r->errors)) {
        use_model(r, next_cool(r, in, r->model + 1));
        return CH_DO_CALL_MODEL;
    }
    if (r->closing != CH_REASON_NONE)
        return run_finish(r, r->closing);
    return run_finish(r, in->cls == CH_ERR_OVERFLOW  ? CH_REASON_CONTEXT_OVERFLOW
                         : in->cls == CH_ERR_REFUSED ? CH_REASON_REFUSED
                                                     : CH_REASON_MODEL_ERROR);
}

static enum ch_do on_compacted(struct ch_run *r, const struct ch_input *in) {
    run_count(r, in);
    if (r->by_hand)
        return run_finish(r, CH_REASON_COMPLETED);
    if (in->shorter)
        return CH_DO_CALL_MODEL;
    r->compacted = true;
    struct ch_input overflow = {
        .kind = CH_IN_FAILED, .cls = CH_ERR_OVERFLOW, .cooling = in->cooling};
    return on_failed(r, &overflow);
}

static enum ch_do run_begin_work(struct ch_run *r, const struct ch_input *in) {
    if (!in->compact)
        return run_think(r, in);
    r->by_hand = true;
    enter(r, CH_RUN_THINK);
    return CH_DO_COMPACT;
}

/* The answer does not match its schema: asks the model again once, then fails. */
static enum ch_do on_unfit(struct ch_run *r, const struct ch_input *in) {
    if (r->reasked)
        return run_finish(r, CH_REASON_MODEL_ERROR);
    r->reasked = r->reask = true;
    return observe_and_think(r, in);
}

static enum ch_do on_empty_reply(struct ch_run *r, const struct ch_input *in) {
    if (r->nudged && in->unfit)
        return run_finish(r, CH_REASON_MODEL_ERROR);
    if (r->nudged) {
        r->warn_empty = true;
        return run_finish(r, CH_REASON_COMPLETED);
    }
    r->nudged = r->nudge = true;
    return observe_and_think(r, in);
}

/* The service pauses a turn again and again. */
static enum ch_do finish_unanswered(struct ch_run *r, const struct ch_input *in) {
    r->warn_empty = !in->has_text;
    return run_finish(r, CH_REASON_COMPLETED);
}

static enum ch_do run_on_reply(struct ch_run *r, const struct ch_input *in) {
    run_count(r, in);
    r->compacted = false;
    if (in->has_text)
        r->errors = 0;
    r->pauses = in->stop == CH_STOP_PAUSE ? r->pauses + 1 : 0;

    if (in->stop == CH_STOP_REFUSAL)
        return run_finish(r, CH_REASON_REFUSED);
    if (in->stop == CH_STOP_PAUSE)
        return r->pauses > CH_LIMIT_PAUSES ? finish_unanswered(r, in) : run_think(r, in);
    if (in->calls > 0) {
        enter(r, CH_RUN_ACT);
        return CH_DO_CALL_TOOLS;
    }
    if (r->closing != CH_REASON_NONE)
        return run_finish(r, r->closing);
    if (!in->has_text)
        return on_empty_reply(r, in);
    if (in->unfit)
        return on_unfit(r, in);
    if (in->stop == CH_STOP_LENGTH)
        return run_finish(r, CH_REASON_LENGTH);
    r->nudged = false;
    bool review = in->review && exhausted(r) == CH_REASON_NONE; /* else the answer stands */
    return in->follow_ups || review ? observe_and_think(r, in)
                                    : run_finish(r, CH_REASON_COMPLETED);
}

static enum ch_do on_role(struct ch_run *r, const struct ch_input *in) {
    run_count(r, in);
    r->errors = 0;
    return observe_and_think(r, in);
}

static enum ch_do stop_at(struct ch_run *r, const struct ch_input *in, enum ch_reason limit) {
    if (may_sum_up(r, limit))
        enter(r, CH_RUN_OBSERVE);
    return think_unless(r, in, limit);
}

static enum ch_do run_on_results(struct ch_run *r, const struct ch_input *in) {
    r->tool_calls += in->calls;
    r->errors = in->any_ok ? in->trailing_errors : r->errors + in->trailing_errors;
    if (in->terminated)
        return run_finish(r, CH_REASON_COMPLETED);
    enter(r, CH_RUN_REFLECT);
    if (r->closing != CH_REASON_NONE)
        return run_finish(r, r->closing);
    if (in->over_limit)
        return stop_at(r, in, CH_REASON_MAX_TOOL_CALLS);
    if (in->unfit && r->reasked)
        return run_finish(r, CH_REASON_MODEL_ERROR);
    r->reasked |= in->unfit; /* the tool result tells the model the problem */
    if (in->loop == CH_LOOP_VERDICT_END && exhausted(r) == CH_REASON_NONE)
        return stop_at(r, in, CH_REASON_LOOP);
    r->caution = in->loop == CH_LOOP_VERDICT_NOTE;
    return observe_and_think(r, in);
}

static enum ch_do on_unanswered(struct ch_run *r, const struct ch_input *in) {
    r->reason = in->approvals   ? CH_REASON_APPROVAL
                : in->timers    ? CH_REASON_TIMER
                : in->questions ? CH_REASON_HUMAN
                                : CH_REASON_CLIENT_TOOL;
    enter(r, CH_RUN_WAITING);
    return CH_DO_ASK_HOST;
}

static enum ch_do on_resumed(struct ch_run *r) {
    r->reason = CH_REASON_NONE;
    enter(r, CH_RUN_ACT);
    return CH_DO_RESUME_TOOLS;
}

/* The reason with which an input ends a run in any state; NONE: the input does not. */
static enum ch_reason run_interruption(enum ch_in kind) {
    switch (kind) {
    case CH_IN_CANCEL:
        return CH_REASON_CANCELLED;
    case CH_IN_TAKEN_OVER:
        return CH_REASON_COMPLETED;
    case CH_IN_DEADLINE:
        return CH_REASON_DEADLINE;
    case CH_IN_BROKEN:
        return CH_REASON_INTERNAL;
    case CH_IN_LOST:
        return CH_REASON_STORE;
    default:
        return CH_REASON_NONE;
    }
}

enum ch_do ch_run_step(struct ch_run *r, const struct ch_input *in) {
    r->npath = 0;
    r->delay_ms = 0;
    r->nudge = r->reask = r->caution = r->sum_up = r->fell_back = r->passed_over = false;
    if (ch_run_over(r))
        return CH_DO_NOTHING;
    enum ch_reason stop = run_interruption(in->kind);
    if (stop != CH_REASON_NONE)
        return run_finish(r, stop);

    if (in->kind == CH_IN_DECIDED)
        return run_finish(r, in->reason);

    switch (r->state) {
    case CH_RUN_OBSERVE:
        assert(in->kind == CH_IN_INPUT);
        return run_begin_work(r, in);
    case CH_RUN_THINK:
        assert(in->kind == CH_IN_REPLY || in->kind == CH_IN_FAILED ||
               in->kind == CH_IN_COMPACTED || in->kind == CH_IN_ROLE);
        return in->kind == CH_IN_REPLY    ? run_on_reply(r, in)
               : in->kind == CH_IN_ROLE   ? on_role(r, in)
               : in->kind == CH_IN_FAILED ? on_failed(r, in)
                                          : on_compacted(r, in);
    case CH_RUN_ACT:
        assert(in->kind == CH_IN_RESULTS || in->kind == CH_IN_UNANSWERED);
        return in->kind == CH_IN_RESULTS ? run_on_results(r, in) : on_unanswered(r, in);
    case CH_RUN_WAITING:
        assert(in->kind == CH_IN_RESUMED);
        return on_resumed(r);
    case CH_RUN_REFLECT:
    case CH_RUN_DONE:
    case CH_RUN_ERROR:
    case CH_RUN_DECLINED:
        break;
    }
    CH_UNREACHABLE();
}
