/* test_quirks.c -- how servers depart from their protocol: what each departure
 * changes in a request, and which server has which. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "model/catalog/provider.h"
#include "model/codec/decoder.h"
#include "model/wire/wire_encode.h"

/* A request with something of everything; %s: more members. */
#define REQUEST                                                                                   \
    "{%s,\"system\":\"S\",\"max_output_tokens\":100,\"reasoning\":\"high\","                      \
    "\"tool_choice\":\"photo\",\"parallel\":false,\"tools\":[{\"name\":\"photo\",\"parameters\":" \
    "{\"type\":\"object\",\"properties\":{\"of\":{\"type\":\"string\"}},\"required\":[\"of\"]},"  \
    "\"strict\":true}],\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\"" \
    ":\"Look.\"},{\"type\":\"image\",\"media_type\":\"image/png\",\"data\":\"AAAA\"},"            \
    "{\"type\":\"document\",\"media_type\":\"application/pdf\",\"data\":\"BBBB\"}]},"              \
    "{\"role\":\"assistant\",\"api\":\"openai\",\"model\":\"gpt-5\",\"content\":[{\"type\":"      \
    "\"reasoning\",\"text\":\"hm\",\"field\":\"reasoning\"},{\"type\":\"tool_call\",\"id\":"      \
    "\"call_1\",\"name\":\"photo\",\"arguments\":{\"of\":\"a\"}}]},{\"role\":\"tool\","           \
    "\"content\":[{\"type\":\"tool_result\",\"id\":\"call_1\",\"name\":\"photo\",\"content\":"    \
    "\"taken\"}]},{\"role\":\"user\",\"content\":\"And?\"}]}"

static void encode(const struct ch_codec *codec, const char *members, struct ch_buf *out) {
    CH_BUF_AUTO request = {0};
    struct ch_sv body;
    struct chela_error err = {0};
    ch_buf_addf(&request, REQUEST, members);
    if (ch_wire_encode_body(codec, CH_SV(""), ch_buf_sv(&request), out, &body, &err) < 0)
        fail_msg("%s", err.message);
}

#define NAMED "\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"photo\"}}"
#define IMAGE "\"image_url\":{\"url\":\"data:image/png;base64,AAAA\"}"
#define FILE_PART "\"file_data\":\"data:application/pdf;base64,BBBB\""
#define EFFORT "\"reasoning_effort\":\"high\""

/* Without the quirk a request has `gone` and not `come`; with it, the other way
 * round. NULL: not looked at. */
static const struct {
    const char *quirk, *gone, *come;
} changes[] = {
    {"max_tokens", "\"max_completion_tokens\":100", "\"max_tokens\":100"},
    {"no_stream_usage", "stream_options", NULL},
    {"no_developer_role", "\"role\":\"developer\"", "\"role\":\"system\""},
    {"no_tool_choice", NAMED ",\"parallel_tool_calls\":false", NULL},
    {"string_content", IMAGE, "\"content\":\"Look.\\n\\n[image image/png: cannot be shown"},
    {"replay_reasoning", "\"reasoning\":\"hm\"", "\"reasoning_content\":\"hm\""},
    {"short_ids", "\"tool_call_id\":\"call_1\"", "\"tool_call_id\":\"9Gd2dIMCT\""},
    {"api_key_header", "\"authorization\":", "\"api-key\":"},
    {"thinking", EFFORT, "\"thinking\":{\"type\":\"disabled\"}"}, /* for a forced tool */
    {"reasoning_object", EFFORT, "\"reasoning\":{\"effort\":\"high\"}"},
    {"template_thinking", EFFORT, "\"chat_template_kwargs\":{\"enable_thinking\":true}"},
    {"reasoning_switch", EFFORT, "\"reasoning\":{\"enabled\":true}"},
    {"no_effort", EFFORT, NULL},
    {"no_reasoning", EFFORT, NULL},
    {"tool_stream", NULL, "\"tool_stream\":true"},
    {"prompted", "\"tools\":", "<tool_call>"},
    {"no_images", IMAGE, "[image image/png: cannot be shown to this model]"},
    {"no_documents", FILE_PART, "[document application/pdf: cannot be shown to this model]"},
    {"no_strict", "\"additionalProperties\":false},\"strict\":true", NULL},
    {"no_forced_choice", NAMED, "\"parallel_tool_calls\":false"},
    {"choice_word", NAMED, "\"tool_choice\":\"required\""},
    {"alternate_roles", NULL,
     "{\"role\":\"assistant\",\"content\":\"(noted)\"},{\"role\":\"user\""},
};

static void test_changes(void **state) {
    (void)state;
    CH_BUF_AUTO plain = {0};
    encode(&ch_codec_openai, "\"model\":\"gpt-5\"", &plain);
    for (size_t i = 0; i < CH_LEN(changes); i++) {
        CH_BUF_AUTO members = {0};
        CH_BUF_AUTO got = {0};
        ch_buf_addf(&members, "\"model\":\"gpt-5\",\"quirks\":[\"%s\"]", changes[i].quirk);
        encode(&ch_codec_openai, ch_buf_str(&members), &got);
        const char *gone = changes[i].gone, *come = changes[i].come;
        bool always = come && strstr(ch_buf_str(&plain), come);
        if ((gone && !strstr(ch_buf_str(&plain), gone)) ||
            (gone && strstr(ch_buf_str(&got), gone)) || (come && !strstr(ch_buf_str(&got), come)) ||
            (always && strcmp(changes[i].quirk, "no_forced_choice") != 0))
            fail_msg("%s: %s\nwithout: %s", changes[i].quirk, ch_buf_str(&got), ch_buf_str(&plain));
    }
}

/* A deployment's name does not show that the model reasons. */
static void test_reasons(void **state) {
    (void)state;
    for (int reasons = 0; reasons < 2; reasons++) {
        CH_BUF_AUTO got = {0};
        encode(&ch_codec_openai,
               reasons ? "\"model\":\"dep\",\"temperature\":0.5,\"quirks\":[\"reasons\"]"
                       : "\"model\":\"dep\",\"temperature\":0.5",
               &got);
        assert_int_equal(strstr(ch_buf_str(&got), EFFORT) != NULL, reasons);
        assert_int_equal(strstr(ch_buf_str(&got), "\"temperature\"") != NULL, !reasons);
    }
}

/* A quirk is in the table above, or is about something else than requests to
 * Chat Completions. */
static void test_all_are_covered(void **state) {
    (void)state;
    static const char *const others[] = {"bearer", "no_cache_marks", "think_tags",
                                         "no_output_schema", "reasons"};
    unsigned bit, all = 0;
    for (size_t i = 0; ch_quirk_name(i, &bit); i++) {
        bool found = false;
        for (size_t k = 0; k < CH_LEN(changes); k++)
            found |= strcmp(changes[k].quirk, ch_quirk_name(i, &bit)) == 0;
        for (size_t k = 0; k < CH_LEN(others); k++)
            found |= strcmp(others[k], ch_quirk_name(i, &bit)) == 0;
        if (!found)
            fail_msg("%s changes nothing here", ch_quirk_name(i, &bit));
        assert_false(all & bit);
        all |= bit;
    }
    for (const struct ch_provider *p = ch_provider_table; p->name; p++)
        assert_int_equal(p->quirks & ~all, 0);
}

static void test_detection(void **state) {
    (void)state;
    static const struct {
        const char *api, *url, *provider; /* NULL: nobody known */
    } cases[] = {
        {"openai", "https://api.openai.com/v1", "openai"},
        {"openai-responses", "https://api.openai.com/v1", "openai-responses"},
        {"anthropic", "https://api.openai.com/v1", NULL},
        {"anthropic", "https://api.anthropic.com", "anthropic"},
        {"openai", "https://my.openai.azure.com/openai/deployments/d?api-version=1", "azure"},
        {"openai", "https://x.services.ai.azure.com/models", "azure"},
        {"openai", "https://api.deepseek.com", "deepseek"},
        {"openai", "https://API.Mistral.AI/v1", "mistral"},
        {"openai", "https://api.x.ai/v1", "xai"},
        {"openai", "https://api.groq.com/openai/v1", "groq"},
        {"openai", "https://api.cerebras.ai/v1", "cerebras"},
        {"openai", "https://openrouter.ai/api/v1", "openrouter"},
        {"openai", "https://api.together.xyz/v1", "together"},
        {"openai", "https://api.together.ai/v1", "together"},
        {"openai", "https://api.fireworks.ai/inference/v1", "fireworks"},
        {"openai", "https://api.z.ai/api/coding/paas/v4", "zai"},
        {"openai", "https://open.bigmodel.cn/api/paas/v4", "zai"},
        {"openai", "https://api.moonshot.cn/v1", "moonshot"},
        {"openai", "http://gpu-box:11434/v1", "ollama"},
        {"openai", "http://localhost:1234/v1", "lmstudio"},
        {"openai", "http://127.0.0.1:8080/v1", NULL},
        {"openai", "http://127.0.0.1:8000/v1", NULL},
        {"openai", "https://api.mistral.ai.evil.example/v1", NULL},
        {"openai", "https://evil-openai.azure.com", NULL},
        {"openai", "https://openai.azure.com", NULL},
        {"openai", "no URL", NULL},
        {"openai", NULL, NULL},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        const struct ch_provider *p = ch_provider_of_url(ch_sv_str(cases[i].api), cases[i].url);
        if ((p != NULL) != (cases[i].provider != NULL) ||
            (p && strcmp(p->name, cases[i].provider) != 0))
            fail_msg("%s is %s", cases[i].url, p ? p->name : "nobody");
    }
}

/* The whole table, so that a change of it is seen. */
static void test_who_has_what(void **state) {
    (void)state;
    static const struct {
        const char *provider, *quirks;
    } rows[] = {
        {"openai", ""},
        {"azure", "api_key_header "},
        {"deepseek", "max_tokens no_developer_role string_content replay_reasoning thinking "
                     "no_strict no_output_schema "},
        {"mistral", "max_tokens no_stream_usage no_developer_role short_ids no_documents "
                    "no_strict alternate_roles "},
        {"xai", "max_tokens no_developer_role no_documents no_strict no_effort "},
        {"groq", "no_developer_role no_documents "},
        {"cerebras", "no_stream_usage no_developer_role no_documents "},
        {"openrouter", "max_tokens no_developer_role reasoning_object "},
        {"together", "max_tokens no_developer_role think_tags no_documents no_strict "
                     "reasoning_switch "},
        {"fireworks", "max_tokens no_developer_role think_tags no_documents no_strict "},
        {"zai", "max_tokens no_developer_role thinking tool_stream no_documents no_strict "
                "no_forced_choice no_output_schema "},
        {"moonshot", "max_tokens no_developer_role replay_reasoning thinking no_documents "
                     "no_strict no_output_schema "},
        {"ollama", "max_tokens no_developer_role no_tool_choice think_tags no_documents "
                   "no_strict "},
        {"vllm", "max_tokens no_developer_role template_thinking think_tags no_documents "
                 "no_strict "},
        {"llamacpp", "max_tokens no_developer_role template_thinking think_tags no_documents "
                     "no_strict choice_word "},
        {"lmstudio", "max_tokens no_developer_role think_tags no_documents no_strict "
                     "choice_word "},
    };
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        CH_BUF_AUTO got = {0};
        unsigned bit;
        const struct ch_provider *p = ch_provider_find(ch_sv_str(rows[i].provider));
        for (size_t k = 0; ch_quirk_name(k, &bit); k++)
            if (p->quirks & bit)
                ch_buf_addf(&got, "%s ", ch_quirk_name(k, &bit));
        if (strcmp(ch_buf_str(&got), rows[i].quirks) != 0)
            fail_msg("%s: %s\nwant: %s", rows[i].provider, ch_buf_str(&got), rows[i].quirks);
    }
}

static void test_think_tags(void **state) {
    (void)state;
    static const char body[] =
        "{\"object\":\"chat.completion\",\"model\":\"r1\",\"choices\":[{\"message\":{\"content\":"
        "\"<think>hm</think>\\n\\nYes <tool_call>{}</tool_call>\"},\"finish_reason\":\"stop\"}]}";
    struct ch_endpoint ep = {.codec = &ch_codec_openai, .quirks = CH_Q_THINK_TAGS};
    for (int on = 1; on >= 0; on--) {
        struct ch_decoder d;
        ch_decoder_init_for(&d, &ep, CH_SV("m"), CH_SV(""), NULL, NULL);
        ch_decoder_feed(&d, ch_sv_str(body));
        ch_decoder_end(&d, NULL, 0);
        const struct ch_block *b = d.reply.msg->blocks;
        assert_int_equal(d.reply.msg->nblocks, on ? 2 : 1);
        assert_int_equal(b[0].type, on ? CH_BLOCK_REASONING : CH_BLOCK_TEXT);
        if (on) {
            assert_string_equal(b[0].text.p, "hm");
            assert_string_equal(b[1].text.p, "Yes <tool_call>{}</tool_call>");
        }
        ch_decoder_release(&d);
        ep.quirks = 0;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes),    cmocka_unit_test(test_all_are_covered),
        cmocka_unit_test(test_detection),  cmocka_unit_test(test_who_has_what),
        cmocka_unit_test(test_think_tags), cmocka_unit_test(test_reasons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
