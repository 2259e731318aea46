/* test_role_order.c -- the order of roles that each vendor takes.
 *
 * Every provider of the table gets the same conversations: a tool loop, a message that
 * arrives during the loop, two messages in a row. The rules below say what its server
 * refuses. In a tool loop the request ends with the results, and nothing stands beside or
 * after them; what the runtime has to say is inside the message that it belongs to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "json/json.h"
#include "model/catalog/model_facts.h"
#include "model/catalog/provider.h"
#include "model/codec/codec.h"
#include "model/codec/encoder.h"

/* --- the rules */

static const struct rule {
    const char *provider;
    bool user_after_tool; /* a user message may follow results, or be beside them */
    bool twice;           /* two messages of one role may follow each other */
} rules[] = {
    {"mistral", false, false}, /* HTTP 400: Unexpected role 'user' after role 'tool' */
    {"bedrock", false, false}, /* ValidationException: roles must alternate; results alone */
};

static const struct rule *rule_of(const char *provider) {
    static const struct rule usual = {NULL, true, true};
    for (size_t i = 0; i < CH_LEN(rules); i++)
        if (strcmp(rules[i].provider, provider) == 0)
            return &rules[i];
    return &usual;
}

/* --- the roles of a request: u user, a assistant, t results; beside results: T */

static char kind_of(const struct ch_json *parts, const char *result) {
    size_t results = 0, all = 0;
    for (CH_JSON_EACH(p, parts)) {
        all++;
        results += ch_json_get(p, result) || ch_sv_is(ch_json_get_str(p, "type"), result);
    }
    return !results ? 'u' : results == all ? 't' : 'T';
}

static void roles_of(const struct ch_json *v, struct ch_buf *out) {
    const struct ch_json *list = ch_json_get(v, "messages");
    list = list ? list : ch_json_get(v, "contents");
    list = list ? list : ch_json_get(v, "input");
    for (CH_JSON_EACH(m, list)) {
        struct ch_sv role = ch_json_get_str(m, "role"), type = ch_json_get_str(m, "type");
        const struct ch_json *content = ch_json_get(m, "content");
        const struct ch_json *parts = content ? content : ch_json_get(m, "parts");
        const char *result = ch_json_get(v, "contents")                 ? "functionResponse"
                             : ch_json_get(v, "toolConfig")             ? "toolResult"
                                                                        : "tool_result";
        if (ch_sv_is(role, "system") || ch_sv_is(role, "developer"))
            continue;
        bool tool = ch_sv_is(role, "tool") || ch_sv_is(type, "function_call_output") ||
                    ch_sv_is(type, "function_result");
        bool said = ch_sv_is(role, "assistant") || ch_sv_is(role, "model") ||
                    ch_sv_is(type, "function_call") || ch_sv_is(type, "thought");
        ch_buf_addc(out, tool ? 't' : said ? 'a' : kind_of(parts, result));
    }
}

static const char *fault(const char *roles, const struct rule *r, bool in_loop) {
    size_t n = strlen(roles);
    if (roles[0] != 'u')
        return "the first message is not the user's";
    if (in_loop && roles[n - 1] != 't')
        return "the loop does not end with results alone";
    for (size_t i = 1; i < n; i++) {
        bool results = roles[i - 1] == 't' || roles[i - 1] == 'T';
        if (!r->user_after_tool && results && roles[i] == 'u')
            return "a user message follows results";
        if (!r->user_after_tool && roles[i] == 'T')
            return "results are not alone";
        if (!r->twice && roles[i] == roles[i - 1] && roles[i] != 't')
            return "two messages of one role";
        if (roles[i] == 't' && roles[i - 1] != 'a' && roles[i - 1] != 't')
            return "results follow no call";
    }
    return NULL;
}

/* --- the conversations */

#define ABOUT "<trusted_metadata>\n{}\n</trusted_metadata>\n"
#define NOTE "<runtime_note>\nBe exact.\n</runtime_note>"

static struct ch_msg *asked(const char *words) {
    const struct ch_block blocks[] = {{.type = CH_BLOCK_CONTEXT, .text = CH_SV(ABOUT)},
                                      {.type = CH_BLOCK_TEXT, .text = ch_sv_str(words)},
                                      {.type = CH_BLOCK_CONTEXT, .text = CH_SV(NOTE)}};
    return ch_msg_new(CH_MSG_USER, blocks, CH_LEN(blocks), 1);
}

static struct ch_msg *called(void) {
    const struct ch_block blocks[] = {
        {.type = CH_BLOCK_TOOL_CALL, .id = CH_SV("c1"), .name = CH_SV("ls"), .text = CH_SV("{}")},
        {.type = CH_BLOCK_TOOL_CALL, .id = CH_SV("c2"), .name = CH_SV("ls"), .text = CH_SV("{}")}};
    return ch_msg_new(CH_MSG_ASSISTANT, blocks, CH_LEN(blocks), 2);
}

static struct ch_msg *given(void) {
    const struct ch_block blocks[] = {
        {.type = CH_BLOCK_TOOL_RESULT, .id = CH_SV("c1"), .name = CH_SV("ls"), .text = CH_SV("x")},
        {.type = CH_BLOCK_TOOL_RESULT, .id = CH_SV("c2"), .name = CH_SV("ls"), .text = CH_SV("y")},
        {.type = CH_BLOCK_CONTEXT, .text = CH_SV(NOTE)}};
    return ch_msg_new(CH_MSG_RESULTS, blocks, CH_LEN(blocks), 3);
}

static const struct {
    const char *name, *shape; /* u: asked, a: called, t: given */
} talks[] = {
    {"a tool loop", "uat"},
    {"a long tool loop", "uatatat"},
    {"steering", "uatu"},
    {"steering twice, then a loop", "uatuuat"},
    {"two messages", "uuat"},
};

static void check(const struct ch_provider *p, const char *name, const char *shape) {
    static const struct ch_tool_def tools[] = {{.name = CH_SV("ls")}};
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO body = {0};
    CH_BUF_AUTO roles = {0};
    struct ch_transcript t = {0};
    struct ch_encoder e = {0};
    struct chela_error err = {0};
    const struct ch_json *v = NULL;
    for (const char *c = shape; *c; c++)
        assert_int_equal(
            ch_transcript_add(&t, *c == 'u' ? asked("hi") : *c == 'a' ? called() : given()), 0);
    struct ch_endpoint ep = {.codec = ch_codec_find(ch_sv_str(p->api)),
                             .provider = p->name,
                             .base_url = "http://x",
                             .quirks = p->quirks};
    struct ch_model_request req = {.endpoint = &ep,
                                   .model = CH_SV("m"),
                                   .system = CH_SV("S"),
                                   .tools = tools,
                                   .ntools = 1,
                                   .messages = (const struct ch_msg *const *)t.msgs,
                                   .nmessages = t.n,
                                   .revision = 1};
    assert_int_equal(ch_encoder_update(&e, &req, &err), 0);
    struct ch_sv pieces[3];
    ch_encoder_body(&e, pieces);
    for (size_t i = 0; i < CH_LEN(pieces); i++)
        ch_buf_add_sv(&body, pieces[i]);
    assert_int_equal(ch_json_parse(&arena, ch_buf_sv(&body), CH_JSON_STRICT, &v, NULL, &err), 0);
    roles_of(v, &roles);
    bool in_loop = shape[strlen(shape) - 1] == 't';
    const char *why = fault(ch_buf_str(&roles), rule_of(p->name), in_loop);
    if (why)
        fail_msg("%s, %s: %s: %s\n%s", p->name, name, why, ch_buf_str(&roles), ch_buf_str(&body));
    assert_non_null(strstr(ch_buf_str(&body), "<trusted_metadata>"));
    assert_non_null(strstr(ch_buf_str(&body), "y\\n\\n<runtime_note>")); /* in the last result */
    ch_encoder_release(&e);
    ch_transcript_release(&t);
}

static void test_every_provider(void **state) {
    (void)state;
    for (const struct ch_provider *p = ch_provider_table; p->name; p++)
        for (size_t i = 0; i < CH_LEN(talks) && ch_codec_find(ch_sv_str(p->api)); i++)
            check(p, talks[i].name, talks[i].shape);
}

/* The model decides, whoever runs it. */
static void test_models(void **state) {
    (void)state;
    static const struct {
        const char *api, *model;
        bool alternate;
    } rows[] = {{"openai", "mistralai/mistral-large-2512", true},
                {"openai", "Devstral-Small-2507", true},
                {"openai", "codestral-latest", true},
                {"openai", "mixtral-8x22b", true},
                {"openai", "Ministral-8B-Instruct", true},
                {"openai", "pixtral-12b", true},
                {"openai", "gpt-5", false},
                {"anthropic", "mistral-large", false}};
    for (size_t i = 0; i < CH_LEN(rows); i++)
        assert_int_equal(ch_quirks_of_model(ch_sv_str(rows[i].api),
                                            ch_model_facts(ch_sv_str(rows[i].model))) &
                             CH_Q_ALTERNATE,
                         rows[i].alternate ? CH_Q_ALTERNATE : 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_provider),
        cmocka_unit_test(test_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
