/* test_run_counters.c -- the goal of a run and its newest errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>

#include "agent/machine/run_counters.h"
#include "base/arena.h"
#include "base/mem.h"

static void goal(struct ch_run_counters *c, const char *text) {
    struct ch_msg *m = ch_msg_text(CH_MSG_USER, ch_sv_str(text), 0);
    ch_run_counters_goal(c, m);
    ch_msg_free(m);
}

static void test_goal(void **state) {
    (void)state;
    struct ch_run_counters c = {0};
    char wide[CH_LIMIT_TITLE + 8];
    goal(&c, "  \n fix the bug \nand more");
    assert_string_equal(c.goal, "fix the bug ");
    goal(&c, " \n\t ");
    assert_null(c.goal);
    memset(wide, 'x', sizeof(wide));
    memcpy(wide + CH_LIMIT_TITLE - 1, "\xe4\xbd\xa0", 4); /* a character across the limit */
    goal(&c, wide);
    assert_int_equal(strlen(c.goal), CH_LIMIT_TITLE - 1);
    ch_run_counters_release(&c);
    assert_null(c.goal);
}

static void write_json(const struct ch_run_counters *c, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_run_counters_write(c, &w);
    ch_jw_end(&w, '}');
}

static void test_errors(void **state) {
    (void)state;
    struct ch_run_counters c = {0};
    CH_BUF_AUTO json = {0};
    write_json(&c, &json);
    assert_string_equal(ch_buf_str(&json), "{}");
    ch_run_counters_failed(&c, 1, CH_SV("read"), "not_found",
                           CH_SV("{\"error\":\"no such file\\nat all\",\"retryable\":false}"));
    ch_run_counters_failed(&c, 2, CH_SV("m"), NULL, CH_SV("plain\nsecond line"));
    ch_run_counters_failed(&c, 3, CH_SV("m"), "x", CH_SV("{\"no error\":1}"));
    ch_buf_clear(&json);
    write_json(&c, &json);
    assert_string_equal(
        ch_buf_str(&json),
        "{\"error_log\":["
        "{\"turn\":1,\"of\":\"read\",\"class\":\"not_found\",\"text\":\"no such file\"},"
        "{\"turn\":2,\"of\":\"m\",\"class\":\"\",\"text\":\"plain\"},"
        "{\"turn\":3,\"of\":\"m\",\"class\":\"x\",\"text\":\"{\\\"no error\\\":1}\"}]}");
    ch_run_counters_release(&c);
}

/* Only the newest are kept, in order, also through a journal. */
static void test_newest(void **state) {
    (void)state;
    struct ch_run_counters c = {0};
    CH_BUF_AUTO json = {0};
    CH_BUF_AUTO again = {0};
    CH_ARENA_AUTO a = {0};
    const struct ch_json *v;
    goal(&c, "work");
    for (unsigned i = 1; i <= CH_LIMIT_ERROR_LOG + 3; i++) {
        char name[16];
        snprintf(name, sizeof(name), "t%u", i);
        ch_run_counters_failed(&c, i, ch_sv_str(name), "x", CH_SV("no"));
    }
    write_json(&c, &json);
    assert_int_equal(ch_json_parse(&a, ch_buf_sv(&json), CH_JSON_STRICT, &v, NULL, NULL), 0);
    unsigned turn = 4;
    for (CH_JSON_EACH(e, ch_json_get(v, "error_log")))
        assert_int_equal(ch_json_int(ch_json_get(e, "turn"), 0), turn++);
    assert_int_equal(turn, CH_LIMIT_ERROR_LOG + 4);
    struct ch_run_counters back = ch_run_counters_read(v);
    write_json(&back, &again);
    assert_string_equal(ch_buf_str(&again), ch_buf_str(&json));
    ch_run_counters_release(&back);
    ch_run_counters_release(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goal),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_newest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
