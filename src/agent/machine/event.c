/* event.c -- events as JSON lines.
 *
 * One writer per union member; the table of event.h says which member an
 * event carries. Fields that an event type does not have are left out. */
#include "agent/machine/event.h"

#include "agent/machine/run.h"
#include "base/log.h"
#include "base/mem.h"
#include "json/writer.h"

const char *chela_event_name(enum chela_event_type type) {
    static const char *const names[] = {
#define NAME(name, value, text, member) [value] = text,
        CHELA_EVENTS(NAME)
#undef NAME
    };
    return (size_t)type < CH_LEN(names) ? names[type] : "?";
}

struct ch_usage ch_own_usage(const struct chela_usage *u) {
    return (struct ch_usage){.input = u->input,
                             .output = u->output,
                             .cache_read = u->cache_read,
                             .cache_write = u->cache_write,
                             .reasoning = u->reasoning};
}

static struct ch_sv sv(struct chela_str s) {
    return ch_sv(s.p, s.n);
}

static void kstr(struct ch_jw *w, const char *key, struct chela_str s) {
    ch_jw_kstr(w, key, sv(s));
}

/* Optional texts are left out when empty. */
static void kstr_opt(struct ch_jw *w, const char *key, struct chela_str s) {
    if (s.n)
        kstr(w, key, s);
}

static void event_write_usage(struct ch_jw *w, const struct chela_usage *u) {
    ch_jw_kbegin(w, "usage", '{');
    ch_jw_kint(w, "input", u->input);
    ch_jw_kint(w, "output", u->output);
    ch_jw_kint(w, "cache_read", u->cache_read);
    ch_jw_kint(w, "cache_write", u->cache_write);
    ch_jw_kint(w, "reasoning", u->reasoning);
    ch_jw_kint(w, "total", u->input + u->output);
    ch_jw_key(w, "cost_usd");
    if (u->cost_usd < 0)
        ch_jw_null(w);
    else
        ch_jw_double(w, u->cost_usd);
    ch_jw_end(w, '}');
}

static void event_write_citations(struct ch_jw *w, struct chela_str json) {
    if (json.n)
        ch_jw_kraw(w, "citations", sv(json));
}

static void event_write_start(struct ch_jw *w, const struct chela_event *ev) {
    ch_jw_kcstr(w, "session", ev->start.session);
    ch_jw_kcstr(w, "agent", ev->start.agent);
    ch_jw_kcstr(w, "model", ev->start.model);
    ch_jw_kcstr(w, "mode", chela_mode_name(ev->start.mode));
    if (ev->start.prompt)
        ch_jw_kcstr(w, "prompt", ev->start.prompt);
}

static void event_write_state(struct ch_jw *w, const struct chela_event *ev) {
    ch_jw_kcstr(w, "from", chela_state_name(ev->state.from));
    ch_jw_kcstr(w, "to", chela_state_name(ev->state.to));
}

static void event_write_turn(struct ch_jw *w, const struct chela_event *ev) {
    ch_jw_kint(w, "turn", ev->turn.turn);
    if (ev->type == CHELA_EV_TURN_START)
        return;
    ch_jw_kcstr(w, "stop_reason", chela_stop_name(ev->turn.stop_reason));
    event_write_usage(w, &ev->turn.usage);
    event_write_citations(w, ev->turn.citations);
    if (ev->turn.logprobs.n)
        ch_jw_kraw(w, "logprobs", sv(ev->turn.logprobs));
}

static void event_write_request(struct ch_jw *w, const struct chela_event *ev) {
    ch_jw_kint(w, "turn", ev->request.turn);
    ch_jw_kcstr(w, "model", ev->request.model);
    ch_jw_kint(w, "messages", (int64_t)ev->request.messages);
    ch_jw_kint(w, "tools", (int64_t)ev->request.tools);
    ch_jw_kint(w, "bytes", (int64_t)ev->request.bytes);
    if (ev->request.role)
        ch_jw_kcstr(w, "role", ev->request.role);
}

static void event_write_plan(struct ch_jw *w, const struct chela_event *ev) {
    ch_jw_kraw(w, "steps", sv(ev->plan.steps));
}

static void event_write_beat(struct ch_jw *w, const struct chela_event *ev) {
    ch_jw_kint(w, "n", ev->beat.n);
    ch_jw_key(w, "willingness");
    if (ev->beat.willingness < 0)
        ch_jw_null(w);
    else
        ch_jw_double(w, ev->beat.willingness);
    ch_jw_kcstr(w, "protocol", chela_protocol_name(ev->beat.protocol));
}

static void event_write_reflection(struct ch_jw *w, const struct chela_event *ev) {
    ch_jw_kcstr(w, "action", chela_judgement_name(ev->reflection.action));
    ch_jw_kcstr(w, "proposed", chela_judgement_name(ev->reflection.proposed));
    ch_jw_kbegin(w, "scores", '{');
    ch_jw_kint(w, "completeness", ev->reflection.completeness);
    ch_jw_kint(w, "correctness", ev->reflection.correctness);
    ch_jw_kint(w, "format", ev->reflection.format);
    ch_jw_end(w, '}');
    if (ev->reflection.step)
        ch_jw_kint(w, "step", ev->reflection.step);
    kstr_opt(w, "note", ev->reflection.note);
}

static void event_write_delta(struct ch_jw *w, const struct chela_event *ev) {
    kstr(w, "text", ev->delta.text);
}

/* The arguments of a complete call are JSON and are written unchanged. */
static void event_write_call(struct ch_jw *w, const struct chela_event *ev) {
    if (ev->type == CHELA_EV_TOOL_CALL_DELTA) {
        ch_jw_kint(w, "index", ev->call.index);
        kstr_opt(w, "id", ev->call.id);
        kstr_opt(w, "name", ev->call.name);
        kstr(w, "arguments_delta", ev->call.arguments);
        return;
    }
    kstr(w, "id", ev->call.id);
    kstr(w, "name", ev->call.name);
    if (ev->type != CHELA_EV_TOOL_START)
        ch_jw_kraw(w, "arguments", sv(ev->call.arguments));
}

static void event_write_result(struct ch_jw *w, const struct chela_event *ev) {
    kstr(w, "id", ev->result.id);
    kstr(w, "name", ev->result.name);
    ch_jw_kbool(w, "is_error", ev->result.is_error);
    if (ev->result.is_error) {
        ch_jw_kcstr(w, "error_type", ev->result.error_type);
        ch_jw_kbool(w, "retryable", ev->result.retryable);
    }
    kstr(w, "content", ev->result.content);
    if (ev->result.details.n)
        ch_jw_kraw(w, "details", sv(ev->result.details));
    ch_jw_kbool(w, "truncated", ev->result.truncated);
    if (ev->result.attempts > 1)
        ch_jw_kint(w, "attempts", ev->result.attempts);
    ch_jw_kint(w, "duration_ms", ev->result.duration_ms);
}

static void event_write_approval(struct ch_jw *w, const struct chela_event *ev) {
    kstr(w, "approval_id", ev->approval.approval_id);
    kstr(w, "id", ev->approval.id);
    kstr(w, "name", ev->approval.name);
    ch_jw_kraw(w, "arguments", sv(ev->approval.arguments));
    kstr(w, "summary", ev->approval.summary);
    ch_jw_kbool(w, "can_remember", ev->approval.can_remember);
}

static void event_write_note(struct ch_jw *w, const struct chela_event *ev) {
    kstr_opt(w, "id", ev->note.id);
    kstr(w, "text", ev->note.text);
}

static void event_write_retry(struct ch_jw *w, const struct chela_event *ev) {
    ch_jw_kint(w, "attempt", ev->retry.attempt);
    ch_jw_kint(w, "delay_ms", ev->retry.delay_ms);
    kstr(w, "reason", ev->retry.reason);
}

static void event_write_fallback(struct ch_jw *w, const struct chela_event *ev) {
    ch_jw_kcstr(w, "from", ev->fallback.from);
    ch_jw_kcstr(w, "to", ev->fallback.to);
    kstr(w, "reason", ev->fallback.reason);
}

static void event_write_directives(struct ch_jw *w, const struct chela_event *ev) {
    kstr_opt(w, "reply_to", ev->end.reply_to);
    if (ev->end.nmedia) {
        ch_jw_kbegin(w, "media", '[');
        for (size_t i = 0; i < ev->end.nmedia; i++)
            ch_jw_str(w, sv(ev->end.media[i]));
        ch_jw_end(w, ']');
    }
    if (ev->end.voice)
        ch_jw_kbool(w, "voice", true);
    if (ev->end.silent)
        ch_jw_kbool(w, "silent", true);
}

static void event_write_compaction(struct ch_jw *w, const struct chela_event *ev) {
    ch_jw_kcstr(w, "strategy", chela_compacted_name(ev->compaction.strategy));
    ch_jw_kint(w, "tokens_before", (int64_t)ev->compaction.tokens_before);
    ch_jw_kint(w, "tokens_after", (int64_t)ev->compaction.tokens_after);
}

static void event_write_end(struct ch_jw *w, const struct chela_event *ev) {
    ch_jw_kcstr(w, "status", chela_status_name(ev->end.status));
    ch_jw_kcstr(w, "reason", chela_reason_name(ev->end.reason));
    kstr(w, "text", ev->end.text);
    kstr_opt(w, "error", ev->end.error);
    ch_jw_kint(w, "turns", ev->end.turns);
    ch_jw_kint(w, "tool_calls", ev->end.tool_calls);
    if (ev->end.ending.n)
        ch_jw_kstr(w, "ending", ch_unstr(ev->end.ending));
    if (ev->end.delivered)
        ch_jw_kbool(w, "delivered", true);
    event_write_directives(w, ev);
    if (ev->end.review)
        ch_jw_kbool(w, "review", true);
    event_write_citations(w, ev->end.citations);
    event_write_usage(w, &ev->end.usage);
}

static void event_write_server(struct ch_jw *w, const struct chela_event *ev) {
    kstr_opt(w, "id", ev->server.id);
    kstr(w, "name", ev->server.name);
    ch_jw_kraw(w, "arguments", sv(ev->server.arguments));
    kstr_opt(w, "result", ev->server.result);
}

static void event_write_made(struct ch_jw *w, const struct chela_event *ev) {
    kstr(w, "media_type", ev->made.media_type);
    kstr_opt(w, "path", ev->made.path);
    kstr_opt(w, "url", ev->made.url);
    if (ev->made.bytes)
        ch_jw_kint(w, "bytes", (int64_t)ev->made.bytes);
}

static void event_write_budget(struct ch_jw *w, const struct chela_event *ev) {
    ch_jw_kcstr(w, "budget", ev->budget.name);
    kstr_opt(w, "of", ev->budget.of);
    ch_jw_kcstr(w, "unit", ev->budget.tokens ? "tokens" : "usd");
    ch_jw_kdouble(w, "limit", ev->budget.limit);
    ch_jw_kdouble(w, "used", ev->budget.used);
    ch_jw_kint(w, "resets", ev->budget.resets);
}

static void event_write_epoch(struct ch_jw *w, const struct chela_event *ev) {
    ch_jw_kint(w, "n", ev->epoch.n);
    ch_jw_kcstr(w, "reason", ev->epoch.reason);
}

/* Members that identify the child; the members of its event follow. */
static void event_write_child(struct ch_jw *w, const struct chela_event *ev) {
    ch_jw_kcstr(w, "parent", ev->child.parent);
    ch_jw_kint(w, "depth", ev->child.depth);
    if (ev->child.event->type == CHELA_EV_RUN_START)
        ch_jw_kcstr(w, "call", ev->child.call);
}

static void (*const writers[])(struct ch_jw *w, const struct chela_event *ev) = {
#define WRITER(name, value, text, member) [value] = event_write_##member,
    CHELA_EVENTS(WRITER)
#undef WRITER
};

/* Start and end of a child have separate names, so that run_start and run_end occur once for
 * each run of the reader. */
static const char *event_name_of(const struct chela_event *ev) {
    if (ev->type != CHELA_EV_CHILD)
        return chela_event_name(ev->type);
    enum chela_event_type inner = ev->child.event->type;
    return inner == CHELA_EV_RUN_START ? "child_start"
           : inner == CHELA_EV_RUN_END ? "child_end"
                                       : chela_event_name(inner);
}

void ch_event_write(const struct chela_event *ev, const struct ch_event_place *place,
                    struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "type", event_name_of(ev));
    ch_jw_kcstr(&w, "run", ev->run);
    ch_jw_kint(&w, "seq", (int64_t)ev->seq);
    ch_jw_kint(&w, "ts", ev->ts);
    if (place && place->cursor)
        ch_jw_kcstr(&w, "cursor", place->cursor);
    if (place && place->passing)
        ch_jw_kbool(&w, "ephemeral", true);
    writers[ev->type](&w, ev);
    if (ev->type == CHELA_EV_CHILD)
        writers[ev->child.event->type](&w, ev->child.event);
    ch_jw_end(&w, '}');
}

char *chela_event_json(const struct chela_event *ev) {
    struct ch_buf out = {0};
    ch_event_write(ev, NULL, &out);
    return ch_buf_take(&out);
}

/* --- the log ----------------------------------------------------------------------------- */

void ch_event_log_end(const char *session, const struct chela_event *ev) {
    if (ev->type != CHELA_EV_RUN_END || ch_reason_answers((enum ch_reason)ev->end.reason) ||
        ev->end.status == CHELA_STATUS_PAUSED || ev->end.status == CHELA_STATUS_CANCELLED)
        return;
    ch_log(CH_LOG_WARN, "run", "session %s, run %s: %s%s%.*s", session, ev->run,
           chela_reason_name(ev->end.reason), ev->end.error.n ? ": " : "",
           (int)ev->end.error.n, ev->end.error.n ? ev->end.error.p : "");
}
