/* test_batch.c -- many calls at once: bounded, in order, one result each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "support/toolkit.h"
#include "tool/call/function.h"

static void pause_ms(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

static void add(struct kit *k, struct chela_tool_opts opts) {
    assert_int_equal(ch_function_add(&k->registry, &opts, NULL), 0);
}

/* How many run at this moment, and what was seen. */
struct gauge {
    atomic_int running, most, alone_broken, runs;
};

static void gauge_enter(struct gauge *g, bool alone) {
    int now = atomic_fetch_add(&g->running, 1) + 1;
    int most = atomic_load(&g->most);

    atomic_fetch_add(&g->runs, 1);
    while (now > most && !atomic_compare_exchange_weak(&g->most, &most, now))
        ;
    if (alone && now != 1)
        atomic_store(&g->alone_broken, 1);
}

static void gauge_leave(struct gauge *g, bool alone) {
    if (alone && atomic_load(&g->running) != 1)
        atomic_store(&g->alone_broken, 1);
    atomic_fetch_sub(&g->running, 1);
}

static int work(chela_call *call, void *user) {
    int64_t ms = 0;

    chela_arg_int_opt(call, "ms", &ms);
    gauge_enter(user, false);
    pause_ms(ms);
    gauge_leave(user, false);
    chela_result_printf(call, "%s ok", chela_call_id(call));
    return 0;
}

static int work_alone(chela_call *call, void *user) {
    int64_t ms = 0;

    chela_arg_int_opt(call, "ms", &ms);
    gauge_enter(user, true);
    pause_ms(ms);
    gauge_leave(user, true);
    chela_result_printf(call, "%s ok", chela_call_id(call));
    return 0;
}

static int fail_it(chela_call *call, void *user) {
    (void)user;
    return chela_result_error(call, "internal", "no");
}

static void add_tools(struct kit *k, struct gauge *g) {
    add(k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "work", .fn = work, .user = g));
    add(k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "quick", .fn = work, .user = g,
                                                   .flags = CHELA_TOOL_ON_LOOP));
    add(k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "alone", .fn = work_alone, .user = g,
                                                   .flags = CHELA_TOOL_SEQUENTIAL));
    add(k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "host", .flags = CHELA_TOOL_CLIENT));
    add(k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "last", .fn = work, .user = g,
                                                   .flags = CHELA_TOOL_TERMINATES));
    add(k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "fail", .fn = fail_it));
}

/* "id:text;" per result, in the order of the message. */
static void results(struct kit *k, struct ch_buf *out) {
    struct ch_msg *m = ch_batch_message(k->batch, 7);

    assert_int_equal(m->kind, CH_MSG_RESULTS);
    assert_int_equal(m->ts, 7);
    for (size_t i = 0; i < m->nblocks; i++) {
        assert_int_equal(m->blocks[i].type, CH_BLOCK_TOOL_RESULT);
        ch_buf_addf(out, "%.*s:%.*s;", CH_SV_FMT(m->blocks[i].id), CH_SV_FMT(m->blocks[i].text));
    }
    ch_msg_free(m);
}

/* --- order and bounds ---------------------------------------------------- */

/* Calls that end in an order of our choosing: each waits until so many others
 * were announced. */
static atomic_int announced;

static int wait_for_turn(chela_call *call, void *user) {
    int64_t turn = 0;

    (void)user;
    chela_arg_int(call, "turn", &turn);
    while (atomic_load(&announced) < turn)
        pause_ms(1);
    chela_result_printf(call, "%s ok", chela_call_id(call));
    return 0;
}

static void count_announced(const struct ch_block *call, const struct ch_result *r, void *user) {
    struct kit *k = user;

    assert_false(r->is_error);
    ch_buf_addf(&k->log, "finished %.*s;", CH_SV_FMT(call->id));
    atomic_fetch_add(&announced, 1);
}

static void test_order(void **state) {
    static const struct kit_call calls[] = {
        {"a", "turn", "{\"turn\":3}", 0},
        {"b", "turn", "{\"turn\":1}", 0},
        {"c", "quick", "{}", 0},
        {"d", "turn", "{\"turn\":2}", 0},
    };
    struct gauge g = {0};
    CH_BUF_AUTO got = {0};
    struct kit k;

    (void)state;
    kit_init(&k);
    add_tools(&k, &g);
    add(&k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "turn", .fn = wait_for_turn));
    k.ops.finished = count_announced;
    atomic_store(&announced, 0);
    kit_start(&k, calls, 4);
    assert_string_equal(ch_buf_str(&k.log), ""); /* nothing from inside start */
    kit_wait(&k);
    results(&k, &got);
    assert_string_equal(ch_buf_str(&got), "a:a ok;b:b ok;c:c ok;d:d ok;");
    assert_string_equal(ch_buf_str(&k.log), "started a;started b;started c;finished c;started d;"
                                            "finished b;finished d;finished a;over 0;");
    struct ch_batch_totals t = ch_batch_totals(k.batch);
    assert_int_equal(t.calls, 4);
    assert_int_equal(t.ok, 4);
    assert_int_equal(t.ran, 4);
    assert_int_equal(t.errors + t.denied + t.refused, 0);
    assert_false(t.terminated || t.stop);
    kit_free(&k);
}

static void test_eight_in_parallel(void **state) {
    struct kit_call calls[8];
    struct gauge g = {0};
    struct kit k;

    (void)state;
    kit_init(&k);
    add_tools(&k, &g);
    for (size_t i = 0; i < 8; i++)
        calls[i] = (struct kit_call){"x", "work", "{\"ms\":500}", 0};
    kit_start(&k, calls, 8);
    kit_wait(&k);
    assert_int_equal(g.most, 8);
    kit_free(&k);
}

static void test_bound(void **state) {
    static const unsigned bounds[] = {1, 2, 3, 0};

    (void)state;
    for (size_t i = 0; i < CH_LEN(bounds); i++) {
        unsigned bound = bounds[i] ? bounds[i] : CH_DEFAULT_PARALLEL;
        struct kit_call calls[20];
        struct gauge g = {0};
        struct kit k;
        kit_init(&k);
        add_tools(&k, &g);
        for (size_t n = 0; n < 20; n++)
            calls[n] = (struct kit_call){"x", "work", "{\"ms\":4}", 0};
        k.opts.parallel = bounds[i];
        kit_start(&k, calls, 20);
        kit_wait(&k);
        assert_true((unsigned)g.most <= bound);
        assert_true(g.most > 1 || bound == 1);
        assert_int_equal(g.runs, 20);
        kit_free(&k);
    }
}

static void test_sequential(void **state) {
    static const struct kit_call calls[] = {
        {"a", "work", "{\"ms\":10}", 0}, {"b", "alone", "{\"ms\":10}", 0},
        {"c", "work", "{\"ms\":10}", 0}, {"d", "work", "{\"ms\":10}", 0},
        {"e", "alone", "{\"ms\":5}", 0}, {"f", "alone", "{\"ms\":5}", 0},
    };
    struct gauge g = {0};
    struct kit k;

    (void)state;
    kit_init(&k);
    add_tools(&k, &g);
    kit_start(&k, calls, CH_LEN(calls));
    kit_wait(&k);
    assert_int_equal(g.alone_broken, 0);
    assert_int_equal(g.most, 2);
    const char *log = ch_buf_str(&k.log);
    assert_true(strstr(log, "finished a") < strstr(log, "started b"));
    assert_true(strstr(log, "finished b") < strstr(log, "started c"));
    assert_true(strstr(log, "finished d") < strstr(log, "started e"));
    assert_true(strstr(log, "finished e") < strstr(log, "started f"));
    kit_free(&k);
}

static void test_max_calls(void **state) {
    struct gauge g = {0};
    struct kit k;

    (void)state;
    kit_init(&k);
    add_tools(&k, &g);
    for (size_t max = 0; max < 4; max++) {
        struct kit_call calls[] = {
            {"a", "quick", "", 0}, {"b", "quick", "", 0}, {"c", "quick", "", 0}};
        g.runs = 0;
        k.opts.max_calls = max;
        kit_start(&k, calls, 3);
        kit_wait(&k);
        struct ch_batch_totals t = ch_batch_totals(k.batch);
        assert_int_equal(g.runs, max);
        assert_int_equal(t.refused, 3 - max);
        assert_int_equal(t.errors, 3 - max);
        if (max < 3) {
            assert_string_equal(k.error_type, "cancelled");
            assert_non_null(strstr(k.content, "limit of tool calls"));
        }
    }
    kit_free(&k);
}

static void test_terminates(void **state) {
    struct gauge g = {0};
    struct kit k;

    (void)state;
    kit_init(&k);
    add_tools(&k, &g);
    kit_call(&k, "quick", "{}");
    assert_false(ch_batch_totals(k.batch).terminated);
    kit_call(&k, "last", "{}");
    assert_true(ch_batch_totals(k.batch).terminated);
    kit_call(&k, "last", "[]");
    assert_false(ch_batch_totals(k.batch).terminated);
    kit_free(&k);
}

static enum ch_before before(const struct ch_block *call, char **arguments, char **feedback,
                             void *user);

static void test_trailing_errors(void **state) {
    static const struct {
        const char *calls; /* q: ok, f: fails, s: skipped by a hook */
        size_t want;
    } cases[] = {{"q", 0},  {"f", 1},   {"qf", 1},  {"fq", 0},  {"ffqff", 2},
                 {"fs", 1}, {"fsf", 2}, {"sss", 0}, {"qsfs", 1}};
    struct gauge g = {0};
    struct kit k;

    (void)state;
    kit_init(&k);
    add_tools(&k, &g);
    k.ops.before = before;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct kit_call calls[8];
        size_t n = strlen(cases[i].calls);
        for (size_t c = 0; c < n; c++)
            calls[c] = (struct kit_call){cases[i].calls[c] == 's' ? "s" : "a",
                                         cases[i].calls[c] == 'f' ? "fail" : "quick", "{}", 0};
        kit_start(&k, calls, n);
        kit_wait(&k);
        assert_int_equal(ch_batch_totals(k.batch).trailing_errors, cases[i].want);
    }
    kit_free(&k);
}

/* --- sequences ------------------------------------------------------------- */

static void hang_ends(chela_call *call, void *user) {
    (void)user;
    chela_call_finish(call);
}

static int hang(chela_call *call, void *user) {
    (void)user;
    chela_call_defer(call);
    chela_call_on_cancel(call, hang_ends, NULL);
    return 0;
}

static enum chela_decision refuse(const struct ch_block *call, const struct ch_ask *ask,
                                  char **reason, void *user) {
    (void)ask;
    (void)reason;
    (void)user;
    return call->id.p[0] == 'd' ? CHELA_DENY : CHELA_ALLOW_ONCE;
}

/* s: a hook skips the call; d: a person refuses it. */
static void test_in_sequence(void **state) {
    static const struct {
        const char *calls[4], *started, *left_out, *why;
    } cases[] = {
        {{"a work", "e quick", "f work"}, "aef", "", NULL},
        {{"a fail", "e quick", "f quick"}, "a", "ef", "because fail, which comes before it in the "
                                                      "same reply, failed."},
        {{"a work", "e fail", "f quick"}, "ae", "f", "because fail, "},
        {{"a nosuch", "e quick"}, "", "e", "because nosuch, "},
        {{"a hang", "e quick"}, "a", "e", "took too long."},
        {{"s quick", "e quick"}, "", "e", "was refused."},
        {{"d risky", "e quick"}, "", "e", "because risky, which comes before it in the same "
                                          "reply, was refused."},
        {{"a risky", "e quick"}, "ae", "", NULL},
        {{"a look", "e look", "f quick"}, "aef", "", NULL},
        {{"a fail_look", "e look", "f quick"}, "ae", "f", "because fail_look, "},
        {{"a fail", "e look"}, "a", "e", "because fail, "},
    };
    struct gauge g = {0};
    struct kit k;

    (void)state;
    kit_init(&k);
    add_tools(&k, &g);
    add(&k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "hang", .fn = hang, .timeout_ms = 20,
                                                    .flags = CHELA_TOOL_ON_LOOP));
    add(&k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "risky", .fn = work, .user = &g,
                                                    .flags = CHELA_TOOL_CONFIRM));
    add(&k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "look", .fn = work, .user = &g,
                                                    .effect = CHELA_EFFECT_READ));
    add(&k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "fail_look", .fn = fail_it,
                                                    .effect = CHELA_EFFECT_READ));
    k.opts.in_sequence = true;
    k.opts.ask_means = CH_CONSENT_ASK;
    k.ops.before = before;
    k.ops.ask = refuse;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct kit_call calls[4] = {{0}};
        char ids[4][2] = {{0}};
        CH_BUF_AUTO started = {0};
        CH_BUF_AUTO left_out = {0};
        size_t n = 0;
        for (; n < 4 && cases[i].calls[n]; n++) {
            ids[n][0] = cases[i].calls[n][0];
            calls[n] = (struct kit_call){ids[n], cases[i].calls[n] + 2, "{\"ms\":2}", 0};
        }
        kit_start(&k, calls, n);
        kit_wait(&k);
        for (const char *p = ch_buf_str(&k.log); (p = strstr(p, "started ")); p += 8)
            ch_buf_add(&started, p + 8, 1);
        struct ch_msg *m = ch_batch_message(k.batch, 0);
        for (uint32_t b = 0; b < m->nblocks; b++) {
            CH_AUTOFREE char *text = ch_strndup(m->blocks[b].text.p, m->blocks[b].text.n);
            if (!strstr(text, "This was not done"))
                continue;
            ch_buf_add_sv(&left_out, m->blocks[b].id);
            assert_non_null(strstr(text, cases[i].why));
            assert_int_equal(m->blocks[b].flags, CH_F_ERROR | CH_F_DENIED);
        }
        ch_msg_free(m);
        if (strcmp(ch_buf_str(&started), cases[i].started) != 0 ||
            strcmp(ch_buf_str(&left_out), cases[i].left_out) != 0)
            fail_msg("case %zu: %s, left out: %s", i, ch_buf_str(&k.log), ch_buf_str(&left_out));
        assert_int_equal(ch_batch_totals(k.batch).errors <= 1, 1);
    }
    assert_int_equal(g.running, 0);
    kit_free(&k);
}

/* What waits for the host or a person holds back the rest; then the rest is done in order. */
static void test_sequence_waits(void **state) {
    static const struct kit_call calls[] = {
        {"a", "quick", "{}", 0}, {"b", "host", "{}", 0}, {"c", "quick", "{}", 0}};
    static const bool failures[] = {false, true};
    struct gauge g = {0};

    (void)state;
    for (size_t i = 0; i < CH_LEN(failures); i++) {
        struct kit k;
        kit_init(&k);
        add_tools(&k, &g);
        k.opts.in_sequence = true;
        kit_start(&k, calls, 3);
        kit_wait(&k);
        assert_string_equal(ch_buf_str(&k.log), "started a;finished a;client b;over 1;");
        k.over = false;
        assert_int_equal(
            ch_batch_answer(k.batch, CH_SV("b"), CH_SV("B"), failures[i], NULL), 0);
        ch_batch_resume(k.batch);
        kit_wait(&k);
        assert_string_equal(ch_buf_str(&k.log) + strlen("started a;finished a;client b;over 1;"),
                            failures[i] ? "failed b;failed c;over 0;"
                                        : "finished b;started c;finished c;over 0;");
        kit_free(&k);
    }
}

/* After a restart, known results count as well. */
static void test_sequence_is_recalled(void **state) {
    static const struct kit_call calls[] = {{"a", "quick", "{}", 0}, {"b", "quick", "{}", 0}};
    struct gauge g = {0};

    (void)state;
    for (int fails = 0; fails < 3; fails++) {
        struct kit k;
        kit_init(&k);
        add_tools(&k, &g);
        k.opts.in_sequence = true;
        kit_start(&k, calls, 2);
        struct ch_block block = {.type = CH_BLOCK_TOOL_RESULT,
                                 .flags = fails ? CH_F_ERROR : 0,
                                 .id = CH_SV("a"),
                                 .name = CH_SV("quick"),
                                 .text = CH_SV("known")};
        struct ch_msg *m = ch_msg_new(CH_MSG_RESULTS, &block, 1, 0);
        if (fails == 2)
            ch_batch_interrupt(k.batch, 0);
        else
            ch_batch_settle(k.batch, 0, m, true);
        kit_wait(&k);
        ch_msg_free(m);
        assert_int_equal(strstr(ch_buf_str(&k.log), "started b") != NULL, fails == 0);
        assert_int_equal(ch_batch_totals(k.batch).denied, (size_t)fails);
        kit_free(&k);
    }
}

/* --- skip and cancel ----------------------------------------------------- */

static void test_skip(void **state) {
    static const struct kit_call calls[] = {
        {"a", "work", "{\"ms\":20}", 0}, {"b", "work", "{\"ms\":1}", 0}, {"c", "quick", "", 0}};
    struct gauge g = {0};
    CH_BUF_AUTO got = {0};
    struct kit k;

    (void)state;
    kit_init(&k);
    add_tools(&k, &g);
    k.opts.parallel = 1;
    kit_start(&k, calls, 3);
    while (!strstr(ch_buf_str(&k.log), "started a"))
        ch_loop_tick(k.loop);
    ch_batch_skip(k.batch, "The user said something new.");
    ch_batch_skip(k.batch, "again");
    assert_null(strstr(ch_buf_str(&k.log), "b"));
    kit_wait(&k);
    results(&k, &got);
    assert_int_equal(strncmp(ch_buf_str(&got), "a:a ok;b:{\"error\":\"The user said", 30), 0);
    struct ch_batch_totals t = ch_batch_totals(k.batch);
    assert_int_equal(t.ok, 1);
    assert_int_equal(t.denied, 2);
    assert_int_equal(t.errors, 0);
    assert_int_equal(t.ran, 1);
    assert_int_equal(g.runs, 1);
    kit_free(&k);
}

static void test_cancel(void **state) {
    static const struct kit_call calls[] = {{"a", "work", "{\"ms\":2000}", 0},
                                            {"b", "host", "", 0},
                                            {"c", "quick", "", 0},
                                            {"d", "work", "{\"ms\":2000}", 0},
                                            {"e", "work", "{\"ms\":2000}", 0}};
    struct gauge g = {0};
    struct kit k;

    (void)state;
    kit_init(&k);
    add_tools(&k, &g);
    k.opts.parallel = 2;
    kit_start(&k, calls, 5);
    while (!strstr(ch_buf_str(&k.log), "started d"))
        ch_loop_tick(k.loop);
    int64_t from = kit_ms();
    ch_batch_cancel(k.batch, "stop");
    assert_null(strstr(ch_buf_str(&k.log), "failed"));
    kit_wait(&k);
    assert_true(kit_ms() - from < 1800);
    struct ch_batch_totals t = ch_batch_totals(k.batch);
    assert_int_equal(t.ok, 1);
    assert_int_equal(t.errors, 4);
    assert_string_equal(k.error_type, "cancelled");
    assert_null(strstr(ch_buf_str(&k.log), "started e"));
    ch_batch_cancel(k.batch, "again"); /* nothing is left */
    ch_loop_tick(k.loop);
    kit_free(&k);
}

/* --- the host's calls ---------------------------------------------------- */

static void test_client(void **state) {
    static const struct kit_call calls[] = {
        {"a", "host", "{}", 0}, {"b", "work", "{\"ms\":5}", 0}, {"c", "host", "{}", 0}};
    struct gauge g = {0};
    CH_BUF_AUTO got = {0};
    struct chela_error err = {0};
    struct kit k;

    (void)state;
    kit_init(&k);
    add_tools(&k, &g);
    kit_start(&k, calls, 3);
    kit_wait(&k);
    assert_string_equal(ch_buf_str(&k.log), "client a;started b;client c;finished b;over 2;");
    assert_int_equal(ch_batch_answer(k.batch, CH_SV("x"), CH_SV(""), false, &err), CHELA_ENOENT);
    assert_int_equal(ch_batch_answer(k.batch, CH_SV("b"), CH_SV(""), false, &err), CHELA_EEXIST);
    assert_int_equal(ch_batch_answer(k.batch, CH_SV("c"), CH_SV("\x1b[1mC"), false, &err), 0);
    assert_int_equal(ch_batch_answer(k.batch, CH_SV("c"), CH_SV("again"), false, &err),
                     CHELA_EEXIST);
    k.over = false;
    ch_loop_tick(k.loop);
    assert_false(k.over);
    assert_int_equal(ch_batch_answer(k.batch, CH_SV("a"), CH_SV("bad"), true, &err), 0);
    ch_loop_tick(k.loop);
    assert_false(k.over); /* not before the owner says so */
    ch_batch_resume(k.batch);
    kit_wait(&k);
    assert_string_equal(ch_buf_str(&k.log), "client a;started b;client c;finished b;over 2;"
                                            "finished c;failed a;over 0;");
    results(&k, &got);
    assert_string_equal(ch_buf_str(&got), "a:bad;b:b ok;c:C;");
    assert_int_equal(ch_batch_totals(k.batch).ran, 3);
    kit_free(&k);
}

/* Two calls with one id: each answer goes to one of them. */
static void test_client_same_id(void **state) {
    static const struct kit_call calls[] = {{"a", "host", "{}", 0}, {"a", "host", "{}", 0}};
    struct gauge g = {0};
    CH_BUF_AUTO got = {0};
    struct kit k;

    (void)state;
    kit_init(&k);
    add_tools(&k, &g);
    kit_start(&k, calls, 2);
    kit_wait(&k);
    k.over = false;
    assert_int_equal(ch_batch_answer(k.batch, CH_SV("a"), CH_SV("1"), false, NULL), 0);
    assert_int_equal(ch_batch_answer(k.batch, CH_SV("a"), CH_SV("2"), false, NULL), 0);
    ch_batch_resume(k.batch);
    kit_wait(&k);
    results(&k, &got);
    assert_string_equal(ch_buf_str(&got), "a:1;a:2;");
    kit_free(&k);
}

/* --- hooks --------------------------------------------------------------- */

static enum ch_before before(const struct ch_block *call, char **arguments, char **feedback,
                             void *user) {
    struct kit *k = user;

    ch_buf_addf(&k->log, "before %.*s %s;", CH_SV_FMT(call->id), *arguments);
    switch (call->id.p[0]) {
    case 'r':
        *arguments = ch_strdup("{\"new\":1}");
        return CH_BEFORE_RUN;
    case 'b':
        *arguments = ch_strdup("[]");
        return CH_BEFORE_RUN;
    case 's':
        *feedback = ch_strdup("not today");
        return CH_BEFORE_SKIP;
    case 'q':
        return CH_BEFORE_SKIP;
    case 'x':
        return CH_BEFORE_STOP;
    case 'c':
        return CH_BEFORE_CLIENT;
    }
    return CH_BEFORE_RUN;
}

static int show(chela_call *call, void *user) {
    (void)user;
    chela_result_printf(call, "%s", chela_call_arguments(call));
    return 0;
}

static bool after(const struct ch_block *c, const struct ch_result *r, char **content, void *user) {
    (void)user;
    assert_true(ch_sv_eq(c->id, r->id));
    if (ch_sv_is(r->id, "w")) {
        assert_true(ch_sv_is(r->content, *content));
        *content = ch_strdup("rewritten");
    }
    return true;
}

/* A hook that decides later: the first question about each call, and about its result, waits. */
struct later {
    struct kit kit;
    unsigned asked[2], ended[2];
    struct ch_timer timers[2]; /* of calls a and b */
};

static struct later *later_of(void *user) {
    return CH_CONTAINER(user, struct later, kit);
}

static void later_unhold_a(struct ch_timer *t) {
    ch_batch_unhold(CH_CONTAINER(t, struct later, timers[0])->kit.batch, CH_SV("a"));
}

static void later_unhold_b(struct ch_timer *t) {
    ch_batch_unhold(CH_CONTAINER(t, struct later, timers[1])->kit.batch, CH_SV("b"));
}

static void later_decide(struct later *l, size_t i) {
    ch_timer_start(l->kit.loop, &l->timers[i], 1, i ? later_unhold_b : later_unhold_a);
}

static enum ch_before later_before(const struct ch_block *c, char **arguments, char **feedback,
                                   void *user) {
    struct later *l = later_of(user);
    size_t i = ch_sv_is(c->id, "b");
    (void)arguments;
    if (!l->asked[i]++) {
        later_decide(l, i);
        return CH_BEFORE_WAIT;
    }
    if (i == 0)
        return CH_BEFORE_RUN;
    *feedback = ch_strdup("not b");
    return CH_BEFORE_REFUSE;
}

static bool later_after(const struct ch_block *c, const struct ch_result *r, char **content,
                        void *user) {
    struct later *l = later_of(user);
    size_t i = ch_sv_is(c->id, "b");
    assert_int_equal(r->denied, i == 1);
    if (!l->ended[i]++) {
        later_decide(l, i);
        return false;
    }
    *content = ch_strdup(i ? "b: refused" : "a: done");
    return true;
}

static void test_hooks_decide_later(void **state) {
    struct kit_call calls[] = {{"a", "show", "{}", 0}, {"b", "show", "{}", 0}};
    struct later l = {0};
    CH_BUF_AUTO got = {0};

    (void)state;
    kit_init(&l.kit);
    add(&l.kit, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "show", .fn = show));
    l.kit.ops.before = later_before;
    l.kit.ops.after = later_after;
    kit_start(&l.kit, calls, 2);
    kit_wait(&l.kit);
    for (size_t i = 0; i < 2; i++) { /* each question once more, when it was decided */
        assert_int_equal(l.asked[i], 2);
        assert_int_equal(l.ended[i], 2);
    }
    results(&l.kit, &got);
    assert_string_equal(ch_buf_str(&got), "a:a: done;b:b: refused;");
    assert_int_equal(ch_batch_totals(l.kit.batch).denied, 1);
    kit_free(&l.kit);
}

static void test_hooks(void **state) {
    static const struct {
        struct kit_call call;
        const char *want;
        bool error;
    } hooks[] = {
        {{"a", "show", "{\"old\":1}", 0}, "{\"old\":1}", false},
        {{"r", "show", "{\"old\":1}", 0}, "{\"new\":1}", false},
        {{"b", "show", "{\"old\":1}", 0}, "must be a JSON object", true},
        {{"s", "show", "{}", 0}, "not today", false},
        {{"q", "show", "{}", 0}, "The call was skipped.", false},
        {{"w", "show", "{}", 0}, "rewritten", false},
        {{"x", "show", "{}", 0}, "stopped", true},
    };
    struct kit k;

    (void)state;
    kit_init(&k);
    add(&k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "show", .fn = show));
    k.ops.before = before;
    k.ops.after = after;
    for (size_t i = 0; i < CH_LEN(hooks); i++) {
        kit_start(&k, &hooks[i].call, 1);
        kit_wait(&k);
        if (!strstr(k.content, hooks[i].want) || k.is_error != hooks[i].error)
            fail_msg("%s: %s", hooks[i].call.id, k.content);
        struct ch_batch_totals t = ch_batch_totals(k.batch);
        assert_int_equal(t.stop, hooks[i].call.id[0] == 'x');
        assert_int_equal(t.denied, strchr("sq", hooks[i].call.id[0]) != NULL);
        if (hooks[i].call.id[0] == 'w') { /* the message has it too */
            CH_BUF_AUTO got = {0};
            results(&k, &got);
            assert_string_equal(ch_buf_str(&got), "w:rewritten;");
        }
    }
    struct kit_call over = {"c", "show", "{}", 0};
    kit_start(&k, &over, 1);
    kit_wait(&k);
    assert_string_equal(ch_buf_str(&k.log), "before c {};client c;over 1;");
    kit_free(&k);
}

/* Stop: what runs goes on, what has not started never does. */
static void test_stop(void **state) {
    static const struct kit_call calls[] = {
        {"a", "work", "{\"ms\":10}", 0}, {"x", "quick", "", 0}, {"d", "quick", "", 0}};
    struct gauge g = {0};
    struct kit k;

    (void)state;
    kit_init(&k);
    add_tools(&k, &g);
    k.ops.before = before;
    kit_start(&k, calls, 3);
    kit_wait(&k);
    struct ch_batch_totals t = ch_batch_totals(k.batch);
    assert_true(t.stop);
    assert_int_equal(t.ok, 1);
    assert_int_equal(t.ran, 1);
    assert_null(strstr(ch_buf_str(&k.log), "before d"));
    kit_free(&k);
}

/* A later call whose second attempt began before a restart is not made either. */
static void test_stop_of_restored(void **state) {
    static const struct kit_call calls[] = {{"x", "quick", "", 0}, {"d", "quick", "", 0}};
    struct gauge g = {0};
    struct kit k;

    (void)state;
    kit_init(&k);
    add_tools(&k, &g);
    k.ops.before = before;
    kit_start(&k, calls, 2);
    ch_batch_restore(k.batch, 1, "{\"chela_wait\":{\"until\":0,\"since\":1,\"attempts\":2}}");
    kit_wait(&k);
    struct ch_batch_totals t = ch_batch_totals(k.batch);
    assert_true(t.stop);
    assert_int_equal(t.ran, 0);
    assert_null(strstr(ch_buf_str(&k.log), "before d"));
    kit_free(&k);
}

static enum ch_before invalid(const struct ch_block *call, const char *problem, char **name,
                              char **arguments, char **feedback, void *user) {
    struct kit *k = user;

    ch_buf_addf(&k->log, "invalid %.*s;", CH_SV_FMT(call->id));
    assert_true(strlen(problem) > 10);
    switch (call->id.p[0]) {
    case 'n':
        assert_string_equal(*name, "shwo");
        *name = ch_strdup("show");
        return CH_BEFORE_RUN;
    case 'a':
        *arguments = ch_strdup("{\"mended\":1}");
        return CH_BEFORE_RUN;
    case 'm':
        *arguments = ch_strdup("still bad");
        return CH_BEFORE_RUN;
    case 'f':
        *feedback = ch_strdup("read the manual");
        return CH_BEFORE_SKIP;
    case 'x':
        return CH_BEFORE_STOP;
    }
    return CH_BEFORE_RUN;
}

static void test_invalid_hook(void **state) {
    static const struct {
        struct kit_call call;
        const char *want, *type;
    } cases[] = {
        {{"n", "shwo", "{\"a\":1}", 0}, "{\"a\":1}", NULL},
        {{"a", "show", "{", CH_F_INVALID}, "{\"mended\":1}", NULL},
        {{"a2", "show", "{", CH_F_CUT}, "{\"mended\":1}", NULL},
        {{"m", "show", "{", CH_F_INVALID}, "not valid JSON", "invalid_arguments"},
        {{"f", "shwo", "{}", 0}, "\"read the manual\"", "not_found"},
        {{"d", "shwo", "{}", 0}, "no tool named", "not_found"},
        {{"x", "shwo", "{}", 0}, "stopped", "cancelled"},
    };
    struct kit k;

    (void)state;
    kit_init(&k);
    add(&k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "show", .fn = show));
    k.ops.invalid = invalid;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        kit_start(&k, &cases[i].call, 1);
        kit_wait(&k);
        if (!strstr(k.content, cases[i].want) || k.is_error != (cases[i].type != NULL) ||
            (cases[i].type && strcmp(cases[i].type, k.error_type) != 0))
            fail_msg("%s: %s", cases[i].call.id, k.content);
        const char *first = strstr(ch_buf_str(&k.log), "invalid");
        assert_non_null(first);
        assert_null(strstr(first + 1, "invalid"));
    }
    kit_free(&k);
}

/* --- owners that act from callbacks -------------------------------------- */

struct nasty {
    const char *in; /* the callback */
    const char *act;
};
static struct nasty plan;

static void act(struct kit *k, const char *where) {
    if (strcmp(where, plan.in) != 0 || !k->batch)
        return;
    if (strcmp(plan.act, "close") == 0) {
        ch_batch_close(k->batch);
        k->batch = NULL;
        k->over = true;
    } else if (strcmp(plan.act, "cancel") == 0) {
        ch_batch_cancel(k->batch, "nasty");
    } else {
        ch_batch_skip(k->batch, "nasty");
    }
}

static enum ch_before nasty_before(const struct ch_block *c, char **a, char **f, void *user) {
    (void)c;
    (void)a;
    (void)f;
    act(user, "before");
    return CH_BEFORE_RUN;
}
static void nasty_started(const struct ch_block *c, void *user) {
    (void)c;
    act(user, "started");
}
static void nasty_progress(const struct ch_block *c, struct ch_sv text, void *user) {
    (void)c;
    (void)text;
    act(user, "progress");
}
static bool nasty_after(const struct ch_block *c, const struct ch_result *r, char **content,
                        void *user) {
    (void)c;
    (void)r;
    (void)content;
    act(user, "after");
    return true;
}
static void nasty_finished(const struct ch_block *c, const struct ch_result *r, void *user) {
    struct kit *k = user;

    (void)r;
    ch_buf_addf(&k->log, "%.*s", CH_SV_FMT(c->id));
    act(user, "finished");
}
static void nasty_client(const struct ch_block *c, void *user) {
    (void)c;
    act(user, "client");
}
static enum chela_decision nasty_ask(const struct ch_block *c, const struct ch_ask *ask,
                                     char **reason, void *user) {
    (void)c;
    (void)ask;
    (void)reason;
    act(user, "ask");
    return CHELA_ALLOW_ONCE;
}
static void nasty_over(size_t waiting, void *user) {
    struct kit *k = user;

    k->over = waiting == 0;
    k->waiting = waiting;
    act(k, "over");
}

static int report(chela_call *call, void *user) {
    (void)user;
    chela_call_progress(call, "p");
    return 0;
}

/* A line of progress that is still on its way when the call ended, or when
 * nobody is there any more, is not shown. */
static void test_late_progress(void **state) {
    static const struct kit_call call = {"a", "report", "", 0};

    (void)state;
    for (int close_it = 0; close_it < 2; close_it++) {
        struct kit k;
        kit_init(&k);
        add(&k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "report", .fn = report,
                                                        .flags = CHELA_TOOL_ON_LOOP));
        plan = (struct nasty){close_it ? "finished" : "", "close"};
        if (close_it)
            k.ops.finished = nasty_finished;
        kit_start(&k, &call, 1);
        kit_wait(&k);
        for (int i = 0; i < 3; i++)
            ch_loop_tick(k.loop);
        assert_null(strstr(ch_buf_str(&k.log), "progress"));
        kit_free(&k);
    }
}

static void test_acting_in_callbacks(void **state) {
    static const char *const where[] = {"before",   "started", "progress", "after",
                                        "finished", "client",  "ask",      "over"};
    static const char *const acts[] = {"close", "cancel", "skip"};
    static const struct kit_call calls[] = {
        {"a", "report", "", 0}, {"b", "quick", "", 0}, {"c", "host", "", 0},
        {"d", "alone", "", 0},  {"e", "risky", "", 0},
    };

    (void)state;
    for (size_t i = 0; i < CH_LEN(where) * CH_LEN(acts); i++) {
        struct gauge g = {0};
        struct kit k;
        plan = (struct nasty){where[i / 3], acts[i % 3]};
        kit_init(&k);
        add_tools(&k, &g);
        add(&k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "report", .fn = report));
        add(&k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "risky", .fn = work, .user = &g,
                                                        .flags = CHELA_TOOL_RISKY));
        k.opts.ask_means = CH_CONSENT_ASK;
        k.ops = (struct ch_batch_ops){
            .ask = nasty_ask,
            .before = nasty_before,
            .started = nasty_started,
            .progress = nasty_progress,
            .after = nasty_after,
            .finished = nasty_finished,
            .client = nasty_client,
            .over = nasty_over,
        };
        kit_start(&k, calls, 5);
        for (int n = 0; n < 2000 && !k.over; n++) {
            ch_loop_tick(k.loop);
            pause_ms(1);
            if (k.batch && k.waiting) {
                ch_batch_answer(k.batch, CH_SV("c"), CH_SV("host says"), false, NULL);
                ch_batch_resume(k.batch);
            }
        }
        assert_true(k.over);
        if (k.batch) { /* every call was announced once */
            assert_int_equal(k.log.n, 5);
            for (char id = 'a'; id <= 'e'; id++)
                assert_non_null(strchr(ch_buf_str(&k.log), id));
            ch_msg_free(ch_batch_message(k.batch, 0));
        }
        kit_free(&k);
    }
}

/* --- properties under chance --------------------------------------------- */

#define MOST 24

struct chance {
    struct kit *kit;
    uint32_t seed;
    struct gauge gauge;
    int started[MOST], finished[MOST], client[MOST];
    char asked[MOST][64]; /* approval ids, of those not decided at once */
    int over_zero;
    unsigned active, parallel; /* started and not finished; the bound */
    size_t n;
};

static uint32_t roll(struct chance *c, uint32_t sides) {
    c->seed = c->seed * 1664525u + 1013904223u;
    return (c->seed >> 8) % sides;
}

static size_t number(const struct ch_block *call) {
    return (size_t)strtoul(call->id.p, NULL, 10);
}

static void chance_started(const struct ch_block *call, void *user) {
    struct chance *c = user;

    assert_int_equal(c->started[number(call)]++, 0);
    assert_int_equal(c->finished[number(call)], 0);
    assert_true(++c->active <= c->parallel);
}

static void chance_finished(const struct ch_block *call, const struct ch_result *r, void *user) {
    struct chance *c = user;

    assert_int_equal(c->finished[number(call)]++, 0);
    c->active -= (unsigned)c->started[number(call)];
    assert_int_equal(r->is_error, r->error_type != NULL);
    assert_true(r->content.n > 0);
    assert_int_equal(c->over_zero, 0);
}

static void chance_client(const struct ch_block *call, void *user) {
    struct chance *c = user;

    assert_int_equal(c->client[number(call)]++, 0);
}

static void chance_over(size_t waiting, void *user) {
    struct chance *c = user;
    size_t done = 0;

    for (size_t i = 0; i < c->n; i++)
        done += (size_t)c->finished[i];
    assert_true(done + waiting <= c->n); /* some may stand behind one that asks */
    assert_int_equal(c->active, 0);
    if (!waiting) {
        assert_int_equal(done, c->n);
        assert_int_equal(c->over_zero++, 0);
    }
    c->kit->over = waiting == 0;
    c->kit->waiting = waiting;
}

static enum chela_decision chance_ask(const struct ch_block *call, const struct ch_ask *ask,
                                      char **reason, void *user) {
    struct chance *c = user;
    char *id = c->asked[number(call)];

    assert_int_equal(c->active, 0);
    assert_string_equal(id, "");
    assert_true(ask->summary.n > 0);
    snprintf(id, sizeof(c->asked[0]), "%s", ask->approval_id);
    if (roll(c, 2))
        *reason = ch_strdup("chance");
    return (enum chela_decision)roll(c, 4);
}

static void chance_decide(struct chance *c) {
    const char *id = c->asked[roll(c, (uint32_t)c->n)];
    int rc = ch_batch_approve(c->kit->batch, ch_sv_str(id), 1 + roll(c, 3), NULL, NULL);

    assert_true(rc == 0 || rc == CHELA_EEXIST || (rc == CHELA_ENOENT && !*id));
}

static void chance_act(struct chance *c, char ids[MOST][24]) {
    struct ch_batch *b = c->kit->batch;

    if (c->kit->waiting && roll(c, 3) == 0)
        ch_batch_resume(b);
    chance_decide(c);
    switch (roll(c, 40)) {
    case 0:
        ch_batch_skip(b, "skipped by chance");
        break;
    case 1:
        ch_batch_cancel(b, "cancelled by chance");
        break;
    default:
        if (c->kit->waiting || roll(c, 4) == 0)
            ch_batch_answer(b, ch_sv_str(ids[roll(c, (uint32_t)c->n)]), CH_SV("answer"), roll(c, 2),
                            NULL);
    }
}

static void one_round(uint32_t seed) {
    static const char *const names[] = {"work", "work",   "work",  "quick", "alone", "host",
                                        "fail", "nosuch", "brief", "risky", "risky", "risky_alone"};
    static const char *const args[] = {"{}",         "{\"ms\":1}", "{\"ms\":3}",
                                       "{\"ms\":6}", "[",          "{\"ms\":2}"};
    struct chance c = {.seed = seed * 2654435761u + 1};
    struct kit_call calls[MOST];
    char ids[MOST][24];
    struct kit k;

    kit_init(&k);
    c.kit = &k;
    add_tools(&k, &c.gauge);
    add(&k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "brief", .fn = work, .user = &c.gauge,
                                                    .timeout_ms = 2));
    add(&k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "risky", .fn = work, .user = &c.gauge,
                                                    .flags = CHELA_TOOL_CONFIRM));
    add(&k, (struct chela_tool_opts)CHELA_TOOL_OPTS(
                .name = "risky_alone", .fn = work, .user = &c.gauge,
                .flags = CHELA_TOOL_CONFIRM | CHELA_TOOL_SEQUENTIAL));
    struct ch_memory memory = {0};
    k.opts.memory = &memory;
    k.opts.ask_means = CH_CONSENT_ASK;
    c.n = 1 + roll(&c, MOST);
    for (size_t i = 0; i < c.n; i++) {
        snprintf(ids[i], sizeof(ids[i]), "%zu", i);
        calls[i] =
            (struct kit_call){ids[i], names[roll(&c, CH_LEN(names))], args[roll(&c, CH_LEN(args))],
                              roll(&c, 12) == 0 ? CH_F_CUT : 0};
    }
    k.opts.parallel = c.parallel = 1 + roll(&c, 6);
    k.opts.in_sequence = seed % 3 == 0;
    k.opts.max_calls = roll(&c, 3) ? SIZE_MAX : roll(&c, MOST);
    k.ops = (struct ch_batch_ops){.started = chance_started,
                                  .finished = chance_finished,
                                  .client = chance_client,
                                  .ask = chance_ask,
                                  .over = chance_over};
    kit_start(&k, calls, c.n);
    k.opts.user = &c;
    ch_batch_close(k.batch); /* once more, with our own user */
    k.batch = ch_batch_start(k.reply, &k.opts);
    bool leave = roll(&c, 8) == 0;
    for (int step = 0; !k.over && !(leave && step == 6); step++) {
        ch_loop_tick(k.loop);
        if (step % 3 == 0)
            chance_act(&c, ids);
        pause_ms(step > 50 ? 1 : 0);
        assert_true(step < 5000);
    }
    if (k.over) {
        struct ch_msg *m = ch_batch_message(k.batch, 0);
        struct ch_batch_totals t = ch_batch_totals(k.batch);
        assert_int_equal(m->nblocks, c.n);
        assert_int_equal(t.ok + t.errors + t.denied, c.n);
        for (size_t i = 0; i < c.n; i++) {
            assert_int_equal(number(&m->blocks[i]), i);
            assert_int_equal(c.finished[i], 1);
        }
        ch_msg_free(m);
    }
    kit_free(&k);
    ch_memory_release(&memory);
    assert_int_equal(c.gauge.running, 0);
}

static void test_chance(void **state) {
    (void)state;
    for (uint32_t seed = 0; seed < 150; seed++)
        one_round(seed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_eight_in_parallel),
        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_sequential),
        cmocka_unit_test(test_max_calls),
        cmocka_unit_test(test_terminates),
        cmocka_unit_test(test_in_sequence),
        cmocka_unit_test(test_sequence_waits),
        cmocka_unit_test(test_sequence_is_recalled),
        cmocka_unit_test(test_skip),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_client),
        cmocka_unit_test(test_client_same_id),
        cmocka_unit_test(test_hooks),
        cmocka_unit_test(test_hooks_decide_later),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_stop_of_restored),
        cmocka_unit_test(test_invalid_hook),
        cmocka_unit_test(test_acting_in_callbacks),
        cmocka_unit_test(test_trailing_errors),
        cmocka_unit_test(test_late_progress),
        cmocka_unit_test(test_chance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
