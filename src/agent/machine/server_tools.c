/* server_tools.c -- see server_tools.h. */
#include "agent/machine/server_tools.h"

#include "base/error.h"
#include "json/writer.h"
#include "tool/registry/registry.h"

#define TOOLS "tools"
#define CALLERS "allowed_callers"

static int server_tools_check(const struct ch_json *list, struct chela_error *err) {
    if (!ch_json_is(list, CH_JSON_ARRAY))
        return ch_fail(err, CHELA_ECONFIG,
                       "serverTools must be a list of tools, or lists by provider or protocol");
    for (CH_JSON_EACH(t, list)) {
        const struct ch_json *names = ch_json_get(t, TOOLS);
        if (!ch_json_is(t, CH_JSON_OBJECT))
            return ch_fail(err, CHELA_ECONFIG, "serverTools: a tool must be an object");
        if (names && (!ch_json_is(names, CH_JSON_STRING) || t->n != 2 ||
                      !ch_json_is(ch_json_get(t, CALLERS), CH_JSON_ARRAY)))
            return ch_fail(err, CHELA_ECONFIG,
                           "serverTools: " TOOLS " must be names, beside a list " CALLERS);
    }
    return 0;
}

static int server_tools_check_all(const struct ch_json *tools, struct chela_error *err) {
    if (!ch_json_is(tools, CH_JSON_OBJECT))
        return server_tools_check(tools, err);
    int rc = 0;
    for (CH_JSON_MEMBERS(k, list, tools)) {
        (void)k;
        if (rc == 0)
            rc = server_tools_check(list, err);
    }
    return rc;
}

int ch_server_tools_read(struct ch_arena *a, const char *text, const struct ch_json **out,
                         struct chela_error *err) {
    const struct ch_json *tools = NULL;
    if (text) {
        struct ch_sv copy = ch_sv_str(ch_arena_str(a, ch_sv_str(text)));
        if (ch_json_parse(a, copy, CH_JSON_STRICT, &tools, NULL, NULL) < 0)
            return ch_fail(err, CHELA_ECONFIG, "serverTools is not valid JSON");
        int rc = server_tools_check_all(tools, err);
        if (rc < 0)
            return rc;
    }
    *out = tools;
    return 0;
}

const struct ch_json *ch_server_tools_list(const struct ch_json *tools, const char *provider,
                                           const char *api) {
    if (!ch_json_is(tools, CH_JSON_OBJECT))
        return tools;
    const struct ch_json *list = ch_json_get(tools, provider);
    return list ? list : ch_json_get(tools, api);
}

struct ch_sv ch_server_tools_for(struct ch_arena *a, const struct ch_json *list) {
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    size_t n = 0;
    if (!list)
        return CH_SV("");
    ch_jw_begin(&w, '[');
    for (CH_JSON_EACH(t, list))
        if (!ch_json_get(t, TOOLS)) {
            ch_jw_value(&w, t);
            n++;
        }
    ch_jw_end(&w, ']');
    return n ? ch_arena_sv(a, ch_buf_sv(&text)) : CH_SV("");
}

struct ch_sv ch_server_tools_callers(struct ch_arena *a, const struct ch_json *list,
                                     struct ch_sv name) {
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    for (CH_JSON_EACH(t, list))
        if (!text.n && ch_tool_matches(ch_json_get_str(t, TOOLS), name))
            ch_jw_value(&w, ch_json_get(t, CALLERS));
    return text.n ? ch_arena_sv(a, ch_buf_sv(&text)) : CH_SV("");
}
