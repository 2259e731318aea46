/* test_ask_user.c -- a question to a person: the call waits, the host answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/mem.h"
#include "support/toolkit.h"
#include "tool/builtin/builtin.h"
#include "tool/call/function.h"

static const struct {
    const char *arguments;
    const char *refused; /* NULL: it waits for an answer */
} cases[] = {
    {"{\"question\":\"Which?\"}", NULL},
    {"{\"question\":\"Which?\",\"choices\":[\"a\",\"b\"]}", NULL},
    {"{\"question\":\"Which?\",\"choices\":null}", NULL},
    {"{\"prompt\":\"Which?\",\"options\":[\"a\"]}", NULL},
    {"{}", "question\\\" is missing"},
    {"{\"question\":\" \"}", "must have between"},
    {"{\"question\":\"Which?\",\"choices\":{}}", "must be an array"},
    {"{\"question\":\"Which?\",\"choices\":[{}]}", "must be a string"},
    {"{\"question\":\"Which?\",\"choices\":[\"\"]}", "a string of 1 to 4000 bytes"},
    {"{\"question\":\"Q\",\"choices\":[\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\","
     "\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\"]}",
     "At most 20"},
};

static void test_cases(void **state) {
    struct kit k;

    (void)state;
    kit_init(&k);
    ch_builtin_add_with(&k.registry, NULL, NULL, NULL, NULL);
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        kit_start(&k, &(struct kit_call){"c", "ask_user", cases[i].arguments, 0}, 1);
        kit_wait(&k);
        if (cases[i].refused ? !k.content || !strstr(k.content, cases[i].refused)
                             : !strstr(ch_buf_str(&k.log), "client c;over 1;"))
            fail_msg("%s: %s %s", cases[i].arguments, ch_buf_str(&k.log), k.content);
        assert_int_equal(ch_batch_waits(k.batch).questions, cases[i].refused ? 0 : 1);
        if (cases[i].refused)
            continue;
        k.over = false;
        assert_int_equal(ch_batch_answer(k.batch, CH_SV("c"), CH_SV("the second"), false, NULL), 0);
        ch_batch_resume(k.batch);
        kit_wait(&k);
        assert_string_equal(k.content, "the second");
        assert_int_equal(ch_batch_waits(k.batch).questions, 0);
    }
    kit_free(&k);
}

/* Another tool that the host runs is no question to a person. */
static void test_other_client(void **state) {
    struct kit k;
    struct chela_tool_opts opts = CHELA_TOOL_OPTS(.name = "other", .flags = CHELA_TOOL_CLIENT);
    static const struct kit_call calls[] = {{"a", "other", "{}", 0},
                                            {"b", "ask_user", "{\"question\":\"Q\"}", 0}};

    (void)state;
    kit_init(&k);
    ch_builtin_add_with(&k.registry, NULL, NULL, NULL, NULL);
    ch_function_add(&k.registry, &opts, NULL);
    kit_start(&k, calls, 2);
    kit_wait(&k);
    struct ch_batch_waits w = ch_batch_waits(k.batch);
    assert_int_equal(w.answers, 2);
    assert_int_equal(w.questions, 1);
    kit_free(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_other_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
