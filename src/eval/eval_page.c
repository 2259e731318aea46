/* eval_page.c -- see eval_page.h. */
#include "eval/eval_page.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "eval/eval_report.h"
#include "json/writer.h"

#define MOST_BLOCK 4000

static const char head[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\"><title>chela eval</title>\n<style>\n"
    "body{font:15px/1.45 system-ui,sans-serif;margin:2rem;color:#222;background:#fff}\n"
    "table{border-collapse:collapse}td,th{padding:.2rem .8rem .2rem 0;text-align:left}\n"
    ".side{display:flex;gap:1rem;overflow-x:auto}.trial{min-width:22rem;flex:1;border:1px solid "
    "#ccc;border-radius:4px;padding:.6rem}\n"
    ".no{color:#a00}.ok{color:#060}pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.2rem 0;"
    "font-size:13px}summary{cursor:pointer}\n"
    "@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}.no{color:#f88}.ok{"
    "color:#8c8}}\n</style></head><body>\n<h1>Evaluation</h1>\n";

static void add_block(struct ch_buf *out, const struct ch_json *b) {
    struct ch_sv type = ch_json_get_str(b, "type");
    CH_BUF_AUTO text = {0};
    if (ch_sv_is(type, "tool_call")) {
        ch_buf_addf(&text, "call %.*s ", CH_SV_FMT(ch_json_get_str(b, "name")));
        struct ch_jw w = ch_jw(&text);
        ch_jw_value(&w, ch_json_get(b, "arguments"));
    } else if (ch_sv_is(type, "tool_result")) {
        ch_buf_add_str(&text, "result: ");
        ch_json_add_text(&text, ch_json_get(b, "content"));
    } else if (ch_sv_is(type, "text")) {
        ch_buf_add_sv(&text, ch_json_get_str(b, "text"));
    }
    if (!text.n)
        return;
    ch_buf_add_str(out, "<pre>");
    ch_eval_escape(out, ch_utf8_cut(ch_buf_sv(&text), MOST_BLOCK));
    ch_buf_add_str(out, "</pre>\n");
}

static void add_messages(struct ch_buf *out, const struct ch_json *messages) {
    for (CH_JSON_EACH(m, messages)) {
        const struct ch_json *content = ch_json_get(m, "content");
        ch_buf_add_str(out, "<b>");
        ch_eval_escape(out, ch_json_get_str(m, "role"));
        ch_buf_add_str(out, "</b>\n");
        if (ch_json_is(content, CH_JSON_STRING)) {
            ch_buf_add_str(out, "<pre>");
            ch_eval_escape(out, ch_utf8_cut(ch_json_str(content), MOST_BLOCK));
            ch_buf_add_str(out, "</pre>\n");
        }
        for (CH_JSON_EACH(b, content))
            add_block(out, b);
    }
}

static void add_trial(struct ch_buf *out, const struct ch_json *t) {
    bool pass = ch_json_bool(ch_json_get(t, "pass"), false);
    struct ch_sv session = ch_json_get_str(t, "session");
    ch_buf_addf(out, "<div class=\"trial\"><b class=\"%s\">trial %lld %s</b> ", pass ? "ok" : "no",
                (long long)ch_json_int(ch_json_get(t, "n"), 0), pass ? "passed" : "failed");
    ch_eval_escape(out, ch_json_get_str(t, "status"));
    ch_buf_add_str(out, "<ul>\n");
    for (CH_JSON_EACH(e, ch_json_get(t, "checks"))) {
        bool ok = ch_json_bool(ch_json_get(e, "pass"), false);
        ch_buf_addf(out, "<li class=\"%s\">", ok ? "ok" : "no");
        ch_eval_escape(out, ch_json_get_str(e, "check"));
        ch_buf_add_str(out, ok ? ": holds " : ": ");
        ch_eval_escape(out, ch_json_get_str(e, "why"));
        ch_buf_add_str(out, "</li>\n");
    }
    ch_buf_add_str(out, "</ul>\n");
    if (!pass && session.n) {
        ch_buf_add_str(out, "<p>A stored session explains itself: <code>chela why ");
        ch_eval_escape(out, session);
        ch_buf_add_str(out, "</code></p>\n");
    }
    const struct ch_json *messages = ch_json_get(t, "messages");
    if (messages) {
        add_messages(out, messages);
    } else {
        ch_buf_add_str(out, "<pre>");
        ch_eval_escape(out, ch_utf8_cut(ch_json_get_str(t, "text"), MOST_BLOCK));
        ch_buf_add_str(out, "</pre>\n");
    }
    ch_buf_add_str(out, "</div>\n");
}

static void add_case(struct ch_buf *out, const struct ch_json *c) {
    double pass = ch_json_double(ch_json_get(c, "pass"), 0);
    ch_buf_addf(out, "<details%s><summary><span class=\"%s\">%.0f %%</span> ",
                pass < 1 ? " open" : "", pass < 1 ? "no" : "ok", 100 * pass);
    ch_eval_escape(out, ch_json_get_str(c, "name"));
    ch_buf_add_str(out, " <small>");
    ch_eval_escape(out, ch_json_get_str(c, "agent"));
    ch_buf_addc(out, ' ');
    ch_eval_escape(out, ch_json_get_str(c, "model"));
    ch_buf_add_str(out, "</small></summary>\n<div class=\"side\">\n");
    for (CH_JSON_EACH(t, ch_json_get(c, "trials")))
        add_trial(out, t);
    ch_buf_add_str(out, "</div></details>\n");
}

void ch_eval_page(const struct ch_json *report, struct ch_buf *out) {
    const struct ch_json *s = ch_json_get(report, "summary"), *i = ch_json_get(s, "interval");
    ch_buf_add_str(out, head);
    ch_buf_addf(out, "<p><b>%.0f %%</b> pass (%.0f to %.0f %% with 95 %% confidence), %lld cases, "
                     "%lld trials, $%.4f</p>\n",
                100 * ch_eval_number(s, "pass"), 100 * ch_json_double(ch_json_at(i, 0), 0),
                100 * ch_json_double(ch_json_at(i, 1), 1),
                (long long)ch_json_int(ch_json_get(s, "cases"), 0),
                (long long)ch_json_int(ch_json_get(s, "trials"), 0), ch_eval_number(s, "cost_usd"));
    for (CH_JSON_EACH(c, ch_json_get(report, "cases")))
        add_case(out, c);
    ch_buf_add_str(out, "</body></html>\n");
}
