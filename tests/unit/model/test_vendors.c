/* test_vendors.c -- one conversation, handed from each vendor to each other.
 *
 * Five tools, calls in parallel, an error, images, reasoning. Its first half is
 * decoded from what vendor S would have sent, its second from vendor T. Every
 * request along the way must be one that T takes, and S when the conversation
 * comes back to it:
 *
 *   calls have ids of the vendor's form, each its own, and are answered by the
 *   very next message, in order; what only one vendor understands goes to that
 *   one alone; images are there; and the bytes of request N are the beginning
 *   of request N+1.
 *
 * A protocol that is registered and has no row here fails the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "model/codec/codec.h"
#include "model/catalog/provider.h"
#include "json/json.h"
#include "model/codec/decoder.h"
#include "model/codec/encoder.h"

#define PNG "iVBORw0KGgo"
#define SECRET "SECRET-OF-" /* begins what only its vendor understands */
enum { REPLIES = 4 };

/* The ids repeat from reply to reply on purpose, as they do on some servers. */
#define CHAT(message, finish)                                                                    \
    "{\"id\":\"c\",\"object\":\"chat.completion\",\"model\":\"gpt-4o-2024-08-06\",\"choices\":"  \
    "[{\"index\":0,\"message\":{\"role\":\"assistant\"," message "},\"finish_reason\":\"" finish \
    "\"}]}"
#define CHAT_CALL(id, name, args)                                             \
    "{\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"" name \
    "\",\"arguments\":\"" args "\"}}"
#define CLAUDE(content, stop)                                                                 \
    "{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":"                    \
    "\"claude-sonnet-4-6\",\"content\":[" content "],\"stop_reason\":\"" stop "\",\"usage\":" \
    "{\"input_tokens\":1,\"output_tokens\":1}}"
#define CLAUDE_CALL(id, name, args) \
    "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"" name "\",\"input\":" args "}"
#define RESPONSE(output)                                                                        \
    "{\"id\":\"r\",\"object\":\"response\",\"status\":\"completed\",\"model\":\"gpt-5-2025-08-" \
    "07\","                                                                                     \
    "\"output\":[" output "],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}"
#define RESPONSE_TEXT(text)                                                                   \
    "{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"status\":\"completed\"," \
    "\"content\":[{\"type\":\"output_text\",\"text\":\"" text "\",\"annotations\":[]}]}"
#define RESPONSE_CALL(item, id, name, args)                                                      \
    "{\"id\":\"" item "\",\"type\":\"function_call\",\"status\":\"completed\",\"call_id\":\"" id \
    "\",\"name\":\"" name "\",\"arguments\":\"" args "\"}"
#define STEPS(steps)                                                                           \
    "{\"id\":\"v1_a\",\"status\":\"completed\",\"model\":\"gemini-3-pro\",\"steps\":[" steps "]}"
#define STEP_CALL(id, name, args)                                               \
    "{\"type\":\"function_call\",\"id\":\"" id "\",\"name\":\"" name "\",\"arguments\":" args \
    "}"
#define GEMINI(parts)                                                                       \
    "{\"candidates\":[{\"index\":0,\"content\":{\"role\":\"model\",\"parts\":[" parts "]}," \
    "\"finishReason\":\"STOP\"}],\"modelVersion\":\"gemini-3-pro\"}"
#define GEMINI_CALL(name, args, more) \
    "{\"functionCall\":{\"name\":\"" name "\",\"args\":" args "}" more "}"
#define CONVERSE(content, stop)                                              \
    "{\"output\":{\"message\":{\"role\":\"assistant\",\"content\":[" content \
    "]}},\"stopReason\":\"" stop                                             \
    "\",\"usage\":{\"inputTokens\":1,\"outputTokens\":1,\"totalTokens\":2}}"
#define CONVERSE_CALL(id, name, args) \
    "{\"toolUse\":{\"toolUseId\":\"" id "\",\"name\":\"" name "\",\"input\":" args "}}"
#define TAGGED(name, args) \
    "\\n<tool_call>{\\\"name\\\":\\\"" name "\\\",\\\"arguments\\\":" args "}</tool_call>"

static const struct vendor {
    const char *api; /* as registered; "prompted" is over Chat Completions */
    const char *provider, *model;
    const char *secret; /* NULL: it has none */
    const char *replies[REPLIES];
} vendors[] = {
    {"anthropic",
     "anthropic",
     "claude-sonnet-4-6",
     SECRET "CLAUDE",
     {CLAUDE("{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"" SECRET "CLAUDE\"},"
             "{\"type\":\"text\",\"text\":\"Three at once.\"}," CLAUDE_CALL(
                 "toolu_1", "read",
                 "{\"path\":\"a\"}") "," CLAUDE_CALL("toolu_2", "ls",
                                                     "{}") "," CLAUDE_CALL("toolu_3", "calculate",
                                                                           "{\"e\":\"1/0\"}"),
             "tool_use"),
      CLAUDE(CLAUDE_CALL("toolu_1", "photo", "{}"), "tool_use"),
      CLAUDE(CLAUDE_CALL("toolu_1", "write", "{\"path\":\"b\"}"), "tool_use"),
      CLAUDE("{\"type\":\"text\",\"text\":\"Done.\"}", "end_turn")}},
    {"openai",
     "openai",
     "gpt-4o",
     NULL,
     {CHAT(
          "\"content\":\"Three at once.\",\"reasoning_content\":\"hm\",\"tool_calls\":[" CHAT_CALL(
              "call_1", "read",
              "{\\\"path\\\":\\\"a\\\"}") "," CHAT_CALL("call_2", "ls",
                                                        "{}") "," CHAT_CALL("functions.calculate:2",
                                                                            "calculate",
                                                                            "{\\\"e\\\":\\\"1/"
                                                                            "0\\\"}") "]",
          "tool_calls"),
      CHAT("\"content\":null,\"tool_calls\":[" CHAT_CALL("call_1", "photo", "{}") "]",
           "tool_calls"),
      CHAT("\"content\":null,\"tool_calls\":[" CHAT_CALL("call_1", "write",
                                                         "{\\\"path\\\":\\\"b\\\"}") "]",
           "tool_calls"),
      CHAT("\"content\":\"Done.\"", "stop")}},
    {"openai-responses",
     "openai-responses",
     "gpt-5",
     SECRET "GPT",
     {RESPONSE(
          "{\"id\":\"rs_1\",\"type\":\"reasoning\",\"summary\":[],\"encrypted_content\":\"" SECRET
          "GPT\"}," RESPONSE_TEXT("Three at once.") "," RESPONSE_CALL(
              "fc_1", "call_a", "read",
              "{\\\"path\\\":\\\"a\\\"}") "," RESPONSE_CALL("fc_2", "call_b", "ls",
                                                            "{}") "," RESPONSE_CALL("fc_3",
                                                                                    "call_c",
                                                                                    "calculate",
                                                                                    "{\\\"e\\\":"
                                                                                    "\\\"1/"
                                                                                    "0\\\"}")),
      RESPONSE(RESPONSE_CALL("fc_4", "call_a", "photo", "{}")),
      RESPONSE(RESPONSE_CALL("fc_5", "call_a", "write", "{\\\"path\\\":\\\"b\\\"}")),
      RESPONSE(RESPONSE_TEXT("Done."))}},
    {"gemini",
     "gemini",
     "gemini-3-pro",
     SECRET "GEMINI",
     {GEMINI("{\"text\":\"hm\",\"thought\":true},{\"text\":\"Three at once.\"}," GEMINI_CALL(
          "read", "{\"path\":\"a\"}",
          ",\"thoughtSignature\":\"" SECRET
          "GEMINI\"") "," GEMINI_CALL("ls", "{}", "") "," GEMINI_CALL("calculate",
                                                                      "{\"e\":\"1/0\"}", "")),
      GEMINI(GEMINI_CALL("photo", "{}", "")), GEMINI(GEMINI_CALL("write", "{\"path\":\"b\"}", "")),
      GEMINI("{\"text\":\"Done.\"}")}},
    {"interactions",
     "gemini-interactions",
     "gemini-3-pro",
     SECRET "STEPS",
     {STEPS("{\"type\":\"thought\",\"signature\":\"" SECRET "STEPS\",\"summary\":[{\"type\":"
            "\"text\",\"text\":\"hm\"}]},{\"type\":\"model_output\",\"content\":[{\"type\":"
            "\"text\",\"text\":\"Three at once.\"}]}," STEP_CALL(
                "c1", "read", "{\"path\":\"a\"}") "," STEP_CALL("c2", "ls", "{}") ","
                STEP_CALL("c3", "calculate", "{\"e\":\"1/0\"}")),
      STEPS(STEP_CALL("c1", "photo", "{}")), STEPS(STEP_CALL("c1", "write", "{\"path\":\"b\"}")),
      STEPS("{\"type\":\"model_output\",\"content\":[{\"type\":\"text\",\"text\":\"Done.\"}]}")}},
    {"bedrock",
     "bedrock",
     "anthropic.claude-sonnet-4-20250514-v1:0",
     SECRET "BEDROCK",
     {CONVERSE("{\"reasoningContent\":{\"reasoningText\":{\"text\":\"hm\",\"signature\":\"" SECRET
               "BEDROCK\"}}},{\"text\":\"Three at once.\"}," CONVERSE_CALL(
                   "tooluse_1", "read",
                   "{\"path\":\"a\"}") "," CONVERSE_CALL("tooluse_2", "ls",
                                                         "{}") "," CONVERSE_CALL("tooluse_3",
                                                                                 "calculate",
                                                                                 "{\"e\":\"1/0\"}"),
               "tool_use"),
      CONVERSE(CONVERSE_CALL("tooluse_1", "photo", "{}"), "tool_use"),
      CONVERSE(CONVERSE_CALL("tooluse_1", "write", "{\"path\":\"b\"}"), "tool_use"),
      CONVERSE("{\"text\":\"Done.\"}", "end_turn")}},
    {"prompted",
     "mistral",
     "gpt-4o",
     NULL,
     {CHAT("\"content\":\"<scratchpad>hm</scratchpad>Three at once. " TAGGED(
               "read", "{\\\"path\\\":\\\"a\\\"}") TAGGED("ls", "{}")
               TAGGED("calculate", "{\\\"e\\\":\\\"1/0\\\"}") "\"",
           "stop"),
      CHAT("\"content\":\"" TAGGED("photo", "{}") "\"", "stop"),
      CHAT("\"content\":\"" TAGGED("write", "{\\\"path\\\":\\\"b\\\"}") "\"", "stop"),
      CHAT("\"content\":\"Done.\"", "stop")}},
};

static const struct ch_codec *codec_of(const struct vendor *v) {
    return ch_codec_find(ch_sv_str(v->api));
}

/* --- the conversation */

static struct ch_msg *decode(const struct vendor *v, unsigned reply) {
    struct ch_decoder d;
    ch_decoder_init(&d, codec_of(v), NULL, NULL);
    ch_decoder_feed(&d, ch_sv_str(v->replies[reply]));
    ch_decoder_end(&d, NULL, 7); /* at one moment: made-up ids repeat as well */
    if (d.reply.error.cls != CH_ERR_NONE || !d.reply.msg)
        fail_msg("%s, reply %u: %.*s", v->api, reply, CH_SV_FMT(d.reply.error.message));
    struct ch_msg *m = CH_TAKE(d.reply.msg);
    ch_decoder_release(&d);
    return m;
}

/* "calculate" fails, "photo" returns an image, the others a text. */
static struct ch_msg *answer(const struct ch_msg *calls) {
    struct ch_block out[16];
    size_t n = 0;
    for (uint32_t i = 0; i < calls->nblocks; i++) {
        const struct ch_block *b = &calls->blocks[i];
        if (b->type != CH_BLOCK_TOOL_CALL)
            continue;
        bool photo = ch_sv_is(b->name, "photo"), bad = ch_sv_is(b->name, "calculate");
        out[n++] = (struct ch_block){.type = CH_BLOCK_TOOL_RESULT,
                                     .flags = bad ? CH_F_ERROR : 0,
                                     .span = photo,
                                     .id = b->id,
                                     .name = b->name,
                                     .text = bad ? CH_SV("division by zero") : CH_SV("fine")};
        if (photo)
            out[n++] = (struct ch_block){
                .type = CH_BLOCK_IMAGE, .name = CH_SV("image/png"), .text = CH_SV(PNG)};
    }
    return ch_msg_new(CH_MSG_RESULTS, out, n, 7);
}

static void add(struct ch_transcript *t, struct ch_msg *m) {
    assert_int_equal(ch_transcript_add(t, m), 0);
}

static void add_vendors_part(struct ch_transcript *t, const struct vendor *v) {
    const struct ch_block ask[] = {
        {.type = CH_BLOCK_TEXT, .text = CH_SV("Look into it.")},
        {.type = CH_BLOCK_IMAGE, .name = CH_SV("image/png"), .text = CH_SV(PNG)}};
    add(t, ch_msg_new(CH_MSG_USER, ask, CH_LEN(ask), 7));
    for (unsigned i = 0; i < REPLIES; i++) {
        struct ch_msg *m = decode(v, i);
        add(t, m);
        if (i + 1 < REPLIES)
            add(t, answer(m));
    }
}

/* --- what a request holds, whatever the protocol */

struct seen {
    struct ch_sv calls[32], results[32]; /* ids, or names where there are none */
    size_t ncalls, nresults, open;       /* open: calls not yet answered */
    bool user_last;
    const char *why; /* NULL: all is well */
    bool alternate;
};

static void see_role(struct seen *s, bool user) {
    if (user == s->user_last && s->alternate)
        s->why = "roles do not alternate";
    if (!user && s->open)
        s->why = "calls are not answered by the next message";
    s->user_last = user;
}

static void see_call(struct seen *s, struct ch_sv id) {
    if (s->ncalls < CH_LEN(s->calls))
        s->calls[s->ncalls++] = id;
    s->open++;
}

static void see_result(struct seen *s, struct ch_sv id) {
    if (s->nresults < s->ncalls && !ch_sv_eq(s->calls[s->nresults], id))
        s->why = "a result has the id of another call";
    if (s->nresults >= s->ncalls)
        s->why = "a result without a call";
    else
        s->results[s->nresults++] = id;
    s->open -= s->open > 0;
}

static void walk_anthropic(const struct ch_json *v, struct seen *s) {
    for (CH_JSON_EACH(m, ch_json_get(v, "messages"))) {
        see_role(s, ch_sv_is(ch_json_get_str(m, "role"), "user"));
        for (CH_JSON_EACH(b, ch_json_get(m, "content"))) {
            struct ch_sv type = ch_json_get_str(b, "type");
            if (ch_sv_is(type, "tool_use"))
                see_call(s, ch_json_get_str(b, "id"));
            else if (ch_sv_is(type, "tool_result"))
                see_result(s, ch_json_get_str(b, "tool_use_id"));
            else if (s->user_last && s->open)
                s->why = "something stands before the results";
        }
    }
}

static void walk_chat(const struct ch_json *v, struct seen *s) {
    for (CH_JSON_EACH(m, ch_json_get(v, "messages"))) {
        struct ch_sv role = ch_json_get_str(m, "role");
        bool tool = ch_sv_is(role, "tool");
        if (!tool && s->open)
            s->why = "calls are not answered at once";
        if (tool)
            see_result(s, ch_json_get_str(m, "tool_call_id"));
        for (CH_JSON_EACH(c, ch_json_get(m, "tool_calls")))
            see_call(s, ch_json_get_str(c, "id"));
        if (ch_sv_is(role, "assistant") && !ch_json_get(m, "tool_calls") &&
            !ch_json_get_str(m, "content").n)
            s->why = "an assistant message without anything";
    }
}

static void walk_responses(const struct ch_json *v, struct seen *s) {
    for (CH_JSON_EACH(e, ch_json_get(v, "input"))) {
        struct ch_sv type = ch_json_get_str(e, "type");
        bool result = ch_sv_is(type, "function_call_output");
        if (ch_sv_is(type, "function_call"))
            see_call(s, ch_json_get_str(e, "call_id"));
        else if (result)
            see_result(s, ch_json_get_str(e, "call_id"));
        else if (s->open)
            s->why = "calls are not answered at once";
    }
}

/* Paired by order and name; ids are optional. */
static void walk_gemini(const struct ch_json *v, struct seen *s) {
    for (CH_JSON_EACH(c, ch_json_get(v, "contents"))) {
        see_role(s, ch_sv_is(ch_json_get_str(c, "role"), "user"));
        for (CH_JSON_EACH(p, ch_json_get(c, "parts"))) {
            const struct ch_json *call = ch_json_get(p, "functionCall");
            const struct ch_json *result = ch_json_get(p, "functionResponse");
            const struct ch_json *either = call ? call : result;
            struct ch_sv id = ch_json_get_str(either, "id");
            if (!id.n)
                id = ch_json_get_str(either, "name");
            if (call)
                see_call(s, id);
            else if (result)
                see_result(s, id);
        }
    }
}

static void walk_interactions(const struct ch_json *v, struct seen *s) {
    for (CH_JSON_EACH(e, ch_json_get(v, "input"))) {
        struct ch_sv type = ch_json_get_str(e, "type");
        if (ch_sv_is(type, "function_call"))
            see_call(s, ch_json_get_str(e, "id"));
        else if (ch_sv_is(type, "function_result"))
            see_result(s, ch_json_get_str(e, "call_id"));
        else if (s->open)
            s->why = "calls are not answered at once";
    }
}

static void walk_bedrock(const struct ch_json *v, struct seen *s) {
    s->alternate = true;
    for (CH_JSON_EACH(m, ch_json_get(v, "messages"))) {
        see_role(s, ch_sv_is(ch_json_get_str(m, "role"), "user"));
        for (CH_JSON_EACH(b, ch_json_get(m, "content"))) {
            const struct ch_json *call = ch_json_get(b, "toolUse");
            const struct ch_json *result = ch_json_get(b, "toolResult");
            if (call)
                see_call(s, ch_json_get_str(call, "toolUseId"));
            else if (result)
                see_result(s, ch_json_get_str(result, "toolUseId"));
        }
    }
}

static const struct {
    const char *api;
    void (*walk)(const struct ch_json *v, struct seen *s);
    bool same_ids; /* where calls have none, a name comes twice */
} walkers[] = {
    {"anthropic", walk_anthropic, false},
    {"openai", walk_chat, false},
    {"openai-responses", walk_responses, false},
    {"gemini", walk_gemini, true},
    {"interactions", walk_interactions, false},
    {"bedrock", walk_bedrock, false},
};

static bool fits(enum ch_id_rule rule, struct ch_sv id) {
    char buf[CH_ID_ROOM];
    return ch_id_for(rule, id, buf).p == id.p;
}

static void check_ids(const struct ch_model_request *req, struct seen *s, bool same) {
    const struct ch_codec *codec = req->endpoint->codec;
    enum ch_id_rule rule = codec->ids ? codec->ids(req) : CH_ID_64;
    for (size_t i = 0; i < s->ncalls; i++) {
        if (!fits(rule, s->calls[i]))
            s->why = "an id is not of the vendor's form";
        for (size_t k = 0; k < i; k++)
            if (!same && ch_sv_eq(s->calls[i], s->calls[k]))
                s->why = "two calls have one id";
    }
}

static size_t count(struct ch_sv body, const char *what) {
    size_t n = 0;
    for (const char *p = body.p; (p = strstr(p, what)); p++)
        n++;
    return n;
}

/* What S wrote for itself alone goes to S alone. */
static const char *check_secrets(const struct vendor *to, struct ch_sv body, bool own_part) {
    size_t all = count(body, SECRET);
    size_t own = to->secret ? count(body, to->secret) : 0;
    if (all != own)
        return "it holds what only another vendor understands";
    return own_part && to->secret && !own ? "it lacks what the vendor wants back" : NULL;
}

static void check_body(const struct vendor *to, const struct ch_model_request *req,
                       struct ch_sv body, size_t calls, bool own_part, const char *where) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;
    const struct ch_codec *codec = req->endpoint->codec;
    struct ch_sv api = ch_sv_str(codec->inner ? codec->inner->name : codec->name);
    struct seen s = {0};
    if (ch_json_parse(&arena, body, CH_JSON_STRICT, &v, NULL, NULL) < 0)
        fail_msg("%s: no JSON: %.*s", where, CH_SV_FMT(body));
    for (size_t i = 0; i < CH_LEN(walkers); i++)
        if (ch_sv_is(api, walkers[i].api)) {
            walkers[i].walk(v, &s);
            check_ids(req, &s, walkers[i].same_ids);
        }
    if (!s.why && s.open)
        s.why = "the last calls are not answered";
    if (!s.why)
        s.why = check_secrets(to, body, own_part);
    if (!s.why && !strstr(body.p, PNG))
        s.why = "the image is not there";
    if (!s.why && (codec->inner ? s.ncalls != 0 : s.ncalls != calls))
        s.why = "there are other calls than were made";
    if (!s.why && codec->inner && count(body, "<tool_call>\\n{\\\"name\\\":\\\"") != calls)
        s.why = "there are other calls in the text than were made";
    if (s.why)
        fail_msg("%s: %s:\n%.*s", where, s.why, CH_SV_FMT(body));
}

/* --- every request of one vendor, as the conversation grows */

static size_t calls_in(const struct ch_transcript *t, size_t n) {
    size_t calls = 0;
    for (size_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < t->msgs[i]->nblocks; k++)
            calls += t->msgs[i]->blocks[k].type == CH_BLOCK_TOOL_CALL;
    return calls;
}

static void body_of(const struct ch_encoder *e, bool tail, struct ch_buf *out) {
    ch_buf_clear(out);
    ch_buf_add_sv(out, ch_buf_sv(&e->head));
    ch_buf_add_sv(out, ch_buf_sv(&e->messages));
    if (tail)
        ch_buf_add_sv(out, ch_buf_sv(&e->tail));
}

static void check_requests(const struct vendor *to, const struct ch_codec *codec,
                           const struct ch_transcript *t, size_t own_from, const char *where) {
    static const struct ch_tool_def tools[] = {{.name = CH_SV("read")},
                                               {.name = CH_SV("ls")},
                                               {.name = CH_SV("calculate")},
                                               {.name = CH_SV("photo")},
                                               {.name = CH_SV("write")}};
    const struct ch_provider *p = ch_provider_find(ch_sv_str(to->provider));
    struct ch_endpoint ep = {.codec = codec, .provider = to->provider, .base_url = "http://x"};
    ep.quirks = p ? p->quirks : 0;
    struct ch_model_request req = {.endpoint = &ep,
                                   .model = ch_sv_str(to->model),
                                   .system = CH_SV("Be brief."),
                                   .tools = tools,
                                   .ntools = CH_LEN(tools),
                                   .messages = (const struct ch_msg *const *)t->msgs,
                                   .revision = 1};
    struct ch_encoder growing = {0};
    CH_BUF_AUTO before = {0};
    CH_BUF_AUTO now = {0};
    CH_BUF_AUTO fresh = {0};
    for (req.nmessages = 1; req.nmessages <= t->n; req.nmessages++) {
        struct ch_encoder once = {0};
        struct chela_error err = {0};
        if (ch_encoder_update(&growing, &req, &err) < 0)
            fail_msg("%s: %s", where, err.message);
        body_of(&growing, false, &now);
        if (now.n < before.n || (before.n && memcmp(now.p, before.p, before.n) != 0))
            fail_msg("%s, message %zu: bytes that were sent changed", where, req.nmessages);
        body_of(&growing, false, &before);
        assert_int_equal(ch_encoder_update(&once, &req, NULL), 0);
        body_of(&growing, true, &now);
        body_of(&once, true, &fresh);
        assert_string_equal(ch_buf_str(&now), ch_buf_str(&fresh));
        check_body(to, &req, ch_buf_sv(&now), calls_in(t, req.nmessages), req.nmessages > own_from,
                   where);
        ch_encoder_release(&once);
    }
    ch_encoder_release(&growing);
}

static void check_pair(const struct vendor *from, const struct vendor *to) {
    struct ch_transcript t = {0};
    char where[96];
    add_vendors_part(&t, from);
    size_t half = t.n;
    add_vendors_part(&t, to);
    add(&t, ch_msg_text(CH_MSG_USER, CH_SV("Thanks."), 7));
    assert_int_equal(calls_in(&t, t.n), 10);
    snprintf(where, sizeof(where), "%s to %s", from->api, to->api);
    check_requests(to, codec_of(to), &t, half + 1, where);
    snprintf(where, sizeof(where), "%s to %s and back", from->api, to->api);
    check_requests(from, codec_of(from), &t, 1, where);
    ch_transcript_release(&t);
}

static void test_pairs(void **state) {
    (void)state;
    unsigned pairs = 0, known = 0;
    for (size_t i = 0; i < CH_LEN(vendors); i++) {
        known += codec_of(&vendors[i]) != NULL;
        for (size_t k = 0; k < CH_LEN(vendors); k++)
            if (codec_of(&vendors[i]) && codec_of(&vendors[k])) {
                check_pair(&vendors[i], &vendors[k]);
                pairs += i != k;
            }
    }
    assert_int_equal(pairs, known * (known - 1));
}

/* A history of each goes to prompted calling over each. */
static void test_prompted_over_all(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(vendors); i++)
        for (size_t k = 0; k < CH_LEN(vendors) && codec_of(&vendors[i]); k++) {
            const struct ch_codec *codec = codec_of(&vendors[k]);
            struct ch_transcript t = {0};
            char where[96];
            if (!codec || codec->inner)
                continue;
            add_vendors_part(&t, &vendors[i]);
            snprintf(where, sizeof(where), "%s to prompted+%s", vendors[i].api, vendors[k].api);
            check_requests(&vendors[k], ch_codec_prompted(codec), &t, SIZE_MAX, where);
            ch_transcript_release(&t);
        }
}

static void test_all_are_here(void **state) {
    (void)state;
    for (size_t i = 0; ch_codec_at(i); i++) {
        const struct ch_codec *codec = ch_codec_at(i);
        bool found = codec->inner != NULL;
        for (size_t k = 0; k < CH_LEN(vendors); k++)
            found |= strcmp(vendors[k].api, codec->name) == 0;
        if (!found)
            fail_msg("%s has no row in this test", codec->name);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_prompted_over_all),
        cmocka_unit_test(test_all_are_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
