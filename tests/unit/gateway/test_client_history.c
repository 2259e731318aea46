/* test_client_history.c -- posted conversations as neutral messages: results find
 * their calls, whatever their order, or the whole is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "gateway/http/openai_messages.h"
#include "gateway/lane/client_history.h"
#include "gateway/lane/sealed_reasoning.h"

#define CALL(id) "{\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"f_" id "\"}}"
#define ASKS(calls) "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[" calls "]}"
#define RESULT(id) "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"r" id "\"}"
#define NAMELESS(text) "{\"role\":\"tool\",\"content\":\"" text "\"}"
#define USER "{\"role\":\"user\",\"content\":\"hi\"}"
#define SAYS "{\"role\":\"assistant\",\"content\":\"yes\"}"

/* want: "kind:block,block;" of each message, then "system"; NULL: refused. */
static const struct {
    const char *name, *messages, *want;
} cases[] = {
    {"one", USER, "user:hi;|"},
    {"system is apart",
     "{\"role\":\"system\",\"content\":\"a\"}," USER
     ",{\"role\":\"developer\",\"content\":[{\"type\":\"text\",\"text\":\"b\"}]}",
     "user:hi;|a\n\nb"},
    {"back and forth", USER "," SAYS "," USER, "user:hi;assistant:yes;user:hi;|"},
    {"a call and its result", USER "," ASKS(CALL("1")) "," RESULT("1"),
     "user:hi;assistant:f_1();results:f_1=r1;|"},
    {"results in the order of the calls",
     ASKS(CALL("1") "," CALL("2")) "," RESULT("2") "," RESULT("1"),
     "assistant:f_1(),f_2();results:f_1=r1,f_2=r2;|"},
    {"results without ids come in the order of the calls",
     ASKS(CALL("1") "," CALL("2") "," CALL("3")) "," NAMELESS("a") "," RESULT("2") ","
     NAMELESS("b"),
     "assistant:f_1(),f_2(),f_3();results:f_1=a,f_2=r2,f_3=b;|"},
    {"words after results", ASKS(CALL("1")) "," RESULT("1") "," USER,
     "assistant:f_1();results:f_1=r1;user:hi;|"},
    {"an empty message is none", "{\"role\":\"user\",\"content\":\"\"}," USER, "user:hi;|"},
    {"a picture", "{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":"
                  "{\"url\":\"data:image/png;base64,AAAA\"}}]}",
     "user:image/png;|"},
    {"nothing", "", NULL},
    {"only system", "{\"role\":\"system\",\"content\":\"a\"}", "user:Begin.;|a"},
    {"an uploaded file",
     "{\"role\":\"user\",\"content\":[{\"type\":\"file\",\"file\":"
                         "{\"file_id\":\"f-1\"}}]}",
     "user:[uploaded file f-1: not available here];|"},
    {"a document by its address",
     "{\"role\":\"user\",\"content\":[{\"type\":\"document_url\",\"document_url\":"
     "\"data:application/pdf;base64,AAAA\"}]}", "user:application/pdf;|"},
    {"the last is the assistant's", USER "," SAYS,
     "user:hi;assistant:yes;user:Continue your last message exactly where it ends.;|"},
    {"two replies are one", USER "," SAYS "," ASKS(CALL("1")) "," RESULT("1"),
     "user:hi;assistant:yes,f_1();results:f_1=r1;|"},
    {"functions before tools",
     USER ",{\"role\":\"assistant\",\"content\":null,\"function_call\":{\"name\":\"f\","
     "\"arguments\":\"{}\"}},{\"role\":\"function\",\"name\":\"f\",\"content\":\"r\"}",
     "user:hi;assistant:f();results:f=r;|"},
    {"a tool with a text",
     USER ",{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"1\",\"type\":\"custom\","
     "\"custom\":{\"name\":\"f_1\",\"input\":\"x\"}}]}," RESULT("1"),
     "user:hi;assistant:f_1(\"input\":\"x\");results:f_1=r1;|"},
    {"arguments in a string, and as an object",
     ASKS("{\"id\":\"1\",\"function\":{\"name\":\"f_1\",\"arguments\":\"{\\\"a\\\":1}\"}},"
          "{\"id\":\"2\",\"function\":{\"name\":\"f_2\",\"arguments\":{\"a\":1}}}") ","
     RESULT("1") "," RESULT("2"),
     "assistant:f_1(\"a\":1),f_2(\"a\":1);results:f_1=r1,f_2=r2;|"},
    {"sound", "{\"role\":\"user\",\"content\":[{\"type\":\"input_audio\",\"input_audio\":"
              "{\"data\":\"AAAA\",\"format\":\"mp3\"}}]}", "user:audio/mpeg;|"},
    {"no result", ASKS(CALL("1")) "," USER, NULL},
    {"one of two", ASKS(CALL("1") "," CALL("2")) "," RESULT("1"), NULL},
    {"a nameless one too many", ASKS(CALL("1")) "," NAMELESS("a") "," NAMELESS("b"), NULL},
    {"another's", ASKS(CALL("1")) "," RESULT("2"), NULL},
    {"twice", ASKS(CALL("1")) "," RESULT("1") "," RESULT("1"), NULL},
    {"too late", ASKS(CALL("1")) "," RESULT("1") "," USER "," RESULT("1"), NULL},
    {"without a call", RESULT("1"), NULL},
    {"a picture from a file", "{\"role\":\"user\",\"content\":[{\"type\":\"image_url\","
                              "\"image_url\":{\"url\":\"file:///etc/passwd\"}}]}", NULL},
    {"a picture of nonsense", "{\"role\":\"user\",\"content\":[{\"type\":\"image_url\","
                              "\"image_url\":{\"url\":\"data:image/png;base64,%%\"}}]}," USER,
     NULL},
    {"an empty picture", "{\"role\":\"user\",\"content\":[{\"type\":\"image_url\","
                         "\"image_url\":{\"url\":\"data:image/png;base64,\"}}]}," USER, NULL},
    {"sound of nonsense", "{\"role\":\"user\",\"content\":[{\"type\":\"input_audio\","
                          "\"input_audio\":{\"data\":\"A\",\"format\":\"mp3\"}}]}," USER, NULL},
    {"a picture that is no base64", "{\"role\":\"user\",\"content\":[{\"type\":\"image_url\","
                                    "\"image_url\":{\"url\":\"data:image/png,x\"}}]}", NULL},
};

static void describe(const struct ch_msg *m, struct ch_buf *out) {
    ch_buf_addf(out, "%s:", ch_msg_kind_name(m->kind));
    for (uint32_t i = 0; i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        ch_buf_add_str(out, i ? "," : "");
        if (b->type == CH_BLOCK_TOOL_CALL)
            ch_buf_addf(out, "%.*s(%.*s)", CH_SV_FMT(b->name), (int)b->text.n - 2,
                        b->text.p + 1); /* an object, without its braces */
        else if (b->type == CH_BLOCK_TOOL_RESULT)
            ch_buf_addf(out, "%.*s=%.*s", CH_SV_FMT(b->name), CH_SV_FMT(b->text));
        else
            ch_buf_add_sv(out, b->type == CH_BLOCK_TEXT ? b->text : b->name);
    }
    ch_buf_addc(out, ';');
}

static int read_all(const char *messages, struct ch_buf *out) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO json = {0};
    struct ch_client_history h;
    struct chela_error err = {0};
    const struct ch_json *v;
    struct ch_msg *input = NULL;
    ch_buf_addf(&json, "[%s]", messages);
    assert_int_equal(ch_json_parse(&arena, ch_buf_sv(&json), CH_JSON_STRICT, &v, NULL, NULL), 0);
    ch_client_history_init(&h, &arena, 1);
    int rc = ch_openai_messages(v, &h, &err);
    if (rc == 0)
        rc = ch_client_history_finish(&h, &input, &err);
    for (size_t i = 0; rc == 0 && i < h.n; i++)
        describe(h.msgs[i], out);
    if (rc == 0)
        describe(input, out);
    ch_buf_addf(out, "|%s", ch_buf_str(&h.system));
    ch_msg_free(input);
    ch_client_history_release(&h);
    assert_int_equal(rc == 0, err.message[0] == '\0');
    return rc;
}

static void test_histories(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO got = {0};
        int rc = read_all(cases[i].messages, &got);
        if ((rc == 0) != (cases[i].want != NULL))
            fail_msg("%s: %s", cases[i].name, rc ? "refused" : "taken");
        if (rc == 0 && strcmp(ch_buf_str(&got), cases[i].want) != 0)
            fail_msg("%s: got %s, want %s", cases[i].name, ch_buf_str(&got), cases[i].want);
    }
}

/* A request with X-Chela-Session may bring no message at all. */
static void test_keep_new_of_none(void **state) {
    (void)state;
    CH_ARENA_AUTO arena = {0};
    struct ch_client_history h;
    ch_client_history_init(&h, &arena, 1);
    ch_client_history_keep_new(&h);
    assert_int_equal(h.n, 0);
    ch_client_history_release(&h);
}

static int read_calls(size_t ncalls, size_t nresults) {
    CH_BUF_AUTO json = {0}, ignored = {0};
    ch_buf_add_str(&json, "{\"role\":\"assistant\",\"tool_calls\":[");
    for (size_t i = 0; i < ncalls; i++)
        ch_buf_addf(&json, "%s{\"id\":\"%zu\",\"function\":{\"name\":\"f\"}}", i ? "," : "", i);
    ch_buf_add_str(&json, "]}");
    for (size_t i = nresults; i > 0; i--)
        ch_buf_addf(&json, ",{\"role\":\"tool\",\"tool_call_id\":\"%zu\"}", i - 1);
    return read_all(ch_buf_str(&json), &ignored);
}

/* Each result is looked up among all others. */
static void test_number_of_calls(void **state) {
    (void)state;
    size_t most = CH_LIMIT_CLIENT_CALLS;
    assert_int_equal(read_calls(most, most), 0);
    assert_int_equal(read_calls(most + 1, most + 1), CHELA_EINVAL);
    assert_int_equal(read_calls(1, most + 1), CHELA_EINVAL);
}

/* Reasoning of the last turn stays, with all texts in their order. */
static void test_reasoning_of_turns(void **state) {
    static const int turns[] = {1, 2, 2, 1, 3};
    CH_BUF_AUTO json = {0}, got = {0};
    (void)state;
    for (size_t i = 0; i < CH_LEN(turns); i++) {
        CH_BUF_AUTO sealed = {0}, name = {0};
        ch_buf_addf(&name, "t%d", turns[i]);
        struct ch_sealed_reasoning r = {.block = {.name = ch_buf_sv(&name)},
                                        .by = {"openai", CH_SV("m"), CH_SV("openai/m")},
                                        .turn = turns[i]};
        ch_reasoning_seal(&r, &sealed);
        ch_buf_addf(&json, "%s{\"role\":\"assistant\",\"content\":\"%zu\",\"reasoning_details\":"
                    "[{\"data\":\"%s\"}]}", i ? "," : "", i, ch_buf_str(&sealed));
    }
    ch_buf_add_str(&json, "," USER);
    assert_int_equal(read_all(ch_buf_str(&json), &got), 0);
    assert_string_equal(ch_buf_str(&got), "assistant:0,1,2,3,t3,4;user:hi;|");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_histories),
                                       cmocka_unit_test(test_number_of_calls),
                                       cmocka_unit_test(test_reasoning_of_turns),
                                       cmocka_unit_test(test_keep_new_of_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
