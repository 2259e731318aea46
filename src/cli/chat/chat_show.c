/* chat_show.c -- displays a conversation: events become lines above the prompt, activity in
 * progress becomes the foot of the screen. See chat.h. */
#include "cli/chat/chat_show.h"
#include "cli/report/out_extras.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chela/json.h"
#include "cli/report/out_text.h"
#include "cli/term/ask.h"
#include "cli/chat/chat.h"
#include "cli/chat/chat_call.h"
#include "cli/chat/chat_queue.h"
#include "cli/support/mem.h"
#include "cli/report/out.h"

#define STR(s) (int)(s).n, (s).p
#define DIM "\033[2m"
#define PLAIN "\033[0m"

/* --- text ---------------------------------------------------------------------------- */

static const char *style(const struct ch_chat *c, const char *sequence) {
    return c->console->out.color ? sequence : "";
}

FILE *ch_chat_part(struct ch_chat *c, enum ch_chat_kind kind) {
    FILE *out = ch_screen_above(&c->screen);
    if (c->last != CH_CHAT_NOTHING && (c->last != kind || kind == CH_CHAT_USER))
        fputc('\n', out);
    c->last = kind;
    if (kind == CH_CHAT_ANSWER)
        c->stale = true;
    else
        c->dirty = true;
    return out;
}

/* Write text made safe, in a style. */
static void chat_show_put(const struct ch_chat *c, FILE *out, const char *sequence,
                          const char *text, size_t n) {
    fputs(style(c, sequence), out);
    ch_escape_write(out, CH_ESCAPE_TEXT, text, n);
    fputs(*sequence ? style(c, PLAIN) : "", out);
}

void ch_chat_print(struct ch_chat *c, const char *sequence, const char *text, size_t n) {
    FILE *out = ch_chat_part(c, CH_CHAT_NOTE);

    chat_show_put(c, out, sequence, text, n);
    if (n == 0 || text[n - 1] != '\n')
        fputc('\n', out);
}

void ch_chat_user(struct ch_chat *c, const char *text, size_t n) {
    FILE *out = ch_chat_part(c, CH_CHAT_USER);
    const char *lead = "> ";

    while (n > 0 && text[n - 1] == '\n')
        n--;
    for (size_t i = 0; i < n;) {
        const char *end = memchr(text + i, '\n', n - i);
        size_t len = end ? (size_t)(end - text) - i : n - i;
        chat_show_put(c, out, "\033[1;36m", lead, 2);
        chat_show_put(c, out, "\033[1;36m", text + i, len);
        fputc('\n', out);
        i += len + 1;
        lead = "  ";
    }
}

static unsigned chat_show_width(const struct ch_chat *c) {
    return c->screen.columns > 20 ? c->screen.columns - 1 : 20;
}

/* --- the answer ---------------------------------------------------------------------- */

/* Write the finished part of the answer; no part begins while it is empty. */
static void put_answer(struct ch_chat *c, struct ch_draft *d) {
    ch_draft_finish(d);
    if (d->n > 0)
        fwrite(d->p, 1, d->n, ch_chat_part(c, CH_CHAT_ANSWER));
    free(d->p);
}

static void end_answer(struct ch_chat *c) {
    struct ch_draft d;

    if (!c->saying)
        return;
    ch_draft_init(&d);
    ch_markdown_finish(c->answer, d.f, chat_show_width(c));
    put_answer(c, &d);
    c->saying = false;
}

static void chat_show_on_text(struct ch_chat *c, struct chela_str piece) {
    struct ch_draft d;

    free(c->thought);
    c->thought = NULL;
    c->saying = c->said = true;
    ch_draft_init(&d);
    ch_markdown_feed(c->answer, d.f, chat_show_width(c), piece.p, piece.n);
    put_answer(c, &d);
    c->stale = true;
}

/* Show the last line of the reasoning. */
static void on_reasoning(struct ch_chat *c, struct chela_str so_far) {
    struct ch_escape safe = {.mode = CH_ESCAPE_LINE};
    struct ch_draft d;
    size_t n = so_far.n;

    while (n > 0 && so_far.p[n - 1] == '\n')
        n--;
    size_t from = n > chat_show_width(c) ? n - chat_show_width(c) : 0;
    const char *line = n ? memrchr(so_far.p + from, '\n', n - from) : NULL;
    if (line)
        from = (size_t)(line + 1 - so_far.p);
    while (from > 0 && from < n && ((unsigned char)so_far.p[from] & 0xC0) == 0x80)
        from++; /* to the start of a character */
    ch_draft_init(&d);
    ch_escape_feed(&safe, d.f, so_far.p + from, n - from);
    ch_draft_finish(&d);
    free(c->thought);
    c->thought = d.p;
}

/* --- tool calls ---------------------------------------------------------------------- */

static struct ch_chat_call *chat_show_find(struct ch_chat *c, struct chela_str id) {
    for (size_t i = 0; i < c->ncalls; i++)
        if (strlen(c->calls[i].id) == id.n && memcmp(c->calls[i].id, id.p, id.n) == 0)
            return &c->calls[i];
    return NULL;
}

static void chat_show_on_call(struct ch_chat *c, const struct chela_event *ev) {
    end_answer(c);
    c->said = false;
    if (c->ncalls == CH_CHAT_CALLS || chat_show_find(c, ev->call.id))
        return; /* shown when it has ended */
    c->calls[c->ncalls++] = (struct ch_chat_call){
        .id = ch_format("%.*s", STR(ev->call.id)),
        .name = ch_format("%.*s", STR(ev->call.name)),
        .label = ch_call_label(ev->call.name, ev->call.arguments),
        .arguments = ch_format("%.*s", STR(ev->call.arguments)),
    };
}

static void drop_call(struct ch_chat *c, struct ch_chat_call *call) {
    free(call->id);
    free(call->name);
    free(call->label);
    free(call->arguments);
    free(call->progress);
    size_t i = (size_t)(call - c->calls);
    memmove(call, call + 1, (c->ncalls - i - 1) * sizeof(*call));
    c->ncalls--;
}

/* Append a line to the last lines of a call. */
static void chat_show_on_progress(struct ch_chat *c, const struct chela_event *ev) {
    enum { KEPT = 2000 };
    struct ch_chat_call *call = chat_show_find(c, ev->note.id);
    if (!call)
        return;
    const char *old = call->progress ? call->progress : "";
    if (strlen(old) > KEPT)
        old += strlen(old) - KEPT / 2;
    char *lines = ch_format("%s%.*s\n", old, STR(ev->note.text));
    free(call->progress);
    call->progress = lines;
}

void ch_chat_keep_result(struct ch_chat *c, const char *title, const char *text) {
    struct ch_chat_result *r = &c->results[c->nresults++ % CH_CHAT_RESULTS];
    free(r->title);
    free(r->text);
    *r = (struct ch_chat_result){.title = ch_dup(title), .text = ch_dup(text)};
}

void ch_chat_drop_results(struct ch_chat *c) {
    for (size_t i = 0; i < CH_CHAT_RESULTS; i++) {
        free(c->results[i].title);
        free(c->results[i].text);
        c->results[i] = (struct ch_chat_result){0};
    }
    c->nresults = 0;
}

static void chat_show_fold(struct ch_chat *c, const struct ch_chat_call *call,
                           const struct chela_event *ev) {
    struct chela_str content = ev->result.content;
    size_t n = content.n < CH_CHAT_UNFOLD ? content.n : CH_CHAT_UNFOLD;
    char *title = call ? ch_format("%s %s", call->name, call->arguments)
                       : ch_format("%.*s", STR(ev->result.name));
    char *text = ch_format("%.*s%s", (int)n, content.p, n < content.n ? "\n..." : "");
    ch_chat_keep_result(c, title, text);
    free(title);
    free(text);
}

/* --- the plan ------------------------------------------------------------------------ */

static const char *chat_show_mark(const char *status) {
    static const struct {
        const char *status, *mark;
    } marks[] = {{"done", "☑"},      {"completed", "☑"}, {"running", "▸"}, {"in_progress", "▸"},
                 {"failed", "✗"}, {"cancelled", "☒"}};
    for (size_t i = 0; status && i < sizeof(marks) / sizeof(marks[0]); i++)
        if (strcmp(status, marks[i].status) == 0)
            return marks[i].mark;
    return "☐";
}

/* The steps of a JSON array at `path` become the plan, a line each. */
static void chat_show_plan(struct ch_chat *c, struct chela_str json, const char *path,
                           const char *text_member) {
    char pointer[80], *text;
    struct ch_draft d;
    ch_draft_init(&d);
    for (size_t i = 0;; i++) {
        snprintf(pointer, sizeof(pointer), "%s/%zu/%s", path, i, text_member);
        if (!(text = chela_json_get(json.p, json.n, pointer, NULL)))
            break;
        snprintf(pointer, sizeof(pointer), "%s/%zu/status", path, i);
        char *status = chela_json_get(json.p, json.n, pointer, NULL);
        char *line = ch_call_safe(text, strlen(text));
        fprintf(d.f, "%s %s\n", chat_show_mark(status), line);
        free(line);
        chela_free(status);
        chela_free(text);
    }
    ch_draft_finish(&d);
    free(c->plan);
    c->plan = d.p;
    c->planned = false;
}

/* The result of the tool `todo` has the list in its details. */
static void chat_show_on_todo(struct ch_chat *c, const struct chela_event *ev) {
    if (ev->result.name.n == 4 && memcmp(ev->result.name.p, "todo", 4) == 0 && ev->result.details.n)
        chat_show_plan(c, ev->result.details, "/todos", "content");
}

/* Show the current plan above the prompt. */
static void chat_show_put_plan(struct ch_chat *c) {
    if (c->plan && *c->plan && !c->planned)
        ch_chat_print(c, "", c->plan, strlen(c->plan));
    c->planned = true;
}

static void chat_show_on_result(struct ch_chat *c, const struct chela_event *ev) {
    struct ch_chat_call *call = chat_show_find(c, ev->result.id);
    struct ch_call_look look = {.columns = chat_show_width(c), .color = c->console->out.color};

    end_answer(c);
    FILE *out = ch_chat_part(c, CH_CHAT_CALL);
    ch_call_print(out, &look, call ? call->label : NULL, ev);
    ch_call_details(out, &look, call ? call->arguments : NULL, ev);
    chat_show_fold(c, call, ev);
    chat_show_on_todo(c, ev);
    c->tool_calls++;
    if (call)
        drop_call(c, call);
}

void ch_chat_unfold(struct ch_chat *c, size_t i) {
    if (i >= c->nresults || i >= CH_CHAT_RESULTS) {
        ch_console_note(c->console, "there is no result to unfold");
        return;
    }
    const struct ch_chat_result *r = &c->results[(c->nresults - 1 - i) % CH_CHAT_RESULTS];
    char *all = ch_format("%s\n%s", r->title, r->text);
    ch_chat_print(c, DIM, all, strlen(all));
    free(all);
}

/* --- questions ----------------------------------------------------------------------- */

static struct ch_chat_ask *add_ask(struct ch_chat *c) {
    struct ch_chat_ask **at = &c->asks;
    while (*at)
        at = &(*at)->next;
    return *at = ch_must(calloc(1, sizeof(**at)));
}

static void chat_show_on_approval(struct ch_chat *c, const struct chela_event *ev,
                                  const char *task) {
    struct ch_chat_ask *a = add_ask(c);
    a->of_task = task != NULL;
    a->id = ch_format("%.*s", STR(ev->approval.approval_id));
    a->can_remember = ev->approval.can_remember;
    a->text = ch_format("The agent %s%sasks to run\n%.*s", task ? task : "",
                        task ? " (in the background) " : "", STR(ev->approval.summary));
}

static void on_handed_over(struct ch_chat *c, const struct chela_event *ev, const char *task) {
    struct ch_draft d;

    if (ev->call.name.n != 8 || memcmp(ev->call.name.p, "ask_user", 8) != 0) {
        ch_console_note(c->console, "%.*s must be run by another program",
                        STR(ev->call.name));
        return;
    }
    struct ch_chat_ask *a = add_ask(c);
    a->of_task = task != NULL;
    a->id = ch_format("%.*s", STR(ev->call.id));
    a->arguments = ch_format("%.*s", STR(ev->call.arguments));
    ch_draft_init(&d);
    ch_question_write(d.f, ev->call.arguments.p, ev->call.arguments.n);
    ch_draft_finish(&d);
    a->text = d.p;
}

void ch_chat_ask(struct ch_chat *c, const struct chela_event *ev, const char *task) {
    if (ev->type == CHELA_EV_APPROVAL_REQUIRED)
        chat_show_on_approval(c, ev, task);
    else
        on_handed_over(c, ev, task);
}

/* --- the run ------------------------------------------------------------------------- */

static void chat_show_add_usage(struct chela_usage *sum, const struct chela_usage *u) {
    sum->input += u->input;
    sum->output += u->output;
    sum->cache_read += u->cache_read;
    sum->cache_write += u->cache_write;
    sum->reasoning += u->reasoning;
    sum->cost_usd += u->cost_usd > 0 ? u->cost_usd : 0;
}

static void chat_show_on_turn_end(struct ch_chat *c, const struct chela_event *ev) {
    chat_show_add_usage(&c->used, &ev->turn.usage);
    chat_show_add_usage(&c->spent, &ev->turn.usage);
    if (ev->turn.usage.input > 0)
        c->context = ev->turn.usage.input + ev->turn.usage.output;
    c->turns++;
}

void ch_chat_clear(struct ch_chat *c) {
    while (c->ncalls > 0)
        drop_call(c, &c->calls[c->ncalls - 1]);
    free(c->thought);
    c->thought = NULL;
}

/* The steps of /compact are reported as one. */
static void chat_show_on_compaction(struct ch_chat *c, const struct chela_event *ev) {
    end_answer(c);
    if (!c->compacting) {
        ch_console_note(c->console, "the conversation was condensed (%s): %zu tokens to %zu",
                        chela_compacted_name(ev->compaction.strategy), ev->compaction.tokens_before,
                        ev->compaction.tokens_after);
        return;
    }
    if (!c->condensed[0])
        c->condensed[0] = ev->compaction.tokens_before;
    c->condensed[1] = ev->compaction.tokens_after;
}

static void chat_show_condensed(struct ch_chat *c) {
    if (c->condensed[0])
        ch_console_note(c->console, "the conversation was condensed: %zu tokens to %zu",
                        c->condensed[0], c->condensed[1]);
    c->condensed[0] = c->condensed[1] = 0;
}

static void chat_show_on_end(struct ch_chat *c, const struct chela_event *ev) {
    bool paused = ev->end.status == CHELA_STATUS_PAUSED;
    if (!c->said && !paused && ev->end.text.n > 0 && !ev->end.delivered)
        chat_show_on_text(c, ev->end.text);
    end_answer(c);
    ch_out_sources(c->console, ev->end.citations);
    c->said = false;
    if (paused)
        return; /* its calls continue, and its text was shown */
    c->runs++;
    chat_show_put_plan(c);
    free(c->plan);
    c->plan = NULL;
    ch_chat_clear(c);
    chat_show_condensed(c);
    if (ev->end.status == CHELA_STATUS_CANCELLED)
        ch_console_note(c->console, "%.*s", STR(ev->end.ending));
    else
        ch_text_outcome(c->console, ev);
}

static void chat_show_note(struct ch_chat *c, const char *lead, struct chela_str text) {
    end_answer(c);
    ch_console_note(c->console, "%s%.*s", lead, STR(text));
}

/* A message reached the model: show it as it was typed. */
static void chat_show_on_delivered(struct ch_chat *c, struct chela_str text) {
    char *typed = ch_chat_queue_delivered(c, text);
    if (typed)
        ch_chat_user(c, typed, strlen(typed));
    else
        ch_chat_user(c, text.p, text.n);
    free(typed);
}

/* Event of a called agent: show its own calls. */
static void chat_show_on_child(struct ch_chat *c, const struct chela_event *ev) {
    const struct chela_event *in = ev->child.event;
    if (in->type != CHELA_EV_TOOL_CALL)
        return;
    end_answer(c);
    ch_console_note(c->console, "[%s] %.*s", ev->child.agent, STR(in->call.name));
}

void ch_chat_event(struct ch_chat *c, const struct chela_event *ev) {
    switch (ev->type) {
    case CHELA_EV_TURN_START:
        end_answer(c);
        c->turn = ev->turn.turn;
        c->said = false;
        break;
    case CHELA_EV_MODEL_REQUEST:
        free(c->asked_model);
        c->asked_model = ch_call_safe(ev->request.model, strlen(ev->request.model));
        break;
    case CHELA_EV_TEXT_DELTA:
        chat_show_on_text(c, ev->delta.text);
        break;
    case CHELA_EV_REASONING_DELTA:
        on_reasoning(c, ev->delta.so_far);
        break;
    case CHELA_EV_TOOL_CALL:
        chat_show_on_call(c, ev);
        break;
    case CHELA_EV_TOOL_PROGRESS:
        chat_show_on_progress(c, ev);
        break;
    case CHELA_EV_TOOL_RESULT:
        chat_show_on_result(c, ev);
        break;
    case CHELA_EV_APPROVAL_REQUIRED:
    case CHELA_EV_CLIENT_TOOL_REQUIRED:
        ch_chat_ask(c, ev, NULL);
        break;
    case CHELA_EV_STEERING:
    case CHELA_EV_FOLLOW_UP:
        end_answer(c);
        chat_show_on_delivered(c, ev->note.text);
        break;
    case CHELA_EV_SYSTEM_EVENT:
        chat_show_note(c, "", ev->note.text);
        break;
    case CHELA_EV_WARNING:
        chat_show_note(c, "warning: ", ev->note.text);
        break;
    case CHELA_EV_RETRY:
        chat_show_note(c, "trying again: ", ev->retry.reason);
        break;
    case CHELA_EV_CHILD:
        chat_show_on_child(c, ev);
        break;
    case CHELA_EV_HANDOFF:
    case CHELA_EV_FALLBACK:
        end_answer(c);
        ch_console_note(c->console, "%s -> %s: %.*s", ev->fallback.from, ev->fallback.to,
                        STR(ev->fallback.reason));
        break;
    case CHELA_EV_COMPACTION:
        chat_show_on_compaction(c, ev);
        break;
    case CHELA_EV_SERVER_TOOL:
    case CHELA_EV_MEDIA:
    case CHELA_EV_BUDGET:
        end_answer(c);
        ch_out_extra(c->console, ev);
        break;
    case CHELA_EV_TURN_END:
        chat_show_on_turn_end(c, ev);
        break;
    case CHELA_EV_PLAN:
        chat_show_plan(c, ev->plan.steps, "", "description");
        break;
    case CHELA_EV_RUN_END:
        chat_show_on_end(c, ev);
        break;
    default:
        break;
    }
}

/* --- the foot ------------------------------------------------------------------------ */

enum { TAIL = 5 }; /* lines of an output that grows */

struct foot {
    char **lines; /* owned, and each of them */
    size_t n;
};

static void chat_show_add_line(struct foot *f, char *line) {
    f->lines = ch_must(realloc(f->lines, (f->n + 1) * sizeof(*f->lines)));
    f->lines[f->n++] = line;
}

/* Safe text, truncated to the screen, dim. */
static void add_dim(const struct ch_chat *c, struct foot *f, char *text) {
    size_t fit = ch_term_fit(text, strlen(text), chat_show_width(c));
    chat_show_add_line(f, ch_format("%s%.*s%s", style(c, DIM), (int)fit, text, style(c, PLAIN)));
    free(text);
}

static const char *spinner(const struct ch_chat *c) {
    static const char *const frames[] = {"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
    return frames[(uv_now(&c->loop) - c->started) / 100 % 10];
}

/* The last lines of an output that grows. */
static void add_tail(const struct ch_chat *c, struct foot *f, const char *text, size_t most) {
    size_t n = strlen(text), from, lines = 0;
    while (n > 0 && text[n - 1] == '\n')
        n--;
    for (from = n; from > 0; from--)
        if (text[from - 1] == '\n' && ++lines == most)
            break;
    while (from < n) {
        const char *end = memchr(text + from, '\n', n - from);
        size_t len = end ? (size_t)(end - text) - from : n - from;
        char *line = ch_call_safe(text + from, len);
        add_dim(c, f, ch_format("  %s", line));
        free(line);
        from += len + 1;
    }
}

static void chat_show_add_calls(const struct ch_chat *c, struct foot *f) {
    enum { SHOWN = 4 };
    for (size_t i = 0; i < c->ncalls && i < SHOWN; i++) {
        const struct ch_chat_call *call = &c->calls[i];
        add_dim(c, f, ch_format("%s %s", spinner(c), call->label));
        add_tail(c, f, call->progress ? call->progress : "", c->ncalls == 1 ? TAIL : 1);
    }
    if (c->ncalls > SHOWN)
        add_dim(c, f, ch_format("  and %zu more", c->ncalls - SHOWN));
}

static void add_plan(const struct ch_chat *c, struct foot *f) {
    enum { SHOWN = 10 };
    const char *line = c->plan ? c->plan : "";
    for (size_t i = 0; *line && i < SHOWN; i++) {
        size_t n = strcspn(line, "\n");
        add_dim(c, f, ch_format("%.*s", (int)n, line));
        line += n + (line[n] != '\0');
    }
}

static void add_command(const struct ch_chat *c, struct foot *f) {
    if (!c->command)
        return;
    char *line = ch_call_safe(c->command, strlen(c->command));
    add_dim(c, f, ch_format("%s !%s · Ctrl-C ends it", spinner(c), line));
    add_tail(c, f, c->command_output, TAIL);
    free(line);
}

static void put_count(FILE *out, const char *lead, int64_t n) {
    if (n < 10000)
        fprintf(out, "%s%lld", lead, (long long)n);
    else
        fprintf(out, "%s%.1fk", lead, (double)n / 1000);
}

static void add_status(const struct ch_chat *c, struct foot *f) {
    struct ch_draft d;
    double seconds = (double)(uv_now(&c->loop) - c->started) / 1000;

    ch_draft_init(&d);
    fprintf(d.f, "%s turn %u", spinner(c), c->turn);
    if (c->asked_model && c->ncalls == 0)
        fprintf(d.f, " · %s", c->asked_model);
    if (c->used.input + c->used.output > 0) {
        put_count(d.f, " · ", c->used.input);
        put_count(d.f, " in, ", c->used.output);
        fputs(" out", d.f);
    }
    if (c->used.cost_usd > 0)
        fprintf(d.f, " · $%.4f", c->used.cost_usd);
    if (seconds < 60)
        fprintf(d.f, " · %.1fs", floor(seconds * 10) / 10);
    else
        fprintf(d.f, " · %um%02us", (unsigned)seconds / 60, (unsigned)seconds % 60);
    fputs(" · Ctrl-C cancels", d.f);
    ch_draft_finish(&d);
    add_dim(c, f, d.p);
}

/* "~/src/project": the working directory, shortened. */
static void put_directory(const struct ch_chat *c, FILE *out) {
    char path[PATH_MAX];
    const char *place = c->setup->flags->workspace, *home = c->setup->env->home;
    if (!realpath(place ? place : ".", path))
        return;
    size_t n = home ? strlen(home) : 0;
    bool below = n > 1 && strncmp(path, home, n) == 0 && (path[n] == '/' || !path[n]);
    fprintf(out, " · %s%s", below ? "~" : "", path + (below ? n : 0));
}

/* Nothing is in progress: show model, context used, cost, approvals, directory. */
static void add_idle(const struct ch_chat *c, struct foot *f) {
    const char *model = c->model ? c->model : c->asked_model;
    int64_t window = c->model ? 0 : chela_agent_context_window(c->agent);
    struct ch_draft d;

    ch_draft_init(&d);
    if (c->tasks > 0)
        fprintf(d.f, "%u task%s · ", c->tasks, c->tasks == 1 ? "" : "s");
    fputs(model ? model : "the configured model", d.f);
    if (c->context > 0)
        put_count(d.f, " · context ", c->context);
    if (c->context > 0 && window > 0)
        fprintf(d.f, " of %lldk (%lld %%)", (long long)(window / 1000),
                (long long)(c->context * 100 / window));
    if (c->spent.cost_usd > 0)
        fprintf(d.f, " · $%.4f", c->spent.cost_usd);
    fprintf(d.f, " · approve %s", c->approve ? chela_approve_name(c->approve) : c->approve_name);
    put_directory(c, d.f);
    ch_draft_finish(&d);
    char *line = ch_call_safe(d.p, d.n);
    free(d.p);
    add_dim(c, f, line);
}

static void add_under_way(const struct ch_chat *c, struct foot *f, size_t rows) {
    char **rest;
    size_t n = c->saying && rows > 9
                   ? ch_markdown_rest(c->answer, chat_show_width(c), rows - 8, &rest)
                   : 0;
    if (n > 0 && c->last != CH_CHAT_NOTHING && c->last != CH_CHAT_ANSWER)
        chat_show_add_line(f, ch_dup("")); /* the blank line that will precede the final text */
    for (size_t i = 0; i < n; i++)
        chat_show_add_line(f, rest[i]);
    if (n > 0)
        free(rest);
    if (c->thought)
        add_dim(c, f, ch_format("thinking: %s", c->thought));
    if (c->last != CH_CHAT_NOTHING || f->n > 0)
        chat_show_add_line(f, ch_dup(""));
    add_command(c, f);
    if (c->run) {
        add_plan(c, f);
        chat_show_add_calls(c, f);
        add_status(c, f);
    } else if (c->agent && !c->asks && !c->chosen) {
        add_idle(c, f);
    }
}

static const char *prompt(const struct ch_chat *c) {
    if (!c->asks || c->run)
        return "> ";
    if (c->asks->arguments)
        return "your answer > ";
    return c->asks->can_remember ? "allow? [o]nce, [a]lways exactly this, [n]o, or no and why > "
                                 : "allow? [o]nce, [n]o, or no and why > ";
}

void ch_chat_notify(struct ch_chat *c, const char *what) {
    /* OSC 9 shows a notification on terminals that have them; others ignore it */
    fprintf(ch_screen_above(&c->screen), "\033]9;chela: %s\033\\\a", what);
}

/* Keep the last lines: a line above the top of the screen cannot be erased. Returns the number of
 * lines that were removed; the cursor is in none of them. */
static size_t cut_foot(struct foot *f, size_t most) {
    size_t over = f->n > most ? f->n - most : 0;
    for (size_t i = 0; i < f->n; i++)
        if (i < over)
            free(f->lines[i]);
        else
            f->lines[i - over] = f->lines[i];
    f->n -= over;
    return over;
}

void ch_chat_draw(struct ch_chat *c) {
    struct foot f = {0};
    struct ch_edit_view view;
    size_t rows = c->screen.rows > 1 ? c->screen.rows - 1 : 1;

    add_under_way(c, &f, rows);
    size_t left = rows > f.n + 1 ? rows - f.n : 1;
    if (c->chosen)
        ch_pick_view(&c->pick, c->console->out.color, chat_show_width(c), left, &view);
    else
        ch_edit_view(&c->edit, prompt(c), chat_show_width(c), left, &view);
    size_t row = f.n + view.row;
    unsigned column = view.column;
    for (size_t i = 0; i < view.n; i++)
        chat_show_add_line(&f, view.lines[i]);
    free(view.lines);
    row -= cut_foot(&f, rows);
    ch_screen_draw(&c->screen, f.lines, f.n, row, column);
    for (size_t i = 0; i < f.n; i++)
        free(f.lines[i]);
    free(f.lines);
}
