/* cases.c -- parses case files; see cases.h. judge.c evaluates the cases. */
#include "prompt/cases.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/nearest.h"
#include "json/yaml.h"

struct reading {
    struct ch_cases *c;
    const struct ch_prompt *t;
    struct ch_yaml yaml;
    struct chela_error *err;
};

static const char *const kinds[] = {"normal", "edge", "adversarial"};
static const char *const expectations[] = {
    [CH_EXPECT_JSON_VALID] = "json_valid", [CH_EXPECT_SCHEMA] = "schema",
    [CH_EXPECT_HAS_FIELD] = "has_field",   [CH_EXPECT_NO_FIELD] = "no_field",
    [CH_EXPECT_FIELD_IN] = "field_in",     [CH_EXPECT_MATCHES] = "matches",
    [CH_EXPECT_MAX_TOKENS] = "max_tokens", [CH_EXPECT_CALLS_TOOL] = "calls_tool",
};

void ch_cases_release(struct ch_cases *c) {
    for (size_t i = 0; i < c->n; i++)
        for (size_t e = 0; e < c->list[i].n; e++)
            ch_schema_free(c->list[i].expects[e].schema);
    ch_patterns_release(&c->patterns);
    ch_arena_release(&c->arena);
    *c = (struct ch_cases){0};
}

static const char *cases_place(struct reading *r, const struct ch_json *at) {
    struct ch_json_where w = ch_yaml_where(&r->yaml, at);
    return ch_arena_printf(&r->c->arena, "%s:%u:%u", r->yaml.name, w.line, w.column);
}

static int cases_bad(struct reading *r, const struct ch_json *at, const char *why) {
    return ch_fail(r->err, CHELA_EINVAL, "%s: %s", cases_place(r, at), why);
}

/* Index of a word in a list; -1 and err with the nearest word. */
static int one_of(struct reading *r, const struct ch_json *at, const char *what,
                  const char *const *words, size_t n) {
    struct ch_sv given = ch_json_str(at);
    struct ch_nearest near = ch_nearest(given);
    for (size_t i = 0; i < n; i++) {
        if (ch_sv_is(given, words[i]))
            return (int)i;
        ch_nearest_try(&near, ch_sv_str(words[i]));
    }
    CH_BUF_AUTO why = {0};
    ch_buf_addf(&why, "unknown %s %.*s", what, CH_SV_FMT(given));
    if (near.best.n)
        ch_buf_addf(&why, " (did you mean %.*s?)", CH_SV_FMT(near.best));
    cases_bad(r, at, ch_buf_str(&why));
    return -1;
}

static int need_text(struct reading *r, const struct ch_json *v, const char *what,
                     const char **out) {
    if (!ch_json_is(v, CH_JSON_STRING))
        return cases_bad(r, v, what);
    *out = ch_arena_str(&r->c->arena, ch_json_str(v));
    return 0;
}

/* --- expectations -------------------------------------------------------------------- */

/* The schema given, or the prompt's own. */
static int cases_read_schema(struct reading *r, const struct ch_json *at, const struct ch_json *v,
                             struct ch_expect *out) {
    struct chela_error why = {0};
    const struct ch_json *root = ch_json_is(v, CH_JSON_OBJECT) ? v : r->t->head.schema;
    if (!root)
        return cases_bad(r, at, "schema: the prompt has none of its own");
    return ch_schema_new(root, NULL, &out->schema, &why) < 0 ? cases_bad(r, at, why.message) : 0;
}

static int read_field_in(struct reading *r, const struct ch_json *v, struct ch_expect *out) {
    out->values = ch_json_get(v, "values");
    const struct ch_json *field = ch_json_get(v, "field");
    if (!field || !ch_json_is(out->values, CH_JSON_ARRAY))
        return cases_bad(r, v, "field_in: expected { field: NAME, values: [...] }");
    return need_text(r, field, "field_in: expected the name of a field", &out->text);
}

static int cases_read_pattern(struct reading *r, const struct ch_json *v, struct ch_expect *out) {
    struct chela_error why = {0};
    int rc = need_text(r, v, "matches: expected a pattern", &out->text);
    if (rc < 0)
        return rc;
    rc = ch_patterns_add(&r->c->patterns, ch_sv_str(out->text), &out->pattern, &why);
    return rc < 0 ? cases_bad(r, v, why.message) : 0;
}

/* v: NULL for an expectation without argument. */
static int read_argument(struct reading *r, const struct ch_json *at, const struct ch_json *v,
                         struct ch_expect *out) {
    if (out->kind == CH_EXPECT_JSON_VALID)
        return 0;
    if (out->kind == CH_EXPECT_SCHEMA)
        return cases_read_schema(r, at, v, out);
    if (!v)
        return cases_bad(r, at, "the expectation needs a value, as in `has_field: NAME`");
    if (out->kind == CH_EXPECT_FIELD_IN)
        return read_field_in(r, v, out);
    if (out->kind == CH_EXPECT_MATCHES)
        return cases_read_pattern(r, v, out);
    if (out->kind == CH_EXPECT_MAX_TOKENS)
        return ch_json_as_int(v, &out->tokens) && out->tokens > 0
                   ? 0
                   : cases_bad(r, v, "max_tokens: expected a whole number above 0");
    return need_text(r, v, "expected a name", &out->text);
}

/* An expectation as a text, as a pair {KIND: VALUE} or as a mapping {type: KIND, ...}. */
struct written {
    const struct ch_json *kind, *value; /* value NULL: none */
};

/* The value of {type: KIND, field: NAME} and its kin. */
static const struct ch_json *typed_value(const struct ch_json *e, struct ch_sv kind) {
    static const char *const names[] = {"field", "limit", "pattern", "tool", "name", "schema"};
    if (ch_sv_is(kind, "field_in"))
        return e;
    for (size_t i = 0; i < CH_LEN(names); i++)
        if (ch_json_get(e, names[i]))
            return ch_json_get(e, names[i]);
    return NULL;
}

static bool read_written(const struct ch_json *e, struct written *out) {
    const struct ch_json *type = ch_json_get(e, "type");
    if (ch_json_is(type, CH_JSON_STRING))
        *out = (struct written){type, typed_value(e, ch_json_str(type))};
    else if (e->type == CH_JSON_OBJECT && e->n == 1)
        *out = (struct written){e + 1, e + 2};
    else
        *out = (struct written){e, NULL};
    return e->type == CH_JSON_STRING || out->kind != e;
}

static int read_expectations(struct reading *r, const struct ch_json *at,
                             const struct ch_json *v, struct ch_case *out) {
    if (!ch_json_is(v, CH_JSON_ARRAY) || !v->n)
        return cases_bad(r, v ? v : at, "expect: expected a list of at least one expectation");
    out->expects = ch_arena_zalloc(&r->c->arena, v->n * sizeof(*out->expects));
    for (CH_JSON_EACH(e, v)) {
        struct written given;
        if (!read_written(e, &given))
            return cases_bad(r, e, "expected one expectation, as in `has_field: NAME`");
        struct ch_expect *x = &out->expects[out->n++];
        int kind = one_of(r, given.kind, "expectation", expectations, CH_LEN(expectations));
        if (kind < 0)
            return CHELA_EINVAL;
        x->kind = (enum ch_expect_kind)kind;
        int rc = read_argument(r, e, given.value, x);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* --- cases ---------------------------------------------------------------------------- */

static void cases_add_values(struct reading *r, const struct ch_json *from, bool common,
                             struct ch_case *out) {
    for (CH_JSON_MEMBERS(k, v, from)) {
        struct ch_prompt_value *value = NULL;
        for (size_t i = 0; i < out->nvalues; i++)
            if (ch_sv_is(ch_json_str(k), out->values[i].name))
                value = &out->values[i];
        if (!value)
            value = &out->values[out->nvalues++];
        bool text = v->type == CH_JSON_STRING || v->type == CH_JSON_NUMBER;
        *value = (struct ch_prompt_value){
            .name = ch_arena_str(&r->c->arena, ch_json_str(k)),
            .text = text ? ch_sv(v->s, v->n) : ch_sv(NULL, 0),
            .json = text ? NULL : v,
            .optional = common,
        };
    }
}

static int cases_read_values(struct reading *r, const struct ch_json *v, struct ch_case *out) {
    const struct ch_json *common = ch_json_get(r->yaml.root, "values");
    if (common && common->type != CH_JSON_OBJECT)
        return cases_bad(r, common, "values: expected a mapping of variables");
    if (v && v->type != CH_JSON_OBJECT)
        return cases_bad(r, v, "values: expected a mapping of variables");
    size_t most = (common ? common->n : 0) + (v ? v->n : 0);
    out->values = ch_arena_zalloc(&r->c->arena, (most + 1) * sizeof(*out->values));
    cases_add_values(r, common, true, out);
    cases_add_values(r, v, false, out);
    return 0;
}

static int read_bad(struct reading *r, const struct ch_json *v, struct ch_case *out) {
    if (!v)
        return 0;
    bool list = v->type == CH_JSON_ARRAY;
    const char **texts =
        ch_arena_zalloc(&r->c->arena, ((list ? v->n : 1) + 1) * sizeof(*texts));
    size_t n = 0;
    int rc = list ? 0 : need_text(r, v, "bad: expected an answer, or a list", &texts[n++]);
    for (CH_JSON_EACH(e, v))
        if (rc == 0)
            rc = need_text(r, e, "bad: expected an answer in quotes", &texts[n++]);
    out->bad = texts;
    return rc;
}

static int cases_read_tools(struct reading *r, const struct ch_json *v, struct ch_case *out) {
    if (v && v->type != CH_JSON_ARRAY)
        return cases_bad(r, v, "tools: expected a list of { name, description, parameters }");
    for (CH_JSON_EACH(e, v))
        if (!ch_json_get_str(e, "name").n)
            return cases_bad(r, e, "tools: a tool without a name");
    out->tools = v;
    return 0;
}

static int check_keys(struct reading *r, const struct ch_json *v, const char *const *keys,
                      size_t n) {
    for (CH_JSON_MEMBERS(k, unused, v)) {
        (void)unused;
        if (one_of(r, k, "key", keys, n) < 0)
            return CHELA_EINVAL;
    }
    return 0;
}

static const struct ch_json *either(const struct ch_json *v, const char *a, const char *b) {
    const struct ch_json *found = ch_json_get(v, a);
    return found ? found : ch_json_get(v, b);
}

static int read_case(struct reading *r, const struct ch_json *v, struct ch_case *out) {
    static const char *const keys[] = {"name", "kind", "values", "input_vars", "tools", "expect",
                                       "assertions", "good", "bad"};
    if (v->type != CH_JSON_OBJECT || !ch_json_get_str(v, "name").n)
        return cases_bad(r, v, "expected a case, with a name");
    const struct ch_json *kind = ch_json_get(v, "kind"), *good = ch_json_get(v, "good");
    out->where = cases_place(r, v);
    out->name = ch_arena_str(&r->c->arena, ch_json_get_str(v, "name"));
    out->kind = kinds[0];
    int rc = check_keys(r, v, keys, CH_LEN(keys));
    if (rc == 0 && kind) {
        int which = one_of(r, kind, "kind", kinds, CH_LEN(kinds));
        rc = which < 0 ? CHELA_EINVAL : 0;
        out->kind = kinds[which < 0 ? 0 : which];
    }
    if (rc == 0)
        rc = cases_read_values(r, either(v, "values", "input_vars"), out);
    if (rc == 0)
        rc = cases_read_tools(r, ch_json_get(v, "tools"), out);
    if (rc == 0)
        rc = read_expectations(r, v, either(v, "expect", "assertions"), out);
    if (rc == 0 && good)
        rc = need_text(r, good, "good: expected an answer in quotes", &out->good);
    return rc < 0 ? rc : read_bad(r, ch_json_get(v, "bad"), out);
}

int ch_cases_read(struct ch_cases *c, struct ch_sv text, const char *where,
                  const struct ch_prompt *t, struct chela_error *err) {
    static const char *const keys[] = {"values", "cases"};
    struct reading r = {.c = c, .t = t, .err = err};
    int rc = ch_yaml_parse(&c->arena, text, where, &r.yaml, err);
    if (rc < 0)
        return rc;
    const struct ch_json *list = ch_json_is(r.yaml.root, CH_JSON_ARRAY)
                                     ? r.yaml.root
                                     : ch_json_get(r.yaml.root, "cases");
    if (!ch_json_is(list, CH_JSON_ARRAY) || !list->n)
        return cases_bad(&r, list ? list : r.yaml.root,
                         "cases: expected a list of at least one case");
    if (list->n > CH_LIMIT_CASES)
        return ch_fail(err, CHELA_ELIMIT, "%s: more than %d cases", where, CH_LIMIT_CASES);
    rc = check_keys(&r, r.yaml.root, keys, CH_LEN(keys));
    c->list = ch_arena_zalloc(&c->arena, list->n * sizeof(*c->list));
    for (CH_JSON_EACH(v, list)) {
        if (rc == 0)
            rc = read_case(&r, v, &c->list[c->n++]);
        for (size_t i = 0; rc == 0 && i + 1 < c->n; i++)
            if (strcmp(c->list[i].name, c->list[c->n - 1].name) == 0)
                rc = cases_bad(&r, v, "there is a case of that name already");
    }
    return rc;
}
