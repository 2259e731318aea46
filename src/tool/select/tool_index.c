/* tool_index.c -- chela/select.h: a catalog of tool definitions given as JSON. */
#include "base/grow.h"
#include "chela/select.h"

#include "base/arena.h"
#include "base/entry.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "tool/select/catalog.h"
#include "tool/registry/registry.h"
#include "json/writer.h"

struct chela_tool_index {
    struct ch_catalog catalog;
    struct ch_arena arena; /* names, summaries */
    struct {
        struct ch_sv name, summary;
    } * tools; /* owned */
    size_t n, cap;
};

/* The first of several members that exists. */
static const struct ch_json *tool_index_first_of(const struct ch_json *v,
                                                 const char *const *names) {
    for (; *names; names++) {
        const struct ch_json *found = ch_json_get(v, *names);
        if (found)
            return found;
    }
    return NULL;
}

static void tool_index_add_tool(chela_tool_index *ix, const struct ch_json *def) {
    static const char *const schemas[] = {
        "parameters",           "schema", "inputSchema", "input_schema", "arguments",
        "parametersJsonSchema", NULL};
    const struct ch_json *inner = ch_json_get(def, "function");
    if (inner && inner->type == CH_JSON_OBJECT)
        def = inner; /* OpenAI's {"type":"function","function":{...}} */
    struct ch_sv name = ch_json_get_str(def, "name");
    struct ch_sv description = ch_json_get_str(def, "description");

    if (!name.n || ix->n == CH_LIMIT_SELECT_COUNT)
        return;
    CH_GROW(ix->tools, ix->n, ix->cap, 64);
    ix->tools[ix->n].name = ch_arena_sv(&ix->arena, name);
    ix->tools[ix->n].summary = ch_arena_sv(&ix->arena, ch_first_sentence(description));
    ix->n++;
    ch_catalog_add(&ix->catalog, name, description, tool_index_first_of(def, schemas));
}

/* Add a definition, a list of definitions, or an object that contains such a list. */
static void tool_index_add_tools(chela_tool_index *ix, const struct ch_json *v) {
    static const char *const lists[] = {"tools", "functions", "functionDeclarations",
                                        "function_declarations", NULL};
    if (v->type == CH_JSON_OBJECT) {
        const struct ch_json *list = tool_index_first_of(v, lists);
        if (!list) {
            tool_index_add_tool(ix, v);
            return;
        }
        v = list;
    }
    for (CH_JSON_EACH(def, v)) {
        const struct ch_json *list =
            tool_index_first_of(def, lists); /* Gemini nests lists in groups */
        if (!list)
            tool_index_add_tool(ix, def);
        for (CH_JSON_EACH(nested, list))
            tool_index_add_tool(ix, nested);
    }
}

/* Parse one JSON document, or one document per line. */
static int tool_index_read_all(chela_tool_index *ix, struct ch_sv text, struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    int rc = ch_json_parse(&arena, text, CH_JSON_REPLACE, &v, NULL, err);

    if (rc == 0) {
        tool_index_add_tools(ix, v);
        return 0;
    }
    for (size_t line = 1; text.n; line++) {
        struct ch_sv one = ch_sv_trim(ch_sv_split(&text, '\n'));
        ch_arena_clear(&arena);
        if (one.n && ch_json_parse(&arena, one, CH_JSON_REPLACE, &v, NULL, NULL) < 0)
            return rc; /* the error of the whole text is more helpful */
        if (one.n)
            tool_index_add_tools(ix, v);
    }
    return 0;
}

int chela_tool_index_new(const char *json, size_t len, chela_tool_index **out,
                         struct chela_error *err) {
    struct chela_error why = {0};
    chela_tool_index *ix = ch_alloc(sizeof(*ix));
    int rc = tool_index_read_all(ix, ch_sv(json, len), &why);

    CH_NEEDS_ARG(out, err);
    *out = NULL;
    if (rc < 0)
        ch_fail(err, rc, "%s", why.message);
    else if (ix->n == 0)
        rc = ch_fail(err, CHELA_EINVAL, "there is no tool definition with a name in it");
    if (rc < 0) {
        chela_tool_index_free(ix);
        return rc;
    }
    *out = ix;
    return 0;
}

void chela_tool_index_free(chela_tool_index *ix) {
    if (!ix)
        return;
    ch_catalog_release(&ix->catalog);
    ch_arena_release(&ix->arena);
    ch_free(ix->tools);
    ch_free(ix);
}

size_t chela_tool_index_size(const chela_tool_index *ix) {
    CH_NEEDS_OR(ix, NULL, 0);
    return ix->n;
}

static void tool_index_open(chela_tool_index *ix, size_t tool, struct ch_jw *w) {
    ch_jw_begin(w, '{');
    ch_jw_kstr(w, "name", ix->tools[tool].name);
}

static void tool_index_close(chela_tool_index *ix, size_t tool, struct ch_jw *w) {
    ch_jw_kstr(w, "summary", ix->tools[tool].summary);
    ch_jw_end(w, '}');
}

char *chela_tool_index_select(chela_tool_index *ix, const char *query, size_t len, size_t k) {
    CH_NEEDS_OR(ix, NULL, NULL);
    struct ch_buf out = {0};
    struct ch_jw w = ch_jw(&out);

    k = CH_MIN(k, ix->n);
    CH_AUTOFREE struct ch_catalog_hit *picks = ch_malloc((k + 1) * sizeof(*picks));
    size_t n = ch_catalog_pick(&ix->catalog, ch_sv(query, len), NULL, k, picks);
    ch_jw_begin(&w, '[');
    for (size_t i = 0; i < n; i++) {
        tool_index_open(ix, picks[i].tool, &w);
        ch_jw_kdouble(&w, "score", picks[i].score);
        tool_index_close(ix, picks[i].tool, &w);
    }
    ch_jw_end(&w, ']');
    return ch_buf_take(&out);
}

char *chela_tool_index_deferred(chela_tool_index *ix, const char *query, size_t len, size_t k) {
    CH_NEEDS_OR(ix, NULL, NULL);
    struct ch_buf out = {0};
    struct ch_jw w = ch_jw(&out);

    k = CH_MIN(k, ix->n);
    CH_AUTOFREE struct ch_catalog_hit *picks = ch_malloc((k + 1) * sizeof(*picks));
    CH_AUTOFREE bool *listed = ch_alloc(ix->n + 1);
    size_t n = ch_catalog_pick(&ix->catalog, ch_sv(query, len), NULL, k, picks);
    for (size_t i = 0; i < n; i++)
        listed[picks[i].tool] = true;
    ch_jw_begin(&w, '[');
    for (size_t i = 0; i < ix->n; i++)
        if (!listed[i]) {
            tool_index_open(ix, i, &w);
            ch_jw_kbool(&w, "deferred", true);
            tool_index_close(ix, i, &w);
        }
    ch_jw_end(&w, ']');
    return ch_buf_take(&out);
}
