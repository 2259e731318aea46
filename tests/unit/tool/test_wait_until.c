/* test_wait_until.c -- the tool wait_until, and waits of calls that another process continues. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "support/toolkit.h"
#include "tool/builtin/builtin.h"
#include "tool/registry/settings.h"

static char *stored;      /* the last state of a call; owned */
static int64_t asked_ms;  /* the last wait that the owner was asked about */
static bool owner_wakes;  /* the owner resumes the batch */

static void on_checkpoint(const struct ch_block *call, enum chela_effect effect, const char *key,
                          const char *state, void *user) {
    (void)call;
    (void)key;
    (void)user;
    assert_int_equal(effect, CHELA_EFFECT_READ);
    ch_free(stored);
    stored = ch_strdup(state);
}

static bool on_timer(int64_t ms, void *user) {
    (void)user;
    asked_ms = ms;
    return owner_wakes;
}

static struct ch_tool_settings *open_kit(struct kit *k) {
    static const char *const list[] = {"wait.enabled=true", NULL};
    struct ch_settings_opts opts = {.list = list};
    struct ch_tool_settings *settings = NULL;

    kit_init(k);
    k->ops.checkpoint = on_checkpoint;
    k->ops.timer = on_timer;
    owner_wakes = true;
    asked_ms = 0;
    assert_int_equal(ch_settings_new(&opts, &settings, NULL), 0);
    assert_int_equal(ch_builtin_add_with(&k->registry, settings, "wait_until", NULL, NULL), 0);
    return settings;
}

static void close_kit(struct kit *k, struct ch_tool_settings *settings) {
    kit_free(k);
    ch_settings_unref(settings);
    ch_free(stored);
    stored = NULL;
}

static void test_arguments(void **state) {
    static const struct {
        const char *arguments, *want; /* of the content */
        bool fails;
    } rows[] = {
        {"{\"seconds\":0}", "The wait is over. It is 2", false},
        {"{\"seconds\":0.02}", "The wait is over", false},
        {"{\"until\":\"2001-02-03T04:05:06Z\"}", "The wait is over", false},
        {"{\"until\":\"2001-02-03\"}", "The wait is over", false},
        {"{}", "either until or seconds", true},
        {"{\"seconds\":1,\"until\":\"2001-02-03\"}", "either until or seconds", true},
        {"{\"seconds\":-1}", "either until or seconds", true},
        {"{\"seconds\":1e300}", "at most 366 days", true},
        {"{\"seconds\":\"soon\"}", "seconds", true},
        {"{\"until\":\"9999-01-01T00:00:00Z\"}", "at most 366 days", true},
        {"{\"until\":\"tomorrow\"}", "no time", true},
        {"{\"until\":\"07:30\"}", "no time", true},
    };

    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        struct kit k;
        struct ch_tool_settings *settings = open_kit(&k);
        kit_call(&k, "wait_until", rows[i].arguments);
        if (k.is_error != rows[i].fails || !strstr(k.content, rows[i].want))
            fail_msg("%s: %s", rows[i].arguments, k.content);
        assert_int_equal(asked_ms, 0); /* such a wait is too short for a pause */
        close_kit(&k, settings);
    }
}

/* A long wait pauses the batch; the next process gets the state. */
static void test_another_process(void **state) {
    static const struct kit_call call = {"c", "wait_until", "{\"seconds\":3000}", 0};
    int64_t now = ch_now_ms(&ch_clock_system);
    struct kit k;

    (void)state;
    struct ch_tool_settings *settings = open_kit(&k);
    kit_start(&k, &call, 1);
    kit_wait(&k);
    assert_int_equal(k.waiting, 1);
    assert_true(asked_ms > 2990000 && asked_ms <= 3000000);
    struct ch_batch_waits w = ch_batch_waits(k.batch);
    assert_int_equal(w.timers, 1);
    assert_int_equal(w.answers + w.approvals + w.questions, 0);
    assert_true(w.due >= now + 3000000 && w.due <= now + 3060000);
    assert_int_equal(ch_batch_answer(k.batch, CH_SV("c"), CH_SV("x"), false, NULL), CHELA_ENOENT);
    assert_non_null(stored);
    kit_end(&k);

    /* too early: the wait goes on to the same time, whatever the arguments say */
    kit_start(&k, &call, 1);
    ch_batch_restore(k.batch, 0, stored);
    kit_wait(&k);
    assert_int_equal(k.waiting, 1);
    assert_int_equal(ch_batch_waits(k.batch).due, w.due);
    k.over = false;
    ch_batch_resume(k.batch); /* somebody resumes the run for another reason */
    kit_wait(&k);
    assert_int_equal(k.waiting, 1);
    assert_int_equal(ch_batch_waits(k.batch).due, w.due);
    k.over = false;
    ch_batch_skip(k.batch, "Skipped: a message came.");
    ch_batch_resume(k.batch);
    kit_wait(&k);
    assert_int_equal(k.waiting, 0);
    assert_non_null(strstr(k.content, "a message came"));
    kit_end(&k);

    /* late: the wait is over */
    kit_start(&k, &call, 1);
    ch_batch_restore(k.batch, 0, "{\"chela_wait\":{\"until\":1000,\"since\":900,"
                                 "\"attempts\":0,\"sleeps\":true}}");
    kit_wait(&k);
    assert_int_equal(k.waiting, 0);
    assert_non_null(strstr(k.content, "The wait is over"));
    close_kit(&k, settings);
}

static void test_cancelled(void **state) {
    static const struct kit_call call = {"c", "wait_until", "{\"seconds\":3000}", 0};
    struct kit k;

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct ch_tool_settings *settings = open_kit(&k);
        owner_wakes = i;
        kit_start(&k, &call, 1);
        if (i)
            kit_wait(&k);
        k.over = false;
        ch_batch_cancel(k.batch, "enough");
        kit_wait(&k);
        assert_int_equal(k.waiting, 0);
        assert_true(k.is_error);
        close_kit(&k, settings);
    }
}

/* States of other tools, and damaged ones, are none of a wait. */
static void test_other_states(void **state) {
    static const char *const states[] = {"{\"task\":\"t\"}", "", "no json", "[]",
                                         "{\"chela_wait\":7}",
                                         "{\"chela_wait\":{\"attempts\":-5,\"until\":\"x\"}}"};

    (void)state;
    for (size_t i = 0; i < CH_LEN(states); i++) {
        static const struct kit_call call = {"c", "wait_until", "{\"seconds\":0}", 0};
        struct kit k;
        struct ch_tool_settings *settings = open_kit(&k);
        kit_start(&k, &call, 1);
        ch_batch_restore(k.batch, 0, states[i]);
        kit_wait(&k);
        assert_non_null(strstr(k.content, "The wait is over"));
        close_kit(&k, settings);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_another_process),
        cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_other_states),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
