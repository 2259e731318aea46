/* test_lookup.c -- agents, sessions and runs found by name, and ids. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/handle/lookup.h"
#include "agent/handle/run.h"
#include "base/mem.h"
#include "base/random_id.h"

/* A runtime with agents in the order of the array. */
static void enlist(chela_runtime *rt, chela_agent *agents, size_t n) {
    ch_list_init(&rt->agents);
    for (size_t i = 0; i < n; i++) {
        ch_list_init(&agents[i].sessions);
        ch_list_add(&rt->agents, &agents[i].link);
    }
}

static void test_agents(void **state) {
    (void)state;
    chela_agent a[] = {
        {.id = (char[]){"main"}}, {.id = (char[]){"helper"}}, {.id = (char[]){"main"}},
        {.id = (char[]){"main"}, .closed = true},   /* newer, but closed */
        {.id = (char[]){"main"}, .base = &a[2]},    /* newer, but an override */
        {.id = (char[]){"gone"}, .closed = true},   {.id = (char[]){"override"}, .base = &a[4]},
        {.id = (char[]){""}},
    };
    static const struct {
        const char *id;
        int found; /* index of the agent; -1: none */
    } cases[] = {
        {"main", 2}, {"helper", 1}, {"gone", -1},  {"override", -1}, {"", 7},
        {"mai", -1}, {"main ", -1}, {"Main", -1}, {"none", -1},
    };
    chela_runtime rt = {0};
    enlist(&rt, a, 0);
    assert_null(ch_agent_find(&rt, "main")); /* no agents */
    enlist(&rt, a, CH_LEN(a));
    for (size_t i = 0; i < CH_LEN(cases); i++)
        if (ch_agent_find(&rt, cases[i].id) != (cases[i].found < 0 ? NULL : &a[cases[i].found]))
            fail_msg("agent '%s'", cases[i].id);
    assert_ptr_equal(ch_agent_root(&a[2]), &a[2]);
    assert_ptr_equal(ch_agent_root(&a[4]), &a[2]);
    assert_ptr_equal(ch_agent_root(&a[6]), &a[2]); /* an override of an override */
}

static void test_sessions_and_runs(void **state) {
    (void)state;
    chela_run runs[] = {{.id = "run_1"}, {.id = "run_2"}};
    chela_session s[] = {
        {.key = (char[]){"one"}, .run = &runs[0]},
        {.key = (char[]){"two"}}, /* has had no run yet */
        {.key = (char[]){"three"}, .run = &runs[1]},
        {.key = (char[]){"of an override"}},
        {.key = (char[]){"of a closed agent"}},
    };
    chela_agent a[] = {{.id = (char[]){"a"}},
                       {.id = (char[]){"none"}},
                       {.id = (char[]){"b"}, .base = &a[0]},
                       {.id = (char[]){"c"}, .closed = true}};
    static const size_t agent_of[] = {0, 0, 0, 2, 3};
    static const char *const no_keys[] = {"", "on", "one ", "ONE", "run_1", "a"};
    static const char *const no_ids[] = {"", "run_", "run_2", "run_11", "one"};
    chela_runtime rt = {0};
    enlist(&rt, a, CH_LEN(a));
    assert_null(ch_session_find(&rt, CH_SV("one")));
    assert_null(ch_run_find(&rt, "one", "run_1"));
    for (size_t i = 0; i < CH_LEN(s); i++) {
        ch_list_add(&a[agent_of[i]].sessions, &s[i].link);
        ch_key_table_add(&rt.sessions, &s[i].by_key, s[i].key);
    }
    for (size_t i = 0; i < CH_LEN(s); i++)
        assert_ptr_equal(ch_session_find(&rt, ch_sv_str(s[i].key)), &s[i]);
    assert_ptr_equal(ch_run_find(&rt, "one", "run_1"), &runs[0]);
    assert_ptr_equal(ch_run_find(&rt, "three", "run_2"), &runs[1]);
    assert_null(ch_run_find(&rt, "two", "run_1"));
    assert_null(ch_run_find(&rt, "four", "run_1"));
    for (size_t i = 0; i < CH_LEN(no_keys); i++)
        assert_null(ch_session_find(&rt, ch_sv_str(no_keys[i])));
    for (size_t i = 0; i < CH_LEN(no_ids); i++)
        assert_null(ch_run_find(&rt, "one", no_ids[i]));
    ch_list_del(&s[0].link);
    ch_key_table_del(&rt.sessions, &s[0].by_key);
    assert_null(ch_session_find(&rt, CH_SV("one")));
    assert_null(ch_run_find(&rt, "one", "run_1")); /* the session is not open any more */
    ch_key_table_release(&rt.sessions);
}

struct fixture {
    chela_runtime rt;
    struct ch_timer timer;
    bool fired;
    unsigned freed;
};

static void on_timer(struct ch_timer *t) {
    CH_CONTAINER(t, struct fixture, timer)->fired = true;
}

static void on_free(struct ch_task *t) {
    CH_CONTAINER(t, struct fixture, rt.free_closed)->freed++;
}

static void open_loop(struct fixture *f) {
    struct chela_error err = {0};
    *f = (struct fixture){.rt = {.idle = true, .free_closed = {.fn = on_free}}};
    assert_int_equal(ch_loop_new(NULL, NULL, &f->rt.loop, &err), 0);
}

/* A timer alone does not keep the loop running; work in progress does. */
static void test_busy(void **state) {
    (void)state;
    static const struct {
        bool busy;
        unsigned running;
    } steps[] = {{true, 1}, {true, 2}, {false, 1}, {true, 2}, {false, 1}, {false, 0}, {true, 1},
                 {false, 0}};
    struct fixture f;
    open_loop(&f);
    for (size_t i = 0; i < CH_LEN(steps); i++) {
        ch_runtime_busy(&f.rt, steps[i].busy);
        assert_int_equal(f.rt.running, steps[i].running);
        assert_int_equal(f.rt.idle, steps[i].running == 0);
        f.fired = false;
        ch_timer_start(f.rt.loop, &f.timer, 0, on_timer);
        assert_int_equal(ch_loop_run(f.rt.loop, &f.fired), steps[i].running ? 0 : CHELA_ESTATE);
        assert_int_equal(f.fired, steps[i].running > 0);
        ch_timer_stop(f.rt.loop, &f.timer);
    }
    ch_loop_close(f.rt.loop, NULL, NULL);
}

/* Closed objects are freed on the next turn, not in the call, and once. */
static void test_free_soon(void **state) {
    (void)state;
    struct fixture f;
    open_loop(&f);
    ch_runtime_free_soon(&f.rt);
    ch_runtime_free_soon(&f.rt);
    assert_int_equal(f.freed, 0);
    ch_loop_tick(f.rt.loop);
    ch_loop_tick(f.rt.loop);
    assert_int_equal(f.freed, 1);
    ch_runtime_free_soon(&f.rt);
    ch_loop_tick(f.rt.loop);
    assert_int_equal(f.freed, 2);
    ch_loop_close(f.rt.loop, NULL, NULL);
}

/* A prefix, of which 7 characters fit, and 16 digits. */
static void test_random_id(void **state) {
    (void)state;
    static const struct {
        const char *prefix, *kept;
    } cases[] = {
        {"run_", "run_"},
        {"", ""},
        {"a", "a"},
        {"1234567", "1234567"},
        {"12345678", "1234567"},
        {"a very long prefix that does not fit", "a very "},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        size_t n = strlen(cases[i].kept);
        char id[24], other[24];
        memset(id, '?', sizeof(id));
        ch_random_id(cases[i].prefix, id);
        assert_non_null(memchr(id, '\0', sizeof(id)));
        assert_int_equal(strlen(id), n + 16);
        assert_memory_equal(id, cases[i].kept, n);
        assert_int_equal(strspn(id + n, "0123456789abcdef"), 16);
        ch_random_id(cases[i].prefix, other);
        assert_string_not_equal(id, other);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agents),
        cmocka_unit_test(test_sessions_and_runs),
        cmocka_unit_test(test_busy),
        cmocka_unit_test(test_free_soon),
        cmocka_unit_test(test_random_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
