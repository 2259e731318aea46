/* schema_api.c -- the public functions for JSON Schema; see chela/schema.h. */
#include "chela/schema.h"

#include "base/entry.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/opts.h"
#include "schema/schema.h"
#include "schema/schema_clean.h"
#include "schema/schema_lint.h"
#include "json/writer.h"

struct chela_schema {
    struct ch_schema *program; /* owned */
};

/* --- compiling ------------------------------------------------------------------ */

static int schema_api_load(void *user, struct ch_sv uri, struct ch_buf *text,
                           struct chela_error *err) {
    const struct chela_schema_opts *opts = user;
    CH_AUTOFREE char *name = ch_strndup(uri.p, uri.n);
    size_t len = 0;
    const char *found = opts->load(name, &len, opts->user);
    if (!found)
        return CHELA_ENOENT;
    if (ch_buf_add(text, found, len) < 0)
        return ch_fail(err, CHELA_ELIMIT, "%s is larger than %zu bytes", name,
                       CH_LIMIT_SCHEMA_TEXT);
    return 0;
}

int chela_schema_new(const char *json, size_t len, const struct chela_schema_opts *opts,
                     chela_schema **out, struct chela_error *err) {
    struct chela_schema_opts given;
    struct ch_schema *program;
    CH_NEEDS_ARG(out, err);
    *out = NULL;
    int rc = CH_OPTS_READ(chela_schema_opts, &given, opts, err);
    if (rc < 0)
        return rc;
    struct ch_schema_opts inner = {
        .uri = ch_sv_str(given.uri),
        .assert_format = given.assert_format,
        .load = given.load ? schema_api_load : NULL,
        .user = &given,
    };
    rc = ch_schema_parse(ch_sv(json, len), &inner, &program, err);
    if (rc < 0)
        return rc;
    *out = ch_alloc(sizeof(**out));
    (*out)->program = program;
    return 0;
}

void chela_schema_free(chela_schema *s) {
    if (!s)
        return;
    ch_schema_free(s->program);
    ch_free(s);
}

/* --- checking -------------------------------------------------------------------- */

static int schema_api_read_value(struct ch_arena *a, const char *json, size_t len,
                                 const struct ch_json **out, struct chela_error *err) {
    return ch_json_parse(a, ch_sv(json, len), CH_JSON_STRICT, out, NULL, err);
}

int chela_schema_valid(chela_schema *s, const char *json, size_t len) {
    CH_NEEDS_OR(s, NULL, 0);
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    int rc = schema_api_read_value(&arena, json, len, &v, NULL);
    return rc < 0 ? rc : ch_schema_valid(s->program, v);
}

static void write_violations(struct ch_jw *w, const struct ch_violations *list) {
    ch_jw_begin(w, '[');
    for (size_t i = 0; i < list->n; i++) {
        CH_BUF_AUTO one = {0};
        ch_violation_json(&list->list[i], &one);
        ch_jw_raw(w, ch_buf_sv(&one));
    }
    ch_jw_end(w, ']');
}

char *chela_schema_report(chela_schema *s, const char *json, size_t len, struct chela_error *err) {
    CH_NEEDS_OR(s, err, NULL);
    CH_ARENA_AUTO arena = {0};
    struct ch_buf out = {0};
    struct ch_jw w = ch_jw(&out);
    struct ch_violations list;
    const struct ch_json *v;
    if (schema_api_read_value(&arena, json, len, &v, err) < 0)
        return NULL;
    ch_schema_check(s->program, v, &arena, &list);
    write_violations(&w, &list);
    return ch_buf_take(&out);
}

static void write_changes(struct ch_jw *w, const struct ch_changes *changes) {
    ch_jw_begin(w, '[');
    for (size_t i = 0; i < changes->n; i++) {
        const struct ch_schema_change *c = &changes->list[i];
        ch_jw_begin(w, '{');
        ch_jw_kstr(w, "path", c->path);
        ch_jw_kstr(w, "what", c->what);
        ch_jw_kstr(w, "from", c->from);
        ch_jw_kstr(w, "to", c->to);
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, ']');
}

char *chela_schema_coerce(chela_schema *s, const char *json, size_t len, unsigned flags,
                          struct chela_error *err) {
    CH_NEEDS_OR(s, err, NULL);
    CH_ARENA_AUTO arena = {0};
    struct ch_buf out = {0};
    struct ch_jw w = ch_jw(&out);
    struct ch_violations left;
    struct ch_changes changes;
    const struct ch_json *v;
    struct ch_sv text;
    unsigned inner = 0;
    if (schema_api_read_value(&arena, json, len, &v, err) < 0)
        return NULL;
    inner |= flags & CHELA_COERCE_DROP_UNKNOWN ? CH_COERCE_DROP_UNKNOWN : 0;
    inner |= flags & CHELA_COERCE_DROP_NULL ? CH_COERCE_DROP_NULL : 0;
    int rc = ch_schema_coerce(s->program, v, inner, &arena, &v, &text, &changes, &left);
    ch_jw_begin(&w, '{');
    ch_jw_kvalue(&w, "value", v);
    ch_jw_kbool(&w, "valid", rc == 0);
    ch_jw_key(&w, "changes");
    write_changes(&w, &changes);
    ch_jw_key(&w, "violations");
    write_violations(&w, &left);
    ch_jw_end(&w, '}');
    return ch_buf_take(&out);
}

/* --- cleaning ---------------------------------------------------------------------- */

char *chela_schema_clean(const char *json, size_t len, const char *vendor, char **notes,
                         struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    struct ch_buf out = {0};
    struct ch_buf losses = {0};
    const struct ch_json *v;
    enum ch_clean target;
    if (notes)
        *notes = NULL;
    if (!ch_clean_find(ch_sv_str(vendor), &target)) {
        ch_fail(err, CHELA_EINVAL, "unknown vendor '%s': gemini, gemini-json, openai-strict, "
                "anthropic-strict",
                vendor);
        return NULL;
    }
    if (schema_api_read_value(&arena, json, len, &v, err) < 0)
        return NULL;
    int rc = ch_schema_clean(v, target, &out, notes ? &losses : NULL, err);
    if (rc == 0 && notes)
        *notes = ch_buf_take(&losses);
    ch_buf_release(&losses);
    if (rc == 0)
        return ch_buf_take(&out);
    ch_buf_release(&out);
    return NULL;
}

/* --- advice -------------------------------------------------------------------------- */

static const struct ch_json *schema_in(const struct ch_json *tool) {
    static const char *const keys[] = {"parameters", "input_schema", "inputSchema", "schema",
                                       "parametersJsonSchema"};
    for (size_t i = 0; i < CH_LEN(keys); i++) {
        const struct ch_json *v = ch_json_get(tool, keys[i]);
        if (ch_json_is(v, CH_JSON_OBJECT))
            return v;
    }
    return NULL;
}

static void write_lint(struct ch_jw *w, struct ch_sv tool, const struct ch_lint *l) {
    ch_jw_begin(w, '{');
    if (tool.p)
        ch_jw_kstr(w, "tool", tool);
    ch_jw_kcstr(w, "level", l->level);
    ch_jw_kcstr(w, "rule", l->rule);
    if (l->path.p)
        ch_jw_kstr(w, "path", l->path);
    ch_jw_kstr(w, "message", l->message);
    if (l->vendors)
        ch_jw_kcstr(w, "vendors", l->vendors);
    ch_jw_end(w, '}');
}

static int lint_one(const struct ch_json *v, struct ch_jw *w, struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    CH_AUTO(ch_schema) program = NULL;
    struct chela_error why = {0};
    struct ch_lints list;
    const struct ch_json *inner = ch_json_get(v, "function");
    const struct ch_json *tool = ch_json_is(inner, CH_JSON_OBJECT) ? inner : v;
    const struct ch_json *schema = schema_in(tool);
    bool named = ch_json_is(ch_json_get(tool, "name"), CH_JSON_STRING) &&
                 (schema || ch_json_get(tool, "description"));
    struct ch_sv name = named ? ch_json_get_str(tool, "name") : ch_sv(NULL, 0);
    struct ch_sv words = ch_json_get_str(tool, "description");
    if (!named)
        schema = v;
    int rc = schema ? ch_schema_new(schema, NULL, &program, &why) : 0;
    if (rc < 0)
        return ch_fail(err, rc, "%.*s%s%s", CH_SV_FMT(name), name.n ? ": " : "", why.message);
    ch_schema_lint(name,
                   named && !words.p ? CH_SV("")
                   : named           ? words
                                     : ch_sv(NULL, 0),
                   schema, &arena, &list);
    for (size_t i = 0; i < list.n; i++)
        write_lint(w, name, &list.list[i]);
    return 0;
}

char *chela_schema_lint(const char *json, size_t len, struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    struct ch_buf out = {0};
    struct ch_jw w = ch_jw(&out);
    const struct ch_json *v;
    int rc = schema_api_read_value(&arena, json, len, &v, err);
    if (rc < 0)
        return NULL;
    ch_jw_begin(&w, '[');
    if (v->type != CH_JSON_ARRAY)
        rc = lint_one(v, &w, err);
    for (CH_JSON_EACH(e, v))
        if (rc == 0)
            rc = lint_one(e, &w, err);
    ch_jw_end(&w, ']');
    if (rc == 0)
        return ch_buf_take(&out);
    ch_buf_release(&out);
    return NULL;
}
