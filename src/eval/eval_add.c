/* eval_add.c -- makes a case from a stored session; see chela/eval.h. */
#include "agent/journal/journal.h"
#include "base/entry.h"
#include "base/error.h"
#include "chela/eval.h"
#include "eval/eval_print.h"
#include "json/writer.h"
#include "store/store.h"

struct adding {
    const struct ch_json *messages;
    size_t input;     /* index of the message that begins the turn */
    size_t after;     /* index behind the last message of its run */
    bool compacted;
};

static bool adding_is(const struct ch_json *m, const char *role) {
    return ch_sv_is(ch_json_get_str(m, "role"), role);
}

/* Finds the input of a turn. Each reply of the model is a turn, counted from 1. */
static int find_input(struct adding *a, const char *key, unsigned turn, struct chela_error *err) {
    size_t i = 0, input = SIZE_MAX;
    unsigned replies = 0;
    bool found = false;
    for (CH_JSON_EACH(m, a->messages)) {
        if (adding_is(m, "user")) {
            if (found && turn)
                break;
            input = i;
            found = found || !turn;
        }
        replies += adding_is(m, "assistant");
        found = found || (turn && replies == turn && input != SIZE_MAX);
        a->after = ++i;
    }
    a->input = input;
    if (found)
        return 0;
    return turn ? ch_fail(err, CHELA_EINVAL, "session '%s' has %u turns in its history", key,
                          replies)
                : ch_fail(err, CHELA_EINVAL, "session '%s' has no message of a user", key);
}

static void add_text_of(struct ch_buf *out, const struct ch_json *m) {
    const struct ch_json *content = ch_json_get(m, "content");
    if (ch_json_is(content, CH_JSON_STRING))
        ch_buf_add_sv(out, ch_json_str(content));
    for (CH_JSON_EACH(b, content)) {
        if (!ch_sv_is(ch_json_get_str(b, "type"), "text"))
            continue;
        ch_buf_add_str(out, out->n ? "\n\n" : "");
        ch_buf_add_sv(out, ch_json_get_str(b, "text"));
    }
}

/* The arguments of the call with this id, in an earlier message. */
static const struct ch_json *arguments_of(const struct adding *a, struct ch_sv id) {
    for (CH_JSON_EACH(m, a->messages))
        for (CH_JSON_EACH(b, ch_json_get(m, "content")))
            if (ch_sv_is(ch_json_get_str(b, "type"), "tool_call") &&
                ch_sv_eq(ch_json_get_str(b, "id"), id))
                return ch_json_get(b, "arguments");
    return NULL;
}

static void write_recorded(const struct adding *a, struct ch_jw *w, struct ch_buf *names) {
    size_t i = 0;
    ch_jw_kbegin(w, "recorded", '[');
    for (CH_JSON_EACH(m, a->messages)) {
        bool inside = i > a->input && i < a->after;
        i++;
        for (CH_JSON_EACH(b, inside ? ch_json_get(m, "content") : NULL)) {
            struct ch_sv name = ch_json_get_str(b, "name");
            if (!ch_sv_is(ch_json_get_str(b, "type"), "tool_result"))
                continue;
            ch_jw_begin(w, '{');
            ch_jw_kstr(w, "name", name);
            const struct ch_json *arguments = arguments_of(a, ch_json_get_str(b, "id"));
            if (arguments)
                ch_jw_kvalue(w, "arguments", arguments);
            ch_jw_kvalue(w, "result", ch_json_get(b, "content"));
            if (ch_json_bool(ch_json_get(b, "is_error"), false))
                ch_jw_kbool(w, "is_error", true);
            ch_jw_end(w, '}');
            CH_BUF_AUTO quoted = {0};
            ch_json_quote(&quoted, name);
            ch_buf_add_str(&quoted, ":\"recorded\",");
            if (!names->n || !strstr(ch_buf_str(names), ch_buf_str(&quoted)))
                ch_buf_add_sv(names, ch_buf_sv(&quoted));
        }
    }
    ch_jw_end(w, ']');
}

static void write_history(const struct adding *a, struct ch_jw *w) {
    size_t i = 0;
    if (!a->input)
        return;
    ch_jw_kbegin(w, "history", '[');
    for (CH_JSON_EACH(m, a->messages))
        if (i++ < a->input)
            ch_jw_value(w, m);
    ch_jw_end(w, ']');
}

static void write_note(const struct adding *a, const char *key, bool called, struct ch_jw *w) {
    CH_BUF_AUTO note = {0};
    ch_buf_addf(&note, "From session %s. The check says only that the run ends: state in `checks` "
                       "what a right answer has.", key);
    if (a->compacted)
        ch_buf_add_str(&note, " Missing: the session was compacted, so that the history has a "
                              "summary in place of its first messages.");
    if (called)
        ch_buf_add_str(&note, " Missing: the files of the workspace at that time; results of tools "
                              "are recorded instead.");
    ch_jw_kcstr(w, "note", ch_buf_str(&note));
}

static void write_case(const struct adding *a, const char *key, struct ch_sv agent,
                       struct ch_sv title, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    CH_BUF_AUTO input = {0};
    CH_BUF_AUTO tools = {0};
    CH_BUF_AUTO name = {0};
    add_text_of(&input, ch_json_at(a->messages, a->input));
    ch_buf_addf(&name, "%s: %.*s", key, (int)CH_MIN(title.n, 60), title.p ? title.p : "");
    ch_jw_begin(&w, '{');
    ch_jw_kbegin(&w, "cases", '[');
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "name", ch_buf_str(&name));
    if (agent.n && !ch_sv_is(agent, "main"))
        ch_jw_kstr(&w, "agent", agent);
    ch_jw_kcstr(&w, "input", ch_buf_str(&input));
    ch_jw_kbegin(&w, "checks", '{');
    ch_jw_kcstr(&w, "status", "done");
    ch_jw_end(&w, '}');
    write_recorded(a, &w, &tools);
    if (tools.n) {
        ch_jw_kbegin(&w, "tools", '{');
        ch_jw_raw(&w, ch_sv(tools.p, tools.n - 1));
        ch_jw_end(&w, '}');
    }
    write_history(a, &w);
    ch_jw_kbegin(&w, "tags", '[');
    ch_jw_cstr(&w, "from-session");
    ch_jw_end(&w, ']');
    write_note(a, key, tools.n > 0, &w);
    ch_jw_end(&w, '}');
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
}

static int adding_see_record(const struct chela_store_record *r, void *user) {
    struct adding *a = user;
    a->compacted |= r->type == CH_REC_COMPACTION;
    return 0;
}

char *chela_eval_add(chela_store *store, const char *key, unsigned turn,
                     struct chela_error *err) {
    CH_NEEDS_OR(store, err, NULL);
    CH_NEEDS_OR(key, err, NULL);
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO out = {0};
    struct adding a = {0};
    char *shown = NULL, *made = NULL;
    const struct ch_json *v = NULL;
    int rc = chela_store_show(store, key, &shown, err);
    if (rc == 0)
        rc = ch_json_parse(&arena, ch_sv_str(shown), CH_JSON_REPLACE, &v, NULL, err);
    a.messages = ch_json_get(v, "transcript");
    if (rc == 0)
        rc = chela_store_records(store, key, 0, adding_see_record, &a, err);
    if (rc == 0)
        rc = find_input(&a, key, turn, err);
    if (rc == 0) {
        write_case(&a, key, ch_json_get_str(v, "agent"), ch_json_get_str(v, "title"), &out);
        made = ch_eval_print_safe(ch_buf_sv(&out), err);
    }
    chela_free(shown);
    return made;
}
