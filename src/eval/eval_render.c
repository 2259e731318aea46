/* eval_render.c -- writes a report as a table, as JUnit XML or as a page; see chela/eval.h. */
#include <math.h>

#include "base/error.h"
#include "base/utf8.h"
#include "chela/eval.h"
#include "eval/eval_page.h"
#include "eval/eval_report.h"
#include "json/writer.h"

#define MOST_NAME 40
#define MOST_WHY 160

double ch_eval_number(const struct ch_json *object, const char *key) {
    const struct ch_json *v = ch_json_get(object, key);
    return ch_json_double(v, NAN);
}

const struct ch_json *ch_eval_failed_check(const struct ch_json *trial) {
    for (CH_JSON_EACH(e, ch_json_get(trial, "checks")))
        if (!ch_json_bool(ch_json_get(e, "pass"), false))
            return e;
    return NULL;
}

/* A text on one line of a terminal. */
static void add_line_text(struct ch_buf *out, struct ch_sv text, size_t most) {
    struct ch_sv cut = ch_utf8_cut(text, most);
    for (size_t i = 0; i < cut.n; i++)
        ch_buf_addc(out, (unsigned char)cut.p[i] < ' ' || cut.p[i] == 127 ? ' ' : cut.p[i]);
    if (cut.n < text.n)
        ch_buf_add_str(out, "...");
}

/* --- the table --------------------------------------------------------------------------- */

static void add_percent(struct ch_buf *out, const struct ch_json *of) {
    const struct ch_json *interval = ch_json_get(of, "interval");
    ch_buf_addf(out, "%3.0f %% (%.0f-%.0f %%)", 100 * ch_eval_number(of, "pass"),
                100 * ch_json_double(ch_json_at(interval, 0), NAN),
                100 * ch_json_double(ch_json_at(interval, 1), NAN));
}

static void add_failure(struct ch_buf *out, const struct ch_json *trials) {
    for (CH_JSON_EACH(t, trials)) {
        const struct ch_json *check = ch_eval_failed_check(t);
        if (!check)
            continue;
        ch_buf_addf(out, "    trial %lld, ", (long long)ch_json_int(ch_json_get(t, "n"), 0));
        add_line_text(out, ch_json_get_str(check, "check"), 60);
        ch_buf_add_str(out, ": ");
        add_line_text(out, ch_json_get_str(check, "why"), MOST_WHY);
        ch_buf_addc(out, '\n');
        return;
    }
}

static void add_row(struct ch_buf *out, const struct ch_json *c, bool variants) {
    const struct ch_json *trials = ch_json_get(c, "trials");
    size_t n = trials ? trials->n : 0, passed = 0;
    CH_BUF_AUTO name = {0};
    for (CH_JSON_EACH(t, trials))
        passed += ch_json_bool(ch_json_get(t, "pass"), false);
    add_line_text(&name, ch_json_get_str(c, "name"), MOST_NAME);
    const char *word = !n ? "not run" : passed == n ? "ok" : passed ? "flaky" : "FAILED";
    ch_buf_addf(out, "%-7s  %-*s  %zu of %zu", word, MOST_NAME + 3, ch_buf_str(&name), passed, n);
    if (variants) {
        ch_buf_add_str(out, "  ");
        add_line_text(out, ch_json_get_str(c, "agent"), 20);
        ch_buf_addc(out, ' ');
        add_line_text(out, ch_json_get_str(c, "model"), 40);
    }
    ch_buf_addc(out, '\n');
    add_failure(out, trials);
}

static void add_names(struct ch_buf *out, const char *title, const struct ch_json *list) {
    size_t n = 0;
    if (!list || !list->n)
        return;
    ch_buf_addf(out, "%s", title);
    for (CH_JSON_EACH(e, list)) {
        if (++n > 20)
            break;
        ch_buf_add_str(out, n > 1 ? ", " : " ");
        add_line_text(out, ch_json_str(e), MOST_NAME);
    }
    ch_buf_addf(out, "%s\n", list->n > 20 ? ", ..." : "");
}

static void add_judges(struct ch_buf *out, const struct ch_json *judges) {
    for (CH_JSON_EACH(j, judges)) {
        int64_t n = ch_json_int(ch_json_get(j, "labelled"), 0);
        ch_buf_add_str(out, "judge    \"");
        add_line_text(out, ch_json_get_str(j, "rubric"), 60);
        if (!n) {
            ch_buf_add_str(out, "\": agreement not measured; `labelled` of the check takes answers "
                                "with the right verdict\n");
            continue;
        }
        const struct ch_json *interval = ch_json_get(j, "interval");
        ch_buf_addf(out, "\": agrees with %.0f %% (%.0f-%.0f %%) of %lld labelled answers",
                    100 * ch_eval_number(j, "agreement"),
                    100 * ch_json_double(ch_json_at(interval, 0), NAN),
                    100 * ch_json_double(ch_json_at(interval, 1), NAN), (long long)n);
        if (isfinite(ch_eval_number(j, "kappa")))
            ch_buf_addf(out, ", kappa %.2f", ch_eval_number(j, "kappa"));
        ch_buf_addf(out, "; right on %.0f %% of the good and %.0f %% of the bad\n",
                    100 * ch_eval_number(j, "true_positive_rate"),
                    100 * ch_eval_number(j, "true_negative_rate"));
    }
}

static void add_against(struct ch_buf *out, const struct ch_json *a) {
    if (!a)
        return;
    ch_buf_addf(out,
                "against  %.0f %% before, %.0f %% now: %lld cases better, %lld worse, p = %.3f: ",
                100 * ch_eval_number(a, "pass"), 100 * ch_eval_number(a, "now"),
                (long long)ch_json_int(ch_json_get(a, "better"), 0),
                (long long)ch_json_int(ch_json_get(a, "worse"), 0), ch_eval_number(a, "p"));
    if (ch_sv_is(ch_json_get_str(a, "verdict"), "unclear"))
        ch_buf_addf(out, "cannot tell (a difference below %.0f points would not have been seen)\n",
                    100 * ch_eval_number(a, "visible"));
    else
        ch_buf_addf(out, "%.*s\n", CH_SV_FMT(ch_json_get_str(a, "verdict")));
    add_names(out, "worse   ", ch_json_get(a, "worse_cases"));
}

static void add_counts(struct ch_buf *out, const struct ch_json *s) {
    static const struct {
        const char *key, *text;
    } counts[] = {{"invalid", "trials could not be run, and do not pass"},
                  {"service_failures", "trials failed because the model's service failed twice"},
                  {"reused", "trials were kept from an evaluation that was interrupted"}};
    for (size_t i = 0; i < CH_LEN(counts); i++)
        if (ch_json_int(ch_json_get(s, counts[i].key), 0) > 0)
            ch_buf_addf(out, "note     %lld %s\n",
                        (long long)ch_json_int(ch_json_get(s, counts[i].key), 0), counts[i].text);
}

static void render_text(const struct ch_json *report, struct ch_buf *out) {
    const struct ch_json *s = ch_json_get(report, "summary"), *pass_k = ch_json_get(s, "pass_k");
    const struct ch_json *variants = ch_json_get(s, "variants");
    for (CH_JSON_EACH(c, ch_json_get(report, "cases")))
        add_row(out, c, variants && variants->n > 1);
    ch_buf_add_str(out, "\npass     ");
    add_percent(out, s);
    ch_buf_addf(out, "  %lld cases, %lld trials\n",
                (long long)ch_json_int(ch_json_get(s, "cases"), 0),
                (long long)ch_json_int(ch_json_get(s, "trials"), 0));
    for (CH_JSON_MEMBERS(k, v, pass_k))
        if (pass_k->n > 1)
            ch_buf_addf(out, "pass^%.*s   %3.0f %%\n", CH_SV_FMT(ch_json_str(k)),
                        100 * ch_json_double(v, NAN));
    for (CH_JSON_EACH(v, variants && variants->n > 1 ? variants : NULL)) {
        ch_buf_add_str(out, "variant  ");
        add_percent(out, v);
        ch_buf_addf(out, "  %.*s %.*s\n", CH_SV_FMT(ch_json_get_str(v, "agent")),
                    CH_SV_FMT(ch_json_get_str(v, "model")));
    }
    for (CH_JSON_MEMBERS(k, v, ch_json_get(s, "tags"))) {
        ch_buf_add_str(out, "tag      ");
        add_percent(out, v);
        ch_buf_addf(out, "  %.*s\n", CH_SV_FMT(ch_json_str(k)));
    }
    add_names(out, "flaky   ", ch_json_get(s, "flaky"));
    ch_buf_addf(out, "cost     $%.4f%s\n", ch_eval_number(s, "cost_usd"),
                ch_json_bool(ch_json_get(s, "cost_complete"), true)
                    ? ""
                    : " (and calls without a known price)");
    add_judges(out, ch_json_get(s, "judges"));
    add_against(out, ch_json_get(s, "against"));
    add_counts(out, s);
}

/* --- JUnit ------------------------------------------------------------------------------- */

void ch_eval_escape(struct ch_buf *out, struct ch_sv text) {
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        const char *entity = c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;"
                             : c == '"' ? "&quot;" : c == '\'' ? "&#39;" : NULL;
        if (entity)
            ch_buf_add_str(out, entity);
        else
            ch_buf_addc(out, c < ' ' && c != '\n' && c != '\t' ? ' ' : (char)c);
    }
}

static void add_attribute(struct ch_buf *out, const char *name, struct ch_sv value) {
    ch_buf_addf(out, " %s=\"", name);
    ch_eval_escape(out, value);
    ch_buf_addc(out, '"');
}

/* One test case for each case and variant; it fails unless every trial passes. */
static bool junit_case(struct ch_buf *out, const struct ch_json *c) {
    const struct ch_json *trials = ch_json_get(c, "trials");
    double seconds = 0;
    bool ok = trials && trials->n;
    for (CH_JSON_EACH(t, trials)) {
        seconds += ch_json_double(ch_json_get(t, "seconds"), 0);
        ok = ok && ch_json_bool(ch_json_get(t, "pass"), false);
    }
    ch_buf_add_str(out, "<testcase");
    add_attribute(out, "classname", ch_json_get_str(c, "model"));
    add_attribute(out, "name", ch_json_get_str(c, "name"));
    ch_buf_addf(out, " time=\"%.3f\">\n", seconds);
    if (!ok) {
        ch_buf_addf(out, "<failure message=\"passes %.0f %% of the trials\">",
                    100 * ch_json_double(ch_json_get(c, "pass"), 0));
        CH_BUF_AUTO text = {0};
        add_failure(&text, trials);
        ch_eval_escape(out, ch_sv_trim(ch_buf_sv(&text)));
        ch_buf_add_str(out, "</failure>\n");
    }
    ch_buf_add_str(out, "</testcase>\n");
    return ok;
}

static void render_junit(const struct ch_json *report, struct ch_buf *out) {
    CH_BUF_AUTO cases = {0};
    size_t n = 0, failures = 0;
    for (CH_JSON_EACH(c, ch_json_get(report, "cases"))) {
        n++;
        failures += !junit_case(&cases, c);
    }
    ch_buf_addf(out,
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite "
                "name=\"chela eval\" tests=\"%zu\" failures=\"%zu\">\n",
                n, failures);
    ch_buf_add_sv(out, ch_buf_sv(&cases));
    ch_buf_add_str(out, "</testsuite>\n</testsuites>\n");
}

char *chela_eval_render(const char *report, enum chela_eval_form form, struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    struct ch_buf out = {0};
    const struct ch_json *v;
    if (ch_json_parse(&arena, ch_sv_str(report ? report : ""), CH_JSON_STRICT, &v, NULL, err) < 0)
        return NULL;
    if (!ch_json_get(v, "summary") || form > CHELA_EVAL_HTML) {
        ch_fail(err, CHELA_EINVAL, form > CHELA_EVAL_HTML
                                       ? "there is no such form of a report"
                                       : "the text is not a report of an evaluation");
        return NULL;
    }
    if (form == CHELA_EVAL_TEXT)
        render_text(v, &out);
    else if (form == CHELA_EVAL_JUNIT)
        render_junit(v, &out);
    else
        ch_eval_page(v, &out);
    return ch_buf_take(&out);
}
