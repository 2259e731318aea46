/* test_encoder.c -- requests that only grow.
 *
 * The law: for a growing transcript, head and messages of request N are a
 * prefix of those of request N+1, byte for byte, and encoding step by step
 * gives what encoding at once gives. Held here for a history with everything
 * in it, for every codec and several servers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/shared_text.h"
#include "base/mem.h"
#include "model/codec/codec.h"
#include "json/json.h"
#include "model/codec/encoder.h"

#define TEXT(s) \
    { .type = CH_BLOCK_TEXT, .text = CH_SV(s) }
#define CALL(i) \
    { .type = CH_BLOCK_TOOL_CALL, .id = CH_SV(i), .name = CH_SV("f"), .text = CH_SV("{}") }
#define RESULT(i) \
    { .type = CH_BLOCK_TOOL_RESULT, .id = CH_SV(i), .name = CH_SV("f"), .text = CH_SV("ok") }
#define IMAGE \
    { .type = CH_BLOCK_IMAGE, .name = CH_SV("image/png"), .text = CH_SV("AAAA") }
#define THINKING \
    { .type = CH_BLOCK_REASONING, .text = CH_SV("hm"), .extra = CH_SV("sig") }

static const struct {
    enum ch_msg_kind kind;
    struct ch_block blocks[4];
    size_t n;
} history[] = {
    {CH_MSG_USER, {TEXT("hello")}, 1},
    {CH_MSG_ASSISTANT, {THINKING, TEXT("hi"), CALL("call.1"), CALL("b")}, 4},
    {CH_MSG_RESULTS, {RESULT("b"), RESULT("call.1")}, 2}, /* out of order */
    {CH_MSG_ASSISTANT, {CALL("lost")}, 1},
    {CH_MSG_EVENT, {TEXT("disk full")}, 1}, /* instead of results */
    {CH_MSG_USER, {TEXT("")}, 1},           /* says nothing */
    {CH_MSG_ASSISTANT, {TEXT("on it"), CALL("c")}, 2},
    {CH_MSG_RESULTS,
     {{.type = CH_BLOCK_TOOL_RESULT,
       .id = CH_SV("c"),
       .name = CH_SV("f"),
       .span = 1,
       .flags = CH_F_ERROR,
       .text = CH_SV("broke")},
      IMAGE,
      RESULT("stray")},
     3},
    {CH_MSG_RESULTS, {RESULT("late")}, 1}, /* nobody called */
    {CH_MSG_USER, {TEXT("see"), IMAGE}, 2},
    {CH_MSG_TIMER, {TEXT("tick")}, 1},
    {CH_MSG_ASSISTANT, {THINKING}, 1}, /* nothing to send */
    {CH_MSG_ASSISTANT, {CALL("d"), CALL("e")}, 2},
    {CH_MSG_RESULTS, {RESULT("e")}, 1}, /* one is missing */
    {CH_MSG_WEBHOOK, {TEXT("done")}, 1},
    {CH_MSG_ASSISTANT, {TEXT("bye")}, 1},
    {CH_MSG_ASSISTANT, {TEXT("or not \\\"}]")}, 1}, /* the same role again */
    {CH_MSG_ASSISTANT, {TEXT("once more"), CALL("g")}, 2},
    {CH_MSG_RESULTS, {RESULT("g")}, 1},
    {CH_MSG_ASSISTANT, {TEXT("so")}, 1},
};
#define N CH_LEN(history)

static struct ch_msg *messages[N];

static int build_history(void **state) {
    (void)state;
    for (size_t i = 0; i < N; i++)
        messages[i] =
            ch_msg_by(history[i].kind, history[i].blocks, history[i].n,
                      &(struct ch_msg_author){.api = "anthropic", .model = CH_SV("m")}, (int64_t)i);
    return 0;
}

static int free_history(void **state) {
    (void)state;
    for (size_t i = 0; i < N; i++)
        ch_msg_free(messages[i]);
    return 0;
}

static const struct ch_tool_def tool = {.name = CH_SV("f"),
                                        .schema = CH_SV("{\"type\":\"object\"}")};

static struct ch_model_request request(const struct ch_endpoint *ep, size_t n) {
    return (struct ch_model_request){.endpoint = ep,
                                     .model = ep->codec == &ch_codec_bedrock && !ep->quirks
                                                  ? CH_SV("us.anthropic.claude-sonnet-4-5-v1:0")
                                                  : CH_SV("m"),
                                     .system = CH_SV("S"),
                                     .tools = &tool,
                                     .ntools = 1,
                                     .messages = (const struct ch_msg *const *)messages,
                                     .nmessages = n,
                                     .revision = 1};
}

static void body_of(const struct ch_encoder *e, struct ch_buf *out, bool tail) {
    ch_buf_clear(out);
    ch_buf_add_sv(out, ch_buf_sv(&e->head));
    ch_buf_add_sv(out, ch_buf_sv(&e->messages));
    if (tail)
        ch_buf_add_sv(out, ch_buf_sv(&e->tail));
}

static const struct ch_endpoint endpoints[] = {
    {.codec = &ch_codec_anthropic, .provider = "anthropic", .base_url = "http://x"},
    {.codec = &ch_codec_anthropic,
     .provider = "anthropic",
     .base_url = "http://x",
     .quirks = CH_Q_NO_CACHE_MARKS},
    {.codec = &ch_codec_openai, .provider = "openai", .base_url = "http://x"},
    {.codec = &ch_codec_openai,
     .provider = "deepseek",
     .base_url = "http://x",
     .quirks = CH_Q_STRING_CONTENT | CH_Q_REPLAY_REASONING | CH_Q_NO_DEVELOPER},
    {.codec = &ch_codec_openai, .provider = "mistral", .base_url = "http://x", .quirks = CH_Q_ID9},
    {.codec = &ch_codec_responses, .provider = "openai-responses", .base_url = "http://x"},
    {.codec = &ch_codec_responses,
     .provider = "my-llm",
     .base_url = "http://x",
     .quirks = CH_Q_NO_DEVELOPER},
    {.codec = &ch_codec_bedrock, .provider = "bedrock", .base_url = "http://x"},
    {.codec = &ch_codec_bedrock, .provider = "bedrock", .base_url = "http://x", .quirks = CH_Q_ID9},
    {.codec = &ch_codec_gemini, .provider = "gemini", .base_url = "http://x"},
    {.codec = &ch_codec_interactions, .provider = "gemini-interactions", .base_url = "http://x"},
#define IN_TURN 11
    {.codec = &ch_codec_openai, .provider = "a", .base_url = "http://x", .quirks = CH_Q_ALTERNATE},
    {.codec = &ch_codec_openai,
     .provider = "b",
     .base_url = "http://x",
     .quirks = CH_Q_ALTERNATE | CH_Q_STRING_CONTENT | CH_Q_REPLAY_REASONING},
};

static void assert_valid(struct ch_sv body) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    struct chela_error err = {0};
    if (ch_json_parse(&arena, body, CH_JSON_STRICT, &v, NULL, &err) < 0)
        fail_msg("%s: %.*s", err.message, CH_SV_FMT(body));
}

static void test_prefix(void **state) {
    (void)state;
    for (size_t k = 0; k < CH_LEN(endpoints); k++) {
        struct ch_encoder growing = {0};
        CH_BUF_AUTO before = {0};
        CH_BUF_AUTO now = {0};
        CH_BUF_AUTO fresh = {0};
        for (size_t n = 0; n <= N; n++) {
            struct ch_model_request req = request(&endpoints[k], n);
            struct ch_encoder once = {0};
            assert_int_equal(ch_encoder_update(&growing, &req, NULL), 0);
            assert_int_equal(ch_encoder_update(&once, &req, NULL), 0);
            body_of(&growing, &now, false);
            assert_true(now.n >= before.n);
            assert_memory_equal(now.p, before.p, before.n);
            body_of(&growing, &before, false);
            body_of(&growing, &now, true);
            body_of(&once, &fresh, true);
            assert_string_equal(ch_buf_str(&now), ch_buf_str(&fresh));
            assert_valid(ch_buf_sv(&now));
            ch_encoder_release(&once);
        }
        ch_encoder_release(&growing);
    }
}

/* Calls and results of a Chat request, as "call:ID " and "result:ID ". */
static void pairs(struct ch_sv body, struct ch_buf *out) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    assert_int_equal(ch_json_parse(&arena, body, CH_JSON_STRICT, &v, NULL, NULL), 0);
    for (CH_JSON_EACH(m, ch_json_get(v, "messages"))) {
        for (CH_JSON_EACH(c, ch_json_get(m, "tool_calls")))
            ch_buf_addf(out, "call:%.*s ", CH_SV_FMT(ch_json_get_str(c, "id")));
        struct ch_sv id = ch_json_get_str(m, "tool_call_id");
        if (id.n)
            ch_buf_addf(out, "result:%.*s ", CH_SV_FMT(id));
    }
}

static void test_pairing(void **state) {
    (void)state;
    static const struct {
        size_t n;
        const char *want;
    } cases[] = {
        {2, "call:call.1 call:b result:call.1 result:b "}, /* made up, in the tail */
        {3, "call:call.1 call:b result:call.1 result:b "},
        {4, "call:call.1 call:b result:call.1 result:b call:lost result:lost "},
        {5, "call:call.1 call:b result:call.1 result:b call:lost result:lost "},
        {9, "call:call.1 call:b result:call.1 result:b call:lost result:lost call:c result:c "},
        {N, "call:call.1 call:b result:call.1 result:b call:lost result:lost call:c result:c "
            "call:d call:e result:d result:e call:g result:g "},
    };
    struct ch_encoder e = {0};
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO body = {0};
        CH_BUF_AUTO got = {0};
        struct ch_model_request req = request(&endpoints[2], cases[i].n);
        assert_int_equal(ch_encoder_update(&e, &req, NULL), 0);
        body_of(&e, &body, true);
        pairs(ch_buf_sv(&body), &got);
        assert_string_equal(ch_buf_str(&got), cases[i].want);
    }
    ch_encoder_release(&e);
}

static void test_heads_and_tails_are_shared(void **state) {
    (void)state;
    const char *last = NULL, *tail = NULL;
    struct ch_encoder one = {0}, other = {0};
    struct ch_model_request req = request(&endpoints[0], 3);
    assert_int_equal(ch_encoder_update(&one, &req, NULL), 0);
    assert_int_equal(ch_encoder_update(&other, &req, NULL), 0);
    assert_ptr_not_equal(one.head.p, other.head.p);
    ch_encoder_share(&one, &last, &tail);
    ch_encoder_share(&one, &last, &tail);
    ch_encoder_share(&other, &last, &tail);
    assert_ptr_equal(one.head.p, other.head.p);
    assert_ptr_equal(one.tail.p, other.tail.p);

    req.nmessages = 4; /* the head stays */
    assert_int_equal(ch_encoder_update(&other, &req, NULL), 0);
    assert_ptr_equal(one.head.p, other.head.p);
    req.revision = 2;
    req.system = CH_SV("T");
    assert_int_equal(ch_encoder_update(&other, &req, NULL), 0);
    assert_non_null(strstr(ch_buf_str(&other.head), "\"T\""));
    assert_null(strstr(ch_buf_str(&one.head), "\"T\""));
    ch_encoder_share(&other, &last, &tail);
    assert_ptr_not_equal(other.tail.p, tail); /* a call without a result: not shared */
    ch_encoder_clear(&other);
    req.nmessages = 3;
    assert_int_equal(ch_encoder_update(&other, &req, NULL), 0);
    assert_string_equal(ch_buf_str(&other.head), last);
    assert_string_equal(ch_buf_str(&other.tail), tail);

    req.note = CH_SV("only now"); /* a tail with a note is not shared */
    assert_int_equal(ch_encoder_update(&other, &req, NULL), 0);
    ch_encoder_share(&other, &last, &tail);
    assert_non_null(strstr(ch_buf_str(&other.tail), "only now"));
    assert_null(strstr(tail, "only now"));
    ch_encoder_release(&one);
    ch_encoder_release(&other);
    ch_shared_text_release(last);
    ch_shared_text_release(tail);
}

static void test_what_is_encoded_again(void **state) {
    (void)state;
    struct ch_encoder e = {0};
    struct ch_model_request req = request(&endpoints[0], 3);
    assert_int_equal(ch_encoder_update(&e, &req, NULL), 0);
    const char *at = e.messages.p;
    e.messages.p[0] = '#'; /* a mark: these bytes are not written again */
    e.head.p[0] = '#';
    req.nmessages = 4;
    assert_int_equal(ch_encoder_update(&e, &req, NULL), 0);
    assert_int_equal(e.messages.p[0], '#');
    assert_int_equal(e.head.p[0], '#');
    (void)at;

    req.revision = 2; /* another system prompt, say: head and tail only */
    req.system = CH_SV("T");
    assert_int_equal(ch_encoder_update(&e, &req, NULL), 0);
    assert_int_equal(e.head.p[0], '{');
    assert_non_null(strstr(ch_buf_str(&e.head), "\"T\""));
    assert_int_equal(e.messages.p[0], '#');

    req.nmessages = 2; /* a shorter history is another one */
    assert_int_equal(ch_encoder_update(&e, &req, NULL), 0);
    assert_int_equal(e.messages.p[0], '{');

    e.messages.p[0] = '#';
    req.model = CH_SV("other"); /* signatures are the model's own */
    assert_int_equal(ch_encoder_update(&e, &req, NULL), 0);
    assert_int_equal(e.messages.p[0], '{');

    e.messages.p[0] = '#';
    req.endpoint = &endpoints[2];
    assert_int_equal(ch_encoder_update(&e, &req, NULL), 0);
    assert_int_not_equal(e.messages.p[0], '#');

    e.messages.p[0] = '#';
    ch_encoder_clear(&e);
    assert_int_equal(ch_encoder_update(&e, &req, NULL), 0);
    assert_int_not_equal(e.messages.p[0], '#');
    ch_encoder_release(&e);
}

/* As the templates of such servers count: user and assistant in turn, where calls
 * and results do not count, and after results comes the assistant. */
static void check_turns(struct ch_sv body) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    bool users = true, results = false;
    assert_int_equal(ch_json_parse(&arena, body, CH_JSON_STRICT, &v, NULL, NULL), 0);
    for (CH_JSON_EACH(m, ch_json_get(v, "messages"))) {
        struct ch_sv role = ch_json_get_str(m, "role");
        bool user = ch_sv_is(role, "user"), assistant = ch_sv_is(role, "assistant");
        if ((user && results) ||
            ((user || assistant) && !ch_json_get(m, "tool_calls") && user != users))
            fail_msg("not in turn: %.*s", CH_SV_FMT(body));
        results = ch_sv_is(role, "tool");
        if (user || (assistant && !ch_json_get(m, "tool_calls")))
            users = !user;
    }
}

static void test_turns(void **state) {
    (void)state;
    for (size_t k = IN_TURN; k < CH_LEN(endpoints); k++) {
        struct ch_encoder e = {0};
        CH_BUF_AUTO body = {0};
        for (size_t n = 0; n <= N; n++) {
            struct ch_model_request req = request(&endpoints[k], n);
            assert_int_equal(ch_encoder_update(&e, &req, NULL), 0);
            body_of(&e, &body, true);
            check_turns(ch_buf_sv(&body));
        }
        assert_non_null(
            strstr(body.p, "bye\\n\\nor not \\\\\\\"}]\\n\\nonce more\",\"tool_calls\""));
        ch_encoder_release(&e);
    }
}

static int failing_message(const struct ch_model_request *req, const struct ch_msg *m,
                           struct ch_buf *out, struct chela_error *err) {
    if (m->kind != CH_MSG_TIMER)
        return ch_codec_openai.message(req, m, out, err);
    ch_buf_add_str(out, "half of a messa");
    return CHELA_EINVAL;
}

/* A message that cannot be encoded leaves nothing behind: the next body is that of a new
 * encoder. */
static void test_failure(void **state) {
    (void)state;
    struct ch_codec codec = ch_codec_openai;
    codec.message = failing_message;
    struct ch_endpoint ep = endpoints[2];
    ep.codec = &codec;
    struct ch_encoder e = {0};
    struct ch_model_request req = request(&ep, N);
    assert_int_equal(ch_encoder_update(&e, &req, NULL), CHELA_EINVAL);
    assert_null(strstr(ch_buf_str(&e.messages), "half"));
    req.nmessages = 10;
    struct ch_encoder fresh = {0};
    CH_BUF_AUTO body = {0};
    CH_BUF_AUTO want = {0};
    assert_int_equal(ch_encoder_update(&e, &req, NULL), 0);
    assert_int_equal(ch_encoder_update(&fresh, &req, NULL), 0);
    body_of(&e, &body, true);
    body_of(&fresh, &want, true);
    assert_valid(ch_buf_sv(&body));
    assert_string_equal(ch_buf_str(&body), ch_buf_str(&want));
    ch_encoder_release(&e);
    ch_encoder_release(&fresh);
}

/* The last place before the end where a service is told to cache. */
static size_t last_mark(const char *body) {
    size_t at = 0;
    for (const char *p = body; (p = strpbrk(p, "cC")); p++)
        if (strncmp(p, "cache_control", 13) == 0 || strncmp(p, "cachePoint", 10) == 0)
            at = (size_t)(p - body);
    return at;
}

/* What holds for one request alone is at its end, behind the last mark, leaves
 * no trace in the next one, and nothing before it differs from a request that
 * has none. */
static void test_note(void **state) {
    (void)state;
    for (size_t k = 0; k < CH_LEN(endpoints); k++) {
        struct ch_encoder with = {0}, without = {0};
        for (size_t n = 1; n <= N; n++) {
            CH_BUF_AUTO body = {0};
            struct ch_sv parts[3];
            struct ch_model_request req = request(&endpoints[k], n);
            assert_int_equal(ch_encoder_update(&without, &req, NULL), 0);
            req.note = n % 3 ? CH_SV("only now \"1\"") : n % 2 ? CH_SV("only now 2") : CH_SV("");
            assert_int_equal(ch_encoder_update(&with, &req, NULL), 0);
            assert_true(ch_sv_eq(ch_buf_sv(&with.head), ch_buf_sv(&without.head)));
            assert_true(ch_sv_eq(ch_buf_sv(&with.messages), ch_buf_sv(&without.messages)));
            ch_encoder_body(&with, parts);
            for (size_t i = 0; i < 3; i++)
                ch_buf_add_sv(&body, parts[i]);
            assert_valid(ch_buf_sv(&body));
            const char *note = strstr(ch_buf_str(&body), "only now");
            assert_int_equal(note != NULL, req.note.n > 0);
            size_t at = note ? (size_t)(note - body.p) : 0;
            if (!note)
                continue;
            assert_true(at > with.head.n + with.messages.n - 8);
            assert_true(last_mark(body.p) < at);
            assert_null(strstr(note + 1, "only now"));
        }
        ch_encoder_release(&with);
        ch_encoder_release(&without);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_pairing),
        cmocka_unit_test(test_heads_and_tails_are_shared),
        cmocka_unit_test(test_what_is_encoded_again),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_failure),
        cmocka_unit_test(test_note),
    };
    return cmocka_run_group_tests(tests, build_history, free_history);
}
