/* schema.c -- write the table of options as a JSON Schema, for editors.
 *
 * The schema is stricter than the program in one point: it rejects unknown
 * keys, where the program only warns, so that an editor marks them. */
#include "base/mem.h"
#include "channel/channels.h"
#include "chela/config.h"
#include "config/conf.h"
#include "config/option.h"
#include "config/option_keys.h"
#include "model/catalog/provider.h"
#include "json/writer.h"

static void write_scope(struct ch_jw *w, enum ch_scope scope, bool item, struct ch_sv above);

static void write_range(struct ch_jw *w, const char *type, const struct ch_option *o) {
    ch_jw_kcstr(w, "type", type);
    ch_jw_kdouble(w, "minimum", o->min);
    ch_jw_kdouble(w, "maximum", o->max);
}

static void schema_write_text(struct ch_jw *w, const char *pattern) {
    ch_jw_kcstr(w, "type", "string");
    if (pattern)
        ch_jw_kcstr(w, "pattern", pattern);
}

static void schema_write_words(struct ch_jw *w, const char *words) {
    struct ch_sv rest = ch_sv_str(words);
    ch_jw_kbegin(w, "enum", '[');
    while (rest.n)
        ch_jw_str(w, ch_sv_split(&rest, '|'));
    ch_jw_end(w, ']');
}

static void write_quirk_names(struct ch_jw *w) {
    unsigned bit;
    ch_jw_kbegin(w, "propertyNames", '{');
    ch_jw_kbegin(w, "enum", '[');
    for (size_t i = 0; ch_quirk_name(i, &bit); i++)
        ch_jw_cstr(w, ch_quirk_name(i, &bit));
    ch_jw_end(w, ']');
    ch_jw_end(w, '}');
}

#define TEXTS "{\"type\":\"string\"}"
#define CHECK                                                                                   \
    "[{\"type\":\"array\",\"minItems\":1,\"items\":" TEXTS "},{\"type\":\"object\","           \
    "\"additionalProperties\":{\"type\":[\"string\",\"object\"]}}]"
#define VARIABLE "{\"type\":\"string\",\"pattern\":\"^[a-zA-Z_][a-zA-Z0-9_]*$\"}"
#define VARIABLES "[" VARIABLE ",{\"type\":\"array\",\"minItems\":1,\"items\":" VARIABLE "}]"
#define NETWORK "[{\"enum\":[\"none\",\"host\"]},{\"type\":\"array\",\"items\":" TEXTS "}]"
#define MODEL "{\"type\":\"string\",\"pattern\":\"^[^/]+/.+\"}"
#define MODELS "[" MODEL ",{\"type\":\"array\",\"minItems\":1,\"items\":" MODEL "}]"

static const char *const text_patterns[] = {
    [CH_CFG_TEXT] = NULL,
    [CH_CFG_PATH] = "^.+",
    [CH_CFG_NAME] = "^[a-zA-Z0-9_-]{1,64}$",
    [CH_CFG_URL] = "^https?://",
    [CH_CFG_SMTP] = "^smtps?://",
    [CH_CFG_SPAN] = "^([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?$",
    [CH_CFG_HOURS] = "^[0-9]{2}:[0-9]{2}-[0-9]{2}:[0-9]{2}$",
    [CH_CFG_ENV] = "^[a-zA-Z_][a-zA-Z0-9_]*$",
    [CH_CFG_MODEL] = "^[^/]+/.+",
    [CH_CFG_FOLDER] = "^.+",
};

/* An approval rule: text, or the mapping that YAML makes of `TOOL: PATTERN`. */
#define RULES                                                                     \
    "{\"type\":\"array\",\"items\":{\"anyOf\":[" TEXTS ",{\"type\":\"object\","       \
    "\"minProperties\":1,\"maxProperties\":1,\"additionalProperties\":" TEXTS "}]}}"
/* A text, or the name of a prompt with values. */
#define SYSTEM                                                                    \
    "[" TEXTS ",{\"type\":\"object\",\"properties\":{\"prompt\":" TEXTS                \
    ",\"vars\":{\"type\":\"object\"}},\"required\":[\"prompt\"],"                    \
    "\"additionalProperties\":false}]"
/* A roll-out: versions and percentages. */
#define SHARES                                                                    \
    "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\",\"minimum\":0," \
    "\"maximum\":100}}"

static void write_mapping(struct ch_jw *w, struct ch_sv of) {
    ch_jw_kcstr(w, "type", "object");
    ch_jw_kraw(w, "additionalProperties", of);
}

/* Write the schema of a list's or map's entries. */
static void schema_write_entry(struct ch_jw *w, const char *keyword, const struct ch_option *o) {
    ch_jw_kbegin(w, keyword, '{');
    write_scope(w, o->of, true, CH_SV(""));
    ch_jw_end(w, '}');
}

static void write_option(struct ch_jw *w, const struct ch_option *o);

static void schema_write_rows(struct ch_jw *w, const struct ch_option *rows) {
    for (const struct ch_option *o = rows; o->key; o++) {
        if (o->scope != CH_SCOPE_CHANNEL || o->type == CH_CFG_REFUSED)
            continue;
        ch_jw_key(w, o->key);
        write_option(w, o);
    }
}

/* A service of a module that is not installed here is any mapping. */
static void schema_write_channels(struct ch_jw *w) {
    const struct chela_channel_ops *ops;
    ch_jw_kcstr(w, "type", "object");
    ch_jw_kbegin(w, "properties", '{');
    for (size_t i = 0; (ops = ch_channel_listed(i, NULL)); i++) {
        CH_ARENA_AUTO arena = {0};
        ch_jw_kbegin(w, ops->name, '{');
        ch_jw_kcstr(w, "type", "object");
        ch_jw_kbegin(w, "properties", '{');
        schema_write_rows(w, ch_conf_channel_rows(ops, &arena));
        schema_write_rows(w, ch_options);
        ch_jw_end(w, '}');
        ch_jw_kbool(w, "additionalProperties", false);
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, '}');
    ch_jw_kraw(w, "additionalProperties", CH_SV("{\"type\":\"object\"}"));
}

static void schema_write_list(struct ch_jw *w, bool not_empty) {
    ch_jw_kcstr(w, "type", "array");
    ch_jw_kraw(w, "items", CH_SV(TEXTS));
    if (not_empty)
        ch_jw_kint(w, "minItems", 1);
}

/* Write the keywords for a value of this type. */
static void schema_write_type(struct ch_jw *w, const struct ch_option *o) {
    switch (o->type) {
    case CH_CFG_TEXT:
    case CH_CFG_PATH:
    case CH_CFG_FOLDER:
    case CH_CFG_NAME:
    case CH_CFG_URL:
    case CH_CFG_SMTP:
    case CH_CFG_WHEN:
    case CH_CFG_SPAN:
    case CH_CFG_HOURS:
    case CH_CFG_ENV:
    case CH_CFG_MODEL:
        schema_write_text(w, text_patterns[o->type]);
        return;
    case CH_CFG_ENVS:
        ch_jw_kraw(w, "anyOf", CH_SV(VARIABLES));
        return;
    case CH_CFG_CHOICE:
        schema_write_words(w, o->words);
        return;
    case CH_CFG_NETWORK:
        ch_jw_kraw(w, "anyOf", CH_SV(NETWORK));
        return;
    case CH_CFG_BOOL:
    case CH_CFG_FLAG:
    case CH_CFG_UNLESS:
        ch_jw_kcstr(w, "type", "boolean");
        return;
    case CH_CFG_INT:
    case CH_CFG_LIMIT:
    case CH_CFG_COUNT:
        write_range(w, "integer", o);
        return;
    case CH_CFG_SECONDS:
    case CH_CFG_BUDGET:
    case CH_CFG_NUMBER:
        write_range(w, "number", o);
        return;
    case CH_CFG_NAMES:
    case CH_CFG_PATTERNS:
    case CH_CFG_HOSTS:
    case CH_CFG_WORDS:
    case CH_CFG_PATHS:
    case CH_CFG_PLACES:
    case CH_CFG_INSIDE:
    case CH_CFG_COMMAND:
    case CH_CFG_TEXTS:
        schema_write_list(w, o->type == CH_CFG_COMMAND);
        return;
    case CH_CFG_MODELS:
        ch_jw_kraw(w, "anyOf", CH_SV(MODELS));
        return;
    case CH_CFG_DATABASES:
    case CH_CFG_HEADERS:
        write_mapping(w, CH_SV(TEXTS));
        return;
    case CH_CFG_PINS:
        write_mapping(w, CH_SV("{\"type\":[\"string\",\"number\"]}"));
        return;
    case CH_CFG_ROLLOUT:
        write_mapping(w, CH_SV(SHARES));
        return;
    case CH_CFG_QUIRKS:
        write_mapping(w, CH_SV("{\"type\":\"boolean\"}"));
        write_quirk_names(w);
        return;
    case CH_CFG_APPROVALS:
        write_mapping(w, CH_SV("{\"enum\":[\"ask\",\"sandbox\",\"auto\",\"deny\"]}"));
        ch_jw_kraw(w, "properties", CH_SV("{\"allow\":" RULES "}"));
        return;
    case CH_CFG_JSON:
        ch_jw_kcstr(w, "type", "object");
        return;
    case CH_CFG_CHECK:
    case CH_CFG_SYSTEM:
        ch_jw_kraw(w, "anyOf", o->type == CH_CFG_CHECK ? CH_SV(CHECK) : CH_SV(SYSTEM));
        return;
    case CH_CFG_ONE:
        write_scope(w, o->of, false, CH_SV(""));
        return;
    case CH_CFG_LIST:
        ch_jw_kcstr(w, "type", "array");
        schema_write_entry(w, "items", o);
        return;
    case CH_CFG_MAP:
        ch_jw_kcstr(w, "type", "object");
        schema_write_entry(w, "additionalProperties", o);
        return;
    case CH_CFG_CHANNELS:
        schema_write_channels(w);
        return;
    case CH_CFG_FACT:
    case CH_CFG_ANY:
    case CH_CFG_REFUSED:
        return;
    }
    CH_UNREACHABLE();
}

/* A default is JSON or, like a URL, a text. */
static bool schema_is_text(const struct ch_option *o) {
    CH_ARENA_AUTO a = {0};
    const struct ch_json *v;
    return o->type == CH_CFG_CHOICE || o->type == CH_CFG_TEXT || o->type == CH_CFG_ENV ||
           ch_json_parse(&a, ch_sv_str(o->otherwise), CH_JSON_STRICT, &v, NULL, NULL) < 0;
}

static void write_option(struct ch_jw *w, const struct ch_option *o) {
    ch_jw_begin(w, '{');
    if (o->help)
        ch_jw_kcstr(w, "description", o->help);
    schema_write_type(w, o);
    if (o->otherwise && schema_is_text(o))
        ch_jw_kcstr(w, "default", o->otherwise);
    else if (o->otherwise)
        ch_jw_kraw(w, "default", ch_sv_str(o->otherwise));
    ch_jw_end(w, '}');
}

static bool schema_listed(const struct ch_option *o, bool item) {
    return o->type != CH_CFG_REFUSED && (item || !(o->flags & CH_CFG_ITEM));
}

static void write_member(struct ch_jw *w, enum ch_scope scope, bool item, struct ch_sv full) {
    const struct ch_option *o = ch_option_find(scope, full);
    if (o) {
        write_option(w, o);
        return;
    }
    ch_jw_begin(w, '{');
    write_scope(w, scope, item, full);
    ch_jw_end(w, '}');
}

static void schema_write_required(struct ch_jw *w, enum ch_scope scope) {
    bool any = false;
    for (const struct ch_option *o = ch_options; o->key; o++) {
        if (o->scope != scope || !(o->flags & CH_CFG_REQUIRED))
            continue;
        if (!any) {
            ch_jw_kbegin(w, "required", '[');
        }
        any = true;
        ch_jw_cstr(w, o->key);
    }
    if (any)
        ch_jw_end(w, ']');
}

/* Write the members of an object schema: the keys of the scope below `above`.
 * Recursion follows the table, not the input. */
static void write_scope(struct ch_jw *w, enum ch_scope scope, bool item, struct ch_sv above) {
    const struct ch_option *o = NULL;
    struct ch_sv name;
    ch_jw_kcstr(w, "type", "object");
    ch_jw_kbegin(w, "properties", '{');
    while (ch_option_each_key(scope, above, &o, &name)) {
        CH_BUF_AUTO full = {0};
        if (!schema_listed(o, item))
            continue;
        ch_buf_addf(&full, "%.*s%s%.*s", CH_SV_FMT(above), above.n ? "." : "", CH_SV_FMT(name));
        ch_jw_key_sv(w, name);
        write_member(w, scope, item, ch_buf_sv(&full));
    }
    ch_jw_end(w, '}');
    if (item && above.n == 0)
        schema_write_required(w, scope);
    ch_jw_kbool(w, "additionalProperties", false);
}

char *chela_config_schema(void) {
    struct ch_buf out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "$schema", "https://json-schema.org/draft/2020-12/schema");
    ch_jw_kcstr(&w, "title", "chela.yaml");
    write_scope(&w, CH_SCOPE_FILE, false, CH_SV(""));
    ch_jw_end(&w, '}');
    return ch_buf_take(&out);
}
