/* scripted_talk.c -- extracts the conversation from a request.
 *
 * One pass over the messages collects the input of rules: the last user text, the number of
 * model calls since then, the results of tools. A user text resets the state: earlier
 * results can still be quoted, but are no longer "the latest". What the runtime adds to a
 * message or to a result is ignored.
 *
 * Unpaired calls and results are rejected with the error texts of the real service, so that
 * a broken history fails a test. */
#include "model/scripted/scripted_talk.h"

#include "base/error.h"
#include "model/scripted/scripted_private.h"

#define NOTE "<runtime_note>"
#define NOTE_CLOSE "</runtime_note>"

struct walk {
    struct ch_arena *arena;
    struct ch_talk *talk;
    struct chela_error *err;
    size_t index;   /* index of the message */
    size_t pending; /* calls of the last reply without a result */
    size_t reply;   /* calls of the last reply */
    struct ch_sv note; /* words of the runtime in the results of the message; empty: none */
};

static bool block_is(const struct ch_json *block, const char *type) {
    return ch_sv_is(ch_json_get_str(block, "type"), type);
}

/* True for text that the runtime adds to a message and that is not user text: data of the
 * channel before the message, a note after it. */
static bool scripted_talk_is_about(struct ch_sv text) {
    return ch_sv_starts(text, "<trusted_metadata>") || ch_sv_starts(text, "<untrusted_context>");
}

/* Splits a note of the runtime off the end of a result. The text of the note is treated as a
 * message to the model, except a repetition of rules, whose tag has an attribute. */
static struct ch_sv scripted_talk_split_note(struct ch_sv text, struct ch_sv *note) {
    static const struct ch_sv open = CH_SV("\n\n<runtime_note");
    const char *at = text.n ? memmem(text.p, text.n, open.p, open.n) : NULL;
    if (!at)
        return text;
    struct ch_sv rest = ch_sv(at + 2, text.n - (size_t)(at - text.p) - 2);
    const char *close = memmem(rest.p, rest.n, NOTE_CLOSE, sizeof(NOTE_CLOSE) - 1);
    if (close && ch_sv_starts(rest, NOTE))
        *note = ch_sv_trim(ch_sv(rest.p + sizeof(NOTE) - 1,
                                 (size_t)(close - rest.p) - (sizeof(NOTE) - 1)));
    return ch_sv(text.p, (size_t)(at - text.p));
}

static bool is_said(const struct ch_json *block) {
    struct ch_sv text = ch_json_get_str(block, "text");
    return block_is(block, "text") && !scripted_talk_is_about(text) &&
           !ch_sv_starts(text, NOTE "\n");
}

/* A string, or the text blocks of a list joined by newlines. */
static struct ch_sv join_text(struct ch_arena *a, const struct ch_json *content) {
    if (ch_json_is(content, CH_JSON_STRING))
        return ch_arena_sv(a, ch_json_str(content));
    CH_BUF_AUTO text = {0};
    bool first = true;
    for (CH_JSON_EACH(block, content)) {
        if (!is_said(block))
            continue;
        if (!first)
            ch_buf_addc(&text, '\n');
        ch_buf_add_sv(&text, ch_json_get_str(block, "text"));
        first = false;
    }
    return ch_arena_sv(a, ch_buf_sv(&text));
}

static int refuse_orphan(const struct walk *w) {
    const struct ch_talk_call *call = w->talk->calls;
    while (call->answered)
        call = call->older;
    return ch_fail(w->err, CHELA_EINVAL,
                   "messages.%zu: `tool_use` ids were found without `tool_result` blocks "
                   "immediately after: %.*s",
                   w->index - 1, CH_SV_FMT(call->id));
}

static int see_reply(struct walk *w, const struct ch_json *content) {
    struct ch_talk *t = w->talk;
    t->turn++;
    t->batch = 0;
    w->reply = 0;
    for (CH_JSON_EACH(block, content)) {
        if (!block_is(block, "tool_use"))
            continue;
        struct ch_talk_call *call = CH_ARENA_NEW(w->arena, struct ch_talk_call);
        *call = (struct ch_talk_call){.older = t->calls,
                                      .id = ch_json_get_str(block, "id"),
                                      .tool = ch_json_get_str(block, "name")};
        t->calls = call;
        t->ncalls++;
        w->reply++;
    }
    w->pending = w->reply;
    return 0;
}

static struct ch_talk_call *scripted_talk_find_call(const struct walk *w, struct ch_sv id) {
    struct ch_talk_call *call = w->talk->calls;
    for (size_t i = 0; i < w->reply; i++, call = call->older)
        if (!call->answered && ch_sv_eq(call->id, id))
            return call;
    return NULL;
}

static int see_result(struct walk *w, const struct ch_json *block) {
    struct ch_sv id = ch_json_get_str(block, "tool_use_id");
    struct ch_talk_call *call = w->pending ? scripted_talk_find_call(w, id) : NULL;
    if (!call)
        return ch_fail(w->err, CHELA_EINVAL,
                       "messages.%zu: `tool_result` %.*s answers no `tool_use` of the message "
                       "before it",
                       w->index, CH_SV_FMT(id));
    struct ch_sv text = scripted_talk_split_note(
        join_text(w->arena, ch_json_get(block, "content")), &w->note);
    struct ch_talk_result *result = CH_ARENA_NEW(w->arena, struct ch_talk_result);
    *result = (struct ch_talk_result){
        .older = w->talk->newest,
        .tool = call->tool,
        .text = text,
        .is_error = ch_json_bool(ch_json_get(block, "is_error"), false),
    };
    call->answered = true;
    w->talk->newest = result;
    w->talk->batch++;
    w->pending--;
    return 0;
}

static int see_user(struct walk *w, const struct ch_json *content) {
    struct ch_talk *t = w->talk;
    bool text =
        ch_json_is(content, CH_JSON_STRING) && !scripted_talk_is_about(ch_json_str(content));
    w->note = CH_SV("");
    for (CH_JSON_EACH(block, content)) {
        text |= is_said(block);
        int rc = block_is(block, "tool_result") ? see_result(w, block) : 0;
        if (rc < 0)
            return rc;
    }
    if (w->pending)
        return refuse_orphan(w);
    if (!text && !w->note.n)
        return 0;
    t->user = text ? join_text(w->arena, content) : w->note;
    t->message++;
    t->turn = 1;
    t->batch = 0;
    return 0;
}

static int see_message(struct walk *w, const struct ch_json *m) {
    struct ch_sv role = ch_json_get_str(m, "role");
    const struct ch_json *content = ch_json_get(m, "content");
    if (ch_sv_is(role, "user"))
        return see_user(w, content);
    if (w->pending)
        return refuse_orphan(w);
    return ch_sv_is(role, "assistant") ? see_reply(w, content) : 0;
}

int ch_talk_read(struct ch_arena *a, struct ch_sv body, struct ch_talk *out,
                 struct chela_error *err) {
    const struct ch_json *root;
    if (ch_json_parse(a, body, CH_JSON_STRICT, &root, NULL, err) < 0)
        return CHELA_EINVAL;
    const struct ch_json *messages = ch_json_get(root, "messages");
    if (!ch_json_is(messages, CH_JSON_ARRAY) || messages->n == 0)
        return ch_fail(err, CHELA_EINVAL, "messages: at least one message is required");
    *out = (struct ch_talk){
        .user = CH_SV(""),
        .system = join_text(a, ch_json_get(root, "system")),
        .model = ch_json_get_str(root, "model"),
        .stream = ch_json_bool(ch_json_get(root, "stream"), false),
        .turn = 1,
        .tools = ch_json_get(root, "tools"),
        .bytes = body.n,
    };
    struct walk w = {.arena = a, .talk = out, .err = err};
    for (CH_JSON_EACH(m, messages)) {
        int rc = see_message(&w, m);
        if (rc < 0)
            return rc;
        w.index++;
    }
    return w.pending ? refuse_orphan(&w) : 0;
}
