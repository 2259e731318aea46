/* scripted_reply.c -- builds the response bytes of a scripted model.
 *
 * A reply is first built as a whole (reasoning, text, calls, stop reason, usage) and then
 * written as an event stream or as one JSON body, as the request asks. Text is sent word by
 * word and arguments in small pieces; `cut_after` and `stall_after` count these pieces.
 * Errors, including "no rule fits", become error responses of the protocol, so that the
 * caller's normal error path reports them. */
#include "model/scripted/scripted_reply.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "model/scripted/scripted_match.h"
#include "model/scripted/scripted_private.h"
#include "json/writer.h"
#include "model/scripted/scripted_talk.h"

#define WORD_BYTES 16     /* longest piece of text */
#define ARGUMENT_BYTES 48 /* longest piece of arguments */
#define BYTES_PER_TOKEN 4 /* for usage that no rule sets */
#define MID_EVENT 16      /* bytes of an event sent before a cut */

static const struct {
    int status;
    const char *type;
} error_types[] = {
    {400, "invalid_request_error"}, {401, "authentication_error"}, {402, "billing_error"},
    {403, "permission_error"},      {404, "not_found_error"},      {409, "conflict_error"},
    {413, "request_too_large"},     {429, "rate_limit_error"},     {500, "api_error"},
    {504, "timeout_error"},         {529, "overloaded_error"},
};

struct content { /* a complete reply; texts in the answer's arena */
    struct ch_sv think, say;
    struct {
        struct ch_sv tool, id, args;
    } * calls;
    size_t ncalls;
    struct ch_sv stop;
    int64_t input, output;
};

struct answer {
    const struct ch_script *script;
    struct ch_arena arena;
    struct ch_talk talk;
    struct ch_match match;
    struct content content;
    uint64_t serial;
    struct ch_script_reply *out;
};

/* --- errors --------------------------------------------------------------- */

static const char *type_of_status(int status) {
    for (size_t i = 0; i < CH_LEN(error_types); i++)
        if (error_types[i].status == status)
            return error_types[i].type;
    return status < 500 ? "invalid_request_error" : "api_error";
}

static int status_of_type(struct ch_sv type) {
    for (size_t i = 0; i < CH_LEN(error_types); i++)
        if (ch_sv_is(type, error_types[i].type))
            return error_types[i].status;
    return 500;
}

static void scripted_reply_write_error(struct ch_buf *out, struct ch_sv type,
                                       struct ch_sv message) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "type", "error");
    ch_jw_kbegin(&w, "error", '{');
    ch_jw_kstr(&w, "type", type);
    ch_jw_kstr(&w, "message", message);
    ch_jw_end(&w, '}');
    ch_jw_end(&w, '}');
}

static void answer_error(struct answer *a, int status, struct ch_sv type, struct ch_sv message) {
    a->out->status = status;
    a->out->stream = false;
    ch_buf_clear(&a->out->body);
    scripted_reply_write_error(&a->out->body, type, message);
}

static void scripted_reply_refuse(struct answer *a, const struct chela_error *err) {
    answer_error(a, 400, CH_SV("invalid_request_error"), ch_sv_str(err->message));
}

static void refuse_unmatched(struct answer *a) {
    const struct ch_talk *t = &a->talk;
    struct ch_sv user = ch_utf8_cut(t->user, 200);
    struct chela_error err = {0};
    ch_fail(&err, CHELA_EINVAL,
            "scripted model: no rule of %s fits (message %lld, turn %lld, after %.*s, user text "
            "\"%.*s\"%s)",
            a->script->name, (long long)t->message, (long long)t->turn,
            t->batch ? (int)t->newest->tool.n : 4, t->batch ? t->newest->tool.p : "none",
            CH_SV_FMT(user), user.n < t->user.n ? "..." : "");
    scripted_reply_refuse(a, &err);
}

/* --- building the reply ---------------------------------------------------- */

static int scripted_reply_expand(struct answer *a, const struct ch_scripted_template *t,
                                 struct ch_sv *out, struct chela_error *err) {
    CH_BUF_AUTO text = {.max = CH_LIMIT_REPLY};
    int rc = ch_template_expand(t, &a->match, &a->talk, &text, err);
    if (rc == 0)
        *out = ch_arena_sv(&a->arena, ch_buf_sv(&text));
    return rc;
}

static bool scripted_reply_id_taken(const struct answer *a, struct ch_sv id) {
    for (const struct ch_talk_call *c = a->talk.calls; c; c = c->older)
        if (ch_sv_eq(c->id, id))
            return true;
    return false;
}

/* Ids count the calls of the conversation, so equal conversations get equal ids; ids that a
 * shortened history already contains are skipped. */
static struct ch_sv next_id(const struct answer *a, struct ch_arena *arena, size_t *serial) {
    struct ch_sv id;
    do
        id = ch_sv_str(ch_arena_printf(arena, "toolu_%04zu", ++*serial));
    while (scripted_reply_id_taken(a, id));
    return id;
}

static int fill_calls(struct answer *a, struct chela_error *err) {
    const struct ch_rule *rule = a->match.rule;
    struct content *c = &a->content;
    size_t serial = a->talk.ncalls;
    c->calls = ch_arena_alloc(&a->arena, (rule->ncalls + 1) * sizeof(*c->calls));
    for (; c->ncalls < rule->ncalls; c->ncalls++) {
        const struct ch_script_call *call = &rule->calls[c->ncalls];
        struct ch_sv id = call->id.n ? call->id : next_id(a, &a->arena, &serial);
        c->calls[c->ncalls].tool = call->tool;
        c->calls[c->ncalls].id = id;
        int rc = scripted_reply_expand(a, &call->args, &c->calls[c->ncalls].args, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int64_t scripted_reply_estimate(size_t bytes) {
    return (int64_t)((bytes + BYTES_PER_TOKEN - 1) / BYTES_PER_TOKEN);
}

static int fill_content(struct answer *a, struct chela_error *err) {
    const struct ch_rule *rule = a->match.rule;
    struct content *c = &a->content;
    int rc = scripted_reply_expand(a, &rule->think, &c->think, err);
    if (rc == 0)
        rc = scripted_reply_expand(a, &rule->say, &c->say, err);
    if (rc == 0)
        rc = fill_calls(a, err);
    if (rc < 0)
        return rc;
    c->stop = rule->stop.n ? rule->stop : c->ncalls ? CH_SV("tool_use") : CH_SV("end_turn");
    size_t bytes = c->think.n + c->say.n;
    for (size_t i = 0; i < c->ncalls; i++)
        bytes += c->calls[i].tool.n + c->calls[i].args.n;
    c->input = rule->input >= 0 ? rule->input : scripted_reply_estimate(a->talk.bytes);
    c->output = rule->output >= 0 ? rule->output : scripted_reply_estimate(bytes);
    return 0;
}

/* --- as an event stream ------------------------------------------------------ */

struct stream {
    struct answer *a;
    struct ch_jw w;
    int64_t pieces; /* pieces of content written so far */
    int64_t index;  /* index of the current block */
};

/* Mark the current event as the one in which the stream ends early. */
static void end_here(struct stream *s) {
    struct ch_script_reply *out = s->a->out;
    if (out->end != CH_END_WHOLE && out->length == 0)
        out->length = out->body.n + MID_EVENT;
}

/* Begin an event object with its type; the caller adds the rest. */
static void scripted_reply_begin_event(struct stream *s, const char *type) {
    ch_buf_addf(s->w.out, "event: %s\ndata: ", type);
    s->w.comma = false;
    ch_jw_begin(&s->w, '{');
    ch_jw_kcstr(&s->w, "type", type);
}

static void scripted_reply_end_event(struct stream *s) {
    ch_jw_end(&s->w, '}');
    CH_BUF_LIT(s->w.out, "\n\n");
}

static void scripted_reply_write_usage(struct ch_jw *w, const struct answer *a, int64_t output) {
    const struct ch_rule *rule = a->match.rule;
    ch_jw_kbegin(w, "usage", '{');
    ch_jw_kint(w, "input_tokens", a->content.input);
    ch_jw_kint(w, "cache_creation_input_tokens", CH_MAX(rule->cache_write, 0));
    ch_jw_kint(w, "cache_read_input_tokens", CH_MAX(rule->cache_read, 0));
    ch_jw_kint(w, "output_tokens", output);
    ch_jw_end(w, '}');
}

/* Write the members of a message before its content. */
static void write_message_head(struct ch_jw *w, struct answer *a) {
    ch_jw_kcstr(w, "id",
                ch_arena_printf(&a->arena, "msg_scripted_%llu", (unsigned long long)a->serial));
    ch_jw_kcstr(w, "type", "message");
    ch_jw_kcstr(w, "role", "assistant");
    ch_jw_kstr(w, "model", a->talk.model);
}

static void message_start(struct stream *s) {
    scripted_reply_begin_event(s, "message_start");
    ch_jw_kbegin(&s->w, "message", '{');
    write_message_head(&s->w, s->a);
    ch_jw_kraw(&s->w, "content", CH_SV("[]"));
    ch_jw_kraw(&s->w, "stop_reason", CH_SV("null"));
    ch_jw_kraw(&s->w, "stop_sequence", CH_SV("null"));
    scripted_reply_write_usage(&s->w, s->a, 1);
    ch_jw_end(&s->w, '}');
    scripted_reply_end_event(s);
    scripted_reply_begin_event(s, "ping");
    scripted_reply_end_event(s);
}

static void block_start(struct stream *s, struct ch_sv block) {
    scripted_reply_begin_event(s, "content_block_start");
    ch_jw_kint(&s->w, "index", s->index);
    ch_jw_kraw(&s->w, "content_block", block);
    scripted_reply_end_event(s);
}

static void block_stop(struct stream *s) {
    scripted_reply_begin_event(s, "content_block_stop");
    ch_jw_kint(&s->w, "index", s->index++);
    scripted_reply_end_event(s);
}

static void delta(struct stream *s, const char *type, const char *member, struct ch_sv piece) {
    scripted_reply_begin_event(s, "content_block_delta");
    ch_jw_kint(&s->w, "index", s->index);
    ch_jw_kbegin(&s->w, "delta", '{');
    ch_jw_kcstr(&s->w, "type", type);
    ch_jw_kstr(&s->w, member, piece);
    ch_jw_end(&s->w, '}');
    scripted_reply_end_event(s);
}

/* A delta that counts as a piece. */
static void piece(struct stream *s, const char *type, const char *member, struct ch_sv text) {
    const struct ch_rule *rule = s->a->match.rule;
    if (s->pieces == CH_MAX(rule->cut_after, rule->stall_after))
        end_here(s);
    s->pieces++;
    delta(s, type, member, text);
}

static struct ch_sv scripted_reply_take(struct ch_sv *rest, size_t max) {
    struct ch_sv head = ch_utf8_cut(*rest, max);
    *rest = ch_sv(rest->p + head.n, rest->n - head.n);
    return head;
}

/* A word with the spaces after it, or part of a long word. */
static struct ch_sv scripted_reply_take_word(struct ch_sv *rest) {
    size_t n = 0;
    while (n < rest->n && n < WORD_BYTES && rest->p[n] != ' ')
        n++;
    while (n < rest->n && rest->p[n] == ' ')
        n++;
    return scripted_reply_take(rest, n);
}

static void stream_words(struct stream *s, const char *type, const char *member,
                         struct ch_sv text) {
    while (text.n)
        piece(s, type, member, scripted_reply_take_word(&text));
}

static void stream_think(struct stream *s, struct ch_sv text) {
    block_start(s, CH_SV("{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}"));
    stream_words(s, "thinking_delta", "thinking", text);
    delta(s, "signature_delta", "signature", CH_SV("scripted"));
    block_stop(s);
}

static void stream_say(struct stream *s, struct ch_sv text) {
    block_start(s, CH_SV("{\"type\":\"text\",\"text\":\"\"}"));
    stream_words(s, "text_delta", "text", text);
    block_stop(s);
}

static void write_call_head(struct ch_jw *w, struct ch_sv tool, struct ch_sv id) {
    ch_jw_kcstr(w, "type", "tool_use");
    ch_jw_kstr(w, "id", id);
    ch_jw_kstr(w, "name", tool);
}

static void stream_call(struct stream *s, struct ch_sv tool, struct ch_sv id, struct ch_sv args) {
    CH_BUF_AUTO block = {0};
    struct ch_jw w = ch_jw(&block);
    ch_jw_begin(&w, '{');
    write_call_head(&w, tool, id);
    ch_jw_kraw(&w, "input", CH_SV("{}"));
    ch_jw_end(&w, '}');
    block_start(s, ch_buf_sv(&block));
    delta(s, "input_json_delta", "partial_json", CH_SV(""));
    while (args.n)
        piece(s, "input_json_delta", "partial_json", scripted_reply_take(&args, ARGUMENT_BYTES));
    block_stop(s);
}

static void message_end(struct stream *s) {
    end_here(s);
    scripted_reply_begin_event(s, "message_delta");
    ch_jw_kbegin(&s->w, "delta", '{');
    ch_jw_kstr(&s->w, "stop_reason", s->a->content.stop);
    ch_jw_kraw(&s->w, "stop_sequence", CH_SV("null"));
    ch_jw_end(&s->w, '}');
    scripted_reply_write_usage(&s->w, s->a, s->a->content.output);
    scripted_reply_end_event(s);
    scripted_reply_begin_event(s, "message_stop");
    scripted_reply_end_event(s);
}

static void write_stream(struct answer *a, struct ch_sv failure) {
    const struct content *c = &a->content;
    struct stream s = {.a = a, .w = ch_jw(&a->out->body)};
    message_start(&s);
    if (c->think.n)
        stream_think(&s, c->think);
    if (c->say.n)
        stream_say(&s, c->say);
    for (size_t i = 0; i < c->ncalls; i++)
        stream_call(&s, c->calls[i].tool, c->calls[i].id, c->calls[i].args);
    if (failure.p) {
        CH_BUF_LIT(&a->out->body, "event: error\ndata: ");
        scripted_reply_write_error(&a->out->body, a->match.rule->fail.type, failure);
        CH_BUF_LIT(&a->out->body, "\n\n");
    } else {
        message_end(&s);
    }
}

/* --- as one body -------------------------------------------------------------- */

static void write_text_block(struct ch_jw *w, const char *type, struct ch_sv text) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", type);
    ch_jw_kstr(w, type, text);
    if (strcmp(type, "thinking") == 0)
        ch_jw_kcstr(w, "signature", "scripted");
    ch_jw_end(w, '}');
}

/* Raw arguments may be invalid JSON, but the body must be valid. */
static void write_input(struct ch_jw *w, struct ch_sv args) {
    CH_ARENA_AUTO scratch = {0};
    const struct ch_json *v;
    ch_jw_key(w, "input");
    if (ch_json_parse(&scratch, args, CH_JSON_STRICT, &v, NULL, NULL) == 0)
        ch_jw_value(w, v);
    else
        ch_jw_str(w, args);
}

static void scripted_reply_write_body(struct answer *a) {
    const struct content *c = &a->content;
    struct ch_jw w = ch_jw(&a->out->body);
    ch_jw_begin(&w, '{');
    write_message_head(&w, a);
    ch_jw_kbegin(&w, "content", '[');
    if (c->think.n)
        write_text_block(&w, "thinking", c->think);
    if (c->say.n)
        write_text_block(&w, "text", c->say);
    for (size_t i = 0; i < c->ncalls; i++) {
        ch_jw_begin(&w, '{');
        write_call_head(&w, c->calls[i].tool, c->calls[i].id);
        write_input(&w, c->calls[i].args);
        ch_jw_end(&w, '}');
    }
    ch_jw_end(&w, ']');
    ch_jw_kstr(&w, "stop_reason", c->stop);
    ch_jw_kraw(&w, "stop_sequence", CH_SV("null"));
    scripted_reply_write_usage(&w, a, c->output);
    ch_jw_end(&w, '}');
    if (a->out->end != CH_END_WHOLE)
        a->out->length = a->out->body.n / 2;
}

/* --- applying the rule -------------------------------------------------------- */

static int failure_message(struct answer *a, struct ch_sv *out, struct chela_error *err) {
    const struct ch_rule *rule = a->match.rule;
    if (rule->fail.message.text.p)
        return scripted_reply_expand(a, &rule->fail.message, out, err);
    *out = ch_sv_str(ch_arena_printf(&a->arena, "rule %zu of %s fails on purpose", rule->number,
                                     a->script->name));
    return 0;
}

static void play_failure(struct answer *a, struct ch_sv message) {
    const struct ch_script_fail *fail = &a->match.rule->fail;
    struct ch_script_reply *out = a->out;
    if (a->match.rule->failing == CH_FAIL_NETWORK) {
        out->status = 0;
        ch_fail(&out->error, CHELA_ENET, "%.*s", CH_SV_FMT(fail->network));
        return;
    }
    int status = fail->status ? (int)fail->status : status_of_type(fail->type);
    struct ch_sv type = fail->type.n ? fail->type : ch_sv_str(type_of_status(status));
    out->retry_after = fail->retry_after;
    answer_error(a, status, type, message);
}

static int scripted_reply_play(struct answer *a, struct chela_error *err) {
    const struct ch_rule *rule = a->match.rule;
    struct ch_script_reply *out = a->out;
    struct ch_sv failure = {NULL, 0};
    out->delay_ms = rule->delay_ms;
    out->pace_ms = rule->pace_ms;
    int rc = rule->failing == CH_FAIL_NOT ? 0 : failure_message(a, &failure, err);
    if (rc == 0)
        rc = fill_content(a, err);
    if (rc < 0)
        return rc;
    if (failure.p && (rule->failing != CH_FAIL_IN_STREAM || !a->talk.stream)) {
        play_failure(a, failure);
        return 0;
    }
    out->status = 200;
    out->stream = a->talk.stream;
    out->end = rule->cut_after >= 0     ? CH_END_CUT
               : rule->stall_after >= 0 ? CH_END_STALL
                                        : CH_END_WHOLE;
    if (a->talk.stream)
        write_stream(a, failure);
    else
        scripted_reply_write_body(a);
    return 0;
}

static void scripted_reply_answer(struct answer *a, struct ch_script *s, struct ch_sv body) {
    struct chela_error err = {0};
    if (ch_talk_read(&a->arena, body, &a->talk, &err) < 0) {
        scripted_reply_refuse(a, &err);
        return;
    }
    if (!ch_script_match(s, &a->talk, &a->match)) {
        refuse_unmatched(a);
        return;
    }
    a->match.rule->used++;
    if (scripted_reply_play(a, &err) < 0)
        scripted_reply_refuse(a, &err);
}

void ch_script_answer(struct ch_script *s, struct ch_sv body, uint64_t serial,
                      struct ch_script_reply *out) {
    *out = (struct ch_script_reply){.retry_after = -1};
    struct answer a = {.script = s, .serial = serial, .out = out};
    scripted_reply_answer(&a, s, body);
    if (out->end == CH_END_WHOLE)
        out->length = out->body.n;
    ch_arena_release(&a.arena);
}

void ch_script_reply_release(struct ch_script_reply *r) {
    ch_buf_release(&r->body);
}
