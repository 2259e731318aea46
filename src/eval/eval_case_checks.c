/* eval_case_checks.c -- see eval_case_checks.h. */
#include "eval/eval_case_checks.h"

#include "base/error.h"
#include "base/grow.h"
#include "base/limits.h"
#include "base/nearest.h"

/* --- errors ------------------------------------------------------------------------------ */

int ch_eval_bad(struct ch_eval_reader *r, const struct ch_json *at, const char *why) {
    struct ch_json_where w = ch_yaml_where(&r->f->yaml, at);
    if (r->c && r->c->name)
        return ch_fail(r->err, CHELA_EINVAL, "%s:%u:%u: case '%s': %s", r->f->yaml.name, w.line,
                       w.column, r->c->name, why);
    return ch_fail(r->err, CHELA_EINVAL, "%s:%u:%u: %s", r->f->yaml.name, w.line, w.column, why);
}

int ch_eval_known_keys(struct ch_eval_reader *r, const struct ch_json *object,
                       const char *const *keys, size_t n) {
    if (!ch_json_is(object, CH_JSON_OBJECT))
        return ch_eval_bad(r, object, "expected a mapping");
    for (CH_JSON_MEMBERS(k, unused, object)) {
        struct ch_nearest near = ch_nearest(ch_json_str(k));
        bool known = false;
        (void)unused;
        for (size_t i = 0; i < n; i++) {
            known |= ch_sv_is(ch_json_str(k), keys[i]);
            ch_nearest_try(&near, ch_sv_str(keys[i]));
        }
        if (known)
            continue;
        CH_BUF_AUTO why = {0};
        ch_buf_addf(&why, "unknown key %.*s", CH_SV_FMT(ch_json_str(k)));
        if (near.best.n)
            ch_buf_addf(&why, " (did you mean %.*s?)", CH_SV_FMT(near.best));
        return ch_eval_bad(r, k, ch_buf_str(&why));
    }
    return 0;
}

int ch_eval_check_argv(struct ch_eval_reader *r, const struct ch_json *v) {
    bool ok = ch_json_is(v, CH_JSON_ARRAY) && v->n;
    for (CH_JSON_EACH(e, v))
        ok = ok && e->type == CH_JSON_STRING;
    return ok && ch_json_str(ch_json_at(v, 0)).n
               ? 0
               : ch_eval_bad(r, v, "program: expected [PROGRAM, ARGUMENT...]");
}

static struct ch_eval_check *add_check(struct ch_eval_reader *r, enum ch_eval_kind kind,
                                       const char *label) {
    struct ch_eval_case *c = r->c;
    if (c->nchecks == c->checks_cap) {
        size_t cap = c->checks_cap ? 2 * c->checks_cap : 8;
        struct ch_eval_check *more = ch_arena_zalloc(&r->f->arena, cap * sizeof(*more));
        if (c->nchecks)
            memcpy(more, c->checks, c->nchecks * sizeof(*more));
        c->checks = more;
        c->checks_cap = cap;
    }
    struct ch_eval_check *k = &c->checks[c->nchecks++];
    *k = (struct ch_eval_check){.kind = kind, .label = label};
    return k;
}

/* --- the content of an answer or a file -------------------------------------------------- */

struct content_kind {
    const char *word;
    enum ch_eval_kind kind;
    bool of_answer, of_file;
};

static const struct content_kind content_kinds[] = {
    {"equals", CH_EVAL_EQUALS, true, true},     {"matches", CH_EVAL_MATCHES, true, true},
    {"contains", CH_EVAL_CONTAINS, true, true}, {"schema", CH_EVAL_SCHEMA, true, false},
    {"judge", CH_EVAL_JUDGE, true, false},      {"absent", CH_EVAL_ABSENT, false, true},
};

static int read_pattern(struct ch_eval_reader *r, const struct ch_json *v,
                        struct ch_eval_check *k) {
    struct chela_error why = {0};
    k->text = ch_arena_text(&r->f->arena, ch_json_str(v));
    int rc = ch_patterns_add_native(&r->f->patterns, ch_json_str(v), &k->pattern, &why);
    return rc < 0 ? ch_eval_bad(r, v, why.message) : 0;
}

static int read_schema(struct ch_eval_reader *r, const struct ch_json *v,
                       struct ch_eval_check *k) {
    struct chela_error why = {0};
    int rc = ch_schema_new(v, NULL, &k->schema, &why);
    return rc < 0 ? ch_eval_bad(r, v, why.message) : 0;
}

static int read_judge(struct ch_eval_reader *r, const struct ch_json *v,
                      struct ch_eval_check *k) {
    static const char *const keys[] = {"rubric", "model", "reference", "labelled"};
    k->json = v;
    if (ch_json_str(v).n)
        return 0;
    if (v->type != CH_JSON_OBJECT || !ch_json_get_str(v, "rubric").n)
        return ch_eval_bad(r, v, "judge: expected { rubric: TEXT }, or the text of the rubric");
    const struct ch_json *labelled = ch_json_get(v, "labelled");
    if (labelled && labelled->type != CH_JSON_ARRAY)
        return ch_eval_bad(r, labelled, "labelled: expected [{ answer: TEXT, pass: true|false }]");
    for (CH_JSON_EACH(e, labelled))
        if (!ch_json_is(ch_json_get(e, "answer"), CH_JSON_STRING) ||
            !(ch_json_is(ch_json_get(e, "pass"), CH_JSON_TRUE) ||
              ch_json_is(ch_json_get(e, "pass"), CH_JSON_FALSE)))
            return ch_eval_bad(r, e, "labelled: expected { answer: TEXT, pass: true|false }");
    return ch_eval_known_keys(r, v, keys, CH_LEN(keys));
}

static int read_content(struct ch_eval_reader *r, const struct content_kind *how,
                        const struct ch_json *v, struct ch_eval_check *k) {
    bool text = v->type == CH_JSON_STRING || v->type == CH_JSON_NUMBER;
    if (how->kind == CH_EVAL_SCHEMA)
        return read_schema(r, v, k);
    if (how->kind == CH_EVAL_JUDGE)
        return read_judge(r, v, k);
    if (how->kind == CH_EVAL_ABSENT)
        return ch_json_bool(v, false) ? 0 : ch_eval_bad(r, v, "absent: expected true");
    if (!text && how->kind == CH_EVAL_EQUALS) { /* a value: the content is this JSON */
        k->json = v;
        return 0;
    }
    if (!text)
        return ch_eval_bad(r, v, "expected a text");
    if (how->kind == CH_EVAL_MATCHES)
        return read_pattern(r, v, k);
    k->text = ch_arena_text(&r->f->arena, ch_sv(v->s, v->n));
    return 0;
}

/* One content check; a list stands for several of which all must hold. */
static int read_contents(struct ch_eval_reader *r, const struct content_kind *how,
                         const char *file, const char *label, const struct ch_json *v) {
    bool list = v->type == CH_JSON_ARRAY;
    int rc = 0;
    if (list && !v->n)
        return ch_eval_bad(r, v, "expected at least one value");
    for (CH_JSON_EACH(e, v)) {
        if (rc < 0)
            return rc;
        struct ch_eval_check *k = add_check(r, how->kind, label);
        k->file = file;
        rc = read_content(r, how, e, k);
    }
    if (list)
        return rc;
    struct ch_eval_check *k = add_check(r, how->kind, label);
    k->file = file;
    return read_content(r, how, v, k);
}

static int read_content_map(struct ch_eval_reader *r, const struct ch_json *v, const char *file) {
    const char *keys[CH_LEN(content_kinds)];
    size_t n = 0;
    for (size_t i = 0; i < CH_LEN(content_kinds); i++)
        if (file ? content_kinds[i].of_file : content_kinds[i].of_answer)
            keys[n++] = content_kinds[i].word;
    int rc = ch_eval_known_keys(r, v, keys, n);
    if (rc == 0 && !v->n)
        rc = ch_eval_bad(r, v, "expected at least one check");
    for (size_t i = 0; rc == 0 && i < CH_LEN(content_kinds); i++) {
        const struct content_kind *how = &content_kinds[i];
        const struct ch_json *member = ch_json_get(v, how->word);
        if (!member)
            continue;
        const char *label =
            file ? ch_arena_printf(&r->f->arena, "files.%s.%s", file, how->word)
                 : ch_arena_printf(&r->f->arena, "answer.%s", how->word);
        rc = read_contents(r, how, file, label, member);
    }
    if (rc == 0 && file && ch_json_get(v, "absent") && v->n > 1)
        rc = ch_eval_bad(r, v, "the case contradicts itself: an absent file has no content");
    return rc;
}

static int read_answer(struct ch_eval_reader *r, const struct ch_json *v) {
    int rc = 0;
    if (v->type == CH_JSON_STRING)
        return read_contents(r, &content_kinds[2], NULL, "answer.contains", v);
    if (v->type != CH_JSON_ARRAY)
        return read_content_map(r, v, NULL);
    if (!v->n)
        return ch_eval_bad(r, v, "expected at least one check");
    for (CH_JSON_EACH(e, v))
        rc = rc == 0 ? read_answer(r, e) : rc;
    return rc;
}

static int read_files(struct ch_eval_reader *r, const struct ch_json *v) {
    if (v->type != CH_JSON_OBJECT)
        return ch_eval_bad(r, v, "files: expected a mapping of paths");
    for (CH_JSON_MEMBERS(k, e, v)) {
        const char *path = ch_arena_text(&r->f->arena, ch_json_str(k));
        if (!*path || *path == '/' || strstr(path, ".."))
            return ch_eval_bad(r, k, "files: the path must be inside the workspace");
        if (strlen(path) > CH_LIMIT_EVAL_PATH)
            return ch_eval_bad(r, k, "files: the path is too long");
        int rc = read_content_map(r, e, path);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* --- calls ------------------------------------------------------------------------------- */

static int read_include(struct ch_eval_reader *r, const struct ch_json *v) {
    static const char *const keys[] = {"name", "args"};
    struct ch_eval_check *k = add_check(r, CH_EVAL_INCLUDE, NULL);
    bool bare = v->type == CH_JSON_STRING;
    struct ch_sv name = bare ? ch_json_str(v) : ch_json_get_str(v, "name");
    const struct ch_json *args = bare ? NULL : ch_json_get(v, "args");
    if (!name.n)
        return ch_eval_bad(r, v, "include: expected NAME, or { name: NAME, args: SCHEMA }");
    k->text = ch_arena_text(&r->f->arena, name);
    k->label = ch_arena_printf(&r->f->arena, "calls.include %s", k->text);
    int rc = bare ? 0 : ch_eval_known_keys(r, v, keys, CH_LEN(keys));
    return rc == 0 && args ? read_schema(r, args, k) : rc;
}

static int read_exclude(struct ch_eval_reader *r, const struct ch_json *v) {
    struct ch_eval_check *k = add_check(r, CH_EVAL_EXCLUDE, NULL);
    if (!ch_json_str(v).n)
        return ch_eval_bad(r, v, "exclude: expected the name of a tool");
    k->text = ch_arena_text(&r->f->arena, ch_json_str(v));
    k->label = ch_arena_printf(&r->f->arena, "calls.exclude %s", k->text);
    return 0;
}

static int each_call(struct ch_eval_reader *r, const struct ch_json *v,
                     int (*fn)(struct ch_eval_reader *, const struct ch_json *)) {
    int rc = 0;
    if (v && v->type != CH_JSON_ARRAY)
        return fn(r, v);
    for (CH_JSON_EACH(e, v))
        rc = rc == 0 ? fn(r, e) : rc;
    return rc;
}

/* A tool that must and must not be called. */
static int check_calls(struct ch_eval_reader *r, const struct ch_json *at) {
    const struct ch_eval_case *c = r->c;
    for (size_t i = 0; i < c->nchecks; i++) {
        const struct ch_eval_check *no = &c->checks[i];
        for (size_t k = 0; k < c->nchecks && no->kind == CH_EVAL_EXCLUDE; k++) {
            const struct ch_eval_check *yes = &c->checks[k];
            bool wanted = yes->kind == CH_EVAL_INCLUDE && strcmp(yes->text, no->text) == 0;
            for (CH_JSON_EACH(e, yes->kind == CH_EVAL_ORDER ? yes->json : NULL))
                wanted |= ch_sv_is(ch_json_str(e), no->text);
            if (wanted)
                return ch_eval_bad(r, at, "the case contradicts itself: a tool that `exclude` "
                                          "forbids is also required");
        }
    }
    return 0;
}

static int read_calls(struct ch_eval_reader *r, const struct ch_json *v) {
    static const char *const keys[] = {"include", "exclude", "order"};
    const struct ch_json *order = ch_json_get(v, "order");
    int rc = ch_eval_known_keys(r, v, keys, CH_LEN(keys));
    if (rc == 0)
        rc = each_call(r, ch_json_get(v, "include"), read_include);
    if (rc == 0)
        rc = each_call(r, ch_json_get(v, "exclude"), read_exclude);
    if (rc == 0 && order) {
        if (order->type != CH_JSON_ARRAY || !order->n)
            return ch_eval_bad(r, order, "order: expected a list of names");
        for (CH_JSON_EACH(e, order))
            if (!ch_json_str(e).n)
                return ch_eval_bad(r, e, "order: expected the name of a tool");
        add_check(r, CH_EVAL_ORDER, "calls.order")->json = order;
    }
    return rc < 0 ? rc : check_calls(r, v);
}

/* --- status, budget, program ------------------------------------------------------------- */

static int read_status(struct ch_eval_reader *r, const struct ch_json *v) {
    bool list = v->type == CH_JSON_ARRAY && v->n;
    for (CH_JSON_EACH(e, v))
        list = list && ch_json_str(e).n;
    if (!list && !ch_json_str(v).n)
        return ch_eval_bad(r, v, "status: expected a status, such as done, or a list");
    add_check(r, CH_EVAL_STATUS, "status")->json = v;
    r->c->wants_status = true;
    return 0;
}

static int read_budget(struct ch_eval_reader *r, const struct ch_json *v) {
    static const char *const keys[] = {"turns", "tokens", "cost", "seconds"};
    static const char *const labels[] = {"budget.turns", "budget.tokens", "budget.cost",
                                         "budget.seconds"};
    int rc = ch_eval_known_keys(r, v, keys, CH_LEN(keys));
    for (size_t i = 0; rc == 0 && i < CH_LEN(keys); i++) {
        const struct ch_json *most = ch_json_get(v, keys[i]);
        if (!most)
            continue;
        if (most->type != CH_JSON_NUMBER || ch_json_double(most, -1) < 0)
            return ch_eval_bad(r, most, "budget: expected a number, 0 or more");
        if (i == 0 && ch_json_double(most, 0) < 1)
            return ch_eval_bad(r, most,
                               "the case contradicts itself: a run takes one turn at least");
        add_check(r, (enum ch_eval_kind)(CH_EVAL_TURNS + i), labels[i])->most =
            ch_json_double(most, 0);
    }
    return rc;
}

static int read_program(struct ch_eval_reader *r, const struct ch_json *v) {
    int rc = ch_eval_check_argv(r, v);
    if (rc == 0)
        add_check(r, CH_EVAL_PROGRAM, "program")->json = v;
    return rc;
}

/* Two different texts that the same content must equal. */
static int check_equals(struct ch_eval_reader *r, const struct ch_json *at) {
    const struct ch_eval_case *c = r->c;
    for (size_t i = 0; i < c->nchecks; i++)
        for (size_t k = 0; k < i; k++) {
            const struct ch_eval_check *a = &c->checks[i], *b = &c->checks[k];
            bool same = a->kind == CH_EVAL_EQUALS && b->kind == CH_EVAL_EQUALS && a->text &&
                        b->text && strcmp(a->label, b->label) == 0;
            if (same && strcmp(a->text, b->text) != 0)
                return ch_eval_bad(r, at, "the case contradicts itself: `equals` has two values");
        }
    return 0;
}

int ch_eval_read_checks(struct ch_eval_reader *r, const struct ch_json *at,
                        const struct ch_json *v) {
    static const struct {
        const char *key;
        int (*read)(struct ch_eval_reader *r, const struct ch_json *v);
    } parts[] = {{"answer", read_answer}, {"calls", read_calls},   {"files", read_files},
                 {"status", read_status}, {"budget", read_budget}, {"program", read_program}};
    const char *keys[CH_LEN(parts)];
    for (size_t i = 0; i < CH_LEN(parts); i++)
        keys[i] = parts[i].key;
    if (!ch_json_is(v, CH_JSON_OBJECT) || !v->n)
        return ch_eval_bad(r, v ? v : at,
                           "the case needs checks: answer, calls, files, status, budget or "
                           "program");
    int rc = ch_eval_known_keys(r, v, keys, CH_LEN(keys));
    for (size_t i = 0; rc == 0 && i < CH_LEN(parts); i++) {
        const struct ch_json *part = ch_json_get(v, parts[i].key);
        rc = part ? parts[i].read(r, part) : 0;
    }
    if (rc == 0 && !r->c->nchecks)
        rc = ch_eval_bad(r, v, "the case checks nothing");
    return rc < 0 ? rc : check_equals(r, v);
}
