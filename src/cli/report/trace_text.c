/* trace_text.c -- a trace for terminals and for programs.
 *
 *   +0 ms    input   |          write a script
 *   +1 ms    model   ####       #1 turn 1 claude-x, tool_use  904 ms  3049 in 15 out
 *   +905 ms  tool        #      read  1 ms  {"file_path":"notes.txt"} */
#include "cli/report/trace_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/support/draft.h"
#include "cli/term/flow.h"
#include "cli/term/term.h"
#include "cli/report/trace.h"

#define BAR 24 /* columns of the timeline */
#define MARGIN (24 + BAR)
#define BELOW 6          /* indentation of an error below its row */
#define BELOW_LINES 8    /* of one error; --json has the whole text */
#define ARGUMENT_LINES 2 /* of the arguments of a call that do not fit into its row */
#define DEPTHS 16 /* depth of called agents for which growth is shown */

static void trace_text_bar(const struct chela_span *s, const struct ch_trace_total *all,
                           FILE *out) {
    int64_t length = all->end > all->start ? all->end - all->start : 1;
    int from = (int)((s->start - all->start) * (BAR - 1) / length);
    int to = (int)((s->end - all->start) * (BAR - 1) / length);
    bool point = s->kind == CHELA_SPAN_INPUT || s->kind == CHELA_SPAN_END;
    for (int i = 0; i < BAR; i++)
        fputc(i < from || i > to ? ' ' : point ? '|' : s->kind == CHELA_SPAN_WAIT ? '.' : '#', out);
}

/* As much of a text as fits on one line. */
static void excerpt(const char *text, unsigned columns, FILE *out) {
    size_t n = strcspn(text, "\n"), fits = ch_term_fit(text, n, columns > 3 ? columns - 3 : 0);
    ch_escape_write(out, CH_ESCAPE_LINE, text, fits);
    if (fits < strlen(text))
        fputs("...", out);
}

static void trace_text_tokens(const struct chela_span *s, int64_t growth, FILE *out) {
    fprintf(out, "  %" PRId64 " in", s->input);
    if (growth)
        fprintf(out, " %+" PRId64, growth);
    if (s->cache_read)
        fprintf(out, " (%" PRId64 " cached)", s->cache_read);
    fprintf(out, " %" PRId64 " out", s->output);
}

/* True: the arguments of a call are not shown, because the row has no room for them. */
static bool facts(const struct chela_span *s, int64_t growth, unsigned columns, FILE *out) {
    const char *title = s->title ? s->title : "";
    char took[32] = "";
    if (s->kind != CHELA_SPAN_END)
        ch_span_took(s->end - s->start, took);
    if (s->kind == CHELA_SPAN_MODEL && s->request)
        fprintf(out, "#%u ", s->request);
    if (s->kind == CHELA_SPAN_MODEL && s->session_turn)
        fprintf(out, "turn %u ", s->session_turn);
    if (s->attempt && s->kind != CHELA_SPAN_WAIT)
        fprintf(out, "attempt %u ", s->attempt + 1);
    fprintf(out, "%s%s%s%s", s->failed ? "! " : "", title, took[0] ? "  " : "", took);
    if (s->kind == CHELA_SPAN_MODEL || s->kind == CHELA_SPAN_END)
        trace_text_tokens(s, growth, out);
    if (s->cost > 0)
        fprintf(out, "  $%.4f", s->cost);
    unsigned used = ch_term_text_columns(title, strlen(title)) + (unsigned)strlen(took) + 6;
    bool call = s->kind == CHELA_SPAN_TOOL || s->kind == CHELA_SPAN_WAIT;
    if (!call || !s->sent || strcmp(s->sent, "{}") == 0)
        return false;
    if (used + ch_term_text_columns(s->sent, strlen(s->sent)) > columns || strchr(s->sent, '\n'))
        return true;
    fputs("  ", out);
    excerpt(s->sent, columns - used + 3, out);
    return false;
}

/* A text below its row, wrapped to the width of the terminal, in at most `most` lines. */
static void trace_text_below(const char *text, unsigned columns, size_t most, FILE *out) {
    struct ch_flow flow = {0};
    struct ch_flow_line *lines;
    if (!text)
        return;
    ch_flow_add(&flow, 0, text, strlen(text));
    size_t n = ch_flow_lines(&flow, columns > BELOW + 20 ? columns - BELOW : 20, false, &lines);
    for (size_t i = 0; i < n && i < most; i++)
        fprintf(out, "%*s%s\n", BELOW, "", lines[i].text);
    if (n > most)
        fprintf(out, "%*s... (%zu more lines: --json)\n", BELOW, "", n - most);
    ch_flow_free_lines(lines, n);
    ch_flow_release(&flow);
}

static void trace_text_line(const struct chela_span *s, int64_t growth,
                            const struct ch_trace_total *all, unsigned columns, FILE *out) {
    char took[32];
    unsigned left = columns > MARGIN + 20 ? columns - MARGIN : 20;
    fprintf(out, "+%-12s %-7s ", ch_span_took(s->start - all->start, took), ch_span_name(s->kind));
    trace_text_bar(s, all, out);
    fprintf(out, "  %*s", (int)(2 * s->depth), "");
    left = left > 20 + 2 * s->depth ? left - 2 * s->depth : 20;
    bool below = false;
    if (s->kind == CHELA_SPAN_INPUT)
        excerpt(s->got ? s->got : "", left, out);
    else
        below = facts(s, growth, left, out);
    fputc('\n', out);
    if (below)
        trace_text_below(s->sent, columns, ARGUMENT_LINES, out);
    if (s->kind == CHELA_SPAN_END || (s->failed && s->kind != CHELA_SPAN_WAIT))
        trace_text_below(s->got, columns, BELOW_LINES, out);
}

static void print_total(const struct ch_trace_total *all, FILE *out) {
    fprintf(out, "%u run%s, %u request%s", all->runs, all->runs == 1 ? "" : "s", all->requests,
            all->requests == 1 ? "" : "s");
    if (all->failed)
        fprintf(out, " (%u failed)", all->failed);
    fprintf(out, ", %u tool call%s, %" PRId64 " in (%" PRId64 " cached) %" PRId64 " out",
            all->calls, all->calls == 1 ? "" : "s", all->input, all->cached, all->output);
    if (all->cost >= 0)
        fprintf(out, ", $%.4f", all->cost);
    fputs("\n# work  . wait  | input or end  ! failed  #N: chela trace --request N"
          "  turn N: chela why --turn N\n",
          out);
}

void ch_trace_text(const struct ch_trace *t, const char *key, unsigned columns, FILE *out) {
    struct ch_trace_total all = ch_trace_total(t);
    const char *run = "";
    char took[32], when[32];
    fprintf(out, "%s  %s  %s\n", key, ch_span_took(all.end - all.start, took),
            ch_span_when(all.start, when));
    print_total(&all, out);
    for (size_t i = 0; i < t->n; i++) {
        const struct chela_span *s = &t->spans[i];
        if (s->depth == 0 && strcmp(run, s->run) != 0)
            fprintf(out, "\n%s\n", s->run);
        if (s->depth == 0)
            run = s->run;
        trace_text_line(s, ch_trace_growth(t, s), &all, columns, out);
    }
}

/* --- JSON */

static void trace_text_member(const char *name, const char *text, FILE *out) {
    if (!text)
        return;
    fprintf(out, ",\"%s\":", name);
    ch_draft_quote(out, text);
}

static void json_request(const struct chela_span *s, FILE *out) {
    trace_text_member("stop", s->stop, out);
    trace_text_member("role", s->role, out);
    if (s->attempt && !s->request)
        fprintf(out, ",\"attempt\":%u", s->attempt);
    if (!s->request)
        return;
    trace_text_member("model", s->model, out);
    fprintf(out, ",\"request\":%u,\"attempt\":%u,\"messages\":%zu,\"bytes\":%zu", s->request,
            s->attempt, s->messages, s->bytes);
    trace_text_member("setup", s->setup, out);
}

/* Input tokens of the call beyond those of the previous call in the same session. */
static void json_growth(const struct chela_span *s, int64_t *before, FILE *out) {
    if (s->kind != CHELA_SPAN_MODEL || s->failed || s->role || s->depth >= DEPTHS)
        return;
    fprintf(out, ",\"growth\":%" PRId64, s->input - before[s->depth]);
    before[s->depth] = s->input;
    for (unsigned d = s->depth + 1; d < DEPTHS; d++)
        before[d] = 0;
}

void ch_trace_json(const struct ch_trace *t, FILE *out) {
    int64_t before[DEPTHS] = {0};
    fputc('[', out);
    for (size_t i = 0; i < t->n; i++) {
        const struct chela_span *s = &t->spans[i];
        fprintf(out, "%s{\"kind\":\"%s\"", i ? ",\n " : "", ch_span_name(s->kind));
        trace_text_member("run", s->run, out);
        fprintf(out, ",\"turn\":%u,\"start\":%" PRId64 ",\"end\":%" PRId64, s->turn, s->start,
                s->end);
        if (s->session_turn)
            fprintf(out, ",\"session_turn\":%u", s->session_turn);
        trace_text_member("id", s->id, out);
        trace_text_member("title", s->title, out);
        trace_text_member(s->kind == CHELA_SPAN_MODEL ? "reasoning" : "sent", s->sent, out);
        trace_text_member("got", s->got, out);
        if (s->depth)
            fprintf(out, ",\"depth\":%u", s->depth);
        if (s->child)
            trace_text_member("session", s->child, out);
        if (s->failed)
            fputs(",\"failed\":true", out);
        if (s->kind == CHELA_SPAN_MODEL || s->kind == CHELA_SPAN_END)
            fprintf(out, ",\"input\":%" PRId64 ",\"output\":%" PRId64 ",\"cache_read\":%" PRId64,
                    s->input, s->output, s->cache_read);
        if (s->cost >= 0)
            fprintf(out, ",\"cost_usd\":%.6f", s->cost);
        json_growth(s, before, out);
        json_request(s, out);
        fputc('}', out);
    }
    fputs("]\n", out);
}
