/* test_spilling.c -- long results through the whole path: shaped off the loop,
 * to the model's measure, and kept in a file that the tool `read` reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "support/toolkit.h"
#include "tool/builtin/builtin.h"
#include "tool/call/call.h"
#include "tool/call/function.h"
#include "tool/call/command.h"

/* {"lines": n} numbered lines. */
static int talk(chela_call *call, void *user) {
    int64_t n = 0;

    (void)user;
    chela_arg_int_opt(call, "lines", &n);
    for (int64_t i = 0; i < n; i++)
        chela_result_printf(call, "this is line %lld\n", (long long)i);
    return 0;
}

static int talk_later(chela_call *call, void *user) {
    chela_call_defer(call);
    talk(call, user);
    chela_call_finish(call);
    return 0;
}

static void setup(struct kit *k, const char *builtins) {
    static const struct chela_tool_opts tools[] = {
        CHELA_TOOL_OPTS(.name = "on_thread", .fn = talk),
        CHELA_TOOL_OPTS(.name = "on_loop", .fn = talk, .flags = CHELA_TOOL_ON_LOOP),
        CHELA_TOOL_OPTS(.name = "deferred", .fn = talk_later, .flags = CHELA_TOOL_ON_LOOP),
        CHELA_TOOL_OPTS(.name = "client", .flags = CHELA_TOOL_CLIENT),
    };
    static const char *const argv[] = {"/bin/sh", "-c",
                                       "i=0; while [ $i -lt 5000 ]; do echo this is line $i; "
                                       "i=$((i+1)); done",
                                       NULL};
    struct ch_command_opts command = {.tool = CHELA_TOOL_OPTS(.name = "program"), .argv = argv};

    kit_init(k);
    ch_builtin_add_with(&k->registry, NULL, builtins, NULL, NULL);
    for (size_t i = 0; i < CH_LEN(tools); i++)
        assert_int_equal(ch_function_add(&k->registry, &tools[i], NULL), 0);
    assert_int_equal(ch_command_add(&k->registry, &command, NULL), 0);
}

/* The path in "... is in .chela/spill/x.txt: ..."; ch_free. */
static char *spilled_to(const char *content) {
    const char *at = strstr(content, ".chela/spill/"), *end = at ? strstr(at, ".txt") : NULL;

    return end ? ch_strndup(at, (size_t)(end + 4 - at)) : NULL;
}

static void test_every_kind(void **state) {
    static const char *const names[] = {"on_thread", "on_loop", "deferred", "program"};
    struct kit k;

    (void)state;
    setup(&k, "read");
    for (size_t i = 0; i < CH_LEN(names); i++) {
        const char *got = kit_call(&k, names[i], "{\"lines\":5000}");
        assert_true(k.truncated);
        assert_true(strlen(got) <= CH_LIMIT_RESULT_CHARS);
        CH_BUF_AUTO head = {0}, arguments = {0};
        ch_buf_addf(&head, "[%s: ok, ", names[i]);
        assert_int_equal(strncmp(got, ch_buf_str(&head), head.n), 0);
        CH_AUTOFREE char *path = spilled_to(got);
        assert_non_null(path);
        ch_buf_addf(&arguments, "{\"file_path\":\"%s\",\"offset\":4990}", path);
        got = kit_call(&k, "read", ch_buf_str(&arguments));
        assert_int_equal(strncmp(got, "this is line 4989\n", 18), 0);
        assert_non_null(strstr(got, "this is line 4999\n"));
    }
    kit_free(&k);
}

static void test_window(void **state) {
    static const struct {
        int64_t window;
        size_t least, most;
    } cases[] = {
        {0, 15000, 16000},      {4000, 4300, 4800},     {50000, 15000, 16000},
        {100000, 31000, 32000}, {200000, 63000, 64000}, {2000000, 63000, 64000},
    };
    struct kit k;

    (void)state;
    setup(&k, "read");
    CH_BUF_AUTO text = {0};
    for (int i = 0; i < 10000; i++)
        ch_buf_addf(&text, "line %d of a file\n", i);
    kit_put(&k, "f", ch_buf_str(&text));
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        k.opts.window = cases[i].window;
        size_t n = strlen(kit_call(&k, i % 2 ? "on_thread" : "on_loop", "{\"lines\":10000}"));
        assert_true(n >= cases[i].least - 700 && n <= cases[i].most);
        n = strlen(kit_call(&k, "read", "{\"file_path\":\"f\"}"));
        assert_false(k.truncated); /* it fits by itself */
        assert_true(n <= cases[i].most);
    }
    kit_free(&k);
}

static void test_no_file(void **state) {
    struct kit k;

    (void)state;
    setup(&k, "ls"); /* who cannot read gets no file */
    CH_AUTOFREE char *none = spilled_to(kit_call(&k, "on_thread", "{\"lines\":5000}"));
    assert_null(none);
    assert_true(k.truncated);
    assert_int_equal(kit_entries(&k, "."), 0);
    kit_free(&k);
    setup(&k, "read");
    k.opts.no_spill = true;
    CH_AUTOFREE char *off = spilled_to(kit_call(&k, "on_loop", "{\"lines\":5000}"));
    assert_null(off);
    k.opts.no_spill = false;
    CH_AUTOFREE char *whole = spilled_to(kit_call(&k, "on_loop", "{\"lines\":10}"));
    assert_null(whole);
    assert_false(k.truncated);
    assert_int_equal(kit_entries(&k, "."), 0);
    kit_free(&k);
}

static void test_answer(void **state) {
    struct kit k;
    CH_BUF_AUTO text = {0};

    (void)state;
    setup(&k, "read");
    k.opts.window = 100000;
    for (int i = 0; i < 50000; i++)
        ch_buf_add_str(&text, "x");
    kit_start(&k, &(struct kit_call){"c", "client", "{}", 0}, 1);
    kit_wait(&k);
    k.over = false;
    assert_int_equal(ch_batch_answer(k.batch, CH_SV("c"), ch_buf_sv(&text), false, NULL), 0);
    ch_batch_resume(k.batch);
    kit_wait(&k);
    assert_true(k.truncated);
    assert_true(strlen(k.content) > 31000 && strlen(k.content) <= 32000);
    assert_int_equal(kit_entries(&k, "."), 0);
    kit_free(&k);
}

/* While the first call's result is on its way through a worker, the batch is
 * cancelled, or closed. */
static void on_second(const struct ch_block *call, void *user) {
    struct kit *k = user;

    if (!ch_sv_is(call->id, "b"))
        return;
    if (k->opts.turn == 1) {
        ch_batch_cancel(k->batch, "enough");
        return;
    }
    ch_batch_close(k->batch);
    k->batch = NULL;
    k->over = true;
}

static void test_interrupted(void **state) {
    static const struct kit_call calls[] = {
        {"a", "on_loop", "{\"lines\":500000}", 0},
        {"b", "on_loop", "{\"lines\":1}", 0},
    };

    (void)state;
    for (unsigned turn = 1; turn <= 2; turn++) {
        struct kit k;
        setup(&k, "read");
        k.opts.turn = turn;
        k.ops.started = on_second;
        kit_start(&k, calls, 2);
        kit_wait(&k);
        if (turn == 1) {
            k.results = ch_batch_message(k.batch, 0);
            assert_true(k.results->blocks[0].flags & CH_F_ERROR);
        }
        kit_free(&k);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind),  cmocka_unit_test(test_window),
        cmocka_unit_test(test_no_file),     cmocka_unit_test(test_answer),
        cmocka_unit_test(test_interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
