/* wait.c -- see wait.h. */
#include "tool/call/wait.h"

#include "base/limits.h"
#include "json/writer.h"

#define MEMBER "chela_wait" /* no tool stores a state with this member */

static int64_t wait_now(const chela_call *call) {
    return ch_now_ms(ch_loop_clock(call->env->loop));
}

static void wait_write(const chela_call *call, int64_t due, unsigned attempts,
                       struct ch_sv error, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);

    ch_jw_begin(&w, '{');
    ch_jw_kbegin(&w, MEMBER, '{');
    ch_jw_kint(&w, "until", due);
    ch_jw_kint(&w, "since", call->wait.since);
    ch_jw_kint(&w, "attempts", attempts);
    ch_jw_kbool(&w, "sleeps", call->wait.sleeps);
    if (due)
        ch_jw_kint(&w, "from", wait_now(call));
    if (error.n)
        ch_jw_kstr(&w, "error", error);
    ch_jw_end(&w, '}');
    ch_jw_end(&w, '}');
}

/* While the batch is paused, its owner resumes the batch at that time. */
static void wait_on_due(struct ch_timer *t) {
    chela_call *call = CH_CONTAINER(t, chela_call, again);

    if (call->state != CH_CALL_RUNNING && call->state != CH_CALL_RESTING)
        return;
    call->state = CH_CALL_READY;
    call->env->rested(call);
}

static void wait_rest(chela_call *call) {
    const struct ch_call_env *env = call->env;
    int64_t ms = CH_MAX(call->wait.due - wait_now(call), 0);
    bool kept = ms >= CH_DEFAULT_REST_MS && env->timer && env->timer(call, ms);

    call->state = kept ? CH_CALL_RESTING : CH_CALL_RUNNING;
    ch_timer_start(env->loop, &call->again, ms, wait_on_due);
    if (kept)
        env->rested(call);
}

void ch_wait_begin(chela_call *call, int64_t due, struct ch_sv error) {
    CH_BUF_AUTO state = {0};

    call->wait.due = due;
    call->passed = false; /* the next attempt passes the gate again */
    ch_timer_stop(call->env->loop, &call->timer);
    wait_write(call, due, call->attempts, error, &state);
    if (call->env->checkpoint)
        call->env->checkpoint(call, ch_buf_str(&state));
    wait_rest(call);
}

bool ch_wait_goes_on(chela_call *call) {
    if (!call->wait.due)
        return false;
    if (call->wait.due > wait_now(call)) {
        wait_rest(call);
        return true;
    }
    call->wait.due = 0;
    call->wait.over = true;
    return false;
}

bool ch_wait_is_late(const chela_call *call) {
    int64_t deadline = call->tool->retry.deadline_ms;

    return deadline > 0 && call->wait.over && !call->wait.sleeps && call->wait.since &&
           wait_now(call) - call->wait.since >= deadline;
}

const char *ch_wait_next_state(chela_call *call) {
    CH_BUF_AUTO state = {0};

    if (!call->wait.over)
        return NULL;
    if (call->tool->effect == CHELA_EFFECT_ONCE)
        return "";
    wait_write(call, 0, call->attempts + 1, CH_SV(""), &state);
    return ch_arena_str(&call->arena, ch_buf_sv(&state));
}

bool ch_wait_read(struct ch_sv state, struct ch_arena *arena, struct ch_wait_state *out) {
    const struct ch_json *v;

    if (!state.n || ch_json_parse(arena, state, CH_JSON_STRICT, &v, NULL, NULL) < 0 ||
        !(v = ch_json_get(v, MEMBER)))
        return false;
    int64_t attempts = ch_json_int(ch_json_get(v, "attempts"), 0);
    *out = (struct ch_wait_state){
        .until = ch_json_int(ch_json_get(v, "until"), 0),
        .since = ch_json_int(ch_json_get(v, "since"), 0),
        .from = ch_json_int(ch_json_get(v, "from"), 0),
        .attempts = (unsigned)CH_MIN(CH_MAX(attempts, 0), CH_LIMIT_RETRY_ATTEMPTS),
        .sleeps = ch_json_bool(ch_json_get(v, "sleeps"), false),
        .error = ch_json_get_str(v, "error"),
    };
    return true;
}

struct ch_sv ch_wait_error_type(struct ch_sv error) {
    struct ch_sv type = ch_sv_split(&error, ':');
    return type.n ? type : CH_SV("tool_error");
}

bool ch_wait_restore(chela_call *call, struct ch_sv state) {
    CH_ARENA_AUTO arena = {0};
    struct ch_wait_state w;

    if (!ch_wait_read(state, &arena, &w))
        return false;
    call->wait.due = w.until;
    call->wait.since = w.since;
    call->wait.sleeps = w.sleeps;
    call->wait.over = true; /* the gate stores the attempts again */
    call->attempts = w.attempts;
    return true;
}
