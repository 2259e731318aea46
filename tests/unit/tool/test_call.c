/* test_call.c -- the path of one call: every way it can end, what a function
 * sees of it, and what becomes of work that nobody waits for any more. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "support/toolkit.h"
#include "tool/call/call.h"
#include "tool/call/call_listener.h"
#include "tool/call/function.h"

static void pause_ms(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

static void add(struct kit *k, struct chela_tool_opts opts) {
    struct chela_error err = {0};

    if (ch_function_add(&k->registry, &opts, &err) < 0)
        fail_msg("%s", err.message);
}

static int echo(chela_call *call, void *user) {
    (void)user;
    chela_result_printf(call, "%s", chela_call_arguments(call));
    return 0;
}

/* --- before it runs ------------------------------------------------------ */

static const struct {
    const char *what, *name, *arguments;
    unsigned flags;
    const char *type, *want; /* type NULL: it ran */
} cases[] = {
    {"object", "echo", "{\"a\":1}", 0, NULL, "{\"a\":1}"},
    {"repaired", "echo", "{\"a\":1}", CH_F_REPAIRED, NULL, "{\"a\":1}"},
    {"nothing", "echo", "", 0, NULL, "{}"},
    {"blanks", "echo", " \n", 0, NULL, "{}"},
    {"cut", "echo", "{\"a\":", CH_F_CUT, "invalid_arguments", "Make a shorter call"},
    {"cut but whole", "echo", "{}", CH_F_CUT, "invalid_arguments", "cut off"},
    {"no JSON", "echo", "{a:1}", CH_F_INVALID, "invalid_arguments", "not valid JSON"},
    {"array", "echo", "[1]", CH_F_INVALID, "invalid_arguments", "a JSON object, not an array"},
    {"string", "echo", "\"x\"", CH_F_INVALID, "invalid_arguments", "a JSON object, not a string"},
    {"null", "echo", "null", CH_F_INVALID, "invalid_arguments", "a JSON object, not a null"},
    {"lone surrogate", "echo", "{\"a\":\"\\ud800\"}", 0, "invalid_arguments", "not valid JSON"},
    {"two texts", "echo", "{}{}", 0, "invalid_arguments", "not valid JSON"},
    {"unknown", "ecko", "{}", 0, "not_found", "Similar tools: echo."},
    {"far off", "frobnicate", "{}", 0, "not_found", "Use only the tools you were given."},
    {"no name", "", "{}", 0, "not_found", "no tool named"},
};

static void test_before(void **state) {
    struct kit k;

    (void)state;
    kit_init(&k);
    add(&k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "echo", .fn = echo));
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct kit_call call = {"c", cases[i].name, cases[i].arguments, cases[i].flags};
        kit_start(&k, &call, 1);
        kit_wait(&k);
        if (k.is_error != (cases[i].type != NULL) || !strstr(k.content, cases[i].want) ||
            (cases[i].type && strcmp(k.error_type, cases[i].type) != 0))
            fail_msg("%s: %s", cases[i].what, k.content);
    }
    kit_free(&k);
}

static int only_even(chela_call *call, void *user) {
    int64_t n;
    int rc = chela_arg_int(call, "n", &n);

    assert_string_equal(user, "rules");
    if (rc < 0)
        return rc;
    return n % 2 ? chela_result_error(call, "invalid_arguments", "n must be even") : 0;
}

static void test_own_rules(void **state) {
    struct kit k;

    (void)state;
    kit_init(&k);
    add(&k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "half", .fn = echo, .check = only_even,
                                                    .user = "rules"));
    assert_string_equal(kit_call(&k, "half", "{\"n\":4}"), "{\"n\":4}");
    kit_call(&k, "half", "{\"n\":3}");
    assert_true(k.is_error);
    assert_non_null(strstr(k.content, "n must be even"));
    assert_null(strstr(ch_buf_str(&k.log), "started"));
    kit_call(&k, "half", "{}");
    assert_non_null(strstr(k.content, "\\\"n\\\" is missing"));
    kit_free(&k);
}

/* --- what a function sees ------------------------------------------------ */

static int look(chela_call *call, void *user) {
    (void)user;
    chela_result_printf(call, "%s|%s|%s|%s", chela_call_id(call), chela_call_name(call),
                        chela_call_key(call), chela_call_arguments(call));
    return 0;
}

static void test_identity(void **state) {
    struct kit_call calls[] = {{"id:1", "look", "{}", 0}, {"id:1", "look", "{}", 0}};
    struct kit k;

    (void)state;
    kit_init(&k);
    add(&k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "look", .fn = look));
    kit_start(&k, calls, 2);
    kit_wait(&k);
    struct ch_msg *m = ch_batch_message(k.batch, 0);
    assert_true(ch_sv_is(m->blocks[0].text, "id:1|look|s:r:1.0:id%3A1|{}"));
    assert_true(ch_sv_is(m->blocks[1].text, "id:1|look|s:r:1.1:id%3A1|{}"));
    ch_msg_free(m);
    kit_free(&k);
}

struct typed {
    const char *kind;
    bool opt;
};

static int read_typed(chela_call *call, void *user) {
    const struct typed *t = user;
    int64_t i = -1;
    double d = -1;
    bool b = true;
    const char *s = "default";
    int rc = 0;

    switch (t->kind[0]) {
    case 'i':
        rc = t->opt ? chela_arg_int_opt(call, "x", &i) : chela_arg_int(call, "x", &i);
        break;
    case 'd':
        rc = t->opt ? chela_arg_double_opt(call, "x", &d) : chela_arg_double(call, "x", &d);
        break;
    case 'b':
        rc = t->opt ? chela_arg_bool_opt(call, "x", &b) : chela_arg_bool(call, "x", &b);
        break;
    case 's':
        rc = t->opt ? chela_arg_string_opt(call, "x", &s) : chela_arg_string(call, "x", &s);
        break;
    case 'j':
        s = chela_arg_json(call, "x");
        break;
    }
    if (rc < 0)
        return rc;
    chela_result_printf(call, "%lld %g %d %s", (long long)i, d, b, s ? s : "NULL");
    return 0;
}

static void test_arguments(void **state) {
    static const struct {
        struct typed t;
        const char *arguments, *want; /* want starting with '!': an error */
    } typed[] = {
        {{"int", false}, "{\"x\":42}", "42 -1 1 default"},
        {{"int", false}, "{\"x\":9223372036854775807}", "9223372036854775807 -1 1 default"},
        {{"int", false}, "{\"x\":1.0}", "1 -1 1 default"},
        {{"int", false}, "{\"x\":1.5}", "!must be a whole number"},
        {{"int", false}, "{\"x\":9223372036854775808}", "!must be a whole number"},
        {{"int", false}, "{\"x\":\"1\"}", "!must be a whole number"},
        {{"int", false}, "{}", "!is missing: a whole number"},
        {{"int", false}, "{\"x\":null}", "!is missing"},
        {{"int", true}, "{}", "-1 -1 1 default"},
        {{"int", true}, "{\"x\":null}", "-1 -1 1 default"},
        {{"int", true}, "{\"x\":[]}", "!must be a whole number"},
        {{"double", false}, "{\"x\":1.5}", "-1 1.5 1 default"},
        {{"double", false}, "{\"x\":true}", "!must be a number"},
        {{"double", false}, "{\"x\":1e999}", "!must be a number"},
        {{"double", true}, "{}", "-1 -1 1 default"},
        {{"bool", false}, "{\"x\":false}", "-1 -1 0 default"},
        {{"bool", false}, "{\"x\":0}", "!must be true or false"},
        {{"bool", true}, "{}", "-1 -1 1 default"},
        {{"string", false}, "{\"x\":\"hi \\u4f60\"}", "-1 -1 1 hi \xe4\xbd\xa0"},
        {{"string", false}, "{\"x\":\"\"}", "-1 -1 1 "},
        {{"string", false}, "{\"x\":\"a\\u0000b\"}", "!without NUL"},
        {{"string", false}, "{\"x\":1}", "!must be a string"},
        {{"string", true}, "{}", "-1 -1 1 default"},
        {{"json", false}, "{\"x\":{\"a\":[1, 2.50]}}", "-1 -1 1 {\"a\":[1,2.50]}"},
        {{"json", false}, "{\"x\":null}", "-1 -1 1 null"},
        {{"json", false}, "{}", "-1 -1 1 NULL"},
    };

    (void)state;
    for (size_t i = 0; i < CH_LEN(typed); i++) {
        struct kit k;
        kit_init(&k);
        add(&k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "t", .fn = read_typed,
                                                        .user = (void *)&typed[i].t));
        kit_call(&k, "t", typed[i].arguments);
        bool error = typed[i].want[0] == '!';
        if (k.is_error != error ||
            (error ? !strstr(k.content, typed[i].want + 1) || !strstr(k.content, "\\\"x\\\"")
                   : strcmp(k.content, typed[i].want) != 0))
            fail_msg("%s %s: %s", typed[i].t.kind, typed[i].arguments, k.content);
        kit_free(&k);
    }
}

/* --- how functions end --------------------------------------------------- */

static int say(chela_call *call, void *user) {
    const char *how = user;

    if (strcmp(how, "nothing") == 0)
        return 0;
    if (strcmp(how, "code") == 0)
        return CHELA_ENET;
    if (strcmp(how, "late error") == 0) {
        chela_result_text(call, "partial", 7);
        return chela_result_error(call, "rate_limited", "wait %d s", 5);
    }
    if (strcmp(how, "media") == 0)
        chela_result_media(call, "image/png", "\x89PNG", 4);
    chela_result_details(call, "{\"k\":1}");
    chela_result_text(call, "one ", 4);
    chela_result_printf(call, "and %s", "two");
    return 0;
}

static void test_results(void **state) {
    static const struct {
        const char *how, *content, *type, *details;
    } results[] = {
        {"nothing", "", NULL, ""},
        {"text", "one and two", NULL, "{\"k\":1}"},
        {"media", "one and two", NULL, "{\"k\":1}"},
        {"code",
         "{\"error\":\"network failure\",\"error_type\":\"network\",\"retryable\":true,"
         "\"details\":{}}",
         "network", ""},
        {"late error",
         "{\"error\":\"wait 5 s\",\"error_type\":\"rate_limited\",\"retryable\":true,"
         "\"details\":{}}",
         "rate_limited", ""},
    };

    (void)state;
    for (size_t i = 0; i < CH_LEN(results) * 2; i++) {
        struct kit k;
        kit_init(&k);
        add(&k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "t", .fn = say,
                                                        .user = (void *)results[i / 2].how,
                                                        .flags = i % 2 ? CHELA_TOOL_ON_LOOP : 0));
        kit_call(&k, "t", "{}");
        assert_string_equal(k.content, results[i / 2].content);
        assert_string_equal(k.details, results[i / 2].details);
        assert_int_equal(k.is_error, results[i / 2].type != NULL);
        bool media = strcmp(results[i / 2].how, "media") == 0;
        assert_int_equal(k.results->nblocks, media ? 2 : 1);
        assert_int_equal(k.results->blocks[0].span, media ? 1 : 0);
        assert_int_equal(k.results->blocks[0].flags & CH_F_ERROR, k.is_error ? CH_F_ERROR : 0);
        if (media) {
            assert_int_equal(k.results->blocks[1].type, CH_BLOCK_IMAGE);
            assert_true(ch_sv_is(k.results->blocks[1].text, "iVBORw=="));
            assert_true(ch_sv_is(k.results->blocks[1].name, "image/png"));
        }
        kit_free(&k);
    }
}

/* --- timeouts, and functions that do not listen -------------------------- */

struct stubborn {
    atomic_bool entered, told, returned;
};

static int wait_until_told(chela_call *call, void *user) {
    struct stubborn *s = user;

    atomic_store(&s->entered, true);
    chela_call_progress(call, "working");
    for (int i = 0; i < 5000 && !chela_call_cancelled(call); i++)
        pause_ms(1);
    atomic_store(&s->told, chela_call_cancelled(call));
    pause_ms(30); /* and some more, when nobody waits */
    chela_result_text(call, "too late", 8);
    chela_call_progress(call, "too late");
    atomic_store(&s->returned, true);
    return 0;
}

static void test_timeout(void **state) {
    static const enum chela_effect effects[] = {CHELA_EFFECT_ONCE, CHELA_EFFECT_READ};

    (void)state;
    for (size_t i = 0; i < CH_LEN(effects); i++) {
        struct stubborn s = {0};
        struct kit k;
        kit_init(&k);
        add(&k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "slow", .fn = wait_until_told,
                                                        .user = &s, .timeout_ms = 50,
                                                        .effect = effects[i]));
        int64_t from = kit_ms();
        kit_call(&k, "slow", "{}");
        assert_true(kit_ms() - from < 4000);
        assert_true(k.is_error);
        assert_string_equal(k.error_type, "timeout");
        assert_non_null(strstr(k.content, "slow did not finish within 0.05 seconds."));
        assert_int_equal(strstr(k.content, "unknown") != NULL, effects[i] == CHELA_EFFECT_ONCE);
        assert_int_equal(strstr(k.content, "\"retryable\":true") != NULL,
                         effects[i] == CHELA_EFFECT_READ);
        assert_null(strstr(k.content, "too late"));
        kit_free(&k); /* waits for the thread */
        assert_true(s.told && s.returned);
    }
}

static int block(chela_call *call, void *user) {
    (void)call;
    (void)user;
    pause_ms(300);
    return 0;
}

/* A timeout that no clock reaches does not expire at once. */
static void test_endless_timeout(void **state) {
    struct kit k;

    (void)state;
    kit_init(&k);
    add(&k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "block", .fn = block,
                                                    .timeout_ms = INT64_MAX));
    kit_call(&k, "block", "{}");
    assert_false(k.is_error);
    kit_free(&k);
}

static int count(chela_call *call, void *user) {
    (void)call;
    atomic_fetch_add((atomic_int *)user, 1);
    return 0;
}

/* All threads are taken: a call that times out in the queue is never begun. */
static void test_timeout_in_the_queue(void **state) {
    struct kit_call calls[] = {{"a", "block", "", 0}, {"b", "count", "", 0}};
    atomic_int runs = 0;
    struct kit k;

    (void)state;
    kit_init(&k);
    ch_workers_free(k.workers);
    k.opts.workers = k.workers = ch_workers_new(k.loop, 1);
    add(&k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "block", .fn = block));
    add(&k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "count", .fn = count, .user = &runs,
                                                    .timeout_ms = 30));
    kit_start(&k, calls, 2);
    kit_wait(&k);
    struct ch_msg *m = ch_batch_message(k.batch, 0);
    CH_AUTOFREE char *text = ch_strndup(m->blocks[1].text.p, m->blocks[1].text.n);
    assert_non_null(strstr(text, "has not run"));
    ch_msg_free(m);
    kit_free(&k);
    assert_int_equal(runs, 0);
}

static void test_close_while_running(void **state) {
    struct stubborn s = {0};
    struct kit k;

    (void)state;
    kit_init(&k);
    add(&k,
        (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "slow", .fn = wait_until_told, .user = &s));
    struct kit_call call = {"c", "slow", "{}", 0};
    kit_start(&k, &call, 1);
    for (int i = 0; i < 1000 && !s.entered; i++) {
        ch_loop_tick(k.loop);
        pause_ms(1);
    }
    assert_true(s.entered);
    ch_registry_remove(&k.registry, "slow"); /* the call keeps its tool */
    kit_end(&k);
    kit_free(&k);
    assert_true(s.told && s.returned);
}

/* Never even submitted to a thread. */
static void test_close_at_once(void **state) {
    struct kit k;

    (void)state;
    kit_init(&k);
    add(&k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "echo", .fn = echo));
    struct kit_call call = {"c", "echo", "{}", 0};
    kit_start(&k, &call, 1);
    kit_end(&k);
    kit_start(&k, &call, 1);
    ch_loop_tick(k.loop);
    kit_end(&k);
    kit_free(&k);
}

/* --- progress ------------------------------------------------------------ */

static int report(chela_call *call, void *user) {
    (void)user;
    chela_call_progress(call, "step 1");
    chela_call_progress(call, "\x1b[31mstep\n2\x1b[0m");
    return 0;
}

static int report_much(chela_call *call, void *user) {
    (void)user;
    for (int i = 0; i < 100000; i++)
        chela_call_progress(call, "x");
    return 0;
}

static void test_progress(void **state) {
    struct kit k;

    (void)state;
    kit_init(&k);
    add(&k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "report", .fn = report));
    add(&k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "much", .fn = report_much));
    kit_call(&k, "report", "{}");
    assert_string_equal(ch_buf_str(&k.log), "started c;progress c step 1;progress c step 2;"
                                            "finished c;over 0;");
    kit_call(&k, "much", "{}");
    assert_false(k.is_error);
    kit_free(&k);
}

/* --- calls that are finished later --------------------------------------- */

struct later {
    chela_call *call;
    pthread_t thread;
    atomic_bool go;
    bool joinable, twice;
};

static void *finish_later(void *arg) {
    struct later *l = arg;

    while (!atomic_load(&l->go))
        pause_ms(1);
    chela_call_progress(l->call, "nearly");
    chela_result_text(l->call, "done later", 10);
    chela_call_finish(l->call);
    return NULL;
}

static int begin(chela_call *call, void *user) {
    struct later *l = user;

    chela_call_defer(call);
    l->call = call;
    l->joinable = true;
    return pthread_create(&l->thread, NULL, finish_later, l) == 0 ? 0 : CHELA_EIO;
}

static void test_deferred(void **state) {
    struct later l = {.go = true};
    struct kit k;

    (void)state;
    kit_init(&k);
    add(&k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "later", .fn = begin, .user = &l,
                                                    .flags = CHELA_TOOL_ON_LOOP));
    assert_string_equal(kit_call(&k, "later", "{}"), "done later");
    pthread_join(l.thread, NULL);
    kit_free(&k);
}

/* The host finishes after a timeout, after the batch, after the loop. */
static void test_finished_too_late(void **state) {
    (void)state;
    for (int when = 0; when < 3; when++) {
        struct later l = {0};
        struct kit k;
        kit_init(&k);
        add(&k,
            (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "later", .fn = begin, .user = &l,
                                                    .flags = CHELA_TOOL_ON_LOOP, .timeout_ms = 20));
        kit_call(&k, "later", "{}");
        assert_string_equal(k.error_type, "timeout");
        if (when == 1)
            kit_end(&k);
        if (when == 2)
            kit_free(&k);
        atomic_store(&l.go, true);
        pthread_join(l.thread, NULL);
        if (when < 2)
            kit_free(&k);
    }
}

/* Finished, but the loop is closed before it hears of it. */
static void test_finished_unheard(void **state) {
    struct later l = {0};
    struct kit k;

    (void)state;
    kit_init(&k);
    add(&k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "later", .fn = begin, .user = &l,
                                                    .flags = CHELA_TOOL_ON_LOOP));
    struct kit_call call = {"c", "later", "{}", 0};
    kit_start(&k, &call, 1);
    while (!l.joinable)
        ch_loop_tick(k.loop);
    atomic_store(&l.go, true);
    pthread_join(l.thread, NULL);
    kit_free(&k);
}

static int finish_now(chela_call *call, void *user) {
    (void)user;
    chela_call_defer(call);
    chela_result_text(call, "now", 3);
    chela_call_finish(call);
    chela_call_finish(call); /* once is enough */
    return 0;
}

static int fail_after_defer(chela_call *call, void *user) {
    (void)user;
    chela_call_defer(call);
    return CHELA_EIO;
}

static int defer_on_thread(chela_call *call, void *user) {
    (void)user;
    chela_call_defer(call); /* only for tools on the loop: ignored */
    chela_call_finish(call);
    chela_result_text(call, "plain", 5);
    return 0;
}

static void test_odd_deferrals(void **state) {
    static const struct {
        chela_tool_fn *fn;
        unsigned flags;
        const char *want;
    } odd[] = {
        {finish_now, CHELA_TOOL_ON_LOOP, "now"},
        {fail_after_defer, CHELA_TOOL_ON_LOOP, "input/output error"},
        {defer_on_thread, 0, "plain"},
    };

    (void)state;
    for (size_t i = 0; i < CH_LEN(odd); i++) {
        struct kit k;
        kit_init(&k);
        add(&k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "t", .fn = odd[i].fn,
                                                        .flags = odd[i].flags));
        assert_non_null(strstr(kit_call(&k, "t", "{}"), odd[i].want));
        kit_free(&k);
    }
}

/* --- calls that a listener holds ------------------------------------------- */

struct holder {
    struct ch_call_listener listener, *place;
    chela_call *held;
    unsigned asked;
    bool hold;
};

static bool on_starting(struct ch_call_listener *l, chela_call *call) {
    struct holder *h = CH_CONTAINER(l, struct holder, listener);

    h->asked++;
    if (h->hold)
        h->held = call;
    return !h->hold;
}

/* A held call is started, cancelled, late, or abandoned with its batch. */
static void test_held(void **state) {
    (void)state;
    for (int what = 0; what < 4; what++) {
        struct holder h = {.listener = {on_starting}, .hold = true};
        struct kit_call call = {"c", "count", "", 0};
        atomic_int runs = 0;
        struct kit k;

        h.place = &h.listener;
        kit_init(&k);
        k.opts.listener = &h.place;
        add(&k, (struct chela_tool_opts)CHELA_TOOL_OPTS(.name = "count", .fn = count, .user = &runs,
                                                        .timeout_ms = what == 2 ? 20 : 60000));
        kit_start(&k, &call, 1);
        while (!h.held)
            ch_loop_tick(k.loop);
        h.hold = false;
        if (what == 1)
            ch_batch_cancel(k.batch, "enough");
        if (what == 3)
            kit_end(&k);
        if (what == 2)
            kit_wait(&k);
        ch_call_start(h.held);
        if (what < 2)
            kit_wait(&k);
        assert_int_equal(h.asked, what == 0 ? 2 : 1);
        assert_int_equal(runs, what == 0);
        assert_int_equal(k.is_error && strstr(k.content, "has not run"), what == 2);
        kit_free(&k);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before),
        cmocka_unit_test(test_own_rules),
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_timeout),
        cmocka_unit_test(test_endless_timeout),
        cmocka_unit_test(test_timeout_in_the_queue),
        cmocka_unit_test(test_close_while_running),
        cmocka_unit_test(test_close_at_once),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_deferred),
        cmocka_unit_test(test_finished_too_late),
        cmocka_unit_test(test_finished_unheard),
        cmocka_unit_test(test_odd_deferrals),
        cmocka_unit_test(test_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
