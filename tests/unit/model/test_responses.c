/* test_responses.c -- items of a Responses reply that go back in the next request. What a reply
 * decodes to is in tests/replay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/codec/codec.h"
#include "model/codec/decoder.h"
#include "model/wire/reply_findings.h"

#define MESSAGE \
    "{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"status\":\"completed\"," \
    "\"content\":[{\"type\":\"output_text\",\"text\":\"Hi\",\"annotations\":[]}]}"
#define SENT_MESSAGE \
    ",{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"status\":\"completed\"," \
    "\"content\":[{\"type\":\"output_text\",\"text\":\"Hi\",\"annotations\":[]}]}"

static void check_sent(const char *name, const char *item, const char *want) {
    CH_BUF_AUTO body = {0};
    CH_BUF_AUTO out = {0};
    CH_BUF_AUTO all = {0};
    struct ch_decoder d;
    struct ch_endpoint ep = {.codec = &ch_codec_responses, .base_url = "https://x"};
    struct ch_model_request req = {.endpoint = &ep, .model = CH_SV("gpt-5")};
    ch_buf_addf(&body,
                "{\"object\":\"response\",\"status\":\"completed\",\"model\":\"gpt-5\","
                "\"output\":[%s,%s]}",
                item, MESSAGE);
    ch_decoder_init(&d, &ch_codec_responses, NULL, NULL);
    ch_decoder_feed(&d, ch_buf_sv(&body));
    ch_decoder_end(&d, NULL, 7);
    assert_int_equal(d.reply.error.cls, CH_ERR_NONE);
    assert_int_equal(ch_codec_responses.message(&req, d.reply.msg, &out, NULL), 0);
    ch_buf_addf(&all, "%s%s", want, SENT_MESSAGE);
    if (strcmp(ch_buf_str(&out), ch_buf_str(&all)) != 0)
        fail_msg("%s:\n%s\nexpected:\n%s", name, ch_buf_str(&out), ch_buf_str(&all));
    ch_decoder_release(&d);
}

static void test_reasoning(void **state) {
    (void)state;
    static const struct {
        const char *name, *item, *want;
    } rows[] = {
        {"as OpenAI sends it",
         "{\"id\":\"rs_1\",\"type\":\"reasoning\",\"summary\":[],\"encrypted_content\":\"gAA=\"}",
         "{\"id\":\"rs_1\",\"type\":\"reasoning\",\"summary\":[],\"encrypted_content\":\"gAA=\"}"},
        {"members that a relay adds",
         "{\"id\":\"rs_1\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"Hm\"}],\"type\":"
         "\"reasoning\",\"content\":null,\"encrypted_content\":\"gAA=\",\"status\":null}",
         "{\"id\":\"rs_1\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"Hm\"}],\"type\":"
         "\"reasoning\",\"encrypted_content\":\"gAA=\"}"},
        {"a status",
         "{\"id\":\"rs_1\",\"type\":\"reasoning\",\"status\":\"completed\",\"summary\":[],"
         "\"encrypted_content\":\"gAA=\"}",
         "{\"id\":\"rs_1\",\"type\":\"reasoning\",\"summary\":[],\"encrypted_content\":\"gAA=\"}"},
    };
    for (size_t i = 0; i < CH_LEN(rows); i++)
        check_sent(rows[i].name, rows[i].item, rows[i].want);
}

/* --- custom calls: run by the service unless the request declares the tool */

#define CUSTOM_CALL \
    "{\"id\":\"ctc_1\",\"type\":\"custom_tool_call\",\"call_id\":\"xs_1\",\"name\":\"x_search\"," \
    "\"input\":\"{\\\"query\\\":\\\"claw\\\"}\",\"status\":\"completed\"}"
#define ANNOUNCED \
    "{\"id\":\"ctc_1\",\"type\":\"custom_tool_call\",\"call_id\":\"xs_1\",\"name\":\"x_search\"," \
    "\"input\":\"\"}"
#define DECLARED "[{\"type\":\"custom\",\"name\":\"x_search\"}]"

static const char body_of_custom_call[] =
    "{\"object\":\"response\",\"status\":\"completed\",\"output\":[" CUSTOM_CALL "," MESSAGE "]}";
static const char stream_of_custom_call[] =
    "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":" ANNOUNCED "}\n\n"
    "data: {\"type\":\"response.custom_tool_call_input.delta\",\"output_index\":0,"
    "\"item_id\":\"ctc_1\",\"delta\":\"{\\\"query\\\"\"}\n\n"
    "data: {\"type\":\"response.custom_tool_call_input.delta\",\"output_index\":0,"
    "\"item_id\":\"ctc_1\",\"delta\":\":\\\"claw\\\"}\"}\n\n"
    "data: {\"type\":\"response.custom_tool_call_input.done\",\"output_index\":0,"
    "\"item_id\":\"ctc_1\",\"input\":\"{\\\"query\\\":\\\"claw\\\"}\"}\n\n"
    "data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":" CUSTOM_CALL "}\n\n"
    "data: {\"type\":\"response.output_item.done\",\"output_index\":1,\"item\":" MESSAGE "}\n\n"
    "data: {\"type\":\"response.completed\",\"response\":{\"object\":\"response\","
    "\"status\":\"completed\",\"output\":[" CUSTOM_CALL "," MESSAGE "]}}\n\n";

static void decode_custom_call(struct ch_decoder *d, const struct ch_endpoint *ep,
                               struct ch_sv server_tools, const char *reply) {
    ch_decoder_init_for(d, ep, CH_SV("grok"), server_tools, NULL, NULL);
    ch_decoder_feed(d, ch_sv_str(reply));
    ch_decoder_end(d, NULL, 7);
    assert_int_equal(d->reply.error.cls, CH_ERR_NONE);
    assert_non_null(d->reply.msg);
}

static void test_undeclared_custom_call_is_the_service_s(void **state) {
    (void)state;
    static const char *const replies[] = {body_of_custom_call, stream_of_custom_call};
    struct ch_endpoint ep = {.codec = &ch_codec_responses, .base_url = "https://x"};
    struct ch_model_request req = {.endpoint = &ep, .model = CH_SV("grok")};
    for (size_t i = 0; i < CH_LEN(replies); i++) {
        struct ch_decoder d;
        struct ch_findings found = {0};
        CH_BUF_AUTO sent = {0};
        decode_custom_call(&d, &ep, CH_SV("[{\"type\":\"x_search\"}]"), replies[i]);
        assert_false(ch_msg_has_calls(d.reply.msg));
        ch_findings_read(&found, d.reply.msg);
        assert_int_equal(ch_findings_ncalls(&found), 1);
        assert_true(ch_sv_is(ch_findings_call_at(&found, 0)->name, "x_search"));
        assert_true(ch_sv_is(ch_findings_call_at(&found, 0)->arguments, "{\"query\":\"claw\"}"));
        assert_int_equal(ch_codec_responses.message(&req, d.reply.msg, &sent, NULL), 0);
        assert_null(strstr(ch_buf_str(&sent), "custom_tool_call"));
        ch_findings_release(&found);
        ch_decoder_release(&d);
    }
}

static void test_declared_custom_call_is_the_client_s(void **state) {
    (void)state;
    static const struct {
        struct ch_sv server_tools, extra;
    } rows[] = {{CH_SV(DECLARED), CH_SV("")}, {CH_SV(""), CH_SV("\"tools\":" DECLARED)}};
    static const char *const replies[] = {body_of_custom_call, stream_of_custom_call};
    for (size_t i = 0; i < CH_LEN(rows) * CH_LEN(replies); i++) {
        struct ch_endpoint ep = {.codec = &ch_codec_responses,
                                 .base_url = "https://x",
                                 .extra_body = rows[i / 2].extra};
        struct ch_decoder d;
        decode_custom_call(&d, &ep, rows[i / 2].server_tools, replies[i % 2]);
        assert_true(ch_msg_has_calls(d.reply.msg));
        ch_decoder_release(&d);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_undeclared_custom_call_is_the_service_s),
        cmocka_unit_test(test_declared_custom_call_is_the_client_s),
        cmocka_unit_test(test_reasoning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
