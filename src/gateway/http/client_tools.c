/* client_tools.c -- see client_tools.h. */
#include "gateway/http/client_tools.h"

#include "base/error.h"
#include "base/limits.h"
#include "gateway/request/request.h"
#include "json/writer.h"
#include "model/message/ids.h"

#define NAME_MOST 64  /* bytes of a name that every vendor accepts */
#define HASH_SHOWN 12 /* digits of the hash at the end of a longer name */

#define TEXT_SCHEMA                                                                                \
    "{\"type\":\"object\",\"properties\":{\"input\":{\"type\":\"string\"}},"                       \
    "\"required\":[\"input\"],\"additionalProperties\":false}"

struct ch_sv ch_client_tools_name(struct ch_arena *a, struct ch_sv space, struct ch_sv name) {
    char room[CH_NAME_ROOM];
    bool joined = space.n > 1 && space.p[space.n - 1] == '_';
    if (space.n)
        name = ch_sv_str(ch_arena_printf(a, "%.*s%s%.*s", CH_SV_FMT(space), joined ? "" : "__",
                                         CH_SV_FMT(name)));
    if (name.n <= NAME_MOST)
        return ch_arena_sv(a, ch_name_for(NAME_MOST, name, room));
    char hash[CH_HASH_HEX];
    ch_hash_hex(ch_hash(0, name), hash);
    struct ch_sv head = ch_name_for(NAME_MOST - HASH_SHOWN - 1, name, room);
    return ch_sv_str(ch_arena_printf(a, "%.*s_%.*s", CH_SV_FMT(head), HASH_SHOWN, hash));
}

static void tools_grow(struct ch_client_tools *t) {
    size_t cap = t->cap ? 2 * t->cap : 16;
    struct chela_tool_opts *opts = ch_arena_alloc(t->arena, cap * sizeof(*opts));
    struct ch_client_tool *kinds = ch_arena_alloc(t->arena, cap * sizeof(*kinds));
    if (t->n) {
        memcpy(opts, t->opts, t->n * sizeof(*opts));
        memcpy(kinds, t->kinds, t->n * sizeof(*kinds));
    }
    t->opts = opts;
    t->kinds = kinds;
    t->cap = cap;
}

static int tools_put(struct ch_client_tools *t, struct ch_client_tool kind, struct ch_sv about,
                     const char *schema, struct chela_error *err) {
    if (t->n == CH_LIMIT_CLIENT_TOOLS)
        return ch_fail(err, CHELA_EINVAL, "more than %d tools", CH_LIMIT_CLIENT_TOOLS);
    if (!kind.name.n)
        return ch_fail(err, CHELA_EINVAL, "`tools[].name` is missing");
    if (t->n == t->cap)
        tools_grow(t);
    struct ch_sv name = ch_client_tools_name(t->arena, kind.space, kind.name);
    const struct ch_client_tool *same = t->replaces ? ch_client_tools_find(t, name) : NULL;
    size_t at = same ? (size_t)(same - t->kinds) : t->n++;
    t->opts[at] = (struct chela_tool_opts)CHELA_TOOL_OPTS(
        .name = ch_arena_str(t->arena, name), .description = ch_arena_text(t->arena, about),
        .schema = schema);
    t->kinds[at] = kind;
    return 0;
}

int ch_client_tools_add(struct ch_client_tools *t, const struct ch_json *tool, const char *schema,
                        struct ch_sv space, struct chela_error *err) {
    const struct ch_json *s = ch_json_get(tool, schema);
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    if (tool && ch_request_check_types(tool, "tools[]",
                                       "name:string description:string parameters:object "
                                       "input_schema:object",
                                       err) < 0)
        return CHELA_EINVAL;
    if (ch_json_is(s, CH_JSON_OBJECT) && s->n)
        ch_jw_value(&w, s);
    return tools_put(t, (struct ch_client_tool){ch_json_get_str(tool, "name"), space, false},
                     ch_json_get_str(tool, "description"),
                     text.n ? ch_arena_str(t->arena, ch_buf_sv(&text)) : NULL, err);
}

/* The description contains the grammar of the text, because not every model can be forced to
 * follow a grammar. */
static struct ch_sv text_tool_description(struct ch_client_tools *t, const struct ch_json *tool) {
    struct ch_sv about = ch_json_get_str(tool, "description");
    const struct ch_json *format = ch_json_get(tool, "format");
    const struct ch_json *inner = ch_json_get(format, "grammar");
    const struct ch_json *grammar = ch_json_is(inner, CH_JSON_OBJECT) ? inner : format;
    struct ch_sv rules = ch_json_get_str(grammar, "definition");
    if (!rules.n)
        return about;
    return ch_sv_str(ch_arena_printf(
        t->arena, "%.*s\n\nThe member `input` is free text that matches this grammar (%.*s):\n%.*s",
        CH_SV_FMT(about), CH_SV_FMT(ch_json_get_str(grammar, "syntax")), CH_SV_FMT(rules)));
}

int ch_client_tools_add_text(struct ch_client_tools *t, const struct ch_json *tool,
                             struct ch_sv space, struct chela_error *err) {
    if (tool && ch_request_check_types(tool, "tools[]",
                                       "name:string description:string format:object", err) < 0)
        return CHELA_EINVAL;
    return tools_put(t, (struct ch_client_tool){ch_json_get_str(tool, "name"), space, true},
                     text_tool_description(t, tool), TEXT_SCHEMA, err);
}

void ch_client_tools_skip(struct ch_client_tools *t, struct ch_sv type) {
    const char *name = ch_arena_str(t->arena, type);
    if (t->skipped.n > 200 || (t->skipped.n && ch_sv_contains_nocase(t->skipped, name)))
        return;
    t->skipped = ch_sv_str(ch_arena_printf(t->arena, "%.*s%s%.64s", CH_SV_FMT(t->skipped),
                                           t->skipped.n ? ", " : "", name));
}

static bool tools_lists(const struct ch_json *list, struct ch_sv name) {
    for (CH_JSON_EACH(e, list)) {
        struct ch_sv named = ch_json_get_str(e, "name");
        if (!named.n)
            named = ch_json_str(ch_json_path(e, "function", "name", NULL));
        if (!named.n)
            named = ch_json_str(ch_json_path(e, "custom", "name", NULL));
        if (ch_sv_eq(named, name))
            return true;
    }
    return false;
}

void ch_client_tools_restrict(struct ch_client_tools *t, const struct ch_json *list) {
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++)
        if (tools_lists(list, t->kinds[i].name)) {
            t->opts[n] = t->opts[i];
            t->kinds[n++] = t->kinds[i];
        }
    t->n = n;
}

const struct ch_client_tool *ch_client_tools_find(const struct ch_client_tools *t,
                                                  struct ch_sv name) {
    for (size_t i = 0; i < t->n; i++)
        if (ch_sv_is(name, t->opts[i].name))
            return &t->kinds[i];
    return NULL;
}

struct ch_sv ch_client_tools_arguments(struct ch_arena *a, const struct ch_json *v) {
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    if (ch_json_is(v, CH_JSON_OBJECT))
        ch_jw_value(&w, v);
    else
        ch_buf_add_sv(&text, ch_json_str(v));
    return text.n ? ch_arena_sv(a, ch_buf_sv(&text)) : CH_SV("{}");
}

struct ch_sv ch_client_tools_wrap(struct ch_arena *a, struct ch_sv text) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "input", text);
    ch_jw_end(&w, '}');
    return ch_arena_sv(a, ch_buf_sv(&out));
}

struct ch_sv ch_client_tools_unwrap(struct ch_arena *a, struct ch_sv arguments) {
    const struct ch_json *v = NULL;
    ch_json_parse(a, ch_arena_sv(a, arguments), CH_JSON_STRICT, &v, NULL, NULL);
    struct ch_sv text = ch_json_get_str(v, "input");
    return text.p ? text : arguments;
}
