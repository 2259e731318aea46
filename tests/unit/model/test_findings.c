/* test_findings.c -- limits, repetitions and positions of citations and server calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "model/wire/reply_findings.h"

static struct ch_msg *reply(const char *api, const struct ch_block *blocks, size_t n) {
    return ch_msg_by(CH_MSG_ASSISTANT, blocks, n,
                     &(struct ch_msg_author){.api = api, .model = CH_SV("m")}, 0);
}

static void check(const char *api, const struct ch_block *blocks, size_t n, const char *citations,
                  size_t calls) {
    struct ch_findings f = {0};
    CH_BUF_AUTO out = {0};
    struct ch_msg *m = reply(api, blocks, n);
    ch_findings_read(&f, m);
    ch_findings_write(&f, &out);
    assert_string_equal(ch_buf_str(&out), citations);
    assert_int_equal(ch_findings_ncalls(&f), calls);
    ch_findings_release(&f);
    ch_msg_free(m);
}

#define TEXT(t, e) \
    { .type = CH_BLOCK_TEXT, .text = CH_SV(t), .extra = CH_SV(e) }
#define OPAQUE(t, j) \
    { .type = CH_BLOCK_OPAQUE, .name = CH_SV(t), .text = CH_SV(j) }

static void test_positions(void **state) {
    (void)state;
    const struct ch_block blocks[] = {
        TEXT("Gr\xc3\xbc\xc3\x9f", ""),
        TEXT("e dich", "[{\"type\":\"web_search_result_location\",\"url\":\"u\",\"title\":\"t\"},"
                       "{\"type\":\"web_search_result_location\",\"url\":\"u\",\"title\":\"t\"}]"),
    };
    check("anthropic", blocks, 2, "[{\"url\":\"u\",\"title\":\"t\",\"start\":4,\"end\":10}]", 0);
    const struct ch_block grounded[] = {
        TEXT("Gr\xc3\xbc\xc3\x9f", ""), TEXT("e dich", ""),
        OPAQUE("groundingMetadata",
               "{\"groundingChunks\":[{\"web\":{\"uri\":\"u\"}}],\"groundingSupports\":[{"
               "\"segment\":{\"startIndex\":6,\"endIndex\":8},"
               "\"groundingChunkIndices\":[0,7,-1]}]}")};
    check("gemini", grounded, 3, "[{\"url\":\"u\",\"start\":4,\"end\":6}]", 0);
    const struct ch_block steps[] = {
        OPAQUE("google_search_call", "{\"id\":\"s\",\"arguments\":{\"queries\":[\"q\"]}}"),
        OPAQUE("google_search_result", "{\"call_id\":\"s\",\"result\":[]}"),
        TEXT("a ", ""),
        TEXT("Gr\xc3\xbc\xc3\x9f" "e", "{\"annotations\":[{\"url\":\"u\",\"start_index\":4,"
                                       "\"end_index\":6},{\"url\":\"v\",\"end_index\":99}]}")};
    check("interactions", steps, 4,
          "[{\"url\":\"u\",\"start\":5,\"end\":6},{\"url\":\"v\"}]", 1);
}

static void test_foreign(void **state) {
    (void)state;
    const struct ch_block odd[] = {TEXT("a", "not json"), TEXT("b", "{\"annotations\":7}"),
                                   OPAQUE("x", "[[["), OPAQUE("web_search_call", "{\"id\":1}")};
    check("anthropic", odd, CH_LEN(odd), "", 0);
    check("openai", odd, CH_LEN(odd), "", 0);
    check("gemini", odd, CH_LEN(odd), "", 0);
    check("interactions", odd, CH_LEN(odd), "", 1);
    check("bedrock", odd, CH_LEN(odd), "", 0);
    check("openai-responses", odd, CH_LEN(odd), "", 1);
    check("unknown", odd, CH_LEN(odd), "", 0);
    check(NULL, odd, CH_LEN(odd), "", 0);
}

static void test_limits(void **state) {
    (void)state;
    CH_BUF_AUTO list = {0};
    CH_BUF_AUTO tools = {0};
    struct ch_findings f = {0};
    CH_BUF_AUTO out = {0};
    for (int i = 0; i < 2 * CH_LIMIT_CITATIONS; i++) {
        ch_buf_addf(&list, "%s\"https://%d.example\"", i ? "," : "[", i);
        ch_buf_addf(&tools, "%s{\"type\":\"t\",\"output\":\"o\"}", i ? "," : "[");
    }
    ch_buf_addc(&list, ']');
    ch_buf_addc(&tools, ']');
    const struct ch_block blocks[] = {
        {.type = CH_BLOCK_TEXT, .text = CH_SV("x"), .extra = ch_buf_sv(&list)},
        {.type = CH_BLOCK_OPAQUE, .name = CH_SV("executed_tools"), .text = ch_buf_sv(&tools)}};
    struct ch_msg *m = reply("openai", blocks, 2);
    ch_findings_read(&f, m);
    assert_int_equal(ch_findings_ncalls(&f), CH_LIMIT_CALLS_PER_REPLY);
    ch_findings_write(&f, &out);
    assert_non_null(strstr(ch_buf_str(&out), "https://499.example"));
    assert_null(strstr(ch_buf_str(&out), "https://500.example"));
    ch_findings_release(&f);
    ch_msg_free(m);
}

/* Sources and passages of a Gemini reply beyond the limit are not looked at. */
static void test_grounding_limits(void **state) {
    (void)state;
    CH_BUF_AUTO json = {0};
    struct ch_findings f = {0};
    CH_BUF_AUTO out = {0};
    ch_buf_add_str(&json, "{\"groundingChunks\":[{\"web\":{\"uri\":\"first\"}}");
    for (int i = 1; i < 2 * CH_LIMIT_CITATIONS; i++)
        ch_buf_addf(&json, i == CH_LIMIT_CITATIONS ? ",{\"web\":{\"uri\":\"late\"}}" : ",{}");
    ch_buf_add_str(&json, "],\"groundingSupports\":[");
    for (int i = 0; i < CH_LIMIT_CITATIONS + 1; i++)
        ch_buf_addf(&json, "%s{\"segment\":{\"endIndex\":%d},\"groundingChunkIndices\":[0]}",
                    i ? "," : "", i < CH_LIMIT_CITATIONS ? 1 : 2);
    ch_buf_add_str(&json, "]}");
    const struct ch_block blocks[] = {
        TEXT("xy", ""),
        {.type = CH_BLOCK_OPAQUE, .name = CH_SV("groundingMetadata"), .text = ch_buf_sv(&json)}};
    struct ch_msg *m = reply("gemini", blocks, 2);
    ch_findings_read(&f, m);
    ch_findings_write(&f, &out);
    assert_string_equal(ch_buf_str(&out), "[{\"url\":\"first\",\"start\":0,\"end\":1}]");
    assert_int_equal(ch_findings_position(&f, 2), 2);
    assert_int_equal(ch_findings_position(&f, CH_LIMIT_CITED_REPLY + 1), 0);
    ch_findings_release(&f);
    ch_msg_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_grounding_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
