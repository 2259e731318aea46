/* test_contract.c -- which members of a request to /v1 are honoured, named or refused, and the
 * forms of effort. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "gateway/http/contract.h"
#include "gateway/http/openai.h"

#define C ch_contract_chat
#define R ch_contract_responses
#define M ch_contract_messages
#define E ch_contract_embeddings

static const struct {
    const struct ch_contract_row *table;
    const char *request, *want; /* the names, or the error after "400 " */
} requests[] = {
    {C, "{\"model\":\"a\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}", ""},
    {C, "{\"hologram\":1,\"user\":\"\",\"store\":false,\"logit_bias\":{},\"top_logprobs\":0}",
     "hologram"},
    {C, "{\"service_tier\":\"auto\",\"verbosity\":\"medium\"}", ""},
    {C, "{\"service_tier\":\"flex\",\"verbosity\":\"low\"}", "service_tier, verbosity"},
    {C,
     "{\"messages\":[{\"role\":\"user\",\"name\":\"ann\",\"content\":[{\"type\":\"text\","
     "\"text\":\"x\",\"cache_control\":{\"type\":\"ephemeral\"}},{\"type\":\"image_url\","
     "\"image_url\":{\"url\":\"u\",\"detail\":\"high\"}}]},{\"name\":\"bob\"}]}",
     "messages[].name, messages[].content[].cache_control, "
     "messages[].content[].image_url.detail"},
    {C, "{\"messages\":[{\"content\":[{\"image_url\":{\"url\":\"u\",\"detail\":\"auto\"}}]}]}", ""},
    {C, "{\"messages\":[{\"content\":[{\"image_url\":\"u\"}]}]}", ""},
    {C,
     "{\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"x\":1},"
     "\"strict\":true,\"extra\":1}},{\"name\":\"g\",\"defer_loading\":true}]}",
     "tools[].function.extra, tools[].defer_loading"},
    {C, "{\"tools\":[{\"type\":\"web_search\",\"filters\":{\"a\":1}}]}", ""},
    {C, "{\"stream_options\":{\"include_usage\":true,\"include_obfuscation\":true}}",
     "stream_options.include_obfuscation"},
    {C, "{\"tools[].name\":1,\"messages[]\":1}", "tools??.name, messages??"},
    {R, "{\"input\":\"x\",\"prompt\":{\"id\":\"p\"}}",
     "400 `prompt` is not supported: only the vendor has the stored prompt"},
    {R, "{\"prompt\":null,\"truncation\":\"disabled\"}", ""},
    {R,
     "{\"input\":[{\"role\":\"assistant\",\"phase\":\"commentary\",\"id\":\"m\",\"content\":["
     "{\"type\":\"output_text\",\"text\":\"x\",\"annotations\":[{\"a\":1}],\"logprobs\":[]}]},"
     "{\"type\":\"web_search_call\",\"action\":{\"a\":1}},"
     "{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":[{\"type\":\"input_image\","
     "\"detail\":\"low\"}]}]}",
     "input[].output[].detail"},
    {R,
     "{\"text\":{\"verbosity\":\"high\",\"format\":{\"type\":\"json_schema\",\"name\":\"n\","
     "\"schema\":{\"description\":\"x\"},\"description\":\"d\"}}}",
     "text.verbosity, text.format.description"},
    {R, "{\"reasoning\":{\"effort\":\"low\",\"mode\":\"pro\",\"context\":\"auto\"}}",
     "reasoning.mode"},
    {M,
     "{\"system\":[{\"type\":\"text\",\"text\":\"x\",\"cache_control\":{\"type\":\"a\"}}],"
     "\"tools\":[{\"name\":\"f\",\"input_schema\":{},\"cache_control\":{\"type\":\"a\"}}],"
     "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"x\","
     "\"cache_control\":{\"type\":\"a\"}},{\"type\":\"server_tool_use\",\"x\":1}]}]}",
     "system[].cache_control, tools[].cache_control, messages[].content[].cache_control"},
    {M, "{\"compaction\":{\"type\":\"summarize\"}}",
     "400 `compaction` is not supported: the agent's own compaction makes room"},
    {M, "{\"billing_policy\":{\"type\":\"billing_policy\",\"bill_to\":\"user_profile\"}}",
     "400 `billing_policy` is not supported: the key of the provider pays"},
    {M, "{\"fallbacks\":[{\"model\":\"m\"}],\"diagnostics\":null}", "fallbacks"},
    {C,
     "{\"tools\":[{\"type\":\"function\",\"async\":true,\"defer_loading\":true,\"function\":{"
     "\"name\":\"f\"}}]}",
     "tools[].async, tools[].defer_loading"},
    {M, "{\"thread\":\"t\"}", "400 `thread` is not supported: send the whole conversation"},
    {M, "{\"inference_geo\":\"us\"}",
     "400 `inference_geo` is not supported: the place of the model is the provider's"},
    {M, "{\"thinking\":{\"type\":\"adaptive\",\"display\":\"omitted\"}}", "thinking.display"},
    {E, "{\"input\":\"x\",\"user\":\"u\",\"truncate\":true}", "user, truncate"},
    {E, "[1]", ""},
};

static void test_members(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(requests); i++) {
        CH_ARENA_AUTO arena = {0};
        CH_BUF_AUTO got = {0};
        struct chela_error err = {0};
        const struct ch_json *v = NULL;
        assert_int_equal(
            ch_json_parse(&arena, ch_sv_str(requests[i].request), CH_JSON_STRICT, &v, NULL, &err),
            0);
        if (ch_contract_apply(requests[i].table, v, NULL, &got, &err) < 0) {
            ch_buf_clear(&got);
            ch_buf_addf(&got, "400 %s", err.message);
        }
        assert_string_equal(ch_buf_str(&got), requests[i].want);
    }
}

/* Members for a model of the same protocol. */
static void test_passed(void **state) {
    (void)state;
    static const struct {
        const struct ch_contract_row *table;
        const char *request;
        bool passes, samples;
        const char *want;
    } cases[] = {
        {C, "{\"presence_penalty\":0.5,\"verbosity\":\"low\",\"user\":\"u\"}", true, true,
         "\"presence_penalty\":0.5,\"verbosity\":\"low\"; user"},
        {C, "{\"presence_penalty\":0.5,\"verbosity\":\"low\"}", true, false,
         "\"verbosity\":\"low\"; presence_penalty"},
        {C, "{\"presence_penalty\":0,\"verbosity\":\"medium\"}", true, true, "; "},
        {R, "{\"text\":{\"verbosity\":\"high\"},\"user\":\"u\"}", true, true,
         "\"text\":{\"verbosity\":\"high\"},\"user\":\"u\"; "},
        {R, "{\"text\":{\"verbosity\":\"high\"}}", false, false, "; text.verbosity"},
        {M, "{\"metadata\":{\"user_id\":\"a\"}}", true, true, "\"metadata\":{\"user_id\":\"a\"}; "},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_ARENA_AUTO arena = {0};
        CH_BUF_AUTO names = {0}, got = {0};
        struct ch_contract_passed p = {.passes = cases[i].passes, .samples = cases[i].samples};
        struct chela_error err = {0};
        const struct ch_json *v = NULL;
        assert_int_equal(
            ch_json_parse(&arena, ch_sv_str(cases[i].request), CH_JSON_STRICT, &v, NULL, &err), 0);
        assert_int_equal(ch_contract_apply(cases[i].table, v, &p, &names, &err), 0);
        ch_buf_addf(&got, "%s; %s", ch_buf_str(&p.members), ch_buf_str(&names));
        ch_buf_release(&p.members);
        assert_string_equal(ch_buf_str(&got), cases[i].want);
    }
}

/* Very many members: the names end at the limit. */
static void test_bounded(void **state) {
    (void)state;
    CH_BUF_AUTO got = {0};
    for (int i = 0; i < 5000; i++) {
        char name[24];
        snprintf(name, sizeof(name), "member-%d", i);
        ch_contract_drop(&got, "messages[].", ch_sv_str(name));
        ch_contract_drop(&got, "messages[].", ch_sv_str(name));
    }
    assert_in_range(got.n, CH_LIMIT_DROPPED / 2, CH_LIMIT_DROPPED + 2 * CH_LIMIT_DROPPED_NAME);
    assert_null(strstr(strstr(ch_buf_str(&got), "member-7,") + 1, "member-7,"));
}

/* The rows of an object follow it, or they would not be found. */
static void test_order(void **state) {
    (void)state;
    const struct ch_contract_row *tables[] = {C, R, M, E};
    for (size_t t = 0; t < CH_LEN(tables); t++)
        for (const struct ch_contract_row *m = tables[t]; m->path; m++) {
            const char *end = strrchr(m->path, '.');
            size_t n = end ? (size_t)(end - m->path) : 0;
            if (n > 2 && strncmp(m->path + n - 2, "[]", 2) == 0 &&
                strncmp((m - 1)->path, m->path, n) != 0)
                n -= 2;
            assert_true(m == tables[t] || strncmp((m - 1)->path, m->path, n) == 0);
        }
}

static const struct {
    const char *request;
    int want; /* -1: refused */
} efforts[] = {
    {"{}", CHELA_REASONING_DEFAULT},
    {"{\"reasoning_effort\":\"xhigh\"}", CHELA_REASONING_XHIGH},
    {"{\"reasoning_effort\":\"off\"}", CHELA_REASONING_OFF},
    {"{\"reasoning_effort\":\"none\"}", CHELA_REASONING_OFF},
    {"{\"reasoning_effort\":\"much\"}", -1},
    {"{\"reasoning\":{\"effort\":\"max\"}}", CHELA_REASONING_MAX},
    {"{\"reasoning\":{\"effort\":\"minimal\",\"summary\":\"auto\"}}", CHELA_REASONING_MINIMAL},
    {"{\"reasoning\":{\"enabled\":false}}", CHELA_REASONING_OFF},
    {"{\"reasoning\":{\"enabled\":true}}", CHELA_REASONING_MEDIUM},
    {"{\"reasoning\":{\"enabled\":true,\"effort\":\"high\"}}", CHELA_REASONING_HIGH},
    {"{\"reasoning\":{\"max_tokens\":2000}}", CHELA_REASONING_LOW},
    {"{\"reasoning\":\"high\"}", -1},
    {"{\"enable_thinking\":false}", CHELA_REASONING_OFF},
    {"{\"enable_thinking\":true,\"thinking_budget\":16384}", CHELA_REASONING_HIGH},
    {"{\"enable_thinking\":\"yes\"}", -1},
    {"{\"thinking_budget\":0}", CHELA_REASONING_OFF},
    {"{\"thinking_budget\":-1}", CHELA_REASONING_DEFAULT},
    {"{\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":1024}}", CHELA_REASONING_MINIMAL},
    {"{\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":4000}}", CHELA_REASONING_LOW},
    {"{\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":10000}}", CHELA_REASONING_MEDIUM},
    {"{\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":24000}}", CHELA_REASONING_XHIGH},
    {"{\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":31999}}", CHELA_REASONING_MAX},
    {"{\"thinking\":{\"type\":\"enabled\"}}", CHELA_REASONING_MEDIUM},
    {"{\"thinking\":{\"type\":\"disabled\"},\"output_config\":{\"effort\":\"high\"}}",
     CHELA_REASONING_OFF},
    {"{\"thinking\":{\"type\":\"between_tools\"}}", CHELA_REASONING_OFF},
    {"{\"thinking\":{\"type\":\"adaptive\"}}", CHELA_REASONING_MEDIUM},
    {"{\"thinking\":{\"type\":\"adaptive\"},\"output_config\":{\"effort\":\"max\"}}",
     CHELA_REASONING_MAX},
    {"{\"thinking\":{\"type\":\"sometimes\"}}", -1},
    {"{\"output_config\":{\"effort\":\"xhigh\"}}", CHELA_REASONING_XHIGH},
    {"{\"output_config\":{\"effort\":3}}", -1},
    {"{\"messages\":[{\"role\":\"user\"},{\"role\":\"system\",\"content\":[],\"output_config\":"
     "{\"effort\":\"low\"}}],\"output_config\":{\"effort\":\"max\"}}",
     CHELA_REASONING_LOW},
    {"{\"messages\":[{\"output_config\":{\"effort\":\"much\"}}]}", -1},
};

static void test_efforts(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(efforts); i++) {
        CH_ARENA_AUTO arena = {0};
        struct chela_error err = {0};
        const struct ch_json *v = NULL;
        enum chela_reasoning got = CHELA_REASONING_DEFAULT;
        assert_int_equal(
            ch_json_parse(&arena, ch_sv_str(efforts[i].request), CH_JSON_STRICT, &v, NULL, &err),
            0);
        int rc = ch_openai_effort(v, &got, &err);
        assert_int_equal(rc < 0 ? -1 : (int)got, efforts[i].want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members), cmocka_unit_test(test_passed),
        cmocka_unit_test(test_bounded), cmocka_unit_test(test_order),
        cmocka_unit_test(test_efforts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
