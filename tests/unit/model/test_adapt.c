/* test_adapt.c -- ids that repeat, images that cannot be shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "model/catalog/vision_support.h"
#include "model/codec/adapt.h"
#include "model/catalog/provider.h"
#include "json/json.h"
#include "model/codec/encoder.h"

#define CALL(i) \
    { .type = CH_BLOCK_TOOL_CALL, .id = CH_SV(i), .name = CH_SV("f"), .text = CH_SV("{}") }
#define RESULT(i, t) \
    { .type = CH_BLOCK_TOOL_RESULT, .id = CH_SV(i), .name = CH_SV("f"), .text = CH_SV(t) }

/* Calls and results of a Chat request, "call:ID" and "ID=text". */
static void pairs(const struct ch_msg *const *messages, size_t n, unsigned quirks,
                  struct ch_buf *out) {
    struct ch_endpoint ep = {.codec = &ch_codec_openai, .base_url = "http://x", .quirks = quirks};
    struct ch_model_request req = {
        .endpoint = &ep, .model = CH_SV("m"), .messages = messages, .nmessages = n};
    struct ch_encoder e = {0};
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO body = {0};
    const struct ch_json *v;
    assert_int_equal(ch_encoder_update(&e, &req, NULL), 0);
    ch_buf_add_sv(&body, ch_buf_sv(&e.head));
    ch_buf_add_sv(&body, ch_buf_sv(&e.messages));
    ch_buf_add_sv(&body, ch_buf_sv(&e.tail));
    assert_int_equal(ch_json_parse(&arena, ch_buf_sv(&body), CH_JSON_STRICT, &v, NULL, NULL), 0);
    for (CH_JSON_EACH(m, ch_json_get(v, "messages"))) {
        for (CH_JSON_EACH(c, ch_json_get(m, "tool_calls")))
            ch_buf_addf(out, "call:%.*s ", CH_SV_FMT(ch_json_get_str(c, "id")));
        struct ch_sv id = ch_json_get_str(m, "tool_call_id");
        if (id.n)
            ch_buf_addf(out, "%.*s=%.*s ", CH_SV_FMT(id), CH_SV_FMT(ch_json_get_str(m, "content")));
    }
    ch_encoder_release(&e);
}

static const struct {
    const char *want;
    size_t n;
    struct {
        enum ch_msg_kind kind;
        size_t n;
        struct ch_block blocks[4];
    } messages[6];
} histories[] = {
    {"call:a a=1 call:a_2 a_2=2 call:a_4 a_4=3 ",
     6,
     {{CH_MSG_ASSISTANT, 1, {CALL("a")}},
      {CH_MSG_RESULTS, 1, {RESULT("a", "1")}},
      {CH_MSG_ASSISTANT, 1, {CALL("a")}},
      {CH_MSG_RESULTS, 1, {RESULT("a", "2")}},
      {CH_MSG_ASSISTANT, 1, {CALL("a")}},
      {CH_MSG_RESULTS, 1, {RESULT("a", "3")}}}},
    /* in one message, too: the first result is the first call's */
    {"call:a call:a_0 a=1 a_0=2 ",
     2,
     {{CH_MSG_ASSISTANT, 2, {CALL("a"), CALL("a")}},
      {CH_MSG_RESULTS, 2, {RESULT("a", "1"), RESULT("a", "2")}}}},
    /* a new id that is in use already */
    {"call:a call:a_2 a=1 a_2=2 call:a_2_2 a_2_2=3 ",
     4,
     {{CH_MSG_ASSISTANT, 2, {CALL("a"), CALL("a_2")}},
      {CH_MSG_RESULTS, 2, {RESULT("a", "1"), RESULT("a_2", "2")}},
      {CH_MSG_ASSISTANT, 1, {CALL("a")}},
      {CH_MSG_RESULTS, 1, {RESULT("a", "3")}}}},
    /* out of order, and one that is missing */
    {"call:a a=1 call:b call:a_2 b=2 a_2=3 ",
     4,
     {{CH_MSG_ASSISTANT, 1, {CALL("a")}},
      {CH_MSG_RESULTS, 1, {RESULT("a", "1")}},
      {CH_MSG_ASSISTANT, 2, {CALL("b"), CALL("a")}},
      {CH_MSG_RESULTS, 2, {RESULT("a", "3"), RESULT("b", "2")}}}},
    {"call:a call:b call:b_0 call:c a=No result provided: the call was not run or its result was "
     "lost. b=1 b_0=2 c=3 ",
     2,
     {{CH_MSG_ASSISTANT, 4, {CALL("a"), CALL("b"), CALL("b"), CALL("c")}},
      {CH_MSG_RESULTS, 4,
       {RESULT("c", "3"), RESULT("b", "1"), RESULT("bb", "0"), RESULT("b", "2")}}}},
    {"call:a a=1 call:a_2 a_2=No result provided: the call was not run or its result was lost. ",
     3,
     {{CH_MSG_ASSISTANT, 1, {CALL("a")}},
      {CH_MSG_RESULTS, 1, {RESULT("a", "1")}},
      {CH_MSG_ASSISTANT, 1, {CALL("a")}}}},
};

static void test_repeated_ids(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(histories); i++) {
        struct ch_msg *messages[6];
        CH_BUF_AUTO got = {0};
        for (size_t k = 0; k < histories[i].n; k++)
            messages[k] =
                ch_msg_by(histories[i].messages[k].kind, histories[i].messages[k].blocks,
                          histories[i].messages[k].n,
                          &(struct ch_msg_author){.api = "openai", .model = CH_SV("m")}, 0);
        pairs((const struct ch_msg *const *)messages, histories[i].n, 0, &got);
        assert_string_equal(ch_buf_str(&got), histories[i].want);
        for (size_t k = 0; k < histories[i].n; k++)
            ch_msg_free(messages[k]);
    }
}

/* Ten thousand calls with one id, as nine characters: each gets its own. */
static void test_many(void **state) {
    (void)state;
    struct ch_call_ids ids = {0};
    const struct ch_block block = CALL("call_1");
    struct ch_msg *m = ch_msg_new(CH_MSG_ASSISTANT, &block, 1, 0);
    for (size_t at = 0; at < 10000; at++) {
        struct ch_msg *renewed = ch_call_ids_renew(&ids, CH_ID_9, m, at);
        assert_int_equal(renewed != NULL, at > 0);
        ch_msg_free(renewed);
        assert_int_equal(ids.n, at + 1);
    }
    ch_call_ids_release(&ids);
    ch_msg_free(m);
}

/* The same in one message, which a client may send: the work grows with the number of calls. */
static void test_many_at_once(void **state) {
    (void)state;
    enum { N = 20000 };
    struct ch_call_ids ids = {0};
    struct ch_block *blocks = ch_alloc(N * sizeof(*blocks));
    for (size_t i = 0; i < N; i++)
        blocks[i] = (struct ch_block)CALL("call_1");
    struct ch_msg *m = ch_msg_new(CH_MSG_ASSISTANT, blocks, N, 0);
    struct ch_msg *renewed = ch_call_ids_renew(&ids, CH_ID_64, m, 7);
    assert_string_equal(renewed->blocks[0].id.p, "call_1");
    assert_string_equal(renewed->blocks[1].id.p, "call_1_7");
    assert_string_equal(renewed->blocks[2].id.p, "call_1_7_2");
    assert_int_equal(ids.n, N);
    ch_call_ids_release(&ids);
    ch_msg_free(renewed);
    ch_msg_free(m);
    ch_free(blocks);
}

static void test_images(void **state) {
    (void)state;
    static const struct ch_block blocks[] = {
        {.type = CH_BLOCK_TOOL_RESULT, .id = CH_SV("a"), .text = CH_SV("two"), .span = 2},
        {.type = CH_BLOCK_IMAGE, .name = CH_SV("image/png"), .text = CH_SV("AAAA")},
        {.type = CH_BLOCK_DOCUMENT, .name = CH_SV("application/pdf"), .text = CH_SV("AAAA")},
        {.type = CH_BLOCK_IMAGE, .flags = CH_F_URL, .text = CH_SV("http://x/y.png")},
        {.type = CH_BLOCK_TEXT, .text = CH_SV("beside")}};
    struct ch_msg *m = ch_msg_new(CH_MSG_RESULTS, blocks, CH_LEN(blocks), 0);
    const struct ch_endpoint blind = {.quirks = CH_Q_NO_IMAGES}, any = {0};
    struct ch_model_request req = {.endpoint = &any, .model = CH_SV("gpt-4o")};
    assert_null(ch_without_images(&req, m));
    req.model = CH_SV("gpt-3.5-turbo");
    struct ch_msg *plain = ch_without_images(&req, m);
    assert_non_null(plain);
    ch_msg_free(plain);
    req = (struct ch_model_request){.endpoint = &blind};
    plain = ch_without_images(&req, m);
    assert_int_equal(plain->nblocks, 4);
    assert_int_equal(plain->blocks[0].span, 1);
    assert_string_equal(plain->blocks[0].text.p,
                        "two\n[image image/png: cannot be shown to this model]");
    assert_int_equal(plain->blocks[1].type, CH_BLOCK_DOCUMENT);
    assert_string_equal(plain->blocks[2].text.p, "[image at http://x/y.png]");
    assert_string_equal(plain->blocks[3].text.p, "beside");
    assert_null(ch_without_images(&req, plain));
    ch_msg_free(plain);
    ch_msg_free(m);
}

static void test_sight(void **state) {
    (void)state;
    static const struct {
        const char *model;
        enum ch_sight sight;
    } cases[] = {
        {"deepseek-chat", CH_SIGHT_NONE},
        {"deepseek/deepseek-r1", CH_SIGHT_NONE},
        {"gpt-oss:20b", CH_SIGHT_NONE},
        {"openai/gpt-oss-120b", CH_SIGHT_NONE},
        {"glm-4.6", CH_SIGHT_NONE},
        {"glm-4.6v-flash", CH_SIGHT_IMAGES},
        {"kimi-k2-0905", CH_SIGHT_NONE},
        {"kimi-k2.5", CH_SIGHT_IMAGES},
        {"gpt-4o", CH_SIGHT_IMAGES},
        {"claude-sonnet-4-6", CH_SIGHT_IMAGES},
        {"Llama-3.3-70B", CH_SIGHT_NONE},
        {"o3-pro", CH_SIGHT_IMAGES},
        {"o3-mini-2025-01-31", CH_SIGHT_NONE},
        {"", CH_SIGHT_UNKNOWN},
        {"nobody-knows", CH_SIGHT_UNKNOWN},
        {"moonshot-v1-8k-vision-preview", CH_SIGHT_IMAGES},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++)
        if (ch_model_sight(ch_sv_str(cases[i].model)) != cases[i].sight)
            fail_msg("%s", cases[i].model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repeated_ids),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_many_at_once),
        cmocka_unit_test(test_images),
        cmocka_unit_test(test_sight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
