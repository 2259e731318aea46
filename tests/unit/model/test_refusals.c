/* test_refusals.c -- what services' refusals of a request teach. The texts are the vendors' own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "model/codec/refusals.h"

#define EFFORT (CH_PART_EFFORT | CH_PART_SUMMARY)
#define ALL 0xffffffffu
#define E(name) (1u << CH_EFFORT_##name)

static const struct ch_codec *const chat = &ch_codec_openai, *const responses = &ch_codec_responses,
                             *const messages = &ch_codec_anthropic, *const gemini =
     &ch_codec_gemini;

struct row {
    const struct ch_codec *const *codec;
    const char *model;
    unsigned quirks, parts;
    const char *message;
    const char *rule; /* NULL: nothing is learnt */
    unsigned efforts;
};

/* clang-format off */
static const struct row rows[] = {
    /* OpenAI: endpoints */
    {&chat, "gpt-5.6-terra", 0, 0, "HTTP 400: Function tools with reasoning_effort are not "
     "supported for gpt-5.6-terra in "
     "/v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to "
     "'none'. (invalid_request_error)",
     "responses_endpoint", 0},
    {&chat, "gpt-5.4", 0, EFFORT, "Function tools with reasoning_effort are not supported for "
     "gpt-5.4 in /v1/chat/completions. "
     "Please use /v1/responses instead.", "responses_endpoint", 0},
    {&chat, "gpt-5-pro", 0, 0, "HTTP 404: This model is only supported in v1/responses and not "
     "in v1/chat/completions.",
     "responses_endpoint", 0},
    {&chat, "gpt-5.3-codex", 0, 0, "model \"gpt-5.3-codex\" is not accessible via the "
     "/chat/completions endpoint "
     "(unsupported_api_for_model)", "responses_endpoint", 0},
    {&responses, "m", 0, 0, "m does not support the Responses API", "chat_endpoint", 0},
    {&responses, "gpt-5.4", 0, 0, "Please use /v1/responses instead.", NULL, 0},
    /* the limit */
    {&chat, "gpt-x", CH_Q_MAX_TOKENS, CH_PART_MAX_OUTPUT, "Unsupported parameter: 'max_tokens' "
     "is not supported with this model. "
     "Use 'max_completion_tokens' instead.", "max_completion_tokens", 0},
    {&chat, "m", 0, CH_PART_MAX_OUTPUT, "Unrecognized request argument supplied: "
     "max_completion_tokens", "max_tokens", 0},
    {&chat, "m", 0, CH_PART_MAX_OUTPUT, "[{'type': 'extra_forbidden', 'loc': ('body', "
     "'max_completion_tokens'), "
     "'msg': 'Extra inputs are not permitted', 'input': 5}]", "max_tokens", 0},
    {&responses, "m", 0, CH_PART_MAX_OUTPUT, "Unsupported parameter: max_output_tokens",
     "no_limit", 0},
    {&chat, "m", CH_Q_MAX_TOKENS, 0, "Unsupported parameter: 'max_tokens' is not supported with "
     "this model. "
     "Use 'max_completion_tokens' instead.", NULL, 0},
    /* efforts */
    {&responses, "gpt-x", 0, EFFORT, "Unsupported value: 'minimal' is not supported with the "
     "'gpt-5.1' model. Supported values "
     "are: 'none', 'low', 'medium', and 'high'. (unsupported_value)", "efforts", E(OFF) | E(LOW)
     | E(MEDIUM) | E(HIGH)},
    {&chat, "m", 0, EFFORT, "Unsupported value: 'reasoning_effort' does not support 'none' with "
     "this model. Supported values are: "
     "'minimal', 'low', 'medium', and 'high'.", "efforts", E(MINIMAL) | E(LOW) | E(MEDIUM) |
     E(HIGH)},
    {&chat, "glm", 0, EFFORT, "reasoning_effort 'medium' is not supported by this model, "
     "supported values: ['low', 'high', 'max']",
     "efforts", E(LOW) | E(HIGH) | E(MAX)},
    {&chat, "m", 0, EFFORT, "reasoning_effort: Input should be 'low', 'medium' or 'high'",
     "efforts", E(LOW) | E(MEDIUM) | E(HIGH)},
    {&gemini, "gemini-3.8-flash", 0, EFFORT, "Thinking level MINIMAL is not supported for this "
     "model. Please retry with other "
     "thinking level.", NULL, 0}, /* the table knows */
    {&gemini, "gemini-3.6-flash", 0, EFFORT, "Thinking level MINIMAL is not supported for this "
     "model. Please retry with other "
     "thinking level.", "efforts", E(LOW) | E(MEDIUM) | E(HIGH)},
    {&chat, "m", 0, 0, "Unsupported value: 'low' is not supported with the 'm' model. Supported "
     "values are: 'medium'.", NULL, 0},
    {&responses, "m", 0, EFFORT, "Unsupported parameter: 'reasoning.effort' is not supported "
     "with this model.", "no_reasoning", 0},
    {&responses, "m", 0, 0, "Encrypted content is not supported with this model.",
     "no_reasoning", 0},
    {&responses, "m", 0, EFFORT, "Your organization must be verified to generate reasoning "
     "summaries. Please go to: https://x",
     "no_summary", 0},
    {&responses, "m", 0, CH_PART_SUMMARY, "Unsupported parameter: 'reasoning.summary' is not "
     "supported with this model.", "no_summary", 0},
    {&gemini, "gemini-x", 0, CH_PART_SUMMARY, "Thinking is not enabled for this model",
     "no_thoughts", 0},
    {&gemini, "gemini-x", 0, CH_PART_SUMMARY, "Invalid JSON payload received. Unknown name "
     "\"includeThoughts\" at 'generation_config.thinking_config': Cannot find field.",
     "no_thoughts", 0},
    {&chat, "m", 0, EFFORT, "Unrecognized request argument supplied: reasoning_effort",
     "no_effort", 0},
    {&messages, "my-claude", 0, EFFORT, "This model does not support the effort parameter.",
     "no_effort", 0},
    {&chat, "m", 0, EFFORT | CH_PART_OFF, "Reasoning is mandatory for this endpoint and cannot "
     "be disabled.", "always_thinks",
     E(LOW) | E(MEDIUM) | E(HIGH)},
    {&gemini, "gemini-2.5-flash", 0, EFFORT | CH_PART_OFF, "Budget 0 is invalid. This model only "
     "works in thinking mode.",
     "always_thinks", E(MINIMAL) | E(LOW) | E(MEDIUM) | E(HIGH) | E(XHIGH) | E(MAX)},
    {&gemini, "gemini-3-x", 0, EFFORT, "Thinking level is not supported for this model.",
     "thinking_level_none", 0},
    /* sampling */
    {&chat, "m", 0, CH_PART_TEMPERATURE, "Unsupported value: 'temperature' does not support 0.2 "
     "with this model. Only the default "
     "(1) value is supported.", "no_temperature", 0},
    {&chat, "kimi-x", 0, CH_PART_TEMPERATURE, "invalid temperature: only 1 is allowed for this "
     "model", "no_temperature", 0},
    {&messages, "claude-x", 0, CH_PART_TEMPERATURE, "`temperature` is deprecated for this "
     "model.", "no_temperature", 0},
    {&messages, "claude-x", 0, CH_PART_TEMPERATURE, "temperature: Extra inputs are not "
     "permitted", "no_temperature", 0},
    {&messages, "claude-x", 0, CH_PART_TEMPERATURE | CH_PART_TOP_P, "`temperature` and `top_p` "
     "cannot both be specified for this "
     "model. Please use only one.", "one_of_temperature", 0},
    {&messages, "claude-x", 0, 0, "temperature: Extra inputs are not permitted", NULL, 0},
    {&chat, "m", 0, CH_PART_STOP, "Unsupported parameter: 'stop' is not supported with this "
     "model.", "no_stop", 0},
    {&gemini, "m", 0, CH_PART_SEED, "Invalid JSON payload received. Unknown name \"seed\" at "
     "'generation_config': Cannot find field.",
     "no_seed", 0},
    {&chat, "m", 0, CH_PART_LOGPROBS, "You are not allowed to request logprobs: 'logprobs' is "
     "not supported", "no_logprobs", 0},
    /* tool choices */
    {&messages, "my-model", 0, CH_PART_FORCED, "tool_choice: type \"tool\" and \"any\" are not "
     "supported for this model.",
     "no_forced_choice", 0},
    {&messages, "my-model", 0, CH_PART_FORCED, "Thinking may not be enabled when tool_choice "
     "forces tool use.", "no_forced_choice", 0},
    {&chat, "qwen", 0, CH_PART_FORCED | CH_PART_CHOICE, "<400> "
     "InternalError.Algo.InvalidParameter: The tool_choice parameter does "
     "not support being set to required or object in thinking mode", "no_forced_choice", 0},
    {&chat, "deepseek", 0, CH_PART_FORCED | CH_PART_CHOICE, "Thinking mode does not support this "
     "tool_choice", "no_forced_choice", 0},
    {&chat, "kimi", 0, CH_PART_FORCED | CH_PART_CHOICE, "tool_choice specified is incompatible "
     "with thinking enabled",
     "no_forced_choice", 0},
    {&chat, "m", 0, CH_PART_FORCED | CH_PART_CHOICE, "No endpoints found that support the "
     "provided 'tool_choice' value. To learn more",
     "no_forced_choice", 0},
    {&chat, "m", 0, 0, "Thinking mode does not support this tool_choice", NULL, 0},
    {&chat, "m", 0, CH_PART_CHOICE, "Unknown parameter: 'tool_choice'.", "no_tool_choice", 0},
    {&messages, "m", 0, CH_PART_PARALLEL, "Malformed input request: #/tool_choice: extraneous "
     "key [disable_parallel_tool_use] is not "
     "permitted, please reformat your input and try again.", "parallel_calls", 0},
    /* Claude's thinking */
    {&messages, "my-claude", 0, EFFORT, "\"thinking.type.enabled\" is not supported for this "
     "model. Use \"thinking.type.adaptive\" "
     "and \"output_config.effort\" to control thinking behavior.", "adaptive_thinking", 0},
    {&messages, "claude-opus-4-8", 0, EFFORT | CH_PART_OFF, "\"thinking.type.disabled\" is not "
     "supported for this model. Use "
     "\"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.",
     "always_thinks",
     E(LOW) | E(MEDIUM) | E(HIGH) | E(XHIGH) | E(MAX)},
    {&messages, "claude-opus-4-8", 0, EFFORT | CH_PART_OFF, "To turn thinking off on this model, "
     "send \"thinking\": {\"type\": "
     "\"between_tools\"} instead of {\"type\": \"disabled\"}...", "between_tools", 0},
    {&messages, "claude-opus-4-8", 0, EFFORT, "adaptive thinking is not supported on this "
     "model", "thinking_budget", 0},
    {&messages, "claude-opus-4-8", 0, EFFORT, "Only 'enabled' and 'disabled' are supported for "
     "thinking; 'adaptive' is not supported.",
     "thinking_budget", 0},
    {&messages, "claude-opus-4-8", 0, EFFORT,
     "{\"type\":\"literal_error\",\"loc\":[\"body\",\"thinking\",\"type\"],\"msg\":\"Input "
     "should be "
     "'enabled' or 'disabled'\",\"input\":\"adaptive\"}", "thinking_budget", 0},
    {&messages, "claude-opus-4-8", 0, EFFORT, "thinking.adaptive.display: Extra inputs are not "
     "permitted", "no_thinking_text", 0},
    {&chat, "deepseek-x", 0, 0, "The `reasoning_content` in the thinking mode must be passed "
     "back to the API.", "replay_reasoning", 0},
    /* roles */
    {&chat, "qwen", 0, 0, "developer is not one of ['system', 'assistant', 'user', 'tool', "
     "'function'] - 'messages.[0].role'",
     "system_role", 0},
    {&chat, "m", 0, 0, "invalid parameter 'messages[0].role': invalid role 'developer', must be "
     "one of: system, user, assistant, tool",
     "system_role", 0},
    {&chat, "o1", CH_Q_NO_DEVELOPER, 0, "Unsupported value: 'messages[0].role' does not support "
     "'system' with this model.",
     "developer_role", 0},
    {&chat, "m", 0, 0, "HTTP 500: Template error: syntax error: Conversation roles must "
     "alternate user/assistant/user/assistant/...",
     "alternate_roles", 0},
    {&chat, "m", 0, 0, "Unexpected role 'user' after role 'tool' "
     "(invalid_request_message_order)", "alternate_roles", 0},
    {&chat, "m", CH_Q_ALTERNATE, 0, "Unexpected role 'user' after role 'tool'", NULL, 0},
    {&chat, "m", 0, 0, "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
     "short_ids", 0},
    /* schemas, streams */
    {&messages, "m", 0, CH_PART_STRICT, "tools.0.custom.strict: Extra inputs are not permitted",
     "no_strict", 0},
    {&messages, "claude-opus-5-5", 0, 0,
     "tools.3.custom.defer_loading: Extra inputs are not permitted",
     "no_tool_search", 0},
    {&chat, "m", 0, CH_PART_SCHEMA, "Invalid parameter: 'response_format' of type 'json_schema' "
     "is not supported with this model.",
     "no_output_schema", 0},
    {&chat, "m", 0, CH_PART_SCHEMA, "This response_format type is unavailable now",
     "no_output_schema", 0},
    {&chat, "m", 0, 0, "Validation error at #/stream_options: Extra inputs are not permitted",
     "no_stream_usage", 0},
    {&chat, "m", 0, 0, "Extra inputs are not permitted, field: 'stream_options', value: "
     "{'include_usage': True}", "no_stream_usage", 0},
    {&chat, "m", 0, CH_PART_STREAM, "Your organization must be verified to stream this model. "
     "Please go to", "no_stream", 0},
    {&chat, "m", 0, CH_PART_CACHE_KEY, "Unknown parameter: 'prompt_cache_key'.", "no_cache_key", 0},
    {&messages, "m", 0, 0, "system.1.cache_control.ephemeral.scope: Extra inputs are not "
     "permitted", "no_cache_marks", 0},
    /* nothing to learn */
    {&chat, "m", 0, ALL, "", NULL, 0},
    {&chat, "m", 0, ALL, "Invalid value for 'content': expected something else", NULL, 0},
    {&messages, "m", 0, ALL, "messages.1.content.0: Invalid `signature` in `thinking` block. The "
     "block is bound to a different "
     "conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` "
     "to \"drop_block\".", NULL, 0},
    {&messages, "m", 0, ALL, "messages.3: `tool_use` ids were found without `tool_result` blocks "
     "immediately after: toolu_1", NULL, 0},
    {&chat, "m", 0, ALL, "An assistant message with 'tool_calls' must be followed by tool "
     "messages responding to each "
     "'tool_call_id'.", NULL, 0},
    {&messages, "m", 0, ALL, "max_tokens: 200000 > 128000, which is the maximum allowed number "
     "of output tokens for m", NULL, 0},
};
/* clang-format on */

static void test_texts(void **state) {
    (void)state;
    size_t bad = 0;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        const struct row *r = &rows[i];
        struct ch_endpoint ep = {.codec = *r->codec, .quirks = r->quirks};
        struct ch_refusal found;
        bool taught = ch_refusal_read(ch_sv_str(r->message), &ep, ch_sv_str(r->model), r->parts,
     &found);
        const char *name = taught ? ch_refusal_name(found.rule) : "nothing";
        if (strcmp(name, r->rule ? r->rule : "nothing") != 0)
            print_error("%s: %s\n", r->message, name), bad++;
        if (taught && found.efforts != r->efforts)
            print_error("%s: efforts %#x\n", r->message, found.efforts), bad++;
    }
    assert_int_equal(bad, 0);
}

/* A service that repeats itself, whatever was done, teaches no more. */
static void test_a_rule_is_learnt_once(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        const struct row *r = &rows[i];
        struct ch_endpoint ep = {.codec = *r->codec, .quirks = r->quirks};
        struct ch_model_facts facts;
        struct ch_refusal found;
        unsigned rules = 0;
        while (ch_refusal_read(ch_sv_str(r->message), &ep, ch_sv_str(r->model), r->parts, &found)) {
            facts = *ch_model_facts(ch_sv_str(r->model));
            ch_refusal_learn(&ep.learnt, &found);
            ch_learnt_correct(&ep.learnt, &facts);
            ep.facts = &facts;
            ep.quirks = (ep.quirks | ep.learnt.quirks_on) & ~ep.learnt.quirks_off;
            if (rules++ == 8)
                fail_msg("%s: no end", r->message);
        }
    }
}

/* What is left out of a request, and the corrected facts. */
static void test_omitted(void **state) {
    (void)state;
    struct ch_endpoint ep = {.codec = chat};
    struct ch_refusal found;
    struct ch_model_request req = {.endpoint = &ep,
                                   .model = CH_SV("gpt-6-sol"),
                                   .has_temperature = true,
                                   .temperature = 0.5,
                                   .has_top_p = true,
                                   .effort = CH_EFFORT_OFF};
    assert_int_equal(ch_refusal_parts(&req) & (CH_PART_TEMPERATURE | CH_PART_TOP_P | CH_PART_OFF),
                     CH_PART_TEMPERATURE | CH_PART_TOP_P | CH_PART_OFF);
    assert_true(ch_refusal_read(CH_SV("Unsupported parameter: 'temperature' is not supported"), &ep,
                                req.model, ch_refusal_parts(&req), &found));
    ch_refusal_learn(&ep.learnt, &found);
    ch_learnt_omit(&req);
    assert_false(req.has_temperature);
    assert_true(req.has_top_p);
    assert_true(ch_refusal_read(CH_SV("Unsupported value: 'none' is not supported with the 'm' "
     "model. "
                                      "Supported values are: 'medium', 'high'"),
                                &ep, req.model, ch_refusal_parts(&req), &found));
    ch_refusal_learn(&ep.learnt, &found);
    struct ch_model_facts facts = *ch_model_facts(req.model);
    ch_learnt_correct(&ep.learnt, &facts);
    ep.facts = &facts;
    assert_int_equal(ch_facts_effort(ch_request_facts(&req), req.effort), CH_EFFORT_MEDIUM);
    assert_int_equal(ch_refusal_parts(&req) & CH_PART_OFF, 0);
}

/* The file and the journal name rules; those of another version are left out. */
static void test_names(void **state) {
    (void)state;
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO text = {0};
    struct ch_learnt all = {0}, back = {0};
    const struct ch_json *v;
    for (unsigned i = 0; ch_refusal_name(i); i++) {
        ch_refusal_learn(&all, &(struct ch_refusal){i, E(LOW) | E(MAX)});
        assert_int_equal(ch_refusal_find(ch_sv_str(ch_refusal_name(i))), i);
        assert_non_null(ch_refusal_change(i));
    }
    struct ch_jw w = ch_jw(&text);
    ch_jw_begin(&w, '{');
    ch_refusal_write_all(&all, &w);
    ch_jw_end(&w, '}');
    assert_int_equal(ch_json_parse(&arena, ch_buf_sv(&text), CH_JSON_STRICT, &v, NULL, NULL), 0);
    ch_refusal_read_all(v, &back);
    assert_memory_equal(&all, &back, sizeof(all));
    back = (struct ch_learnt){0};
    assert_int_equal(ch_json_parse(&arena,
     CH_SV("{\"rules\":[\"of_tomorrow\",7],\"efforts\":[\"low\"]}"),
                                   CH_JSON_STRICT, &v, NULL, NULL), 0);
    ch_refusal_read_all(v, &back);
    assert_int_equal(back.rules, 0);
    assert_int_equal(ch_refusal_find(CH_SV("of_tomorrow")), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_a_rule_is_learnt_once),
        cmocka_unit_test(test_omitted),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
