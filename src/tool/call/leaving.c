/* leaving.c -- see leaving.h. */
#include "tool/call/leaving.h"

#include "guard/leak.h"

/* All texts, without the escapes of JSON, which would hide a secret. */
static void leaving_collect(const struct ch_json *v, struct ch_buf *out) {
    if (ch_json_is(v, CH_JSON_STRING)) {
        ch_buf_add_sv(out, ch_json_str(v));
        ch_buf_addc(out, '\n');
    } else if (ch_json_is(v, CH_JSON_ARRAY)) {
        for (CH_JSON_EACH(one, v))
            leaving_collect(one, out);
    } else if (ch_json_is(v, CH_JSON_OBJECT)) {
        for (CH_JSON_MEMBERS(key, value, v)) {
            leaving_collect(key, out);
            leaving_collect(value, out);
        }
    }
}

bool ch_leaving_is_refused(const chela_call *call, struct ch_buf *why) {
    CH_BUF_AUTO text = {0}, name = {0};

    if (!(call->tool->flags & CHELA_TOOL_SENDS))
        return false;
    leaving_collect(call->args, &text);
    ch_buf_add_sv(&text, call->arguments); /* with the numbers */
    if (!ch_leak_find(call->workspace, 0, ch_buf_sv(&text), &name))
        return false;
    ch_leak_explain(why, ch_buf_str(&name));
    return true;
}
