/* call_by_name.c -- see call_by_name.h. */
#include "tool/call/call_by_name.h"

#include "json/writer.h"
#include "tool/call/vendor_call.h"

/* The arguments as an object. Models also write an object as a string, or leave it out. */
static const struct ch_json *arguments_of(const struct ch_json *call, struct ch_arena *arena) {
    const struct ch_json *v = ch_json_get(call, "arguments"), *inner = NULL;

    if (v && v->type == CH_JSON_STRING &&
        ch_json_parse(arena, ch_json_str(v), CH_JSON_STRICT, &inner, NULL, NULL) == 0)
        v = inner;
    return v;
}

/* Arguments beside `arguments` would be dropped, and the tool would run without them. */
static bool names_only(const struct ch_json *call) {
    unsigned known = (ch_json_get(call, "name") != NULL) + (ch_json_get(call, "arguments") != NULL);

    return call->type == CH_JSON_OBJECT && call->n == known;
}

bool ch_call_by_name(const struct ch_registry *own, const struct ch_block *block,
                     struct ch_arena *arena, struct ch_block *out) {
    const struct ch_tool *tool = own ? ch_registry_find(own, block->name) : NULL;
    const struct ch_json *call = NULL;
    CH_BUF_AUTO text = {0};

    if (ch_vendor_call(block, arena, out))
        return true;
    if (!tool || !(tool->flags & CH_TOOL_BY_NAME) || block->flags & (CH_F_CUT | CH_F_INVALID) ||
        ch_json_parse(arena, block->text, CH_JSON_STRICT, &call, NULL, NULL) < 0)
        return false;
    struct ch_sv name = ch_json_get_str(call, "name");
    const struct ch_json *arguments = arguments_of(call, arena);
    if (!name.n || !names_only(call) || (arguments && arguments->type != CH_JSON_OBJECT))
        return false;
    struct ch_jw w = ch_jw(&text);
    if (arguments)
        ch_jw_value(&w, arguments);
    else
        ch_buf_add_str(&text, "{}");
    *out = *block;
    out->name = ch_arena_sv(arena, name);
    out->text = ch_arena_sv(arena, ch_buf_sv(&text));
    return true;
}
