/* out_text.c -- see out.h. */
#include "cli/report/out_text.h"

#include <stdio.h>
#include <string.h>

#include "chela/json.h"
#include "chela/session.h"
#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/report/out.h"
#include "cli/report/out_command.h"
#include "cli/report/out_extras.h"
#include "cli/report/outcome.h"
#include "cli/support/problem.h"

#define S(n) ((n) == 1 ? "" : "s") /* "1 turn", "2 turns" */
#define STR(s) (int)(s).n, (s).p   /* for "%.*s" */

/* --- the text of a turn ------------------------------------------------------- */

static void out_text_keep(struct ch_text *t, const char *p, size_t n) {
    if (n > t->said_cap - t->said_n) {
        t->said_cap = (t->said_n + n) * 2;
        t->said = ch_must(realloc(t->said, t->said_cap));
    }
    memcpy(t->said + t->said_n, p, n);
    t->said_n += n;
}

/* Print text that preceded tool calls and is not the answer. */
static void show_as_progress(struct ch_text *t) {
    if (!t->shown)
        ch_console_progress(t->console, "text", t->said, t->said_n);
    t->shown = true;
}

bool ch_text_streams(const struct ch_text *t) {
    return t->console->out.tty && !t->no_answer && !t->console->quiet;
}

static void out_text_on_text(struct ch_text *t, struct chela_str piece) {
    /* a new reply, or one that continues after its calls */
    if (t->fresh || (t->shown && !ch_text_streams(t)))
        t->said_n = 0;
    t->fresh = false;
    t->shown = ch_text_streams(t);
    out_text_keep(t, piece.p, piece.n);
    if (t->shown)
        ch_console_answer(t->console, piece.p, piece.n);
}

/* A new reply begins, or the same reply is requested again. */
static void out_text_on_reply(struct ch_text *t) {
    if (t->said_n > 0)
        show_as_progress(t);
    if (ch_text_streams(t))
        ch_console_answer_end(t->console);
    t->calls = false;
    t->fresh = true;
}

static bool already_shown(const struct ch_text *t, struct chela_str answer) {
    return t->shown && t->said_n == answer.n && memcmp(t->said, answer.p, answer.n) == 0;
}

/* An answer without words: the files that the model made. */
static void name_files(struct ch_text *t, const struct chela_event *ev) {
    for (size_t i = 0; i < ev->end.nmedia && ev->end.text.n == 0; i++) {
        ch_console_answer(t->console, ev->end.media[i].p, ev->end.media[i].n);
        ch_console_answer(t->console, "\n", 1);
    }
}

static void out_text_on_end(struct ch_text *t, const struct chela_event *ev) {
    struct chela_str answer = ev->end.text;
    if (t->no_answer)
        return;
    name_files(t, ev);
    if (!ch_text_streams(t) || !already_shown(t, answer)) {
        ch_console_answer_end(t->console);
        ch_console_answer(t->console, answer.p, answer.n);
    }
    ch_console_answer_end(t->console);
    ch_out_sources(t->console, ev->end.citations);
}

void ch_text_release(struct ch_text *t) {
    free(t->said);
    *t = (struct ch_text){0};
}

/* --- tools --------------------------------------------------------------------- */

/* The beginning of a text as one safe line that fits the terminal beside `taken` columns;
 * owned. */
static char *brief(const struct ch_text *t, struct chela_str s, size_t taken) {
    enum { LOG_COLUMNS = 200, LEAST = 20 };
    unsigned room = t->console->err.tty ? ch_term_columns(&t->console->err) - 1 : LOG_COLUMNS;
    struct ch_escape safe = {.mode = CH_ESCAPE_LINE};
    struct ch_draft d;

    room = room > taken + LEAST ? room - (unsigned)taken : LEAST;
    ch_draft_init(&d);
    ch_escape_feed(&safe, d.f, s.p, s.n < 4 * room ? s.n : 4 * room);
    ch_draft_finish(&d);
    if (ch_term_fit(d.p, d.n, room) < d.n)
        memcpy(d.p + ch_term_fit(d.p, d.n, room - 3), "...", 4);
    return d.p;
}

/* A plan is shown as a checklist, so its call is not shown. */
static bool is_plan(struct chela_str tool) {
    static const char name[] = "make_plan";
    return tool.n == sizeof(name) - 1 && memcmp(tool.p, name, tool.n) == 0;
}

static void out_text_on_call(struct ch_text *t, const struct chela_event *ev) {
    if (t->said_n > 0)
        show_as_progress(t);
    t->calls = true;
    char *arguments = brief(t, ev->call.arguments, strlen("[tool]  ") + ev->call.name.n);
    if (is_plan(ev->call.name))
        ch_console_verbose(t->console, "[tool] %.*s %s", STR(ev->call.name), arguments);
    else
        ch_console_note(t->console, "[tool] %.*s %s", STR(ev->call.name), arguments);
    free(arguments);
}

/* Shows the error of {"error", "error_type", ...} as one sentence. */
static void out_text_on_failure(struct ch_text *t, const struct chela_event *ev) {
    struct chela_str why = ev->result.content;
    const char *type = ev->result.error_type ? ev->result.error_type : "error";
    char *sentence = chela_json_get(why.p, why.n, "/error", &why.n);
    if (sentence)
        why.p = sentence;
    char *text = brief(t, why, strlen("[tool]  failed (): ") + ev->result.name.n + strlen(type));
    ch_console_note(t->console, "[tool] %.*s failed (%s): %s", STR(ev->result.name), type, text);
    chela_free(sentence);
    free(text);
}

/* Shows the last lines of the output of a command that failed. */
static void out_text_on_command(struct ch_text *t, const struct chela_event *ev,
                                struct chela_str how, struct chela_str output) {
    size_t lines = 0, from;
    ch_console_note(t->console, "[tool] %.*s: %.*s, in %lld ms", STR(ev->result.name), STR(how),
                    (long long)ev->result.duration_ms);
    while (output.n > 0 && output.p[output.n - 1] == '\n')
        output.n--;
    for (from = output.n; from > 0; from--)
        if (output.p[from - 1] == '\n' && ++lines == CH_COMMAND_LINES)
            break;
    while (from < output.n) {
        const char *end = memchr(output.p + from, '\n', output.n - from);
        size_t n = end ? (size_t)(end - output.p) - from : output.n - from;
        char *line = brief(t, (struct chela_str){output.p + from, n}, strlen("[tool]   "));
        ch_console_note(t->console, "[tool]   %s", line);
        free(line);
        from += n + 1;
    }
}

static void out_text_on_result(struct ch_text *t, const struct chela_event *ev) {
    struct chela_str how, output;
    char *content = brief(t, ev->result.content, strlen("[tool] : ") + ev->result.name.n);
    if (ev->result.is_error) {
        out_text_on_failure(t, ev);
    } else if (ch_command_failed(ev, &how, &output)) {
        out_text_on_command(t, ev, how, output);
    } else if (!is_plan(ev->result.name)) {
        ch_console_note(t->console, "[tool] %.*s done: %zu bytes in %lld ms%s",
                        STR(ev->result.name), ev->result.content.n,
                        (long long)ev->result.duration_ms,
                        ev->result.truncated ? ", truncated" : "");
        ch_console_verbose(t->console, "[tool] %.*s: %s", STR(ev->result.name), content);
    }
    free(content);
}

/* --- the rest -------------------------------------------------------------------- */

static void out_text_on_turn_end(struct ch_text *t, const struct chela_event *ev) {
    const struct chela_usage *u = &ev->turn.usage;
    if (t->calls && t->said_n > 0)
        show_as_progress(t);
    ch_console_verbose(t->console, "[turn %u] %s, %lld tokens in (%lld cached), %lld out",
                       ev->turn.turn,
                       ev->turn.stop_reason ? chela_stop_name(ev->turn.stop_reason) : "ended",
                       (long long)u->input, (long long)u->cache_read, (long long)u->output);
}

static void out_text_on_retry(struct ch_text *t, const struct chela_event *ev) {
    out_text_on_reply(t);
    ch_console_note(t->console, "[retry] attempt %u in %.1f s: %.*s", ev->retry.attempt,
                    (double)ev->retry.delay_ms / 1000, STR(ev->retry.reason));
}

static void on_fallback(struct ch_text *t, const struct chela_event *ev) {
    out_text_on_reply(t);
    ch_console_note(t->console, "[fallback] %s -> %s: %.*s", ev->fallback.from, ev->fallback.to,
                    STR(ev->fallback.reason));
}

/* A plan as a checklist: all steps when it is new, then each step that ends. */
static const char *box_of(const char *status) {
    return strcmp(status, "done") == 0     ? "[x]"
           : strcmp(status, "failed") == 0 ? "[!]"
                                           : "[ ]";
}

struct plan {
    struct ch_text *text;
    unsigned i;
    bool fresh; /* no step has begun */
};

static int plan_on_status(const char *step, size_t n, void *user) {
    char *status = chela_json_get(step, n, "/status", NULL);
    int begun = status && strcmp(status, "pending") != 0;
    (void)user;
    chela_free(status);
    return begun;
}

static int plan_on_step(const char *step, size_t n, void *user) {
    struct plan *p = user;
    struct ch_text *t = p->text;
    char *status = chela_json_get(step, n, "/status", NULL);
    char *about = chela_json_get(step, n, "/description", NULL);
    struct chela_str text = {about ? about : "", about ? strlen(about) : 0};
    bool ended = status && (strcmp(status, "done") == 0 || strcmp(status, "failed") == 0);
    uint32_t bit = (uint32_t)1 << p->i++;
    char *line = brief(t, text, 16);
    if (p->fresh || (ended && !(t->ticked & bit)))
        ch_console_note(t->console, "[plan] %s %u. %s", box_of(status ? status : ""), p->i, line);
    t->ticked = ended && !p->fresh ? t->ticked | bit : t->ticked & ~bit;
    free(line);
    chela_free(about);
    chela_free(status);
    return p->i == 32; /* a plan has at most 32 steps */
}

static void on_plan(struct ch_text *t, struct chela_str steps) {
    struct plan p = {.text = t, .fresh = !chela_json_each(steps.p, steps.n, plan_on_status, NULL)};
    chela_json_each(steps.p, steps.n, plan_on_step, &p);
}

/* Calls and outcome of a called agent. */
static void out_text_on_child(struct ch_text *t, const struct chela_event *ev) {
    const struct chela_event *in = ev->child.event;
    const char *who = ev->child.agent;
    if (in->type == CHELA_EV_TOOL_CALL) {
        char *arguments =
            brief(t, in->call.arguments, strlen("[]  ") + strlen(who) + in->call.name.n);
        ch_console_note(t->console, "[%s] %.*s %s", who, STR(in->call.name), arguments);
        free(arguments);
    } else if (in->type == CHELA_EV_TOOL_RESULT && in->result.is_error) {
        ch_console_note(t->console, "[%s] %.*s failed (%s)", who, STR(in->result.name),
                        in->result.error_type ? in->result.error_type : "error");
    } else if (in->type == CHELA_EV_WARNING) {
        ch_console_note(t->console, "[%s] warning: %.*s", who, STR(in->note.text));
    } else if (in->type == CHELA_EV_RUN_END) {
        ch_console_note(t->console, "[%s] %s after %u turn%s", who,
                        chela_reason_name(in->end.reason), in->end.turns, S(in->end.turns));
    }
}

void ch_text_event(struct ch_text *t, const struct chela_event *ev) {
    struct ch_console *c = t->console;
    switch (ev->type) {
    case CHELA_EV_RUN_START:
        ch_console_verbose(c, "[run] session %s, agent %s, model %s, mode %s", ev->start.session,
                           ev->start.agent, ev->start.model, chela_mode_name(ev->start.mode));
        break;
    case CHELA_EV_STATE:
        ch_console_verbose(c, "[state] %s -> %s", chela_state_name(ev->state.from),
                           chela_state_name(ev->state.to));
        break;
    case CHELA_EV_TURN_START:
        out_text_on_reply(t);
        break;
    case CHELA_EV_MODEL_REQUEST:
        ch_console_verbose(c, "[request] %s: %zu message%s, %zu tool%s, %zu bytes",
                           ev->request.model, ev->request.messages, S(ev->request.messages),
                           ev->request.tools, S(ev->request.tools), ev->request.bytes);
        break;
    case CHELA_EV_TEXT_DELTA:
        out_text_on_text(t, ev->delta.text);
        break;
    case CHELA_EV_REASONING_DELTA:
        ch_console_progress(c, "reasoning", ev->delta.text.p, ev->delta.text.n);
        break;
    case CHELA_EV_TOOL_CALL:
        out_text_on_call(t, ev);
        break;
    case CHELA_EV_TOOL_PROGRESS:
        ch_console_note(c, "[tool] %.*s", STR(ev->note.text));
        break;
    case CHELA_EV_TOOL_RESULT:
        out_text_on_result(t, ev);
        break;
    case CHELA_EV_APPROVAL_REQUIRED:
        ch_console_note(c, "[approval] %.*s needs approval", STR(ev->approval.name));
        break;
    case CHELA_EV_CLIENT_TOOL_REQUIRED:
        ch_console_note(c, "[waiting] %.*s must be %s", STR(ev->call.name),
                        ev->call.name.n == 8 && memcmp(ev->call.name.p, "ask_user", 8) == 0
                            ? "answered by a person"
                            : "run by the host");
        break;
    case CHELA_EV_STEERING:
    case CHELA_EV_FOLLOW_UP:
    case CHELA_EV_SYSTEM_EVENT:
        ch_console_note(c, "[%s] %.*s", chela_event_name(ev->type), STR(ev->note.text));
        break;
    case CHELA_EV_RETRY:
        out_text_on_retry(t, ev);
        break;
    case CHELA_EV_FALLBACK:
        on_fallback(t, ev);
        break;
    case CHELA_EV_COMPACTION:
        ch_console_note(c, "[%s] the conversation was shortened: about %zu tokens, before: %zu",
                        chela_compacted_name(ev->compaction.strategy), ev->compaction.tokens_after,
                        ev->compaction.tokens_before);
        break;
    case CHELA_EV_WARNING:
        ch_console_note(c, "warning: %.*s", STR(ev->note.text));
        break;
    case CHELA_EV_PLAN:
        on_plan(t, ev->plan.steps);
        break;
    case CHELA_EV_REFLECTION:
        ch_console_note(c, "[reflection] %s (complete %d, correct %d, format %d)%s%.*s",
                        chela_judgement_name(ev->reflection.action), ev->reflection.completeness,
                        ev->reflection.correctness, ev->reflection.format,
                        ev->reflection.note.n ? ": " : "", STR(ev->reflection.note));
        break;
    case CHELA_EV_BEAT:
        ch_console_verbose(c, "[beat] %u", ev->beat.n);
        break;
    case CHELA_EV_TURN_END:
        out_text_on_turn_end(t, ev);
        break;
    case CHELA_EV_RUN_END:
        out_text_on_end(t, ev);
        break;
    case CHELA_EV_HANDOFF:
        ch_console_note(c, "[handoff] %s -> %s%s%.*s", ev->fallback.from, ev->fallback.to,
                        ev->fallback.reason.n ? ": " : "", STR(ev->fallback.reason));
        break;
    case CHELA_EV_SERVER_TOOL:
    case CHELA_EV_MEDIA:
    case CHELA_EV_BUDGET:
    case CHELA_EV_EPOCH:
        ch_out_extra(c, ev);
        break;
    case CHELA_EV_CHILD:
        out_text_on_child(t, ev);
        break;
    case CHELA_EV_TOOL_CALL_DELTA: /* the complete call follows */
    case CHELA_EV_TOOL_START:
        break;
    }
}

/* --- outcome ----------------------------------------------------------------------- */

/* The sentence comes first. The lines below are for who runs the program: the option that
 * helps, and the service's own words, for which a terminal has no other log. */
void ch_text_outcome(struct ch_console *c, const struct chela_event *end) {
    enum chela_status status = end->end.status;
    if (end->end.ending.n)
        ch_console_error(c, "%.*s", STR(end->end.ending));
    if (status == CHELA_STATUS_DONE)
        ch_outcome_done(c, end);
    else if (status == CHELA_STATUS_DECLINED)
        ch_outcome_declined(c, end);
    else if (status == CHELA_STATUS_STOPPED)
        ch_outcome_stopped(c, end);
    else if (status != CHELA_STATUS_CANCELLED && end->end.error.n > 0)
        ch_console_error(c, "%.*s", STR(end->end.error));
    else if (!end->end.ending.n)
        ch_outcome_other(c, end);
}

int ch_text_exit(enum chela_status status) {
    switch (status) {
    case CHELA_STATUS_DONE:
        return CH_EXIT_DONE;
    case CHELA_STATUS_STOPPED:
        return CH_EXIT_STOPPED;
    case CHELA_STATUS_CANCELLED:
        return CH_EXIT_CANCELLED;
    case CHELA_STATUS_PAUSED:
        return CH_EXIT_PAUSED;
    case CHELA_STATUS_DECLINED:
        return CH_EXIT_DECLINED;
    case CHELA_STATUS_RUNNING:
    case CHELA_STATUS_ERROR:
        break;
    }
    return CH_EXIT_ERROR;
}
