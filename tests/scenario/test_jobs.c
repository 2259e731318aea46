/* test_jobs.c -- background processes of a session: their end reaches the model,
 * in a run or by waking the session, and they end with it. The programs are
 * real, and so is the time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "chela.h"
#include "support/box.h"
#include "support/toolkit.h"

static struct world {
    struct kit k; /* for its directory */
    chela_runtime *rt;
    chela_agent *agent;
    chela_session *session;
    struct ch_buf events; /* "type:text\n" of what matters here */
    unsigned wakes, ends;
    bool wake_up; /* start a run when woken */
} w;

static void on_event(const struct chela_event *ev, void *user) {
    (void)user;
    if (ev->type == CHELA_EV_SYSTEM_EVENT)
        ch_buf_addf(&w.events, "event: %.*s\n", (int)ev->note.text.n, ev->note.text.p);
    if (ev->type == CHELA_EV_TOOL_RESULT)
        ch_buf_addf(&w.events, "result: %.*s\n", (int)ev->result.content.n, ev->result.content.p);
    if (ev->type == CHELA_EV_RUN_END) {
        ch_buf_addf(&w.events, "end: %.*s\n", (int)ev->end.text.n, ev->end.text.p);
        w.ends++;
    }
}

static void on_wake(chela_session *s, void *user) {
    struct chela_run_opts opts = CHELA_RUN_OPTS(.on_event = on_event);
    struct chela_error err = {0};

    (void)user;
    w.wakes++;
    if (w.wake_up && chela_run_wake(s, &opts, NULL, &err) < 0)
        fail_msg("%s", err.message);
}

static void open_world(const char *rules) {
    struct chela_error err = {0};
    CH_BUF_AUTO model = {0};

    memset(&w, 0, sizeof(w));
    kit_init(&w.k);
    kit_put(&w.k, "../rules.yaml", rules);
    ch_buf_addf(&model, "scripted/%s/rules.yaml", w.k.dir);
    struct chela_sandbox_opts sandbox = CHELA_SANDBOX_OPTS(.helper = box_helper());
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(.model = ch_buf_str(&model), .workspace = w.k.workspace,
                         .tools = "exec,process", .approve = CHELA_APPROVE_AUTO,
                         .sandbox = &sandbox);
    if (chela_runtime_new(NULL, &w.rt, &err) < 0 ||
        chela_agent_new(w.rt, &opts, &w.agent, &err) < 0 ||
        chela_session_new(w.agent, NULL, &w.session, &err) < 0)
        fail_msg("%s", err.message);
    chela_session_on_wake(w.session, on_wake, NULL);
}

static void close_world(void) {
    chela_runtime_close(w.rt);
    ch_buf_release(&w.events);
    kit_free(&w.k);
}

static void start(const char *text) {
    struct chela_run_opts opts = CHELA_RUN_OPTS(.on_event = on_event);
    struct chela_error err = {0};

    if (chela_run_start(w.session, text, strlen(text), &opts, NULL, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(chela_runtime_run(w.rt), 0);
}

/* Turn the loop until *n is at least `least`. */
static void wait_for(const unsigned *n, unsigned least) {
    for (int i = 0; i < 3000 && *n < least; i++) {
        chela_runtime_poll(w.rt);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    assert_true(*n >= least);
}

static void expect(const char *text) {
    if (!strstr(ch_buf_str(&w.events), text))
        fail_msg("no '%s' in:\n%s", text, ch_buf_str(&w.events));
}

static void expect_not(const char *text) {
    if (strstr(ch_buf_str(&w.events), text))
        fail_msg("'%s' in:\n%s", text, ch_buf_str(&w.events));
}

static bool is_there(const char *name) {
    CH_AUTOFREE char *path = kit_path(&w.k, name);
    return access(path, F_OK) == 0;
}

#define BACKGROUND(command) "{ tool: exec, args: { command: '" command "', background: true } }"

/* The job ends while a run is under way: told before the next model call. */
static void test_told_in_a_run(void **state) {
    (void)state;
    open_world(
        "rules:\n"
        "  - { when: { user: '^go$', turn: 1 }, call: " BACKGROUND(
            "sleep 0.2; exit 3") " }\n"
                                 "  - { when: { user: '^go$', turn: 2, result: '(job_[0-9a-f]+)' "
                                 "}, call: { tool: "
                                 "process, args: { action: poll, wait: 30, id: '{{1}}' } } }\n"
                                 "  - { when: { user: 'ended with exit code 3' }, say: 'I heard of "
                                 "it' }\n"
                                 "  - { say: 'nobody told me' }\n");
    start("go");
    expect("event: Process job_");
    expect("ended with exit code 3");
    expect("end: I heard of it");
    assert_int_equal(w.wakes, 0);
    close_world();
}

/* It ends afterwards: the session wakes up, and the model is told. */
static void test_wakes_the_session(void **state) {
    (void)state;
    open_world(
        "rules:\n"
        "  - { when: { user: '^go$', after: none }, call: " BACKGROUND(
            "while [ ! -e go ]; do sleep 0.05; done; echo built") " }\n"
                                                                  "  - { when: { user: '^go$' }, "
                                                                  "say: started }\n"
                                                                  "  - { when: { user: 'The end of "
                                                                  "its output:.built' }, say: 'it "
                                                                  "is built' }\n"
                                                                  "  - { say: 'what?' }\n");
    w.wake_up = true;
    start("go");
    expect("end: started");
    kit_put(&w.k, "go", "");
    wait_for(&w.ends, 2);
    assert_int_equal(w.wakes, 1);
    expect("end: it is built"); /* which the rule takes from the output */
    struct chela_error err = {0};
    assert_int_equal(chela_run_wake(w.session, NULL, NULL, &err), CHELA_ENOENT);
    close_world();
}

/* Nobody starts a run: it waits for the next one, after the user's words. */
static void test_waits_for_the_next_run(void **state) {
    (void)state;
    open_world("rules:\n"
               "  - { when: { user: '^go$', after: none }, call: " BACKGROUND(
                   "while [ ! -e go ]; do sleep 0.05; done") " }\n"
                                                             "  - { when: { user: '^go$' }, say: "
                                                             "started }\n"
                                                             "  - { say: 'heard: {{user}}' }\n");
    start("go");
    kit_put(&w.k, "go", "");
    wait_for(&w.wakes, 1);
    assert_int_equal(w.ends, 1);
    start("and now?");
    expect("event: Process job_");
    close_world();
}

/* A job that the model killed itself is no news. */
static void test_killed_is_no_news(void **state) {
    (void)state;
    open_world("rules:\n"
               "  - { when: { user: '^go$', turn: 1 }, call: " BACKGROUND(
                   "sleep 1000") " }\n"
                                 "  - { when: { user: '^go$', turn: 2, result: '(job_[0-9a-f]+)' "
                                 "}, call: { tool: "
                                 "process, args: { action: kill, id: '{{1}}' } } }\n"
                                 "  - { say: '{{result}}' }\n");
    start("go");
    expect("killed by signal");
    expect_not("event:");
    assert_int_equal(w.wakes, 0);
    close_world();
}

/* Jobs end with their session, whatever they think of it. */
static void test_ends_with_the_session(void **state) {
    (void)state;
    open_world(
        "rules:\n"
        "  - { when: { user: '^go$', turn: 1 }, call: " BACKGROUND("trap \"\" TERM HUP; touch up; "
                                                                   "while :; do touch alive; sleep "
                                                                   "0.05; done") " }\n"
                                                                                 "  - { when: { "
                                                                                 "user: '^go$', "
                                                                                 "turn: 2 }, call: "
                                                                                 "{ tool: exec, "
                                                                                 "args: { command: "
                                                                                 "'while [ "
                                                                                 "! -e up ]; do "
                                                                                 "sleep 0.05; "
                                                                                 "done' } } }\n"
                                                                                 "  - { say: ok "
                                                                                 "}\n");
    start("go");
    assert_true(is_there("up"));
    chela_session_close(w.session);
    chela_runtime_poll(w.rt);
    chela_runtime_poll(w.rt);
    CH_AUTOFREE char *alive = kit_path(&w.k, "alive");
    bool gone = false;
    for (int i = 0; i < 100 && !gone; i++) {
        unlink(alive);
        nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
        gone = !is_there("alive");
    }
    assert_true(gone);
    assert_int_equal(w.wakes, 0);
    close_world();
}

/* A workspace that may not be written, and one that may. */
static void test_policy_reaches_the_box(void **state) {
    static const char *const nothing[] = {NULL};
    (void)state;
    open_world(
        "rules:\n"
        "  - { when: { user: '^go$', turn: 1 }, call: { tool: exec, args: { command: 'echo x > "
        "written && cat /proc/net/dev | wc -l' } } }\n"
        "  - { say: ok }\n");
    start("go");
    assert_true(is_there("written"));
    struct chela_error err = {0};
    CH_BUF_AUTO model = {0};
    ch_buf_addf(&model, "scripted/%s/rules.yaml", w.k.dir);
    struct chela_sandbox_opts sandbox =
        CHELA_SANDBOX_OPTS(.helper = box_helper(), .writable = nothing);
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(.id = "second", .model = ch_buf_str(&model), .workspace = w.k.workspace,
                         .tools = "exec", .sandbox = &sandbox);
    chela_agent *second;
    assert_int_equal(chela_agent_new(w.rt, &opts, &second, &err), 0);
    char *r = chela_agent_call_tool(second, "exec",
                                    "{\"command\":\"cat written; echo y > other; ls\"}", &err);
    assert_non_null(strstr(r, "Read-only file system"));
    assert_false(is_there("other"));
    chela_free(r);
    const struct {
        struct chela_sandbox_opts opts;
        const char *want;
    } bad[] = {
        {CHELA_SANDBOX_OPTS(.mode = (enum chela_sandbox_mode)9), "there is no sandbox mode 9"},
        {CHELA_SANDBOX_OPTS(.network = (enum chela_network)9), "there is no sandbox network 9"},
        {CHELA_SANDBOX_OPTS(.writable = (const char *const[]){"x", NULL}),
         "writable: 'x' is not an absolute path"},
        {CHELA_SANDBOX_OPTS(.readable = (const char *const[]){"workspace", NULL}),
         "readable: 'workspace' is not"},
        {CHELA_SANDBOX_OPTS(.protect = (const char *const[]){"a/../b", NULL}),
         "protect: 'a/../b' is neither"},
    };
    for (size_t i = 0; i < CH_LEN(bad); i++) {
        opts.sandbox = &bad[i].opts;
        assert_int_equal(chela_agent_new(w.rt, &opts, &second, &err), CHELA_EINVAL);
        if (!strstr(err.message, bad[i].want))
            fail_msg("%s", err.message);
    }
    close_world();
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_told_in_a_run),
        cmocka_unit_test(test_wakes_the_session),
        cmocka_unit_test(test_waits_for_the_next_run),
        cmocka_unit_test(test_killed_is_no_news),
        cmocka_unit_test(test_ends_with_the_session),
        cmocka_unit_test(test_policy_reaches_the_box),
    };
    box_main(argc, argv);
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
