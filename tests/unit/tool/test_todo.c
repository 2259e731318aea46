/* test_todo.c -- a list that outlives calls and belongs to one session. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "support/toolkit.h"
#include "tool/builtin/builtin.h"
#include "tool/call/state.h"

static void setup(struct kit *k, struct ch_session_state *state) {
    kit_init(k);
    ch_builtin_add_with(&k->registry, NULL, NULL, NULL, NULL);
    k->opts.state = state;
}

/* One after the other, on the same list. '!': refused with this. */
static const struct {
    const char *what, *arguments, *want;
} steps[] = {
    {"nothing yet", "{}", "The list is empty."},
    {"replace",
     "{\"todos\":[{\"content\":\"read\"},{\"content\":\"write\",\"status\":"
     "\"in_progress\"},{\"content\":\"test\",\"status\":\"pending\"}]}",
     "0 of 3 done\n[ ] 1. read\n[>] 2. write\n[ ] 3. test\n"},
    {"list", "{\"action\":\"list\"}", "0 of 3 done\n[ ] 1. read\n[>] 2. write\n[ ] 3. test\n"},
    {"update a status", "{\"action\":\"update\",\"todos\":[{\"id\":1,\"status\":\"completed\"}]}",
     "1 of 3 done\n[x] 1. read\n[>] 2. write\n[ ] 3. test\n"},
    {"update a text",
     "{\"action\":\"update\",\"todos\":[{\"id\":\"3\",\"content\":\" test\\nall "
     "\"}]}",
     "1 of 3 done\n[x] 1. read\n[>] 2. write\n[ ] 3. test all\n"},
    {"add by updating", "{\"action\":\"update\",\"todos\":[{\"content\":\"ship\"}]}",
     "1 of 4 done\n[x] 1. read\n[>] 2. write\n[ ] 3. test all\n[ ] 4. ship\n"},
    {"all or nothing",
     "{\"action\":\"update\",\"todos\":[{\"id\":2,\"status\":\"completed\"},"
     "{\"id\":9,\"status\":\"completed\"}]}",
     "!There is no entry 9; the list has 4."},
    {"nothing happened", "{}",
     "1 of 4 done\n[x] 1. read\n[>] 2. write\n[ ] 3. test all\n[ ] 4. ship\n"},
    {"other words",
     "{\"items\":[\"one\",{\"text\":\"two\",\"status\":\"done\"},{\"title\":\"three\","
     "\"status\":\"canceled\"}]}",
     "2 of 3 done\n[ ] 1. one\n[x] 2. two\n[-] 3. three\n"},
    {"in a string", "{\"todos\":\"[{\\\"content\\\":\\\"x\\\"}]\"}", "0 of 1 done\n[ ] 1. x\n"},
    {"no escapes", "{\"todos\":[{\"content\":\"a\\u001b[31mb\"}]}", "0 of 1 done\n[ ] 1. ab\n"},
    {"clear", "{\"todos\":[]}", "The list is empty."},
    {"no text", "{\"todos\":[{\"status\":\"pending\"}]}", "!needs its text"},
    {"empty text", "{\"todos\":[{\"content\":\" \"}]}", "!has no text"},
    {"bad status", "{\"todos\":[{\"content\":\"a\",\"status\":\"maybe\"}]}", "!A status must be"},
    {"bad action", "{\"action\":\"burn\"}", "!must be replace, update or list"},
    {"no list", "{\"action\":\"replace\"}", "!is missing"},
    {"not a list", "{\"todos\":7}", "!must be an array"},
    {"no id", "{\"action\":\"update\",\"todos\":[{\"status\":\"completed\"}]}", "!needs the id"},
};

static void test_steps(void **state) {
    struct ch_session_state session = {0};
    struct kit k;

    (void)state;
    setup(&k, &session);
    for (size_t i = 0; i < CH_LEN(steps); i++) {
        bool error = steps[i].want[0] == '!';
        const char *got = kit_call(&k, "todo", steps[i].arguments);
        if (k.is_error != error ||
            (error ? !strstr(got, steps[i].want + 1) : strcmp(got, steps[i].want) != 0))
            fail_msg("%s: %s", steps[i].what, got);
    }
    kit_call(&k, "todo", "{\"todos\":[{\"content\":\"a\",\"status\":\"in_progress\"}]}");
    assert_string_equal(k.details,
                        "{\"todos\":[{\"id\":1,\"content\":\"a\",\"status\":\"in_progress\"}]}");
    kit_free(&k);
    ch_session_state_release(&session);
}

static void test_sessions(void **state) {
    struct ch_session_state one = {0}, two = {0};
    struct kit k;

    (void)state;
    setup(&k, &one);
    kit_call(&k, "todo", "{\"todos\":[{\"content\":\"mine\"}]}");
    k.opts.state = &two;
    assert_string_equal(kit_call(&k, "todo", "{}"), "The list is empty.");
    k.opts.state = NULL; /* no session: the list lives as long as the batch */
    assert_non_null(strstr(kit_call(&k, "todo", "{\"todos\":[\"x\"]}"), "1. x"));
    assert_string_equal(kit_call(&k, "todo", "{}"), "The list is empty.");
    k.opts.state = &one;
    assert_string_equal(kit_call(&k, "todo", "{}"), "0 of 1 done\n[ ] 1. mine\n");
    kit_free(&k);
    ch_session_state_release(&one);
    ch_session_state_release(&two);
}

static void test_bounds(void **state) {
    struct ch_session_state session = {0};
    struct kit k;
    CH_BUF_AUTO full = {0}, more = {0};

    (void)state;
    setup(&k, &session);
    ch_buf_add_str(&full, "{\"todos\":[");
    for (int i = 0; i < CH_LIMIT_STEPS; i++) {
        ch_buf_addf(&full, "%s\"", i ? "," : "");
        for (int n = 0; n < 300; n++)
            ch_buf_add_str(&full, "\xe4\xbd\xa0");
        ch_buf_addc(&full, '"');
    }
    ch_buf_add_sv(&more, ch_buf_sv(&full));
    ch_buf_add_str(&full, "]}");
    ch_buf_add_str(&more, ",\"x\"]}");
    const char *got = kit_call(&k, "todo", ch_buf_str(&full));
    assert_false(k.is_error);
    assert_null(strstr(got, "\xef\xbf\xbd")); /* no character is split */
    kit_call(&k, "todo", ch_buf_str(&more));
    assert_true(k.is_error);
    kit_call(&k, "todo", "{\"action\":\"update\",\"todos\":[{\"content\":\"one more\"}]}");
    assert_true(k.is_error);
    kit_free(&k);
    ch_session_state_release(&session);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_sessions),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
