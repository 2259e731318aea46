/* test_defer.c -- calls that are finished later: told of a cancel, once, and
 * what a tool was given is given back when nothing needs it any more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <unistd.h>

#include "base/mem.h"
#include "support/toolkit.h"
#include "tool/call/function.h"

struct probe {
    chela_call *call; /* not finished yet */
    int told;         /* times that on_cancel came */
    bool finish_late; /* not in on_cancel */
    int released;
};

static void on_cancel(chela_call *call, void *user) {
    struct probe *p = user;

    p->told++;
    assert_ptr_equal(call, p->call);
    assert_true(chela_call_cancelled(call));
    if (!p->finish_late) {
        p->call = NULL;
        chela_call_finish(call);
    }
}

static int waits(chela_call *call, void *user) {
    struct probe *p = user;

    p->call = call;
    chela_call_on_cancel(call, on_cancel, p);
    chela_call_defer(call);
    return 0;
}

static int answers(chela_call *call, void *user) {
    struct probe *p = user;

    chela_call_on_cancel(call, on_cancel, p);
    chela_call_defer(call);
    chela_result_text(call, "done", 4);
    chela_call_finish(call);
    return 0;
}

static void release(void *user) {
    ((struct probe *)user)->released++;
}

static void setup(struct kit *k, struct probe *p, chela_tool_fn *fn, int64_t timeout_ms) {
    struct chela_tool_opts opts =
        CHELA_TOOL_OPTS(.name = "t", .fn = fn, .user = p, .flags = CHELA_TOOL_ON_LOOP,
                        .timeout_ms = timeout_ms, .release = release);
    kit_init(k);
    assert_int_equal(ch_function_add(&k->registry, &opts, NULL), 0);
}

static void test_timeout(void **state) {
    struct probe p = {0};
    struct kit k;

    (void)state;
    setup(&k, &p, waits, 20);
    kit_call(&k, "t", "{}");
    assert_string_equal(k.error_type, "timeout");
    assert_int_equal(p.told, 1);
    kit_free(&k);
    assert_int_equal(p.told, 1);
    assert_int_equal(p.released, 1);
}

static void test_cancel(void **state) {
    struct probe p = {0};
    struct kit_call call = {"c", "t", "{}", 0};
    struct kit k;

    (void)state;
    setup(&k, &p, waits, -1);
    kit_start(&k, &call, 1);
    while (!p.call)
        ch_loop_tick(k.loop);
    ch_batch_cancel(k.batch, "enough");
    assert_int_equal(p.told, 1);
    kit_wait(&k);
    assert_string_equal(k.error_type, "cancelled");
    kit_free(&k);
    assert_int_equal(p.released, 1);
}

/* The batch goes away while the call is open: it is told, and what it was
 * given stays until it has finished. */
static void test_abandoned(void **state) {
    struct kit_call call = {"c", "t", "{}", 0};

    (void)state;
    for (int late = 0; late < 2; late++) {
        struct probe p = {.finish_late = late};
        struct kit k;
        setup(&k, &p, waits, -1);
        kit_start(&k, &call, 1);
        while (!p.call)
            ch_loop_tick(k.loop);
        kit_free(&k);
        assert_int_equal(p.told, 1);
        assert_int_equal(p.released, !late);
        if (late)
            chela_call_finish(p.call);
        assert_int_equal(p.released, 1);
    }
}

static void test_not_told_once_finished(void **state) {
    struct probe p = {0};
    struct kit k;

    (void)state;
    setup(&k, &p, answers, 50);
    assert_string_equal(kit_call(&k, "t", "{}"), "done");
    kit_free(&k);
    assert_int_equal(p.told, 0);
    assert_int_equal(p.released, 1);
}

static void test_release(void **state) {
    struct ch_registry r = {0};
    struct probe p = {0};
    struct chela_tool_opts opts =
        CHELA_TOOL_OPTS(.name = "t", .fn = answers, .user = &p, .release = release);

    (void)state;
    assert_int_equal(ch_function_add(&r, &opts, NULL), 0);
    assert_int_equal(ch_function_add(&r, &opts, NULL), CHELA_EEXIST);
    assert_int_equal(p.released, 0); /* what was refused is still the caller's */
    struct ch_tool *held = ch_registry_find(&r, CH_SV("t"));
    ch_tool_ref(held);
    ch_registry_release(&r);
    assert_int_equal(p.released, 0);
    ch_tool_unref(held);
    assert_int_equal(p.released, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timeout),   cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_abandoned), cmocka_unit_test(test_not_told_once_finished),
        cmocka_unit_test(test_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
