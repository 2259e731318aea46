/* beat_reply.c -- see beat_reply.h.
 *
 * The first complete object or list with actions is the reply. */
#include "agent/feature/heartbeat/beat_reply.h"

#include "json/writer.h"
#include "prompt/reply_json.h"

/* --- reading the object */

static const struct ch_json *any_of(const struct ch_json *o, const char *const *names) {
    const struct ch_json *v = NULL;
    for (; !v && *names; names++)
        v = ch_json_get(o, *names);
    return v;
}

static bool is_true(const struct ch_json *v) {
    struct ch_sv s = ch_json_str(v);
    return ch_json_bool(v, false) || (ch_json_is(v, CH_JSON_STRING) && ch_sv_is(s, "true"));
}

static const char *const name_names[] = {"name", "function", "action", "tool", NULL};
static const char *const params_names[] = {"params", "parameters", "arguments", "args", "input",
                                           NULL};
static const char *const actions_names[] = {"actions", "action", "tool_calls", NULL};

/* Writes the arguments of an action. Thoughts among the arguments are left out. */
static void write_params(const struct ch_json *v, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    for (CH_JSON_MEMBERS(key, value, v)) {
        if (ch_sv_is(ch_json_str(key), "inner_thoughts"))
            continue;
        ch_jw_key_sv(&w, ch_json_str(key));
        ch_jw_value(&w, value);
    }
    ch_jw_end(&w, '}');
}

static bool beat_reply_read_action(const struct ch_json *v, struct ch_arena *a,
                                   struct ch_beat_reply *out) {
    CH_BUF_AUTO json = {0};
    struct ch_sv name = ch_sv_trim(ch_json_str(any_of(v, name_names)));
    if (!ch_json_is(v, CH_JSON_OBJECT) || !name.n)
        return false;
    if (out->n == CH_LIMIT_BEAT_ACTIONS) {
        out->dropped++;
        return true;
    }
    write_params(any_of(v, params_names), &json);
    out->actions[out->n++] = (struct ch_beat_action){name, ch_arena_sv(a, ch_buf_sv(&json))};
    return true;
}

static bool read_actions(const struct ch_json *v, struct ch_arena *a, struct ch_beat_reply *out) {
    if (ch_json_is(v, CH_JSON_OBJECT))
        return beat_reply_read_action(v, a, out);
    if (!ch_json_is(v, CH_JSON_ARRAY))
        return ch_json_is(v, CH_JSON_NULL);
    for (CH_JSON_EACH(e, v))
        if (!beat_reply_read_action(e, a, out))
            return false;
    return true;
}

/* Thoughts as text: a string unchanged, an object with one line per member. */
static struct ch_sv read_thoughts(const struct ch_json *v, struct ch_arena *a) {
    CH_BUF_AUTO text = {0};
    if (ch_json_is(v, CH_JSON_STRING))
        return ch_json_str(v);
    for (CH_JSON_MEMBERS(key, value, v))
        if (ch_json_is(value, CH_JSON_STRING) && ch_json_str(value).n)
            ch_buf_addf(&text, "%s%.*s: %.*s", text.n ? "\n" : "", CH_SV_FMT(ch_json_str(key)),
                        CH_SV_FMT(ch_json_str(value)));
    return ch_arena_sv(a, ch_buf_sv(&text));
}

enum found { NOTHING, WRONG, READ };

static enum found read_value(const struct ch_json *v, struct ch_arena *a,
                             struct ch_beat_reply *out) {
    const struct ch_json *thoughts = ch_json_get(v, "thoughts");
    const struct ch_json *actions =
        ch_json_is(v, CH_JSON_ARRAY) ? v : any_of(v, actions_names);
    *out = (struct ch_beat_reply){0};
    if (!actions)
        return thoughts ? WRONG : NOTHING;
    if (!read_actions(actions, a, out))
        return ch_json_is(v, CH_JSON_ARRAY) ? NOTHING : WRONG;
    out->thoughts = read_thoughts(thoughts, a);
    out->more = is_true(ch_json_get(v, "request_heartbeat")) ||
                is_true(ch_json_get(thoughts, "request_heartbeat"));
    return READ;
}

bool ch_beat_reply_read(struct ch_sv text, struct ch_arena *a, struct ch_beat_reply *out,
                        struct ch_buf *why) {
    struct ch_reply_json values = {.text = text};
    const char *problem = NULL;
    for (const struct ch_json *v; (v = ch_reply_json_next(&values, a));) {
        enum found found = read_value(v, a, out);
        if (found == READ)
            return true;
        if (found == WRONG)
            problem = "it has no list \"actions\" of objects with a \"name\"";
    }
    problem = values.problem ? values.problem : problem;
    ch_buf_add_str(why, problem ? problem : "there is no JSON object in it");
    return false;
}
