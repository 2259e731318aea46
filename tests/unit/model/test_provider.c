/* test_provider.c -- the providers' table, quirks, and models by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/codec/codec.h"
#include "model/catalog/provider.h"
#include "model/codec/errors.h"

static void test_lookup(void **state) {
    (void)state;
    static const char *const names[] = {
        "anthropic", "openai",     "deepseek", "mistral",   "xai",      "groq",
        "cerebras",  "openrouter", "together", "fireworks", "azure",    "zai",
        "moonshot",  "ollama",     "llamacpp", "vllm",      "lmstudio", "scripted",
        "openai-responses",        "azure-responses",
        "gemini",    "vertex",     "gemini-interactions",
    };
    for (size_t i = 0; i < CH_LEN(names); i++) {
        const struct ch_provider *p = ch_provider_find(ch_sv_str(names[i]));
        assert_non_null(p);
        assert_string_equal(p->name, names[i]);
    }
    assert_null(ch_provider_find(CH_SV("nobody")));
    assert_null(ch_provider_find(CH_SV("")));
    assert_null(ch_provider_find(CH_SV("open")));
}

/* Every row can be used as it stands. */
static void test_rows(void **state) {
    (void)state;
    for (const struct ch_provider *p = ch_provider_table; p->name; p++) {
        bool scripted = strcmp(p->api, "scripted") == 0;
        assert_true(scripted || ch_codec_find(ch_sv_str(p->api)));
        assert_true(p->local || p->key_env);
        if (!p->base_url) {
            assert_true(scripted || strncmp(p->name, "azure", 5) == 0 ||
                        strcmp(p->name, "vertex") == 0);
            continue;
        }
        assert_true(strncmp(p->base_url, p->local ? "http://127.0.0.1:" : "https://",
                            p->local ? 17 : 8) == 0);
        assert_int_not_equal(p->base_url[strlen(p->base_url) - 1], '/');
        for (const struct ch_provider *q = ch_provider_table; q != p; q++)
            assert_string_not_equal(q->name, p->name);
    }
    assert_true(ch_provider_find(CH_SV("mistral"))->quirks & CH_Q_ID9);
    assert_int_equal(ch_provider_find(CH_SV("openai"))->quirks, 0);
}

static void test_quirks(void **state) {
    (void)state;
    unsigned seen = 0, bit = 0, count = 0;
    for (const char *name; (name = ch_quirk_name(count, &bit)); count++) {
        assert_int_equal(ch_quirk_find(ch_sv_str(name)), bit);
        assert_int_equal(seen & bit, 0);
        seen |= bit;
    }
    assert_true(count >= 14);
    assert_int_equal(ch_quirk_find(CH_SV("max_tokens")), CH_Q_MAX_TOKENS);
    assert_int_equal(ch_quirk_find(CH_SV("nonsense")), 0);
    assert_int_equal(ch_quirks_of_api(CH_SV("anthropic")), 0);
    assert_int_equal(ch_quirks_of_api(CH_SV("openai")),
                     CH_Q_MAX_TOKENS | CH_Q_NO_DEVELOPER | CH_Q_NO_STRICT);
    assert_int_equal(ch_quirks_of_api(CH_SV("openai-responses")), CH_Q_NO_DEVELOPER);
}

static void test_codecs(void **state) {
    (void)state;
    assert_ptr_equal(ch_codec_find(CH_SV("anthropic")), &ch_codec_anthropic);
    assert_ptr_equal(ch_codec_find(CH_SV("openai")), &ch_codec_openai);
    assert_ptr_equal(ch_codec_find(CH_SV("openai-responses")), &ch_codec_responses);
    assert_null(ch_codec_find(CH_SV("scripted")));
    struct ch_sv rest = ch_sv_str(ch_codec_names());
    while (rest.n)
        assert_non_null(ch_codec_find(ch_sv_split(&rest, ' ')));
    assert_string_equal(ch_stop_name(CH_STOP_TOOL_USE), "tool_use");
    assert_string_equal(ch_error_class_name(CH_ERR_OVERFLOW), "context_overflow");
}

static void test_models(void **state) {
    (void)state;
    static const struct {
        const char *provider, *model;
        int64_t window, output;
        const char *resolved;
    } cases[] = {
        {"anthropic", "claude-sonnet-4-5", 200000, 64000, "claude-sonnet-4-5-20250929"},
        {"anthropic", "claude-sonnet-4-5-20250929", 200000, 64000, NULL},
        {"anthropic", "claude-3-haiku-20240307", 200000, 4096, NULL},
        {"anthropic", "claude-next-9", 200000, 0, NULL},
        {"openrouter", "openai/gpt-4o", 128000, 16384, NULL},
        {"openai", "gpt-5-chat-latest", 128000, 16384, NULL},
        {"openai", "davinci", 0, 0, NULL},
        {"ollama", "gpt-oss:20b", 0, 0, NULL}, /* as large as its owner made it */
        {NULL, "gpt-4o", 128000, 16384, NULL},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_model_info info = ch_model_info(cases[i].provider, ch_sv_str(cases[i].model));
        assert_int_equal(info.context_window, cases[i].window);
        assert_int_equal(info.max_output, cases[i].output);
        if (cases[i].resolved)
            assert_string_equal(info.resolved, cases[i].resolved);
        else
            assert_null(info.resolved);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lookup),      cmocka_unit_test(test_rows),
        cmocka_unit_test(test_quirks),      cmocka_unit_test(test_codecs),
        cmocka_unit_test(test_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
