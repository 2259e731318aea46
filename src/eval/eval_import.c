/* eval_import.c -- reads data sets, one JSON object a line; see chela/eval.h. The forms are those
 * of OpenAI's evals (input, ideal), Inspect (input, target, id), LangSmith (inputs, outputs),
 * Langfuse (input, expectedOutput) and plain pairs of question and answer. */
#include "eval/eval_import.h"

#include <stdio.h>

#include "base/error.h"
#include "base/limits.h"
#include "chela/eval.h"
#include "eval/eval_print.h"
#include "json/yaml.h"

void ch_eval_import_lost(struct ch_eval_importing *m, struct ch_sv name, struct ch_sv what,
                         const char *why) {
    struct ch_jw w = ch_jw(&m->lost);
    CH_BUF_AUTO text = {0};
    w.comma = m->lost.n > 0;
    ch_buf_addf(&text, "%.*s: %s", CH_SV_FMT(what), why);
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "case", name);
    ch_jw_kcstr(&w, "what", ch_buf_str(&text));
    ch_jw_end(&w, '}');
}

void ch_eval_import_quote(struct ch_buf *out, struct ch_sv text, bool any_case) {
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (letter && any_case)
            ch_buf_addf(out, "[%c%c]", c & ~0x20, c | 0x20);
        else if (strchr("\\^$.|?*+()[]{}/", c) && c)
            ch_buf_addf(out, "\\%c", c);
        else
            ch_buf_addc(out, c);
    }
}

/* --- rows -------------------------------------------------------------------------------- */

static const struct ch_json *first_of(const struct ch_json *v, const char *const *keys, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const struct ch_json *member = ch_json_get(v, keys[i]);
        if (member && member->type != CH_JSON_NULL)
            return member;
    }
    return NULL;
}

static const struct ch_json *input_of(const struct ch_json *row) {
    static const char *const keys[] = {"input", "inputs", "messages", "question", "prompt",
                                       "query", "problem", "instruction"};
    const struct ch_json *v = first_of(row, keys, CH_LEN(keys));
    return ch_json_is(v, CH_JSON_OBJECT) && !ch_json_get(v, "role") ? input_of(v) : v;
}

static const struct ch_json *expected_of(const struct ch_json *row) {
    static const char *const keys[] = {"ideal",  "target",  "expectedOutput", "expected_output",
                                       "expected", "answer", "outputs",       "output",
                                       "reference", "solution"};
    const struct ch_json *v = first_of(row, keys, CH_LEN(keys));
    return ch_json_is(v, CH_JSON_OBJECT) ? expected_of(v) : v;
}

/* The text of a message, or of its text parts. */
static void add_message_text(struct ch_buf *out, const struct ch_json *m) {
    const struct ch_json *content = ch_json_get(m, "content");
    ch_buf_add_sv(out, ch_json_str(content));
    for (CH_JSON_EACH(b, content))
        ch_buf_add_sv(out, ch_json_get_str(b, "text"));
}

static void write_messages(struct ch_eval_importing *m, struct ch_jw *w, struct ch_sv name,
                           const struct ch_json *list) {
    size_t last = 0, i = 0, before = 0;
    CH_BUF_AUTO input = {0};
    CH_BUF_AUTO history = {0};
    struct ch_jw h = ch_jw(&history);
    for (CH_JSON_EACH(e, list)) {
        last = ch_sv_is(ch_json_get_str(e, "role"), "user") ? i : last;
        i++;
    }
    i = 0;
    for (CH_JSON_EACH(e, list)) {
        struct ch_sv role = ch_json_get_str(e, "role");
        CH_BUF_AUTO text = {0};
        add_message_text(&text, e);
        if (ch_sv_is(role, "system") || ch_sv_is(role, "developer")) {
            ch_eval_import_lost(m, name, role, "the instructions of the agent count");
        } else if (i < last) {
            ch_jw_begin(&h, '{');
            ch_jw_kstr(&h, "role", role);
            ch_jw_kstr(&h, "content", ch_buf_sv(&text));
            ch_jw_end(&h, '}');
            before++;
        } else if (i == last) {
            ch_buf_add_sv(&input, ch_buf_sv(&text));
        }
        i++;
    }
    ch_jw_kcstr(w, "input", ch_buf_str(&input));
    if (!before)
        return;
    ch_jw_kbegin(w, "history", '[');
    ch_jw_raw(w, ch_buf_sv(&history));
    ch_jw_end(w, ']');
}

/* Any of the accepted answers. */
static void write_expected(struct ch_jw *w, const struct ch_json *v) {
    CH_BUF_AUTO pattern = {0};
    ch_jw_kbegin(w, "checks", '{');
    ch_jw_kbegin(w, "answer", '{');
    if (ch_json_is(v, CH_JSON_ARRAY) && v->n > 1) {
        for (CH_JSON_EACH(e, v)) {
            CH_BUF_AUTO text = {0};
            ch_json_add_text(&text, e);
            ch_buf_add_str(&pattern, pattern.n ? "|" : "(?:");
            ch_eval_import_quote(&pattern, ch_buf_sv(&text), false);
        }
        ch_buf_addc(&pattern, ')');
        ch_jw_kcstr(w, "matches", ch_buf_str(&pattern));
    } else {
        ch_json_add_text(&pattern, ch_json_is(v, CH_JSON_ARRAY) ? ch_json_at(v, 0) : v);
        ch_jw_kcstr(w, "contains", ch_buf_str(&pattern));
    }
    ch_jw_end(w, '}');
    ch_jw_end(w, '}');
}

static void row_name(const struct ch_json *row, size_t n, struct ch_buf *out) {
    static const char *const keys[] = {"name", "id", "case", "task_id", "instance_id"};
    const struct ch_json *v = first_of(row, keys, CH_LEN(keys));
    if (v && v->type != CH_JSON_OBJECT && v->type != CH_JSON_ARRAY)
        ch_json_add_text(out, v);
    if (!out->n)
        ch_buf_addf(out, "row %zu", n);
}

void ch_eval_import_row(const struct ch_json *row, size_t n, struct ch_eval_importing *m) {
    const struct ch_json *item = ch_json_get(row, "item");
    row = ch_json_is(item, CH_JSON_OBJECT) ? item : row;
    const struct ch_json *input = input_of(row), *expected = expected_of(row);
    CH_BUF_AUTO name = {0};
    CH_BUF_AUTO text = {0};
    row_name(row, n, &name);
    if (input && expected && input->type != CH_JSON_ARRAY)
        ch_json_add_text(&text, input);
    bool some = input && expected && (ch_json_is(input, CH_JSON_ARRAY) ? input->n : text.n);
    if (!some || (expected->type == CH_JSON_ARRAY && !expected->n)) {
        ch_eval_import_lost(m, ch_buf_sv(&name), CH_SV("row"),
                            input ? "there is no expected answer, so that nothing could be checked"
                                  : "there is no input");
        return;
    }
    struct ch_jw w = ch_jw(&m->cases);
    w.comma = m->cases.n > 0;
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "name", ch_buf_str(&name));
    if (input->type == CH_JSON_ARRAY)
        write_messages(m, &w, ch_buf_sv(&name), input);
    else
        ch_jw_kcstr(&w, "input", ch_buf_str(&text));
    write_expected(&w, expected);
    ch_jw_end(&w, '}');
    m->n++;
    if (ch_json_get(row, "choices"))
        ch_eval_import_lost(m, ch_buf_sv(&name), CH_SV("choices"), "put them into the input");
}

static int import_lines(struct ch_sv text, const char *name, struct ch_eval_importing *m,
                        struct chela_error *err) {
    for (size_t n = 1; text.n; n++) {
        CH_ARENA_AUTO arena = {0};
        const struct ch_json *v = NULL;
        struct chela_error why = {0};
        struct ch_sv line = ch_sv_trim(ch_sv_split(&text, '\n'));
        if (!line.n)
            continue;
        if (ch_json_parse(&arena, line, CH_JSON_REPLACE, &v, NULL, &why) < 0 ||
            v->type != CH_JSON_OBJECT)
            return ch_fail(err, CHELA_EPARSE, "%s:%zu: expected a JSON object%s%s", name, n,
                           why.code ? ": " : "", why.message);
        ch_eval_import_row(v, n, m);
        if (m->n > CH_LIMIT_EVAL_CASES)
            return ch_fail(err, CHELA_ELIMIT, "%s: more than %d cases", name, CH_LIMIT_EVAL_CASES);
    }
    return 0;
}

/* --- the whole --------------------------------------------------------------------------- */

static int import_document(struct ch_sv text, const char *name, struct ch_eval_importing *m,
                           struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    struct ch_yaml yaml;
    int rc = ch_yaml_parse(&arena, text, name, &yaml, err);
    size_t n = 0;
    if (rc < 0)
        return rc;
    for (CH_JSON_EACH(row, yaml.root))
        ch_eval_import_row(row, ++n, m);
    return yaml.root->type == CH_JSON_ARRAY ? 0 : ch_eval_import_promptfoo(yaml.root, m, err);
}

static char *write_imported(struct ch_eval_importing *m, struct chela_error *err) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kbegin(&w, "cases", '[');
    ch_jw_raw(&w, ch_buf_sv(&m->cases));
    ch_jw_end(&w, ']');
    ch_jw_kbegin(&w, "lost", '[');
    if (m->lost.n)
        ch_jw_raw(&w, ch_buf_sv(&m->lost));
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    return ch_eval_print_safe(ch_buf_sv(&out), err);
}

char *chela_eval_import(const char *text, size_t len, const char *name, struct chela_error *err) {
    struct ch_eval_importing m = {0};
    struct ch_sv all = ch_sv(text ? text : "", text ? len : 0);
    name = name ? name : "cases";
    int rc = ch_sv_ends(ch_sv_str(name), ".jsonl") ? import_lines(all, name, &m, err)
                                                   : import_document(all, name, &m, err);
    if (rc == 0 && !m.n)
        rc = ch_fail(err, CHELA_EINVAL, "%s: there is no case with an input and an expected answer",
                     name);
    char *out = rc == 0 ? write_imported(&m, err) : NULL;
    ch_buf_release(&m.cases);
    ch_buf_release(&m.lost);
    return out;
}
