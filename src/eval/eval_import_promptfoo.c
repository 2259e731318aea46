/* eval_import_promptfoo.c -- translates a configuration of promptfoo; see eval_import.h.
 *
 * Each prompt with each test is a case. Placeholders {{name}} are replaced by the variables of the
 * test. A check without a counterpart is listed and left out; a test of which no check remains is
 * listed and is no case. */
#include "base/error.h"
#include "eval/eval_import.h"

struct checks { /* of one case: JSON values of each kind, separated by commas */
    struct ch_buf equals, contains, matches, schema, judge, budget;
    size_t n;
};

static void checks_release(struct checks *c) {
    struct ch_buf *all[] = {&c->equals, &c->contains, &c->matches,
                            &c->schema, &c->judge,    &c->budget};
    for (size_t i = 0; i < CH_LEN(all); i++)
        ch_buf_release(all[i]);
}

/* --- templates --------------------------------------------------------------------------- */

static const struct ch_json *variable(const struct ch_json *vars, const struct ch_json *common,
                                      struct ch_sv name) {
    const struct ch_json *v = ch_json_get_sv(vars, name);
    return v ? v : ch_json_get_sv(common, name);
}

static void fill(struct ch_buf *out, struct ch_sv text, const struct ch_json *vars,
                 const struct ch_json *common) {
    while (text.n) {
        const char *open = memmem(text.p, text.n, "{{", 2);
        const char *close =
            open ? memmem(open, text.n - (size_t)(open - text.p), "}}", 2) : NULL;
        if (!close) {
            ch_buf_add_sv(out, text);
            return;
        }
        struct ch_sv name = ch_sv_trim(ch_sv(open + 2, (size_t)(close - open) - 2));
        const struct ch_json *v = variable(vars, common, name);
        ch_buf_add(out, text.p, (size_t)(open - text.p));
        if (v)
            ch_json_add_text(out, v);
        else
            ch_buf_add(out, open, (size_t)(close - open) + 2);
        text = ch_sv(close + 2, text.n - (size_t)(close + 2 - text.p));
    }
}

/* --- checks ------------------------------------------------------------------------------ */

struct filled { /* an assertion with its value */
    struct ch_sv type;
    bool no;
    struct ch_sv value; /* as text, with variables filled in */
    const struct ch_json *json, *self;
};

static void add_string(struct checks *c, struct ch_buf *list, struct ch_sv text) {
    if (list->n)
        ch_buf_addc(list, ',');
    ch_json_quote(list, text);
    c->n++;
}

/* A pattern; no: of a text without a match. */
static void add_pattern(struct checks *c, struct ch_sv pattern, bool no) {
    CH_BUF_AUTO whole = {0};
    if (no)
        ch_buf_addf(&whole, "^(?![\\s\\S]*(?:%.*s))", CH_SV_FMT(pattern));
    add_string(c, &c->matches, no ? ch_buf_sv(&whole) : pattern);
}

static void add_words(struct checks *c, const struct filled *f, bool any_case, bool all) {
    CH_BUF_AUTO pattern = {0};
    for (CH_JSON_EACH(e, f->json)) {
        CH_BUF_AUTO word = {0};
        ch_json_add_text(&word, e);
        if (all) {
            ch_buf_clear(&pattern);
            ch_eval_import_quote(&pattern, ch_buf_sv(&word), any_case);
            add_pattern(c, ch_buf_sv(&pattern), f->no);
            continue;
        }
        ch_buf_add_str(&pattern, pattern.n ? "|" : "");
        ch_eval_import_quote(&pattern, ch_buf_sv(&word), any_case);
    }
    if (!all && pattern.n)
        add_pattern(c, ch_buf_sv(&pattern), f->no);
}

static void add_budget(struct checks *c, const char *key, const struct filled *f, double scale) {
    double most = ch_json_double(ch_json_get(f->self, "threshold"), -1);
    if (most < 0)
        return;
    ch_buf_addf(&c->budget, "%s\"%s\":%.9g", c->budget.n ? "," : "", key, most * scale);
    c->n++;
}

static void add_judge(struct checks *c, const struct filled *f, bool reference) {
    struct ch_jw w = ch_jw(&c->judge);
    w.comma = c->judge.n > 0;
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "rubric", reference ? CH_SV("The answer agrees with the reference answer in all "
                                               "facts that both state.")
                                       : f->value);
    if (reference)
        ch_jw_kstr(&w, "reference", f->value);
    ch_jw_end(&w, '}');
    c->n++;
}

static bool add_text_check(struct checks *c, const struct filled *f) {
    CH_BUF_AUTO pattern = {0};
    bool any_case = ch_sv_starts(f->type, "icontains");
    if (ch_sv_is(f->type, "equals") && !f->no) {
        add_string(c, &c->equals, f->value);
    } else if (ch_sv_is(f->type, "contains") && !f->no) {
        add_string(c, &c->contains, f->value);
    } else if (ch_sv_is(f->type, "regex")) {
        add_pattern(c, f->value, f->no);
    } else if (ch_sv_ends(f->type, "contains-all") || ch_sv_ends(f->type, "contains-any")) {
        add_words(c, f, any_case, ch_sv_ends(f->type, "-all"));
    } else if (ch_sv_is(f->type, "contains") || ch_sv_is(f->type, "icontains")) {
        ch_eval_import_quote(&pattern, f->value, any_case);
        add_pattern(c, ch_buf_sv(&pattern), f->no);
    } else if (ch_sv_is(f->type, "starts-with") || ch_sv_is(f->type, "equals")) {
        ch_buf_addc(&pattern, '^');
        ch_eval_import_quote(&pattern, f->value, false);
        ch_buf_add_str(&pattern, ch_sv_is(f->type, "equals") ? "\\s*$" : "");
        add_pattern(c, ch_buf_sv(&pattern), f->no);
    } else {
        return false;
    }
    return true;
}

static bool add_check(struct checks *c, const struct filled *f) {
    size_t before = c->n;
    if (add_text_check(c, f))
        return c->n > before;
    if (f->no)
        return false;
    if (ch_sv_is(f->type, "is-json")) {
        struct ch_jw w = ch_jw(&c->schema);
        w.comma = c->schema.n > 0;
        if (ch_json_is(f->json, CH_JSON_OBJECT))
            ch_jw_value(&w, f->json);
        else
            ch_jw_raw(&w, CH_SV("{}"));
        c->n++;
    } else if (ch_sv_is(f->type, "llm-rubric") || ch_sv_is(f->type, "model-graded-closedqa")) {
        add_judge(c, f, false);
    } else if (ch_sv_is(f->type, "factuality") || ch_sv_is(f->type, "model-graded-factuality")) {
        add_judge(c, f, true);
    } else if (ch_sv_is(f->type, "cost")) {
        add_budget(c, "cost", f, 1);
    } else if (ch_sv_is(f->type, "latency")) {
        add_budget(c, "seconds", f, 0.001);
    }
    return c->n > before;
}

static void add_asserts(struct ch_eval_importing *m, struct checks *c, struct ch_sv name,
                        const struct ch_json *list, const struct ch_json *vars,
                        const struct ch_json *common) {
    for (CH_JSON_EACH(a, list)) {
        CH_BUF_AUTO value = {0};
        CH_BUF_AUTO raw = {0};
        struct filled f = {.type = ch_json_get_str(a, "type"), .json = ch_json_get(a, "value"),
                           .self = a};
        f.no = ch_sv_starts(f.type, "not-");
        if (f.no)
            f.type = ch_sv(f.type.p + 4, f.type.n - 4);
        if (f.json)
            ch_json_add_text(&raw, f.json);
        fill(&value, ch_buf_sv(&raw), vars, common);
        f.value = ch_buf_sv(&value);
        bool file = ch_sv_starts(f.value, "file://");
        if (file || !add_check(c, &f))
            ch_eval_import_lost(m, name, ch_json_get_str(a, "type").n ? ch_json_get_str(a, "type")
                                                                      : CH_SV("assertion"),
                                file ? "its value is in another file"
                                     : "the check has no counterpart; a program could do it "
                                       "(checks.program)");
    }
}

/* --- cases ------------------------------------------------------------------------------- */

static void write_list(struct ch_jw *w, const char *key, const struct ch_buf *list) {
    if (!list->n)
        return;
    ch_jw_kbegin(w, key, '[');
    ch_jw_raw(w, ch_buf_sv(list));
    ch_jw_end(w, ']');
}

static void write_checks(struct ch_jw *w, const struct checks *c) {
    ch_jw_kbegin(w, "checks", '{');
    if (c->equals.n || c->contains.n || c->matches.n || c->schema.n || c->judge.n) {
        ch_jw_kbegin(w, "answer", '{');
        write_list(w, "equals", &c->equals);
        write_list(w, "contains", &c->contains);
        write_list(w, "matches", &c->matches);
        write_list(w, "schema", &c->schema);
        write_list(w, "judge", &c->judge);
        ch_jw_end(w, '}');
    }
    if (c->budget.n) {
        ch_jw_kbegin(w, "budget", '{');
        ch_jw_raw(w, ch_buf_sv(&c->budget));
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, '}');
}

static void import_test(struct ch_eval_importing *m, struct ch_sv prompt, size_t prompt_n,
                        const struct ch_json *test, size_t n, const struct ch_json *common) {
    const struct ch_json *vars = ch_json_get(test, "vars"), *more = ch_json_get(common, "vars");
    struct checks c = {0};
    CH_BUF_AUTO name = {0};
    CH_BUF_AUTO input = {0};
    ch_buf_add_sv(&name, ch_json_get_str(test, "description"));
    ch_buf_addf(&name, name.n ? " (test %zu" : "test %zu", n);
    if (prompt_n)
        ch_buf_addf(&name, ", prompt %zu", prompt_n);
    ch_buf_add_str(&name, ch_json_get_str(test, "description").n ? ")" : "");
    fill(&input, prompt, vars, more);
    add_asserts(m, &c, ch_buf_sv(&name), ch_json_get(common, "assert"), vars, more);
    add_asserts(m, &c, ch_buf_sv(&name), ch_json_get(test, "assert"), vars, more);
    if (c.n && input.n) {
        struct ch_jw w = ch_jw(&m->cases);
        w.comma = m->cases.n > 0;
        ch_jw_begin(&w, '{');
        ch_jw_kcstr(&w, "name", ch_buf_str(&name));
        ch_jw_kcstr(&w, "input", ch_buf_str(&input));
        write_checks(&w, &c);
        ch_jw_end(&w, '}');
        m->n++;
    } else {
        ch_eval_import_lost(m, ch_buf_sv(&name), CH_SV("test"), "no check of it remains");
    }
    checks_release(&c);
}

static struct ch_sv prompt_text(const struct ch_json *v) {
    struct ch_sv raw = ch_json_get_str(v, "raw");
    return v->type == CH_JSON_STRING ? ch_json_str(v) : raw.n ? raw : ch_json_get_str(v, "content");
}

static void import_prompt(struct ch_eval_importing *m, const struct ch_json *v, size_t n,
                          const struct ch_json *root) {
    struct ch_sv prompt = prompt_text(v);
    size_t i = 0;
    if (!prompt.n || ch_sv_starts(prompt, "file://")) {
        ch_eval_import_lost(m, CH_SV(""), prompt.n ? prompt : CH_SV("prompt"),
                            "the prompt is in another file");
        return;
    }
    for (CH_JSON_EACH(test, ch_json_get(root, "tests"))) {
        if (test->type == CH_JSON_OBJECT)
            import_test(m, prompt, n, test, ++i, ch_json_get(root, "defaultTest"));
        else
            ch_eval_import_lost(m, CH_SV(""), ch_json_str(test), "the tests are in another file");
    }
}

int ch_eval_import_promptfoo(const struct ch_json *root, struct ch_eval_importing *m,
                             struct chela_error *err) {
    const struct ch_json *prompts = ch_json_get(root, "prompts"), *tests = ch_json_get(root,
                                                                                       "tests");
    size_t n = 0;
    if (!ch_json_is(root, CH_JSON_OBJECT) || !prompts || !tests)
        return ch_fail(err, CHELA_EINVAL, "expected a configuration of promptfoo, with `prompts` "
                                          "and `tests`, or a list of rows");
    if (tests->type == CH_JSON_STRING)
        ch_eval_import_lost(m, CH_SV(""), ch_json_str(tests), "the tests are in another file");
    if (prompts->type == CH_JSON_STRING)
        import_prompt(m, prompts, 0, root);
    for (CH_JSON_EACH(v, prompts))
        import_prompt(m, v, prompts->n > 1 ? ++n : 0, root);
    if (ch_json_get(root, "scenarios"))
        ch_eval_import_lost(m, CH_SV(""), CH_SV("scenarios"), "not translated");
    return 0;
}
