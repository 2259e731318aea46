/* test_mcp_ask.c -- what a server wants to know, as questions to a person. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "mcp/mcp_ask.h"
#include "mcp/mcp_protocol.h"

static struct ch_buf state;

static int world_close(void **unused) {
    (void)unused;
    ch_buf_release(&state);
    state = (struct ch_buf){0};
    return 0;
}

static const struct ch_json *parse(struct ch_arena *a, const char *text) {
    const struct ch_json *v = NULL;

    if (text)
        assert_int_equal(ch_json_parse(a, ch_sv_str(text), CH_JSON_STRICT, &v, NULL, NULL), 0);
    return v;
}

static struct ch_mcp_may may; /* what the server may ask for */

static int begin(const char *requests, const char *request_state, unsigned round) {
    CH_ARENA_AUTO arena = {0};

    return ch_mcp_ask_begin(&state, parse(&arena, requests), parse(&arena, request_state), round,
                            &may, NULL);
}

/* One request with these properties. */
static void begin_form(const char *required, const char *properties) {
    CH_BUF_AUTO text = {0};

    ch_buf_addf(&text, "{\"k\":{\"method\":\"elicitation/create\",\"params\":{\"message\":\"M\","
                "\"requestedSchema\":{\"type\":\"object\",\"required\":%s,\"properties\":%s}}}}",
                required, properties);
    assert_int_equal(begin(ch_buf_str(&text), NULL, 1), 0);
}

static bool asks(const char *part) {
    CH_BUF_AUTO question = {0};
    int rc = ch_mcp_ask_next(ch_buf_sv(&state), "srv", &question, NULL);

    assert_true(rc >= 0);
    if (!part)
        return rc > 0;
    assert_int_equal(rc, 1);
    if (!strstr(ch_buf_str(&question), part))
        fail_msg("%s is not in %s", part, ch_buf_str(&question));
    return true;
}

static void answer(const char *text) {
    assert_int_equal(ch_mcp_ask_answer(&state, ch_sv_str(text), false, NULL), 0);
}

static void assert_members(const char *want) {
    CH_BUF_AUTO out = {0};
    unsigned round;

    assert_false(asks(NULL));
    assert_int_equal(ch_mcp_ask_members(ch_buf_sv(&state), &out, &round, NULL), 0);
    assert_string_equal(ch_buf_str(&out), want);
}

static void test_field_by_field(void **unused) {
    (void)unused;
    begin_form("[\"a\",\"b\"]",
               "{\"a\":{\"type\":\"string\",\"title\":\"Alpha\"},\"b\":{\"type\":\"integer\"},"
               "\"c\":{\"type\":\"boolean\",\"default\":true},\"d\":{\"type\":\"number\"}}");
    asks("The MCP server srv asks: M\\n\\nAlpha");
    answer(" hello ");
    asks("\\n\\nb");
    answer("12");
    asks("Default: true");
    answer("no");
    asks("leaves it out");
    answer("-");
    assert_members("\"inputResponses\":{\"k\":{\"action\":\"accept\",\"content\":{\"a\":\"hello\","
                   "\"b\":12,\"c\":false}}}");
}

static void test_defaults_are_filled_in(void **unused) {
    (void)unused;
    begin_form("[]", "{\"a\":{\"type\":\"string\",\"default\":\"x\"},\"b\":{\"type\":\"string\"}}");
    answer("-");
    answer("-");
    assert_members("\"inputResponses\":{\"k\":{\"action\":\"accept\",\"content\":{\"a\":\"x\"}}}");
}

static void test_refusals(void **unused) {
    static const char *const words[] = {"decline", "DECLINE", "cancel", ""};
    static const char *const actions[] = {"decline", "decline", "cancel", "cancel"};

    (void)unused;
    for (size_t i = 0; i < CH_LEN(words); i++) {
        CH_BUF_AUTO want = {0};
        world_close(NULL);
        begin_form("[\"a\"]", "{\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"string\"}}");
        answer(words[i]);
        ch_buf_addf(&want, "\"inputResponses\":{\"k\":{\"action\":\"%s\"}}", actions[i]);
        assert_members(ch_buf_str(&want));
    }
}

static void test_choices(void **unused) {
    (void)unused;
    begin_form("[\"a\",\"b\",\"c\"]",
               "{\"a\":{\"type\":\"string\",\"enum\":[\"r\",\"g\"],\"enumNames\":[\"Red\","
               "\"Green\"]},\"b\":{\"type\":\"array\",\"items\":{\"anyOf\":[{\"const\":\"1\","
               "\"title\":\"One\"},{\"const\":\"2\",\"title\":\"Two\"}]},\"minItems\":1},"
               "\"c\":{\"type\":\"boolean\"}}");
    asks("\"choices\":[\"Red\",\"Green\",\"decline\"]");
    answer("green");
    asks("Permitted: One, Two");
    answer("two, 1");
    asks("\"choices\":[\"yes\",\"no\",\"decline\"]");
    answer("YES");
    assert_members("\"inputResponses\":{\"k\":{\"action\":\"accept\",\"content\":{\"a\":\"g\","
                   "\"b\":[\"2\",\"1\"],\"c\":true}}}");
}

static void test_wrong_values(void **unused) {
    (void)unused;
    begin_form("[\"a\"]", "{\"a\":{\"type\":\"string\",\"format\":\"email\"}}");
    answer("nobody");
    asks("The last answer was not accepted");
    answer("ann@example.org");
    assert_members("\"inputResponses\":{\"k\":{\"action\":\"accept\",\"content\":{\"a\":"
                   "\"ann@example.org\"}}}");
    world_close(NULL);
    begin_form("[\"a\"]", "{\"a\":{\"type\":\"integer\"}}");
    for (int i = 0; i < 3; i++)
        answer("many");
    assert_members("\"inputResponses\":{\"k\":{\"action\":\"cancel\"}}"); /* nobody asks forever */
}

static void test_whole_form(void **unused) {
    (void)unused;
    begin_form("[\"a\"]", "{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"string\"}}");
    answer("{\"b\":\"only\"}");
    asks("not accepted"); /* a is required, and the text is no integer */
    answer("{\"a\":5,\"b\":\"both\"}");
    assert_members("\"inputResponses\":{\"k\":{\"action\":\"accept\",\"content\":{\"a\":5,"
                   "\"b\":\"both\"}}}");
}

/* An answer to one request must not accept the next one. */
static void test_page_after_form(void **unused) {
    (void)unused;
    assert_int_equal(
        begin("{\"f\":{\"method\":\"elicitation/create\",\"params\":{\"message\":\"M\","
              "\"requestedSchema\":{\"properties\":{\"a\":{\"type\":\"string\"}}}}},"
              "\"p\":{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"url\",\"message\":"
              "\"P\",\"url\":\"https://shop.example/x\"}},"
              "\"e\":{\"method\":\"elicitation/create\",\"params\":{\"message\":\"Sure?\","
              "\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}}}",
              "\"opaque \\u00e9\"", 2),
        0);
    answer("{\"a\":\"x\"}");
    asks("Host: shop.example\\nAddress: https://shop.example/x");
    answer("what?");
    asks("neither a yes nor a no");
    answer("done");
    asks("Sure?");
    answer("decline");
    assert_members("\"inputResponses\":{\"f\":{\"action\":\"accept\",\"content\":{\"a\":\"x\"}},"
                   "\"p\":{\"action\":\"accept\"},\"e\":{\"action\":\"decline\"}},"
                   "\"requestState\":\"opaque \xc3\xa9\"");
}

static void test_only_a_state(void **unused) {
    (void)unused;
    assert_int_equal(begin(NULL, "\"s\"", 1), 0);
    assert_members("\"requestState\":\"s\"");
}

static void test_roots(void **unused) {
    static const char *const paths[] = {"/srv/a b", "/", NULL};
    CH_BUF_AUTO told = {0};
    CH_BUF_AUTO question = {0};

    (void)unused;
    assert_int_equal(begin("{\"r\":{\"method\":\"roots/list\"}}", NULL, 1), CHELA_EPROTO);
    ch_buf_clear(&state);
    ch_mcp_roots(&told, paths);
    assert_string_equal(ch_buf_str(&told),
                        "{\"roots\":[{\"uri\":\"file:///srv/a%20b\",\"name\":\"a b\"},"
                        "{\"uri\":\"file:///\",\"name\":\"/\"}]}");
    may.roots = CH_SV("{\"roots\":[]}");
    assert_int_equal(begin("{\"r\":{\"method\":\"roots/list\"},"
                           "\"s\":{\"method\":\"sampling/createMessage\"}}", NULL, 1),
                     CHELA_EPROTO);
    ch_buf_clear(&state);
    assert_int_equal(begin("{\"r\":{\"method\":\"roots/list\"}}", "\"kept\"", 1), 0);
    assert_int_equal(ch_mcp_ask_next(ch_buf_sv(&state), "s", &question, NULL), 0);
    assert_members("\"inputResponses\":{\"r\":{\"roots\":[]}},\"requestState\":\"kept\"");
    may.roots = ch_sv(NULL, 0);
}

#define SAMPLE                                                                              \
    "\"s\":{\"method\":\"sampling/createMessage\",\"params\":{\"maxTokens\":7,"               \
    "\"systemPrompt\":\"Be brief.\",\"messages\":[{\"role\":\"user\",\"content\":{"            \
    "\"type\":\"text\",\"text\":\"Say\\u200b hi\"}},{\"role\":\"assistant\",\"content\":[{"      \
    "\"type\":\"text\",\"text\":\"h\"}]}]}}"

static int due(void) {
    CH_BUF_AUTO question = {0};

    return ch_mcp_ask_next(ch_buf_sv(&state), "srv", &question, NULL);
}

static void test_sampling(void **unused) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *params;

    (void)unused;
    may.samples = true;
    assert_int_equal(begin("{" SAMPLE "}", "\"kept\"", 2), 0);
    assert_true(asks("at most 7 tokens"));
    assert_true(asks("system: Be brief."));
    assert_true(asks("user: Say hi"));
    assert_true(asks("assistant: h"));
    answer("perhaps");
    assert_true(asks("not accepted"));
    answer("accept");
    assert_int_equal(due(), CH_MCP_DUE_MODEL);
    assert_int_equal(ch_mcp_ask_sample(ch_buf_sv(&state), &arena, &params, NULL), 0);
    assert_int_equal(ch_json_int(ch_json_get(params, "maxTokens"), 0), 7);
    assert_int_equal(ch_mcp_ask_sampled(&state, CH_SV("{\"role\":\"assistant\"}"), NULL), 0);
    assert_int_equal(due(), CH_MCP_DUE_NOTHING);
    assert_members("\"inputResponses\":{\"s\":{\"role\":\"assistant\"}},"
                   "\"requestState\":\"kept\"");
    world_close(NULL);
    begin("{" SAMPLE "}", NULL, 1);
    answer("decline");
    assert_int_equal(due(), CHELA_EPERM);
    world_close(NULL);
    begin("{" SAMPLE "}", NULL, 1);
    assert_int_equal(ch_mcp_ask_refuse(&state, NULL), 0);
    assert_int_equal(due(), CHELA_EPERM);
    may.samples = false;
}

static void test_sampling_unasked(void **unused) {
    (void)unused;
    may.samples = may.unasked = true;
    begin("{" SAMPLE ",\"f\":{\"method\":\"elicitation/create\"}}", NULL, 1);
    assert_int_equal(ch_mcp_ask_refuse(&state, NULL), 0);
    assert_int_equal(due(), CH_MCP_DUE_MODEL);
    assert_int_equal(ch_mcp_ask_sampled(&state, CH_SV("{\"model\":\"m\"}"), NULL), 0);
    assert_int_equal(due(), CH_MCP_DUE_PERSON);
    assert_int_equal(ch_mcp_ask_refuse(&state, NULL), 0);
    assert_int_equal(due(), CH_MCP_DUE_NOTHING);
    assert_members("\"inputResponses\":{\"s\":{\"model\":\"m\"},"
                   "\"f\":{\"action\":\"cancel\"}}");
    may.samples = may.unasked = false;
}

static void test_sampling_bad(void **unused) {
    static const char *const bad[] = {
        "{}",
        "{\"maxTokens\":5}",
        "{\"messages\":[],\"maxTokens\":5}",
        "{\"messages\":7,\"maxTokens\":5}",
        "{\"messages\":[7],\"maxTokens\":5}",
        "{\"messages\":[{\"role\":\"system\",\"content\":{\"type\":\"text\",\"text\":\"x\"}}],"
        "\"maxTokens\":5}",
        "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"image\",\"data\":\"\"}}],"
        "\"maxTokens\":5}",
        "{\"messages\":[{\"role\":\"user\"}],\"maxTokens\":5}",
        "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":7}}],"
        "\"maxTokens\":5}",
        "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"x\"}}],"
        "\"maxTokens\":0}",
        "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"x\"}}],"
        "\"maxTokens\":5,\"tools\":[]}",
    };

    (void)unused;
    may.samples = true;
    for (size_t i = 0; i < CH_LEN(bad); i++) {
        CH_BUF_AUTO text = {0};
        ch_buf_addf(&text, "{\"s\":{\"method\":\"sampling/createMessage\",\"params\":%s}}", bad[i]);
        if (begin(ch_buf_str(&text), NULL, 1) != CHELA_EPROTO)
            fail_msg("accepted: %s", bad[i]);
        world_close(NULL);
    }
    may.samples = false;
}

static void test_nobody(void **unused) {
    (void)unused;
    begin_form("[]", "{\"a\":{\"type\":\"string\"}}");
    assert_int_equal(ch_mcp_ask_refuse(&state, NULL), 0);
    assert_members("\"inputResponses\":{\"k\":{\"action\":\"cancel\"}}");
}

static void test_too_many_requests(void **unused) {
    static const unsigned counts[] = {CH_LIMIT_MCP_QUESTIONS, CH_LIMIT_MCP_QUESTIONS + 1, 4000};

    (void)unused;
    for (size_t i = 0; i < CH_LEN(counts); i++) {
        CH_BUF_AUTO text = {0};
        ch_buf_clear(&state);
        for (unsigned n = 0; n < counts[i]; n++)
            ch_buf_addf(&text, "%s\"%x\":{\"method\":\"elicitation/create\"}", n ? "," : "{", n);
        ch_buf_addc(&text, '}');
        int rc = begin(ch_buf_str(&text), NULL, 1);
        assert_int_equal(rc, counts[i] <= CH_LIMIT_MCP_QUESTIONS ? 0 : CHELA_ELIMIT);
        if (rc == 0)
            assert_int_equal(ch_mcp_ask_refuse(&state, NULL), 0);
    }
}

static void test_bad_requests(void **unused) {
    (void)unused;
    assert_int_equal(begin(NULL, NULL, 1), CHELA_EPROTO);
    assert_int_equal(begin(NULL, "7", 1), CHELA_EPROTO);
    assert_int_equal(begin("{\"k\":{\"method\":\"sampling/createMessage\"}}", NULL, 1),
                     CHELA_EPROTO);
    assert_int_equal(begin("{\"k\":7}", NULL, 1), CHELA_EPROTO);
    assert_int_equal(begin("{}", NULL, CH_LIMIT_MCP_ROUNDS + 1), CHELA_ELIMIT);
    world_close(NULL);
    assert_int_equal(begin("{\"k\":{\"method\":\"elicitation/create\"}}", NULL, 1), 0);
    asks("srv asks"); /* a request that says nothing is a yes or no */
    answer("yes");
    assert_members("\"inputResponses\":{\"k\":{\"action\":\"accept\",\"content\":{}}}");
}

static void test_damaged_state(void **unused) {
    static const char *const texts[] = {"", "{", "[]", "{\"requests\":7}", "7"};
    CH_BUF_AUTO out = {0};
    unsigned round;

    (void)unused;
    for (size_t i = 0; i < CH_LEN(texts); i++) {
        world_close(NULL);
        ch_buf_add_str(&state, texts[i]);
        struct ch_sv text = ch_sv(ch_buf_str(&state), state.n);
        assert_int_equal(ch_mcp_ask_next(text, "s", &out, NULL), CHELA_EPARSE);
        assert_int_equal(ch_mcp_ask_answer(&state, CH_SV("x"), false, NULL), CHELA_EPARSE);
        assert_int_equal(ch_mcp_ask_members(text, &out, &round, NULL), CHELA_EPARSE);
        assert_int_equal(ch_mcp_ask_response(text, &out, NULL), CHELA_EPARSE);
        assert_int_equal(ch_mcp_ask_refuse(&state, NULL), CHELA_EPARSE);
    }
}

int main(void) {
#define TEST(f) cmocka_unit_test_teardown(f, world_close)
    const struct CMUnitTest tests[] = {
        TEST(test_field_by_field), TEST(test_defaults_are_filled_in),
        TEST(test_refusals),       TEST(test_choices),
        TEST(test_wrong_values),   TEST(test_whole_form),
        TEST(test_page_after_form), TEST(test_only_a_state),
        TEST(test_roots),          TEST(test_nobody),
        TEST(test_sampling),       TEST(test_sampling_unasked),
        TEST(test_sampling_bad),   TEST(test_bad_requests),
        TEST(test_damaged_state),  TEST(test_too_many_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
