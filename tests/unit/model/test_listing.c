/* test_listing.c -- what servers say about their models. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "model/catalog/listing.h"

static void add(const struct ch_listed *m, void *user) {
    ch_buf_addf(user, "%.*s %lld %lld;", CH_SV_FMT(m->id), (long long)m->context_window,
                (long long)m->max_output);
}

static void test_lists(void **state) {
    (void)state;
    static const struct {
        const char *server, *body, *want; /* NULL: no list */
    } cases[] = {
        {"OpenAI", "{\"object\":\"list\",\"data\":[{\"id\":\"gpt-5\",\"created\":1}]}",
         "gpt-5 0 0;"},
        {"vLLM", "{\"data\":[{\"id\":\"q\",\"max_model_len\":32768}]}", "q 32768 0;"},
        {"Groq", "{\"data\":[{\"id\":\"q\",\"context_window\":9,\"max_completion_tokens\":5}]}",
         "q 9 5;"},
        {"OpenRouter",
         "{\"data\":[{\"id\":\"a/b\",\"context_length\":7,\"top_provider\":"
         "{\"max_completion_tokens\":3}}]}",
         "a/b 7 3;"},
        {"Mistral", "{\"data\":[{\"id\":\"m\",\"max_context_length\":131072}]}", "m 131072 0;"},
        {"LM Studio",
         "{\"data\":[{\"id\":\"m\",\"max_context_length\":9000,\"loaded_context_length\":4096}]}",
         "m 4096 0;"},
        {"Anthropic",
         "{\"data\":[{\"type\":\"model\",\"id\":\"c\",\"max_input_tokens\":200000,\"max_tokens\":"
         "64000}],\"has_more\":false}",
         "c 200000 64000;"},
        {"Gemini",
         "{\"models\":[{\"name\":\"models/g\",\"inputTokenLimit\":1048576,\"outputTokenLimit\":"
         "65536}]}",
         "g 1048576 65536;"},
        {"Together", "[{\"id\":\"t\",\"context_length\":4}]", "t 4 0;"},
        {"none", "{\"data\":[]}", ""},
        {"nameless", "{\"data\":[{\"x\":1},3,{\"id\":\"a\",\"context_length\":-4}]}", "a 0 0;"},
        {"an error", "{\"error\":{}}", NULL},
        {"a page", "<html>", NULL},
        {"nothing", "", NULL},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO got = {0};
        int rc = ch_listing_read(ch_sv_str(cases[i].body), add, &got, NULL);
        if (rc != (cases[i].want ? CHELA_OK : CHELA_EPARSE) ||
            (cases[i].want && strcmp(ch_buf_str(&got), cases[i].want) != 0))
            fail_msg("%s: %d %s", cases[i].server, rc, ch_buf_str(&got));
    }
}

static void test_sizes(void **state) {
    (void)state;
    static const struct {
        int64_t (*read)(struct ch_sv body);
        const char *body;
        int64_t want;
    } cases[] = {
        {ch_listing_props, "{\"default_generation_settings\":{\"n_ctx\":8192}}", 8192},
        {ch_listing_props, "{\"n_ctx\":4096}", 4096},
        {ch_listing_props, "{\"n_ctx\":-1}", 0},
        {ch_listing_props, "not JSON", 0},
        {ch_listing_show, "{\"parameters\":\"temperature 1\\nnum_ctx   4096\\n\"}", 4096},
        {ch_listing_show, "{\"model_info\":{\"qwen2.context_length\":32768}}", 32768},
        {ch_listing_show,
         "{\"parameters\":\"num_ctx 99999999999999999999999\",\"model_info\":null}", 9999999999999},
        {ch_listing_show, "{}", 0},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++)
        assert_int_equal(cases[i].read(ch_sv_str(cases[i].body)), cases[i].want);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
