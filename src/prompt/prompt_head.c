/* prompt_head.c -- see prompt_head.h.
 *
 * The head is the interface of a prompt: its inputs and its output. Reading the file fails
 * if text and head do not agree. */
#include "prompt/prompt_head.h"

#include "base/error.h"
#include "base/nearest.h"
#include "schema/schema.h"
#include "json/writer.h"
#include "json/yaml.h"

struct reading {
    struct ch_arena *a;
    const struct ch_prompt *t;
    struct ch_yaml yaml;
    struct chela_error *err;
};

/* Split the file at the line that closes its head. The opening "---" is kept, because YAML
 * accepts it and line numbers then match the file. */
static bool prompt_head_split(struct ch_sv file, struct ch_sv *head, struct ch_sv *body,
                              bool *closed) {
    struct ch_sv left = file;
    *closed = false;
    *body = file;
    if (!ch_sv_is(ch_sv_trim(ch_sv_split(&left, '\n')), "---"))
        return false;
    while (left.n && !*closed) {
        struct ch_sv line = ch_sv_split(&left, '\n');
        *closed = ch_sv_is(ch_sv_trim(line), "---");
        *head = ch_sv(file.p, (size_t)(line.p - file.p));
        *body = left.p ? left : ch_sv(line.p + line.n, 0);
    }
    return true;
}

static int prompt_head_bad(struct reading *r, const struct ch_json *at, const char *why,
                           struct ch_sv what) {
    struct ch_json_where w = ch_yaml_where(&r->yaml, at);
    return ch_fail(r->err, CHELA_EINVAL, "%s:%u:%u: %.*s%s%s", r->t->where, w.line, w.column,
                   CH_SV_FMT(what), what.n ? ": " : "", why);
}

static const char *prompt_head_text_of(struct reading *r, const struct ch_json *v) {
    bool scalar = ch_json_is(v, CH_JSON_STRING) || ch_json_is(v, CH_JSON_NUMBER);
    return scalar ? ch_arena_str(r->a, ch_sv(v->s, v->n)) : "";
}

static int prompt_head_read_text(struct reading *r, const struct ch_json *k,
                                 const struct ch_json *v, const char **out) {
    if (v->type != CH_JSON_STRING && v->type != CH_JSON_NUMBER)
        return prompt_head_bad(r, v, "expected text", ch_json_str(k));
    *out = prompt_head_text_of(r, v);
    return 0;
}

static int prompt_head_read_texts(struct reading *r, const struct ch_json *k,
                                  const struct ch_json *v, const char *const **out) {
    if (v->type != CH_JSON_ARRAY)
        return prompt_head_bad(r, v, "expected a list of texts", ch_json_str(k));
    const char **list = ch_arena_zalloc(r->a, (v->n + 1) * sizeof(*list));
    size_t n = 0;
    for (CH_JSON_EACH(e, v)) {
        int rc = prompt_head_read_text(r, k, e, &list[n++]);
        if (rc < 0)
            return rc;
    }
    *out = list;
    return 0;
}

static int prompt_head_read_variables(struct reading *r, const struct ch_json *v,
                                      struct ch_prompt_head *out) {
    if (v->type != CH_JSON_OBJECT)
        return prompt_head_bad(r, v, "expected a mapping of names to descriptions",
                               CH_SV("variables"));
    out->variables = ch_arena_zalloc(r->a, (v->n + 1) * sizeof(*out->variables));
    for (CH_JSON_MEMBERS(name, about, v))
        out->variables[out->nvariables++] = (struct ch_prompt_variable){
            .name = ch_arena_str(r->a, ch_json_str(name)), .about = prompt_head_text_of(r, about)};
    return 0;
}

static int read_untrusted(struct reading *r, const struct ch_json *v,
                          struct ch_prompt_head *out) {
    if (v && v->type != CH_JSON_ARRAY)
        return prompt_head_bad(r, v, "expected a list of variables", CH_SV("untrusted"));
    for (CH_JSON_EACH(e, v)) {
        bool found = false;
        for (size_t i = 0; i < out->nvariables; i++)
            if (ch_sv_is(ch_json_str(e), out->variables[i].name))
                found = out->variables[i].untrusted = true;
        if (!found)
            return prompt_head_bad(r, e, "is not among the variables", ch_json_str(e));
    }
    return 0;
}

static int prompt_head_read_schema(struct reading *r, const struct ch_json *v,
                                   struct ch_prompt_head *out) {
    CH_AUTO(ch_schema) compiled = NULL;
    CH_BUF_AUTO compact = {0};
    struct chela_error why = {0};
    if (ch_schema_new(v, NULL, &compiled, &why) < 0)
        return prompt_head_bad(r, v, why.message, CH_SV("schema"));
    struct ch_jw w = ch_jw(&compact);
    ch_jw_value(&w, v);
    out->schema = v;
    out->schema_text = ch_arena_str(r->a, ch_buf_sv(&compact));
    return 0;
}

static int prompt_head_read_version(struct reading *r, const struct ch_json *v) {
    const char *version = prompt_head_text_of(r, v);
    if (strcmp(version, r->t->version) == 0)
        return 0;
    return prompt_head_bad(r, v, "is not the version that the name of the file says",
                           ch_sv_str(version));
}

static int prompt_head_unknown_key(struct reading *r, const struct ch_json *key) {
    static const char *const keys[] = {"description", "title",     "version", "changelog",
                                       "variables",   "untrusted", "schema",  "headings",
                                       "modules"};
    struct ch_nearest near = ch_nearest(ch_json_str(key));
    CH_BUF_AUTO why = {0};
    for (size_t i = 0; i < CH_LEN(keys); i++)
        ch_nearest_try(&near, ch_sv_str(keys[i]));
    ch_buf_add_str(&why, "unknown key");
    if (near.best.n)
        ch_buf_addf(&why, " (did you mean %.*s?)", CH_SV_FMT(near.best));
    return prompt_head_bad(r, key, ch_buf_str(&why), ch_json_str(key));
}

static int prompt_head_read_member(struct reading *r, const struct ch_json *k,
                                   const struct ch_json *v, struct ch_prompt_head *out) {
    struct ch_sv key = ch_json_str(k);
    if (ch_sv_is(key, "description"))
        return prompt_head_read_text(r, k, v, &out->description);
    if (ch_sv_is(key, "title"))
        return prompt_head_read_text(r, k, v, &out->title);
    if (ch_sv_is(key, "changelog"))
        return prompt_head_read_text(r, k, v, &out->changelog);
    if (ch_sv_is(key, "version"))
        return prompt_head_read_version(r, v);
    if (ch_sv_is(key, "variables"))
        return prompt_head_read_variables(r, v, out);
    if (ch_sv_is(key, "schema"))
        return prompt_head_read_schema(r, v, out);
    if (ch_sv_is(key, "headings"))
        return prompt_head_read_texts(r, k, v, &out->headings);
    if (ch_sv_is(key, "modules"))
        return prompt_head_read_texts(r, k, v, &out->modules);
    if (ch_sv_is(key, "untrusted"))
        return 0; /* parsed later, because it needs the variables */
    return prompt_head_unknown_key(r, k);
}

int ch_prompt_head_read(struct ch_arena *a, const struct ch_prompt *t, struct ch_sv file,
                        struct ch_prompt_head *out, struct ch_sv *body,
                        struct chela_error *err) {
    struct reading r = {.a = a, .t = t, .err = err};
    struct ch_sv head;
    bool closed;
    *out = (struct ch_prompt_head){.description = "", .title = "", .changelog = ""};
    if (!prompt_head_split(file, &head, body, &closed))
        return 0;
    if (!closed)
        return ch_fail(err, CHELA_EPARSE, "%s:1:1: the head has no line --- that closes it",
                       t->where);
    int rc = ch_yaml_parse(a, head, t->where, &r.yaml, err);
    if (rc < 0)
        return rc;
    if (r.yaml.root->type != CH_JSON_OBJECT && r.yaml.root->type != CH_JSON_NULL)
        return prompt_head_bad(&r, r.yaml.root, "expected a mapping", CH_SV("head"));
    for (CH_JSON_MEMBERS(k, v, r.yaml.root))
        if ((rc = prompt_head_read_member(&r, k, v, out)) < 0)
            return rc;
    out->there = true;
    return read_untrusted(&r, ch_json_get(r.yaml.root, "untrusted"), out);
}

/* --- head and text ------------------------------------------------------------------ */

static bool mentions(const struct ch_prompt *t, struct ch_sv what) {
    for (size_t i = 0; i < t->n; i++)
        if (!t->pieces[i].hole && memmem(t->pieces[i].text.p, t->pieces[i].text.n, what.p, what.n))
            return true;
    return false;
}

/* True if the text contains `line` as a whole line, as an answer would. */
static bool shows_line(const struct ch_prompt *t, struct ch_sv line) {
    for (size_t i = 0; i < t->n; i++)
        for (struct ch_sv rest = t->pieces[i].text; !t->pieces[i].hole && rest.n;)
            if (ch_sv_eq(ch_sv_trim(ch_sv_split(&rest, '\n')), line))
                return true;
    return false;
}

static int check_variables(const struct ch_prompt *t, struct chela_error *err) {
    for (size_t i = 0; i < t->head.nvariables; i++)
        if (!ch_prompt_has(t, ch_sv_str(t->head.variables[i].name)))
            return ch_fail(err, CHELA_EINVAL, "%s: the text has no hole {%s} for the variable",
                           t->where, t->head.variables[i].name);
    for (size_t i = 0; i < t->nvariables; i++)
        if (!t->variables[i].about)
            return ch_fail(err, CHELA_EINVAL, "%s: {%s} is not among the variables of the head",
                           t->where, t->variables[i].name);
    return 0;
}

/* Check that the text names every required member as in JSON. */
static int check_schema(const struct ch_prompt *t, struct chela_error *err) {
    for (CH_JSON_EACH(name, ch_json_get(t->head.schema, "required"))) {
        CH_BUF_AUTO quoted = {0};
        ch_json_quote(&quoted, ch_json_str(name));
        if (!mentions(t, ch_buf_sv(&quoted)))
            return ch_fail(err, CHELA_EINVAL,
                           "%s: the schema requires %s, and the text does not ask for it",
                           t->where, ch_buf_str(&quoted));
    }
    return 0;
}

int ch_prompt_head_check(const struct ch_prompt *t, struct chela_error *err) {
    if (!t->head.there)
        return 0;
    int rc = check_variables(t, err);
    if (rc == 0)
        rc = check_schema(t, err);
    for (const char *const *h = t->head.headings; rc == 0 && h && *h; h++)
        if (!shows_line(t, ch_sv_str(*h)))
            rc = ch_fail(err, CHELA_EINVAL,
                         "%s: an answer has the heading \"%s\", and the text does not ask for it",
                         t->where, *h);
    return rc;
}
