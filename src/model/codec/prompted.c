/* prompted.c -- encodes requests for models without native tools; see prompted.h.
 *
 *       tools       described at the end of the system prompt, with the call syntax
 *       a call      <tool_call>{"name":..,"arguments":..}</tool_call> in the reply's text
 *       results     <tool_result name="..">..</tool_result>, a user message
 *       tool choice one line at the very end, for this request only
 *
 * The inner codec sees no tools, calls or results. The bytes of a message depend on the
 * message alone. */
#include "model/codec/prompted.h"

#include "base/mem.h"
#include "model/codec/encode.h"
#include "model/message/ids.h"

#define RESULT "tool_result"
#define NO_OUTPUT "(no output)"
#define MOST_STOPS 4 /* limit of servers */

/* Stops a model that starts to invent the result. */
static const struct ch_sv stop_at_result = {"\n<" RESULT, sizeof("\n<" RESULT) - 1};

/* --- the inner request */

struct below {
    struct ch_endpoint endpoint;
    struct ch_model_request req;
    struct ch_sv stop[MOST_STOPS];
};

static bool says_something_first(const struct ch_model_request *req) {
    return req->ntools || !ch_is_blank(req->system);
}

/* Messages depend only on whether a system prompt exists, so a placeholder replaces the
 * prompt; only the head contains the real one. */
static const struct ch_model_request *go_below(const struct ch_model_request *req,
                                               struct below *b) {
    b->endpoint = *req->endpoint;
    b->endpoint.codec = req->endpoint->codec->inner;
    b->req = *req;
    b->req.endpoint = &b->endpoint;
    b->req.system = says_something_first(req) ? CH_SV("-") : CH_SV("");
    b->req.tools = NULL;
    b->req.ntools = 0;
    b->req.no_calls = true;
    b->req.choice = CH_CHOICE_AUTO;
    b->req.choice_name = CH_SV("");
    b->req.no_parallel = false;
    if (req->ntools && req->nstop < MOST_STOPS) {
        for (size_t i = 0; i < req->nstop; i++)
            b->stop[i] = req->stop[i];
        b->stop[req->nstop] = stop_at_result;
        b->req.stop = b->stop;
        b->req.nstop = req->nstop + 1;
    }
    return &b->req;
}

static const struct ch_codec *inner(const struct ch_model_request *req) {
    return req->endpoint->codec->inner;
}

int ch_prompted_http(const struct ch_model_request *req, struct ch_arena *a,
                     struct ch_http_request *out, struct chela_error *err) {
    struct below b;
    return inner(req)->http(go_below(req, &b), a, out, err);
}

int ch_prompted_tail(const struct ch_model_request *req, struct ch_buf *out,
                     struct chela_error *err) {
    struct below b;
    return inner(req)->tail(go_below(req, &b), out, err);
}

/* A model restricted to a schema could not write the tags of a call. */
bool ch_prompted_takes_schema(const struct ch_model_request *req) {
    struct below b;
    if (req->ntools)
        return false;
    return !inner(req)->takes_schema || inner(req)->takes_schema(go_below(req, &b));
}

enum ch_effort ch_prompted_sent_effort(const struct ch_model_request *req) {
    struct below b;
    const struct ch_model_request *plain = go_below(req, &b);
    return inner(req)->effort ? inner(req)->effort(plain) : ch_encode_effort(plain);
}

/* --- head: description of the tools */

static const char how_to_call[] =
    "# Tools\n\n"
    "You can call the tools listed below. To call one, write this, on lines of its own:\n\n"
    "<tool_call>\n"
    "{\"name\": \"TOOL\", \"arguments\": {\"PARAMETER\": \"VALUE\"}}\n"
    "</tool_call>\n\n"
    "Arguments are one JSON object that fits the schema of the tool. ";
static const char how_many[] = "For several calls at once write several such blocks. ";
static const char only_one[] = "Write one such block at most in a reply. ";
static const char what_then[] =
    "After the last block stop and wait: the next message holds the results, in the order of the "
    "calls, each in a <tool_result> block. Never write a <tool_result> block yourself. A call in a "
    "code block is not run. What you want to think through first goes between <scratchpad> and "
    "</scratchpad>, which nobody else sees. A reply without a call is your answer.\n";

static void describe_tool(const struct ch_tool_def *t, struct ch_buf *out) {
    ch_buf_addf(out, "\n## %.*s\n\n", CH_SV_FMT(t->name));
    if (!ch_is_blank(t->description)) {
        ch_buf_add_sv(out, ch_sv_trim(t->description));
        CH_BUF_LIT(out, "\n\n");
    }
    CH_BUF_LIT(out, "Arguments (JSON Schema): ");
    ch_buf_add_sv(out, t->schema.n ? t->schema : CH_SV("{\"type\":\"object\"}"));
    CH_BUF_LIT(out, "\n");
}

int ch_prompted_head(const struct ch_model_request *req, struct ch_buf *out,
                     struct chela_error *err) {
    CH_BUF_AUTO system = {0};
    struct below b;
    go_below(req, &b);
    ch_buf_add_sv(&system, req->system);
    if (req->ntools) {
        if (!ch_is_blank(req->system))
            CH_BUF_LIT(&system, "\n\n");
        ch_buf_add_str(&system, how_to_call);
        ch_buf_add_str(&system, req->no_parallel ? only_one : how_many);
        ch_buf_add_str(&system, what_then);
    }
    for (size_t i = 0; i < req->ntools; i++)
        describe_tool(&req->tools[i], &system);
    b.req.system = ch_buf_sv(&system);
    return inner(req)->head(&b.req, out, err);
}

/* --- text for this request alone */

struct ch_sv ch_prompted_note(const struct ch_model_request *req, struct ch_arena *a) {
    if (!req->ntools)
        return CH_SV("");
    switch (req->choice) {
    case CH_CHOICE_ANY:
        return CH_SV("Call one of the tools now.");
    case CH_CHOICE_ONE:
        return ch_sv_str(
            ch_arena_printf(a, "Call the tool %.*s now.", CH_SV_FMT(req->choice_name)));
    case CH_CHOICE_NONE:
        return CH_SV("Do not call a tool now: answer.");
    case CH_CHOICE_AUTO:
        break;
    }
    return CH_SV("");
}

/* --- messages */

/* Blocks under construction; consecutive texts are merged. */
struct rewriting {
    struct ch_block *out;
    size_t n;
    struct ch_arena arena;
    struct ch_buf text;
};

static void prompted_flush(struct rewriting *x) {
    if (x->text.n)
        x->out[x->n++] = (struct ch_block){.type = CH_BLOCK_TEXT,
                                           .text = ch_arena_sv(&x->arena, ch_buf_sv(&x->text))};
    ch_buf_clear(&x->text);
}

static void on_new_line(struct rewriting *x) {
    if (x->text.n)
        CH_BUF_LIT(&x->text, "\n");
}

static void prompted_add_call(struct rewriting *x, const struct ch_block *b) {
    on_new_line(x);
    CH_BUF_LIT(&x->text, "<tool_call>\n");
    struct ch_jw w = ch_jw(&x->text);
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "name", b->name);
    ch_jw_key(&w, "arguments");
    ch_encode_arguments(&w, b->text);
    ch_jw_end(&w, '}');
    CH_BUF_LIT(&x->text, "\n</tool_call>");
}

/* Escape closing tags in a tool's output, so that a page or a file cannot imitate another
 * message. */
static void add_enclosed(struct ch_buf *out, struct ch_sv text) {
    static const char end[] = "</" RESULT;
    const char *at;
    while (text.n && (at = memmem(text.p, text.n, end, sizeof(end) - 1))) {
        size_t n = (size_t)(at - text.p);
        ch_buf_add(out, text.p, n);
        CH_BUF_LIT(out, "<\\/");
        text = ch_sv(at + 2, text.n - n - 2);
    }
    ch_buf_add_sv(out, text);
}

static void prompted_add_result(struct rewriting *x, const struct ch_block *b) {
    char name[CH_NAME_ROOM];
    struct ch_sv nothing = b->span ? CH_SV("(follows below)") : CH_SV(NO_OUTPUT);
    on_new_line(x);
    ch_buf_addf(&x->text, "<" RESULT " name=\"%.*s\"%s>\n",
                CH_SV_FMT(ch_name_for(CH_NAME_ROOM, b->name, name)),
                b->flags & CH_F_ERROR ? " status=\"error\"" : "");
    add_enclosed(&x->text, ch_is_blank(b->text) ? nothing : b->text);
    CH_BUF_LIT(&x->text, "\n</" RESULT ">");
}

static void prompted_add_block(struct rewriting *x, const struct ch_block *b) {
    switch (b->type) {
    case CH_BLOCK_TEXT:
        if (ch_is_blank(b->text))
            break;
        on_new_line(x);
        ch_buf_add_sv(&x->text, ch_sv_trim(b->text));
        break;
    case CH_BLOCK_TOOL_CALL:
        prompted_add_call(x, b);
        break;
    case CH_BLOCK_TOOL_RESULT:
        prompted_add_result(x, b);
        break;
    default: /* reasoning from tags is omitted; vendor-specific blocks pass through */
        if (b->type == CH_BLOCK_REASONING && ch_sv_is(b->name, CH_TAGS_REASONING))
            break;
        prompted_flush(x);
        x->out[x->n++] = *b;
    }
}

static bool needs_rewriting(const struct ch_msg *m) {
    if (m->kind == CH_MSG_RESULTS)
        return true;
    for (uint32_t i = 0; i < m->nblocks; i++)
        if (m->blocks[i].type == CH_BLOCK_TOOL_CALL || m->blocks[i].type == CH_BLOCK_REASONING)
            return true;
    return false;
}

int ch_prompted_message(const struct ch_model_request *req, const struct ch_msg *m,
                        struct ch_buf *out, struct chela_error *err) {
    struct below b;
    go_below(req, &b);
    if (!needs_rewriting(m))
        return inner(req)->message(&b.req, m, out, err);
    struct rewriting x = {.out = ch_alloc((2 * (size_t)m->nblocks + 1) * sizeof(struct ch_block))};
    for (uint32_t i = 0; i < m->nblocks; i++)
        prompted_add_block(&x, &m->blocks[i]);
    prompted_flush(&x);
    enum ch_msg_kind kind = m->kind == CH_MSG_RESULTS ? CH_MSG_USER : (enum ch_msg_kind)m->kind;
    struct ch_msg *plain = ch_msg_like(m, kind, x.out, x.n);
    int rc = x.n ? inner(req)->message(&b.req, plain, out, err) : CHELA_OK;
    ch_msg_free(plain);
    ch_buf_release(&x.text);
    ch_arena_release(&x.arena);
    ch_free(x.out);
    return rc;
}
