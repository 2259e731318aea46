/* prompt_report.c -- see prompt_report.h. */
#include "cli/report/prompt_report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/support/draft.h"
#include "cli/support/input.h"
#include "cli/support/markup.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"
#include "cli/support/state_path.h"
#include "cli/term/table.h"

char *ch_prompt_member(const char *json, const char *pointer) {
    char *value = chela_json_get(json, strlen(json), pointer, NULL);
    char *copy = ch_dup(value && strcmp(value, "null") != 0 ? value : "");
    chela_free(value);
    return copy;
}

static char *in_case(const char *report, size_t i, const char *member) {
    char *pointer = ch_format("/cases/%zu/%s", i, member);
    char *value = ch_prompt_member(report, pointer);
    free(pointer);
    return value;
}

static char *failure(const char *report, size_t i, size_t k, const char *member) {
    char *pointer = ch_format("/cases/%zu/failures/%zu/%s", i, k, member);
    char *value = chela_json_get(report, strlen(report), pointer, NULL);
    char *copy = value ? ch_dup(value) : NULL;
    chela_free(value);
    free(pointer);
    return copy;
}

static double prompt_report_number(const char *json, const char *pointer) {
    char *text = ch_prompt_member(json, pointer);
    double value = strtod(text, NULL);
    free(text);
    return value;
}

static double case_number(const char *report, size_t i, const char *member) {
    char *text = in_case(report, i, member);
    double value = strtod(text, NULL);
    free(text);
    return value;
}

static bool prompt_report_holds(char *value, const char *wanted) {
    bool same = strcmp(value, wanted) == 0;
    free(value);
    return same;
}

/* --- for people ----------------------------------------------------------------- */

static void fill_case(char **row, const char *report, size_t i, bool dry) {
    bool ok = prompt_report_holds(in_case(report, i, "ok"), "true");
    row[0] = in_case(report, i, "name");
    row[1] = in_case(report, i, "kind");
    if (!dry) {
        row[2] = ch_format("%.0f of %.0f", case_number(report, i, "passed"),
                           case_number(report, i, "runs"));
        row[3] = ch_format("%3.0f %%", 100 * case_number(report, i, "rate"));
        row[4] = ch_format("%.0f-%.0f %%", 100 * case_number(report, i, "low"),
                           100 * case_number(report, i, "high"));
    }
    row[dry ? 2 : 5] = ch_dup(ok ? "ok" : "FAILED");
}

/* Long or multi-line text is truncated to one line. */
static void prompt_report_print_line(FILE *out, const char *label, const char *text) {
    fprintf(out, "  %s", label);
    size_t n = 0;
    for (; *text && n < 300; text++, n++)
        fputc(*text == '\n' || *text == '\t' ? ' ' : *text, out);
    while (*text && ((unsigned char)*text & 0xc0) == 0x80) /* do not end inside a character */
        fputc(*text++, out);
    fputs(*text ? "...\n" : "\n", out);
}

static void print_failure(FILE *out, const char *report, size_t i, size_t k, const char *why) {
    char *answer = failure(report, i, k, "answer");
    prompt_report_print_line(out, "", why);
    if (answer && *answer)
        prompt_report_print_line(out, "answer: ", answer);
    free(answer);
}

/* Equal failures are printed once. */
static void print_failures(FILE *out, const char *report) {
    for (size_t i = 0;; i++) {
        char *name = in_case(report, i, "name");
        bool last = !*name;
        char *before = NULL;
        for (size_t k = 0; !last; k++) {
            char *why = failure(report, i, k, "why");
            if (why && k == 0)
                fprintf(out, "\n%s\n", name);
            if (why && (!before || strcmp(why, before) != 0))
                print_failure(out, report, i, k, why);
            free(before);
            before = why;
            if (!why)
                break;
        }
        free(before);
        free(name);
        if (last)
            return;
    }
}

static size_t count_cases(const char *report, const char *ok) {
    size_t n = 0;
    for (size_t i = 0;; i++) {
        char *value = in_case(report, i, "ok");
        bool last = !*value;
        n += !last && (!ok || strcmp(value, ok) == 0);
        free(value);
        if (last)
            return n;
    }
}

static void prompt_report_print_summary(FILE *out, const char *report, bool dry) {
    char *fingerprint = ch_prompt_member(report, "/fingerprint");
    char *model = ch_prompt_member(report, "/model");
    size_t cases = count_cases(report, NULL), good = count_cases(report, "true");
    if (dry)
        fprintf(out, "\n%s: %zu of %zu cases are sound; no model was asked\n", fingerprint, good,
                cases);
    else
        fprintf(out,
                "\n%s on %s: %zu of %zu cases reach %.0f %%; %.0f of %.0f answers pass "
                "(%.0f-%.0f %%)\n",
                fingerprint, model, good, cases, 100 * prompt_report_number(report, "/threshold"),
                prompt_report_number(report, "/passed"), prompt_report_number(report, "/runs"),
                100 * prompt_report_number(report, "/low"),
                100 * prompt_report_number(report, "/high"));
    free(fingerprint);
    free(model);
}

void ch_prompt_table(FILE *out, const char *report) {
    static const char *const heads[] = {"CASE", "KIND", "PASSED", "RATE", "95 %", "RESULT", NULL};
    static const char *const dry_heads[] = {"CASE", "KIND", "RESULT", NULL};
    bool dry = prompt_report_holds(ch_prompt_member(report, "/model"), "");
    struct ch_table t = {.heads = dry ? dry_heads : heads};
    for (size_t i = 0, n = count_cases(report, NULL); i < n; i++)
        fill_case(ch_table_row(&t), report, i, dry);
    ch_table_print(&t, out);
    ch_table_release(&t);
    print_failures(out, report);
    prompt_report_print_summary(out, report, dry);
}

void ch_prompt_compared(FILE *out, const char *compare, const char *a, const char *b) {
    static const char *const words[][2] = {
        {"better", "better"}, {"worse", "worse"}, {"same", "no difference that is certain"}};
    const char *verdict = "";
    char *word = ch_prompt_member(compare, "/verdict");
    char *old = ch_prompt_member(a, "/fingerprint"), *new = ch_prompt_member(b, "/fingerprint");
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i][0], word) == 0)
            verdict = words[i][1];
    fprintf(out, "\n%s against %s: %+.0f points (%+.0f to %+.0f): %s\n", new, old,
            100 * prompt_report_number(compare, "/difference"),
            100 * prompt_report_number(compare, "/low"),
            100 * prompt_report_number(compare, "/high"), verdict);
    for (size_t i = 0;; i++) {
        char *name = in_case(compare, i, "name");
        double before = 100 * case_number(compare, i, "a");
        double after = 100 * case_number(compare, i, "b");
        bool last = !*name;
        if (!last && fabs(before - after) > 0.5)
            fprintf(out, "  %3.0f %% -> %3.0f %%  %s\n", before, after, name);
        free(name);
        if (last)
            break;
    }
    free(word);
    free(old);
    free(new);
}

/* --- for CI --------------------------------------------------------------------- */

static void write_failures(FILE *out, const char *report, size_t i) {
    fputs("      <failure message=\"", out);
    char *runs = in_case(report, i, "runs"), *passed = in_case(report, i, "passed");
    if (*runs)
        fprintf(out, "%s of %s runs passed", passed, runs);
    else
        fputs("the case is not sound", out);
    fputs("\">", out);
    for (size_t k = 0;; k++) {
        char *why = failure(report, i, k, "why"), *answer = failure(report, i, k, "answer");
        bool last = !why;
        if (why) {
            ch_markup_str(out, why);
            fputs("&#10;  ", out);
            ch_markup_str(out, answer ? answer : "");
            fputs("&#10;", out);
        }
        free(why);
        free(answer);
        if (last)
            break;
    }
    fputs("</failure>\n", out);
    free(runs);
    free(passed);
}

static void prompt_report_write_time(FILE *out, const char *report) {
    time_t seconds = (time_t)(prompt_report_number(report, "/ts") / 1000);
    struct tm tm;
    char text[32] = "";
    if (gmtime_r(&seconds, &tm))
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
    fputs(text, out);
}

void ch_prompt_junit(FILE *out, const char *report) {
    char *fingerprint = ch_prompt_member(report, "/fingerprint");
    char *model = ch_prompt_member(report, "/model");
    size_t n = count_cases(report, NULL);
    fputs("  <testsuite name=\"", out);
    ch_markup_str(out, fingerprint);
    fprintf(out, "\" tests=\"%zu\" failures=\"%zu\" timestamp=\"", n,
            count_cases(report, "false"));
    prompt_report_write_time(out, report);
    fputs("\">\n    <properties><property name=\"model\" value=\"", out);
    ch_markup_str(out, model);
    fputs("\"/></properties>\n", out);
    for (size_t i = 0; i < n; i++) {
        char *name = in_case(report, i, "name"), *kind = in_case(report, i, "kind");
        bool ok = prompt_report_holds(in_case(report, i, "ok"), "true");
        fputs("    <testcase classname=\"", out);
        ch_markup_str(out, fingerprint);
        fprintf(out, ".%s\" name=\"", kind);
        ch_markup_str(out, name);
        fputs(ok ? "\"/>\n" : "\">\n", out);
        if (!ok) {
            write_failures(out, report, i);
            fputs("    </testcase>\n", out);
        }
        free(name);
        free(kind);
    }
    fputs("  </testsuite>\n", out);
    free(fingerprint);
    free(model);
}

/* --- stored reports ------------------------------------------------------------- */

char *ch_prompt_results_dir(const struct ch_env *env) {
    return ch_state_path(env, "prompt-tests");
}

int ch_prompt_keep(const char *dir, const char *report, struct chela_error *err) {
    char *fingerprint = ch_prompt_member(report, "/fingerprint");
    char *path = ch_format("%s/%s.jsonl", dir, fingerprint);
    int rc = ch_state_make_parents(path, err);
    FILE *f = rc == 0 ? fopen(path, "ae") : NULL;
    bool lost = !f || fprintf(f, "%s\n", report) < 0;
    if (f && fclose(f) != 0)
        lost = true;
    if (rc == 0 && lost)
        rc = ch_problem(err, CHELA_EIO, "%s: %s", path, strerror(errno));
    free(path);
    free(fingerprint);
    return rc;
}

char *ch_prompt_last(const char *dir, const char *fingerprint) {
    char *path = ch_format("%s/%s.jsonl", dir, fingerprint), *last = NULL;
    struct chela_error err = {0};
    struct ch_cli_input in = {0};
    if (ch_input_file(path, CH_INPUT_BODY, &in, &err) == 0) {
        while (in.n && in.p[in.n - 1] == '\n')
            in.p[--in.n] = '\0';
        char *line = strrchr(in.p, '\n');
        last = in.n ? ch_dup(line ? line + 1 : in.p) : NULL;
    }
    ch_input_release(&in);
    free(path);
    return last;
}
