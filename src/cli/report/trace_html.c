/* trace_html.c -- a trace as a self-contained page: no script, no font, no external
 * resource. All texts are untrusted and escaped. */
#include "cli/report/trace_html.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

static void lane(const struct ch_span *s, int64_t start, int64_t length, FILE *out) {
    double scale = 100.0 / (double)(length > 0 ? length : 1);
    fprintf(out,
            "<span class=\"lane\"><span class=\"bar\" "
            "style=\"left:%.2f%%;width:%.2f%%\"></span></span>",
            (double)(s->start - start) * scale, (double)(s->end - s->start) * scale);
}

static void what(const struct ch_span *s, FILE *out) {
    const char *words = s->kind == CH_SPAN_INPUT ? s->got : s->title;
    char took[32];
    fprintf(out, "<span class=\"what\" style=\"padding-left:%uem\"><b>", 2 * s->depth);
    if (words)
        ch_markup_write(out, words, strcspn(words, "\n"));
    fputs("</b> <small>", out);
    if (s->kind != CH_SPAN_INPUT && s->kind != CH_SPAN_END)
        fputs(ch_span_took(s->end - s->start, took), out);
    if (s->kind == CH_SPAN_MODEL || s->kind == CH_SPAN_END)
        fprintf(out, " &middot; %" PRId64 " in, %" PRId64 " cached, %" PRId64 " out", s->input,
                s->cached, s->output);
    if (s->kind == CH_SPAN_END && s->cost >= 0)
        fprintf(out, " &middot; $%.4f", s->cost);
    fputs("</small></span>", out);
}

static void trace_html_row(const struct ch_span *s, int64_t start, int64_t length, FILE *out) {
    static const struct {
        const char *sent, *got;
    } titles[CH_SPAN_KINDS] = {
        [CH_SPAN_INPUT] = {"", "Message"},          [CH_SPAN_MODEL] = {"Reasoning", "Reply"},
        [CH_SPAN_TOOL] = {"Arguments", "Result"},   [CH_SPAN_WAIT] = {"Question", "Decision"},
        [CH_SPAN_REWRITE] = {"", "In place of it"},
        [CH_SPAN_END] = {"Asked for", "What went wrong"},
    };
    char took[32];
    bool open = (s->sent && s->sent[0]) || (s->got && s->got[0]);
    fprintf(out, "<%s class=\"%s%s%s\">", open ? "details" : "div", ch_span_name(s->kind),
            s->failed ? " failed" : "", open ? "" : " row");
    if (open)
        fputs("<summary>", out);
    fprintf(out, "<span class=\"at\">+%s</span><span class=\"kind\">%s</span>",
            ch_span_took(s->start - start, took), ch_span_name(s->kind));
    lane(s, start, length, out);
    what(s, out);
    if (open)
        fputs("</summary>", out);
    section(titles[s->kind].sent, s->sent, out);
    section(titles[s->kind].got, s->got, out);
    fprintf(out, "</%s>\n", open ? "details" : "div");
}

void ch_trace_html(const struct ch_trace *t, const char *key, FILE *out) {
    int64_t start = t->n ? t->spans[0].start : 0, end = start;
    const char *run = "";
    char took[32];
    for (size_t i = 0; i < t->n; i++) {
        start = t->spans[i].start < start ? t->spans[i].start : start;
        end = t->spans[i].end > end ? t->spans[i].end : end;
    }
    fputs(head, out);
    fputs("<title>", out);
    ch_markup_str(out, key);
    fputs("</title></head><body><h1>", out);
    ch_markup_str(out, key);
    fprintf(out, "</h1><p>%s, %zu steps</p>\n", ch_span_took(end - start, took), t->n);
    for (size_t i = 0; i < t->n; i++) {
        if (t->spans[i].depth == 0 && strcmp(run, t->spans[i].run) != 0) {
            fputs("<h2>", out);
            ch_markup_str(out, t->spans[i].run);
            fputs("</h2>\n", out);
        }
        if (t->spans[i].depth == 0)
            run = t->spans[i].run;
        trace_html_row(&t->spans[i], start, end - start, out);
    }
    fputs("</body></html>\n", out);
}
