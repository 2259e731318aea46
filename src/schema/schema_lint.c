/* schema_lint.c -- see schema_lint.h.
 *
 * Rules for people and models (too many parameters, too deep, undescribed
 * parameters) and a table of keywords that some vendors reject, with the
 * vendors' names. A keyword is reported once, at its first occurrence.
 * Recursion follows the schema's own nesting, not its references. */
#include "schema/schema_lint.h"

#include <stdarg.h>

#include "base/limits.h"
#include "base/mem.h"
#include "schema/schema_emit.h"
#include "schema/schema_keyword.h"
#include "schema/schema_program.h"

#define MANY_PARAMETERS 10
#define DEEP 3          /* nested objects */
#define SHORT_WORDS 10  /* characters of a description that is too short */
#define LONG_WORDS 1024 /* OpenAI's maximum */
#define MOST_NODES 20000

/* Vendors that reject the keyword, always or in strict mode. */
static const struct {
    const char *keyword, *vendors;
} refused[] = {
    {"oneOf", "gemini parameters, openai strict, anthropic strict"},
    {"allOf", "gemini, openai strict"},
    {"not", "gemini, openai strict"},
    {"if", "gemini, openai strict"},
    {"const", "gemini parameters (rewritten as enum)"},
    {"$ref", "gemini parameters, bedrock nova (put in place)"},
    {"$dynamicRef", "gemini, openai strict, anthropic strict"},
    {"patternProperties", "gemini, openai strict"},
    {"propertyNames", "gemini, openai strict"},
    {"dependentRequired", "gemini, openai strict"},
    {"dependentSchemas", "gemini, openai strict"},
    {"dependencies", "gemini, openai strict"},
    {"unevaluatedProperties", "gemini, openai strict"},
    {"unevaluatedItems", "gemini, openai strict"},
    {"contains", "gemini, openai strict"},
    {"uniqueItems", "gemini, openai strict, anthropic strict"},
    {"multipleOf", "gemini, anthropic strict"},
    {"exclusiveMinimum", "gemini parameters, anthropic strict"},
    {"exclusiveMaximum", "gemini parameters, anthropic strict"},
    {"minimum", "anthropic strict"},
    {"maximum", "anthropic strict"},
    {"maxItems", "anthropic strict"},
    {"minLength", "openai strict, gemini parametersJsonSchema"},
    {"maxLength", "openai strict, gemini parametersJsonSchema"},
    {"pattern", "gemini parametersJsonSchema"},
    {"minProperties", "openai strict, anthropic strict"},
    {"maxProperties", "openai strict, anthropic strict"},
    {"prefixItems", "gemini parameters, openai strict"},
    {"default", "openai strict"},
};

struct linter {
    struct ch_arena *arena;
    struct ch_lints *out;
    const struct ch_json *root;
    bool told[CH_LEN(refused)];
};

CHELA_PRINTF(6, 7)
static void schema_lint_add(struct linter *l, const char *level, const char *rule,
                            const struct ch_json *at, const char *vendors, const char *fmt, ...) {
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO path = {0};
    va_list ap;
    if (l->out->n == CH_LIMIT_VIOLATIONS)
        return;
    if (!l->out->list)
        l->out->list = ch_arena_alloc(l->arena, CH_LIMIT_VIOLATIONS * sizeof(l->out->list[0]));
    va_start(ap, fmt);
    ch_buf_vaddf(&text, fmt, ap);
    va_end(ap);
    if (at)
        ch_json_pointer_to(l->root, at, &path);
    l->out->list[l->out->n++] = (struct ch_lint){
        .level = level,
        .rule = rule,
        .path = at ? ch_arena_sv(l->arena, ch_buf_sv(&path)) : ch_sv(NULL, 0),
        .message = ch_arena_sv(l->arena, ch_buf_sv(&text)),
        .vendors = vendors,
    };
}

/* --- words ------------------------------------------------------------------------ */

static bool schema_lint_is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

static bool schema_lint_is_name(struct ch_sv s, const char *also) {
    for (size_t i = 0; i < s.n; i++)
        if (!schema_lint_is_name_char(s.p[i]) && !(s.p[i] && strchr(also, s.p[i])))
            return false;
    return s.n > 0 && s.n <= 64;
}

/* The letters and digits of a text, in lower case. */
static struct ch_sv essence(struct ch_arena *a, struct ch_sv s) {
    char *p = ch_arena_bytes(a, s.n);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (schema_lint_is_name_char(c) && c != '_' && c != '-')
            p[n++] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
        else if (c & 0x80)
            p[n++] = c;
    }
    return ch_sv(p, n);
}

/* Whether the description only repeats the name, with or without an article. */
static bool repeats_name(struct linter *l, struct ch_sv name, struct ch_sv words) {
    struct ch_sv a = essence(l->arena, name), b = essence(l->arena, words);
    static const char *const fill[] = {"the", "a", "an"};
    for (size_t i = 0; i < CH_LEN(fill); i++) {
        size_t n = strlen(fill[i]);
        if (b.n == a.n + n && ch_sv_starts(b, fill[i]) && ch_sv_eq(ch_sv(b.p + n, a.n), a))
            return true;
    }
    return ch_sv_eq(a, b);
}

static bool is_vague(struct linter *l, struct ch_sv name, struct ch_sv words) {
    static const char *const empty[] = {"tbd",      "none",     "na",         "string",
                                        "value",    "thevalue", "input",      "parameter",
                                        "argument", "data",     "description"};
    struct ch_sv core = essence(l->arena, words);
    for (size_t i = 0; i < CH_LEN(empty); i++)
        if (ch_sv_is(core, empty[i]))
            return true;
    return repeats_name(l, name, words);
}

/* --- the tool ----------------------------------------------------------------------- */

static void lint_tool(struct linter *l, struct ch_sv name, struct ch_sv description) {
    if (name.p && !schema_lint_is_name(name, ""))
        schema_lint_add(l, "error", "name", NULL, "openai, anthropic, gemini",
                        "the name '%.*s' must be 1 to 64 letters, digits, '_' or '-'",
                        CH_SV_FMT(name));
    else if (name.p && !((name.p[0] | 0x20) >= 'a' && (name.p[0] | 0x20) <= 'z') &&
             name.p[0] != '_')
        schema_lint_add(l, "error", "name", NULL, "gemini",
                        "the name '%.*s' must begin with a letter or '_'", CH_SV_FMT(name));
    struct ch_sv words = ch_sv_trim(description.p ? description : CH_SV(""));
    if (words.n == 0)
        schema_lint_add(l, "warning", "description", NULL, NULL,
                        "no description: the model cannot know when to use the tool");
    else if (words.n < 2 * SHORT_WORDS || is_vague(l, name.p ? name : CH_SV(""), words))
        schema_lint_add(
            l, "warning", "description", NULL, NULL,
            "the description says little; two or three sentences on what the tool does, its limits "
            "and how it fails help most");
    else if (words.n > LONG_WORDS)
        schema_lint_add(l, "warning", "description", NULL, "openai",
                        "the description has %zu bytes; OpenAI takes %d", words.n, LONG_WORDS);
}

/* --- the schema ----------------------------------------------------------------------- */

static void lint_keyword(struct linter *l, const struct ch_json *name, const struct ch_json *v) {
    for (size_t i = 0; i < CH_LEN(refused); i++) {
        if (l->told[i] || !ch_sv_is(ch_json_str(name), refused[i].keyword))
            continue;
        l->told[i] = true;
        schema_lint_add(l, "note", "keyword", v, refused[i].vendors,
                        "'%s' is not taken by all vendors", refused[i].keyword);
    }
}

static void lint_parameter(struct linter *l, const struct ch_json *name, const struct ch_json *v) {
    struct ch_sv key = ch_json_str(name), words = ch_sv_trim(ch_json_get_str(v, "description"));
    bool speaks = ch_json_get(v, "type") || ch_json_get(v, "enum") || ch_json_get(v, "const") ||
                  ch_json_get(v, "anyOf") || ch_json_get(v, "oneOf") || ch_json_get(v, "allOf") ||
                  ch_json_get(v, "$ref");
    if (!schema_lint_is_name(key, "."))
        schema_lint_add(l, "error", "name", v, "anthropic",
                        "the key '%.*s' must be 1 to 64 letters, digits, '_', '.' or '-'",
                        CH_SV_FMT(key));
    if (!speaks)
        schema_lint_add(l, "warning", "type", v, "gemini, openai strict", "'%.*s' has no type",
                        CH_SV_FMT(key));
    if (words.n == 0 && !ch_json_get(v, "$ref"))
        schema_lint_add(l, "warning", "description", v, NULL, "'%.*s' has no description",
                        CH_SV_FMT(key));
    else if (words.n && (words.n < SHORT_WORDS || is_vague(l, key, words)))
        schema_lint_add(l, "warning", "description", v, NULL,
                        "the description of '%.*s' says no more than its name", CH_SV_FMT(key));
}

static void lint_object(struct linter *l, const struct ch_json *v) {
    const struct ch_json *properties = ch_json_get(v, "properties");
    for (CH_JSON_MEMBERS(name, p, properties))
        lint_parameter(l, name, p);
    if (ch_json_is(properties, CH_JSON_OBJECT) && properties->n >= MANY_PARAMETERS)
        schema_lint_add(
            l, "warning", "parameters", properties, NULL,
            "%u parameters: models lose track of ten or more; group them or make several tools",
            properties->n);
    for (CH_JSON_EACH(e, ch_json_get(v, "required")))
        if (!ch_json_get_sv(properties, ch_json_str(e)))
            schema_lint_add(l, "warning", "required", e, "gemini, openai strict",
                            "'%.*s' is required but not among the properties",
                            CH_SV_FMT(ch_json_str(e)));
}

static void lint_schema(struct linter *l, const struct ch_json *v, unsigned objects);

static void lint_inside(struct linter *l, enum ch_keyword k, const struct ch_json *v,
                        unsigned objects) {
    enum ch_operand shape = (enum ch_operand)ch_keywords[k].shape;
    if (shape == CH_SHAPE_ONE || (shape == CH_SHAPE_EITHER && v->type == CH_JSON_OBJECT))
        lint_schema(l, v, objects);
    for (CH_JSON_EACH(e, shape == CH_SHAPE_LIST || shape == CH_SHAPE_EITHER ? v : NULL))
        lint_schema(l, e, objects);
    for (CH_JSON_MEMBERS(name, e, shape == CH_SHAPE_MAP ? v : NULL))
        lint_schema(l, e, objects);
}

/* objects: number of objects around the value. */
static void lint_schema(struct linter *l, const struct ch_json *v, unsigned objects) {
    bool whole;
    unsigned types = ch_type_bits(ch_json_get(v, "type"), &whole);
    bool object = types & CH_BIT_OBJECT || ch_json_get(v, "properties");
    if (v->type != CH_JSON_OBJECT)
        return;
    if (object && objects == DEEP)
        schema_lint_add(l, "warning", "depth", v, NULL,
                        "objects nested more than %d deep: flatten them", DEEP);
    if (object)
        lint_object(l, v);
    if (types & CH_BIT_ARRAY && !ch_json_get(v, "items") && !ch_json_get(v, "prefixItems"))
        schema_lint_add(l, "error", "items", v, "openai, gemini",
                        "an array must say what its items are");
    for (CH_JSON_MEMBERS(name, value, v)) {
        enum ch_keyword k = ch_keyword_find(ch_json_str(name));
        lint_keyword(l, name, value);
        if (k)
            lint_inside(l, k, value, objects + object);
    }
}

static void lint_root(struct linter *l, const struct ch_json *v) {
    static const char *const choices[] = {"anyOf", "oneOf", "allOf"};
    if (!ch_sv_is(ch_json_get_str(v, "type"), "object"))
        schema_lint_add(l, "error", "root", v, "anthropic, openai, gemini",
                        "the schema of a tool must have \"type\": \"object\"");
    for (size_t i = 0; i < CH_LEN(choices); i++)
        if (ch_json_get(v, choices[i]))
            schema_lint_add(l, "error", "root", v, "anthropic, openai strict",
                            "'%s' must not be at the root of a tool's schema", choices[i]);
}

void ch_schema_lint(struct ch_sv name, struct ch_sv description, const struct ch_json *schema,
                    struct ch_arena *arena, struct ch_lints *out) {
    struct linter l = {.arena = arena, .out = out, .root = schema};
    *out = (struct ch_lints){0};
    if (name.p || description.p)
        lint_tool(&l, name, description);
    if (!schema)
        return; /* the tool has no arguments */
    lint_root(&l, schema);
    if (ch_json_next(schema) - schema > MOST_NODES)
        schema_lint_add(&l, "error", "size", schema, "all",
                        "the schema is larger than any vendor accepts");
    else
        lint_schema(&l, schema, 0);
}
