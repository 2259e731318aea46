/* test_container.c -- the container of Anthropic's code execution goes back with the results
 * of calls that code waits for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "json/json.h"
#include "model/codec/codec.h"
#include "model/codec/decoder.h"
#include "model/codec/encoder.h"

#define EVENT(json) "data: " json "\n\n"

/* A search by code that is still running when the model calls f. */
#define BEGIN \
    EVENT("{\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\"," \
          "\"content\":[],\"container\":null,\"usage\":{\"input_tokens\":1}}}") \
    EVENT("{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":" \
          "\"server_tool_use\",\"id\":\"srvtoolu_1\",\"name\":\"code_execution\",\"input\":{}}}") \
    EVENT("{\"type\":\"content_block_stop\",\"index\":0}") \
    EVENT("{\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":" \
          "\"tool_use\",\"id\":\"toolu_1\",\"name\":\"f\",\"input\":{}}}") \
    EVENT("{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":" \
          "\"input_json_delta\",\"partial_json\":\"{\\\"a\\\": [1\"}}") \
    EVENT("{\"type\":\"content_block_stop\",\"index\":1}")
#define END(stop) \
    EVENT("{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"" stop "\",\"container\":" \
          "{\"id\":\"container_1\",\"expires_at\":\"2026-11-19T02:00:00Z\"}}," \
          "\"usage\":{\"output_tokens\":2}}") \
    EVENT("{\"type\":\"message_stop\"}")
#define WHOLE \
    "{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":" \
    "\"tool_use\",\"id\":\"toolu_1\",\"name\":\"f\",\"input\":{}}],\"stop_reason\":\"tool_use\"," \
    "\"container\":{\"id\":\"container_1\"},\"usage\":{\"input_tokens\":1,\"output_tokens\":2}}"

static struct ch_msg *decode(const char *body) {
    struct ch_decoder d;
    ch_decoder_init(&d, &ch_codec_anthropic, NULL, NULL);
    ch_decoder_feed(&d, ch_sv_str(body));
    ch_decoder_end(&d, NULL, 1);
    assert_int_equal(d.reply.error.cls, CH_ERR_NONE);
    struct ch_msg *m = d.reply.msg;
    d.reply.msg = NULL;
    ch_decoder_release(&d);
    return m;
}

static struct ch_msg *result(void) {
    const struct ch_block b = {.type = CH_BLOCK_TOOL_RESULT,
                               .id = CH_SV("toolu_1"),
                               .name = CH_SV("f"),
                               .text = CH_SV("ok")};
    return ch_msg_new(CH_MSG_RESULTS, &b, 1, 2);
}

static const struct ch_endpoint plain = {
    .codec = &ch_codec_anthropic, .provider = "anthropic", .base_url = "http://x"};

/* Encode the first n messages; the member "container" and the whole body are checked. */
static void check_body(struct ch_encoder *e, const struct ch_endpoint *ep, struct ch_msg **m,
                       size_t n, const char *container) {
    struct ch_model_request req = {.endpoint = ep,
                                   .model = CH_SV("claude-sonnet-4-6"),
                                   .server_tools = CH_SV("[{\"type\":\"web_search_20260209\"}]"),
                                   .messages = (const struct ch_msg *const *)m,
                                   .nmessages = n,
                                   .revision = 1};
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO body = {0};
    const struct ch_json *v;
    struct chela_error err = {0};
    struct ch_sv parts[3];
    assert_int_equal(ch_encoder_update(e, &req, &err), CHELA_OK);
    ch_encoder_body(e, parts);
    for (size_t i = 0; i < CH_LEN(parts); i++)
        ch_buf_add_sv(&body, parts[i]);
    assert_int_equal(ch_json_parse(&arena, ch_buf_sv(&body), CH_JSON_STRICT, &v, NULL, &err), 0);
    const struct ch_json *sent = ch_json_get(v, "container");
    if (ch_json_is(sent, CH_JSON_OBJECT))
        assert_int_equal(ch_json_get(sent, "skills")->type, CH_JSON_ARRAY);
    if (container)
        assert_true(ch_sv_is(ch_json_is(sent, CH_JSON_OBJECT) ? ch_json_get_str(sent, "id")
                                                              : ch_json_str(sent),
                             container));
    else
        assert_null(sent);
    assert_null(memmem(body.p, body.n, "expires_at", 10)); /* no block of the content */
}

static void check_turns(const char *reply, const struct ch_endpoint *ep) {
    struct ch_msg *m[] = {
        ch_msg_text(CH_MSG_USER, CH_SV("look"), 0), decode(reply), result(),
        ch_msg_text(CH_MSG_USER, CH_SV("be quick"), 3), /* while the turn goes on */
        ch_msg_text(CH_MSG_ASSISTANT, CH_SV("done"), 4),
        ch_msg_text(CH_MSG_USER, CH_SV("next"), 5)};
    static const char *const want[] = {NULL, "container_1", "container_1", "container_1", NULL,
                                       NULL};
    struct ch_encoder e = {0};
    for (size_t n = 1; n <= CH_LEN(m); n++)
        check_body(&e, ep, m, n, want[n - 1]);
    ch_encoder_release(&e);
    for (size_t i = 0; i < CH_LEN(m); i++)
        ch_msg_free(m[i]);
}

static void test_turns(void **state) {
    (void)state;
    check_turns(BEGIN END("tool_use"), &plain);
    check_turns(WHOLE, &plain);
}

static void test_with_skills(void **state) {
    (void)state;
    struct ch_msg *m[] = {ch_msg_text(CH_MSG_USER, CH_SV("look"), 0), decode(WHOLE), result()};
    struct ch_endpoint ep = plain;
    struct ch_encoder e = {0};
    ep.extra_body = CH_SV("\"container\":{\"skills\":[{\"type\":\"anthropic\"}]}");
    check_body(&e, &ep, m, CH_LEN(m), "container_1");
    ch_encoder_release(&e);
    for (size_t i = 0; i < CH_LEN(m); i++)
        ch_msg_free(m[i]);
}

/* A reply that did not finish its turn is sent back to go on. */
static void test_pause(void **state) {
    (void)state;
    struct ch_msg *m[] = {ch_msg_text(CH_MSG_USER, CH_SV("look"), 0),
                          decode(BEGIN END("pause_turn"))};
    struct ch_encoder e = {0};
    check_body(&e, &plain, m, CH_LEN(m), "container_1");
    ch_encoder_release(&e);
    for (size_t i = 0; i < CH_LEN(m); i++)
        ch_msg_free(m[i]);
}

/* The container arrives after the content, but the last block is still the truncated call. */
static void test_length(void **state) {
    (void)state;
    struct ch_msg *m = decode(BEGIN END("max_tokens"));
    const struct ch_block *last = &m->blocks[m->nblocks - 1];
    assert_int_equal(last->type, CH_BLOCK_TOOL_CALL);
    assert_true(last->flags & CH_F_CUT);
    ch_msg_free(m);
}

/* While a tool or code of the service is not done, it accepts nothing beside the results. */
static void test_only_results(void **state) {
    static const struct {
        const char *content;
        bool only;
    } cases[] = {
        {"{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{}}", false},
        {"{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{},"
         "\"caller\":{\"type\":\"direct\"}}",
         false},
        {"{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{},"
         "\"caller\":{\"type\":\"code_execution_20260120\",\"tool_id\":\"s\"}}",
         true},
        {"{\"type\":\"server_tool_use\",\"id\":\"s\",\"name\":\"web_search\",\"input\":{}},"
         "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{}}",
         true},
        {"{\"type\":\"server_tool_use\",\"id\":\"s\",\"name\":\"web_search\",\"input\":{}},"
         "{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"s\",\"content\":[]},"
         "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{}}",
         false},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO body = {0};
        ch_buf_addf(&body,
                    "{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[%s],"
                    "\"stop_reason\":\"tool_use\",\"usage\":{\"input_tokens\":1}}",
                    cases[i].content);
        struct ch_msg *m = decode(ch_buf_str(&body));
        if (ch_codec_anthropic.wants_only_results(m) != cases[i].only)
            fail_msg("case %zu", i);
        ch_msg_free(m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_with_skills),
        cmocka_unit_test(test_pause),
        cmocka_unit_test(test_length),
        cmocka_unit_test(test_only_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
