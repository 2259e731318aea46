/* trace_html.c -- a trace as a self-contained page: no script, no font, no external
 * resource. All texts are untrusted and escaped. */
#include "cli/report/trace_html.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "chela/json.h"
#include "cli/support/markup.h"
#include "cli/report/trace.h"

static const char head[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"
    "style-src 'unsafe-inline'\">\n<style>\n"
    ":root{color-scheme:light dark;--bg:#fff;--fg:#1c1f23;--dim:#667;--line:#e4e6ea;"
    "--model:#4f6bed;--tool:#2a9d6f;--wait:#d69a1e;--bad:#c8413b;--box:#f6f7f9}\n"
    "@media(prefers-color-scheme:dark){:root{--bg:#14161a;--fg:#e6e8eb;--dim:#98a0ab;"
    "--line:#2a2e35;--box:#1c1f25}}\n"
    "body{margin:0 auto;max-width:70rem;padding:1.5rem 1rem;background:var(--bg);color:var(--fg);"
    "font:15px/1.5 system-ui,sans-serif}\n"
    "h1{font-size:1.3rem;margin:0}h2{font-size:.85rem;font-weight:500;color:var(--dim);"
    "margin:1.6rem 0 .3rem}p{color:var(--dim);margin:.2rem 0 0}\n"
    "details,.row{border-bottom:1px solid var(--line)}\n"
    "summary,.row{display:grid;grid-template-columns:4.5rem 4.2rem 1fr 1.4fr;gap:.8rem;"
    "align-items:center;padding:.35rem .2rem;list-style:none}\n"
    "summary{cursor:pointer}summary::-webkit-details-marker{display:none}\n"
    "summary:hover{background:var(--box)}\n"
    ".at{color:var(--dim);font-variant-numeric:tabular-nums;text-align:right;font-size:.8rem}\n"
    ".kind{font-size:.8rem;color:var(--dim)}\n"
    ".lane{position:relative;height:.75rem;background:var(--box);border-radius:3px}\n"
    ".bar{position:absolute;top:0;bottom:0;min-width:3px;border-radius:3px;background:var(--dim)}\n"
    ".model .bar{background:var(--model)}.tool .bar{background:var(--tool)}"
    ".wait .bar{background:var(--wait)}.failed .bar{background:var(--bad)}\n"
    ".what{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}\n"
    ".what small{color:var(--dim)}.failed .what b{color:var(--bad)}\n"
    "pre{margin:.2rem 0 .8rem;padding:.7rem .9rem;background:var(--box);border-radius:6px;"
    "white-space:pre-wrap;overflow-wrap:anywhere;font:13px/1.45 ui-monospace,monospace;"
    "max-height:30rem;overflow:auto}\n"
    ".setup summary{display:block}.legend i{display:inline-block;width:.8em;height:.8em;"
    "border-radius:2px;margin:0 .3em 0 .8em}i.model{background:var(--model)}"
    "i.tool{background:var(--tool)}i.wait{background:var(--wait)}i.bad{background:var(--bad)}\n"
    "h3{margin:.6rem 0 0;font-size:.75rem;color:var(--dim);font-weight:500}\n"
    "@media(max-width:40rem){summary,.row{grid-template-columns:3.6rem 3.4rem 1fr}"
    ".lane{display:none}}\n"
    "</style>\n";

static void section(const char *title, const char *text, FILE *out) {
    if (!text || !text[0])
        return;
    fprintf(out, "<h3>%s</h3><pre>", title);
    ch_markup_str(out, text);
    fputs("</pre>", out);
}

static void lane(const struct chela_span *s, int64_t start, int64_t length, FILE *out) {
    double scale = 100.0 / (double)(length > 0 ? length : 1);
    fprintf(out,
            "<span class=\"lane\"><span class=\"bar\" "
            "style=\"left:%.2f%%;width:%.2f%%\"></span></span>",
            (double)(s->start - start) * scale, (double)(s->end - s->start) * scale);
}

static void what(const struct chela_span *s, int64_t growth, FILE *out) {
    const char *words = s->kind == CHELA_SPAN_INPUT ? s->got : s->title;
    char took[32];
    fprintf(out, "<span class=\"what\" style=\"padding-left:%uem\"><b>", 2 * s->depth);
    if (s->request)
        fprintf(out, "#%u ", s->request);
    if (s->kind == CHELA_SPAN_MODEL && s->session_turn)
        fprintf(out, "turn %u ", s->session_turn);
    if (s->attempt && s->kind != CHELA_SPAN_WAIT)
        fprintf(out, "attempt %u ", s->attempt + 1);
    if (words)
        ch_markup_write(out, words, strcspn(words, "\n"));
    fputs("</b> <small>", out);
    if (s->kind != CHELA_SPAN_INPUT && s->kind != CHELA_SPAN_END)
        fputs(ch_span_took(s->end - s->start, took), out);
    if (s->kind == CHELA_SPAN_MODEL || s->kind == CHELA_SPAN_END)
        fprintf(out, " &middot; %" PRId64 " in, %" PRId64 " cached, %" PRId64 " out", s->input,
                s->cache_read, s->output);
    if (growth)
        fprintf(out, " &middot; %+" PRId64, growth);
    if (s->cost > 0)
        fprintf(out, " &middot; $%.4f", s->cost);
    fputs("</small></span>", out);
}

/* Writes the line of a model call's request: the messages are in the rows above, all other
 * parts in a setup. */
static void request_line(const struct chela_span *s, FILE *out) {
    fprintf(out, "<p>Request #%u: %zu messages, %zu bytes", s->request, s->messages, s->bytes);
    if (s->setup) {
        fputs(", <a href=\"#", out);
        ch_markup_str(out, s->setup);
        fputs("\">system prompt, tools and parameters</a>", out);
    }
    fputs("</p>", out);
}

static void trace_html_row(const struct chela_span *s, int64_t growth, int64_t start,
                           int64_t length, FILE *out) {
    static const struct {
        const char *sent, *got;
    } titles[] = {
        [CHELA_SPAN_INPUT] = {"", "Message"},          [CHELA_SPAN_MODEL] = {"Reasoning", "Reply"},
        [CHELA_SPAN_TOOL] = {"Arguments", "Result"},   [CHELA_SPAN_WAIT] = {"Question", "Decision"},
        [CHELA_SPAN_REWRITE] = {"", "In place of it"},
        [CHELA_SPAN_END] = {"Asked for", "What went wrong"},
    };
    char took[32];
    bool open = (s->sent && s->sent[0]) || (s->got && s->got[0]) || s->request;
    fprintf(out, "<%s class=\"%s%s%s\">", open ? "details" : "div", ch_span_name(s->kind),
            s->failed ? " failed" : "", open ? "" : " row");
    if (open)
        fputs("<summary>", out);
    fprintf(out, "<span class=\"at\">+%s</span><span class=\"kind\">%s</span>",
            ch_span_took(s->start - start, took), ch_span_name(s->kind));
    lane(s, start, length, out);
    what(s, growth, out);
    if (open)
        fputs("</summary>", out);
    if (s->request)
        request_line(s, out);
    section(titles[s->kind].sent, s->sent, out);
    section(titles[s->kind].got, s->got, out);
    fprintf(out, "</%s>\n", open ? "details" : "div");
}

/* --- setups */

struct setup_page {
    const struct ch_trace *trace;
    FILE *out;
    char shown[64]; /* id of the setup that is open */
    bool skip;
};

static bool is_used(const struct ch_trace *t, const char *setup) {
    for (size_t i = 0; i < t->n; i++)
        if (t->spans[i].setup && strcmp(t->spans[i].setup, setup) == 0)
            return true;
    return false;
}

static void end_setup(struct setup_page *p) {
    if (p->shown[0] && !p->skip)
        fputs("</details>\n", p->out);
}

static void begin_setup(struct setup_page *p, const char *setup) {
    end_setup(p);
    snprintf(p->shown, sizeof(p->shown), "%s", setup);
    p->skip = !is_used(p->trace, setup);
    if (p->skip)
        return;
    fputs("<details class=\"setup\" id=\"", p->out);
    ch_markup_str(p->out, setup);
    fputs("\"><summary><b>", p->out);
    ch_markup_str(p->out, setup);
    fputs("</b></summary>", p->out);
}

static int setup_part(const struct chela_setup_part *part, void *user) {
    struct setup_page *p = user;
    char title[256];
    if (strcmp(p->shown, part->setup) != 0)
        begin_setup(p, part->setup);
    if (p->skip)
        return 0;
    if (!part->name)
        snprintf(title, sizeof(title), "Parameters");
    else if (part->of)
        snprintf(title, sizeof(title), "%s: %zu of %zu tokens were left, %zu bytes", part->kind,
                 part->tokens, part->of, part->bytes);
    else if (part->origin)
        snprintf(title, sizeof(title), "%s: %zu tokens, %zu bytes", part->kind, part->tokens,
                 part->bytes);
    else
        snprintf(title, sizeof(title), "%s", part->kind);
    fprintf(p->out, "<h3>%s", title);
    if (part->name) {
        fputs(" &middot; <b>", p->out);
        ch_markup_str(p->out, part->name);
        fputs("</b>", p->out);
    }
    if (part->origin) {
        fputs(" &middot; from ", p->out);
        ch_markup_str(p->out, part->origin);
    }
    fputs("</h3><pre>", p->out);
    ch_markup_str(p->out, part->text);
    fputs("</pre>", p->out);
    return 0;
}

static void setups(const struct ch_trace *t, chela_store *store, const char *key, FILE *out) {
    struct setup_page p = {.trace = t, .out = out};
    fputs("<h2>What the requests had in common: system prompts, tools, parameters</h2>\n", out);
    chela_trace_setups(store, key, setup_part, &p, NULL);
    end_setup(&p);
}

static void total(const struct ch_trace_total *all, FILE *out) {
    char took[32], when[32];
    fprintf(out, "<p>%s, %s, %u run%s, %u request%s", ch_span_when(all->start, when),
            ch_span_took(all->end - all->start, took), all->runs, all->runs == 1 ? "" : "s",
            all->requests, all->requests == 1 ? "" : "s");
    if (all->failed)
        fprintf(out, " (%u failed)", all->failed);
    fprintf(out, ", %u tool call%s, %" PRId64 " tokens in (%" PRId64 " cached), %" PRId64 " out",
            all->calls, all->calls == 1 ? "" : "s", all->input, all->cached, all->output);
    if (all->cost >= 0)
        fprintf(out, ", $%.4f", all->cost);
    fputs("</p>\n<p class=\"legend\"><i class=\"model\"></i>model <i class=\"tool\"></i>tool "
          "<i class=\"wait\"></i>wait <i class=\"bad\"></i>failed; #N is the number of a request "
          "(<code>chela trace --request N</code>), turn N that of a decision "
          "(<code>chela why --turn N</code>)</p>\n",
          out);
}

/* --- the finding of chela why */

static bool why_text(const char *why, const char *before, const char *pointer, const char *after,
                     FILE *out) {
    char *text = chela_json_get(why, strlen(why), pointer, NULL);
    if (!text)
        return false;
    fputs(before, out);
    ch_markup_str(out, text);
    fputs(after, out);
    chela_free(text);
    return true;
}

static bool why_part(const char *why, unsigned cause, unsigned part, FILE *out) {
    char at[80];
    snprintf(at, sizeof(at), "/causes/%u/parts/%u/kind", cause, part);
    if (!why_text(why, "<h3>", at, " &middot; ", out))
        return false;
    snprintf(at, sizeof(at), "/causes/%u/parts/%u/origin", cause, part);
    why_text(why, "", at, "", out);
    fputs("</h3>", out);
    snprintf(at, sizeof(at), "/causes/%u/parts/%u/text", cause, part);
    why_text(why, "<pre>", at, "</pre>", out);
    return true;
}

static bool why_cause(const char *why, unsigned cause, FILE *out) {
    char at[80];
    snprintf(at, sizeof(at), "/causes/%u/smallest", cause);
    char *smallest = chela_json_get(why, strlen(why), at, NULL);
    bool rough = smallest && strcmp(smallest, "false") == 0;
    chela_free(smallest);
    snprintf(at, sizeof(at), "/causes/%u/agreed", cause);
    if (!why_text(why,
                  rough ? "<p>Best finding so far: without all of these the decision is another; "
                          "which of them count was not tested. Seen in "
                        : "<p>Without this the decision is another, in ",
                  at, "", out))
        return false;
    snprintf(at, sizeof(at), "/causes/%u/of", cause);
    why_text(why, " of ", at, " calls:</p>", out);
    for (unsigned i = 0; why_part(why, cause, i, out);)
        i++;
    snprintf(at, sizeof(at), "/causes/%u/instead", cause);
    why_text(why, "<h3>instead</h3><pre>", at, "</pre>", out);
    return true;
}

static void why_section(const char *why, FILE *out) {
    why_text(why, "<h2>Why turn ", "/session_turn", "", out);
    why_text(why, " (request #", "/request", ")", out);
    why_text(why, " was decided so: ", "/verdict", "</h2>", out);
    why_text(why, "<h3>decision</h3><pre>", "/decision", "</pre>", out);
    for (unsigned i = 0; why_cause(why, i, out);)
        i++;
    char at[32];
    for (unsigned i = 0; snprintf(at, sizeof(at), "/notes/%u", i),
                  why_text(why, "<p>", at, "</p>", out);)
        i++;
}

void ch_trace_html(const struct ch_trace *t, chela_store *store, const char *key, const char *why,
                   FILE *out) {
    struct ch_trace_total all = ch_trace_total(t);
    int64_t start = all.start, end = all.end;
    const char *run = "";
    fputs(head, out);
    fputs("<title>", out);
    ch_markup_str(out, key);
    fputs("</title></head><body><h1>", out);
    ch_markup_str(out, key);
    fputs("</h1>", out);
    total(&all, out);
    if (why)
        why_section(why, out);
    for (size_t i = 0; i < t->n; i++) {
        if (t->spans[i].depth == 0 && strcmp(run, t->spans[i].run) != 0) {
            fputs("<h2>", out);
            ch_markup_str(out, t->spans[i].run);
            fputs("</h2>\n", out);
        }
        if (t->spans[i].depth == 0)
            run = t->spans[i].run;
        trace_html_row(&t->spans[i], ch_trace_growth(t, &t->spans[i]), start, end - start, out);
    }
    setups(t, store, key, out);
    fputs("</body></html>\n", out);
}
