/* test_aftermath.c -- files that were set aside: of several attempts of one call, and very many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "tool/call/aftermath.h"
#include "tool/process/held_text.h"

static struct ch_buf stored;

static void keep(chela_call *call, const char *state) {
    (void)call;
    ch_buf_add_str(&stored, state);
}

static enum chela_decision ask(chela_call *call, const struct ch_ask *question, char **reason) {
    (void)call, (void)question, (void)reason;
    return CHELA_DENY;
}

/* The attempts of a call that is repeated: the person is asked about the files of all. */
static void test_two_attempts(void **state) {
    static struct ch_held one = {"/w", "first", "first.held", "it is run", 1},
                          two = {"/w", "second", "second.held", "it is run", 2};
    struct ch_held_list lists[] = {{.v = &one, .n = 1}, {.v = &two, .n = 1}, {0}};
    struct ch_call_env env = {.ask = ask, .ask_means = CH_CONSENT_ASK, .checkpoint = keep};
    chela_call call = {.name = "tool", .workspace = "/w", .env = &env};

    (void)state;
    assert_int_equal(ch_loop_new(NULL, NULL, &env.loop, NULL), 0);
    for (size_t i = 0; i < CH_LEN(lists); i++)
        ch_aftermath_set(&call, &lists[i]);
    assert_true(ch_aftermath_asks(&call));
    const char *names[] = {"[first was set aside", "[second was set aside", "\"name\":\"first\"",
                           "\"name\":\"second\""};
    for (size_t i = 0; i < CH_LEN(names); i++)
        assert_non_null(strstr(ch_buf_str(&stored), names[i]));
    ch_buf_release(&stored);
    ch_arena_release(&call.arena);
    ch_loop_close(env.loop, NULL, NULL);
}

/* Of many files few are named, those that are still there first. */
static void test_many(void **state) {
    enum { MANY = 10000 };
    struct ch_held *many = ch_alloc(MANY * sizeof(*many));
    struct ch_held_list list = {.v = many, .n = MANY, .more = 7};
    CH_BUF_AUTO text = {0};

    (void)state;
    for (size_t i = 0; i < MANY; i++)
        many[i] = (struct ch_held){"/w/sub", ".envrc", i < MANY - 1 ? ".envrc.held" : NULL,
                                   "it is run", 1};
    ch_held_text(&list, "/w", &text);
    assert_true(text.n < 4000);
    const char *first = "[sub/.envrc could not be set aside and is still there: it is run]\n";
    assert_memory_equal(ch_buf_str(&text), first, strlen(first));
    assert_non_null(strstr(ch_buf_str(&text), "[9980 more files were set aside"));
    assert_non_null(strstr(ch_buf_str(&text), "[7 further files were set aside"));
    ch_free(many);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_two_attempts),
                                       cmocka_unit_test(test_many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
