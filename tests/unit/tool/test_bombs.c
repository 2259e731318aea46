/* test_bombs.c -- commands in the sandbox that do not end, multiply, grow, or are
 * left alone: one result each, soon, and nothing remains of them. And ordinary
 * ones, which the same limits must not hurt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "support/boxworld.h"
#include "tool/builtin/builtin.h"

static bool holds(const char *path, const char *text) {
    CH_AUTOFREE char *got = kit_get(&w.k, path);

    return got && strstr(got, text);
}

/* --- bombs ---------------------------------------------------------------------- */

static const struct bomb {
    const char *what, *command; /* % is a word to know its processes by */
    const char *type;           /* of the ending; NULL: it may end well */
    bool forks;
} bombs[] = {
    {"never ends", "sleep %; true", "stopped", false},
    {"loops", "while :; do :; done; sleep %", "stopped", false},
    {"deaf", "trap '' TERM; sleep % & wait; sleep %", "stopped", false},
    {"deaf all over", "trap '' TERM; (trap '' TERM; sleep %) & sleep %", "stopped", false},
    {"daemon", "setsid setsid sh -c 'sleep %' >/dev/null 2>&1 </dev/null & echo started", NULL,
     false},
    {"daemon, deaf",
     "setsid sh -c 'trap \"\" TERM HUP; sleep %; sleep %' >/dev/null 2>&1 & sleep 0.2", NULL,
     false},
    {"keeps the pipes", "sleep % & echo started", NULL, false},
    {"forks", "f() { f | f & }; f; sleep %", NULL, true},
    {"forks and leaves", "f() { (setsid sh -c 'sleep %' &) ; f; }; f", NULL, true},
};

static const char *ended_as[CH_LEN(bombs)]; /* "": well; NULL: not yet */

static void note_end(const struct ch_block *call, const struct ch_result *r, void *user) {
    size_t i = (size_t)(call->id.p[0] - '0');

    (void)user;
    assert_null(ended_as[i]); /* exactly one result */
    bool stopped = ch_sv_contains_nocase(r->content, "[stopped after ");
    ended_as[i] = r->is_error ? r->error_type : stopped ? "stopped" : "";
}

static const char *bomb_mark(size_t i) {
    static char mark[24];

    snprintf(mark, sizeof(mark), "7%d%zu", (int)getpid(), i);
    return mark;
}

static void make_bomb(struct ch_buf *out, size_t i) {
    CH_BUF_AUTO command = {0};

    for (const char *p = bombs[i].command; *p; p++)
        if (*p == '%')
            ch_buf_add_str(&command, bomb_mark(i));
        else
            ch_buf_addc(&command, *p);
    world_arguments(out, ch_buf_str(&command), ",\"timeout\":0.5");
}

/* All at once: they must not hold each other up either. */
static void test_bombs(enum box_machine machine) {
    static const char *const ids[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8"};
    struct ch_buf arguments[CH_LEN(bombs)] = {{0}};
    struct kit_call calls[CH_LEN(bombs)];
    size_t n = 0;

    world_open(machine);
    w.policy.limits.processes = 64;
    memset(ended_as, 0, sizeof(ended_as));
    for (size_t i = 0; i < CH_LEN(bombs); i++) {
        make_bomb(&arguments[i], i);
        if (!bombs[i].forks || w.limited) /* or "processes" was reported as missing */
            calls[n++] = (struct kit_call){ids[i], "exec", ch_buf_str(&arguments[i]), 0};
    }
    w.k.ops.finished = note_end;
    w.k.opts.parallel = CH_LEN(bombs);
    int64_t from = kit_ms();
    kit_start(&w.k, calls, n);
    kit_wait(&w.k);
    assert_true(kit_ms() - from < 20000);
    for (size_t i = 0; i < n; i++) {
        const struct bomb *b = &bombs[calls[i].id[0] - '0'];
        const char *as = ended_as[calls[i].id[0] - '0'];
        if (!as || (b->type && strcmp(as, b->type) != 0))
            fail_msg("%s, %s: %s", box_machine_names[machine], b->what, as ? as : "no result");
        world_wait_until_gone(b->what, bomb_mark((size_t)(calls[i].id[0] - '0')));
    }
    if (!w.limited)
        assert_non_null(strstr(world_layer("processes")->why, "root"));
    for (size_t i = 0; i < CH_LEN(bombs); i++)
        ch_buf_release(&arguments[i]);
    world_close();
}

static void test_limits(enum box_machine machine) {
    struct stat st;

    world_open(machine);
    /* Memory: of programs that are not ours, which a sanitizer may be in. */
    w.policy.limits.memory = 64 * CH_MB;
    world_run("tail /dev/zero", ",\"timeout\":30");
    assert_null(strstr(w.k.content, "stopped after"));
    assert_non_null(strstr(w.k.content, "memory"));
    /* Each process is below the limit, all of them together are not. */
    w.policy.limits.memory = 100 * CH_MB;
    if (w.boxed) {
        int64_t from = kit_ms();
        world_run("for i in 1 2 3 4 5 6; do { head -c 40000000 /dev/zero; sleep 20; } | tail & "
                  "done; wait; echo survived",
                  ",\"timeout\":60");
        assert_true(w.k.is_error);
        assert_non_null(strstr(w.k.content, "used more than 100 MB of memory together"));
        assert_true(kit_ms() - from < 15000); /* all of them are ended, not only the largest */
    }
    /* What is shared counts once, also while processes are made. */
    world_run("python3 -c 'import os, time\nx = bytearray(80000000)\nend = time.time() + 2\n"
              "while time.time() < end:\n"
              "  for i in range(6): os.fork() or (time.sleep(0.02), os._exit(0))\n"
              "  for i in range(6): os.wait()\n"
              "' && echo survived",
              ",\"timeout\":60");
    assert_non_null(strstr(w.k.content, "survived"));
    w.policy.limits.memory = UINT64_MAX;

    if (machine == BOX_AS_IT_IS) { /* a second of it, which takes one or more */
        w.policy.limits.cpu_s = 1;
        world_run("while :; do :; done", ",\"timeout\":60");
        assert_false(w.k.is_error);
        assert_non_null(strstr(w.k.content, "ended by signal"));
        w.policy.limits.cpu_s = 0;
    }

    w.policy.limits.file_size = CH_MB;
    world_run("head -c 100000000 /dev/zero > big; true", "");
    CH_AUTOFREE char *big = kit_path(&w.k, "big");
    assert_int_equal(stat(big, &st), 0);
    assert_true(st.st_size <= (off_t)CH_MB);
    w.policy.limits.file_size = 0;

    w.policy.limits.files = 32;
    world_run("ulimit -n", "");
    assert_non_null(strstr(w.k.content, "\n32\n"));
    w.policy.limits.files = 0;

    if (w.boxed) {
        w.policy.limits.tmp = CH_MB;
        world_run("head -c 10000000 /dev/zero > /tmp/big || echo FULL", "");
        assert_non_null(strstr(w.k.content, "FULL"));
        world_run("head -c 10000000 /dev/zero > /dev/shm/big || echo FULL", "");
        assert_non_null(strstr(w.k.content, "FULL"));
        w.policy.limits.tmp = 0;
    }
    world_close();
}

/* Without a cgroup, process 1 adds the memory up. It does so although processes that were left to
 * it end all the time. */
static void test_memory_amid_signals(void **state) {
    static const char command[] =
        "exec 2>/dev/null; echo begun; for i in 1 2; do while :; do (sleep 0.01 &); done & done; "
        "{ head -c 200000000 /dev/zero; sleep 4; } | tail -n 1 | head -c 1 >/dev/null; "
        "echo survived; kill -9 -1";
    char *argv[] = {"chela-sandbox", "--outer=namespaces", "--limit-total=100000000", "--cwd=/",
                    "--", "/bin/sh", "-c", (char *)command, NULL};
    char text[4096];

    (void)state;
    if (box_run_as_nobody(argv, -1, text, sizeof(text)) == 0)
        skip();
    assert_string_equal(text, "begun\n");
}

/* --- what works in a box -------------------------------------------------------- */

static void test_daily_life(enum box_machine machine) {
    static const struct {
        const char *what, *command;
        bool boxed; /* only with namespaces */
    } works[] = {
        {"the workspace", "echo a > f && cat f && mkdir -p d && mv f d && rm -r d", false},
        {"temporary files", "x=$(mktemp) && echo a > $x && test -s $x", false},
        {"a home", "cd && pwd && touch $HOME/.cache && test -w $HOME", false},
        {"/tmp", "echo a > /tmp/x && test -s /tmp/x", true},
        {"it is fresh", "test ! -e /tmp/x", true},
        {"devices",
         "echo a > /dev/null && head -c 1 /dev/zero >/dev/null && head -c 1 /dev/urandom "
         ">/dev/null",
         false},
        {"standard streams", "echo a > /dev/stdout && echo b > /dev/stderr && cat < /dev/stdin",
         false},
        {"process substitution", "bash -c 'cat <(echo a) > >(cat)'", false},
        {"shared memory", "test -d /dev/shm && echo a > /dev/shm/x", true},
        {"programs", "awk 'BEGIN {print 1}' && sed -n 1p /etc/passwd && id -u", false},
        {"a compiler",
         "command -v cc >/dev/null || exit 0; echo 'int main(void){return 0;}' > t.c && "
         "cc -o t t.c && ./t",
         false},
        {"git", "command -v git >/dev/null || exit 0; git --version", false},
        {"pipes and signals", "sh -c 'kill -TERM $$'; test $? = 143", false},
        {"many processes", "for i in 1 2 3 4 5 6 7 8; do sleep 0.01 & done; wait", false},
        {"its own servers", "bash -c 'exec 3<>/dev/tcp/127.0.0.1/1' 2>&1 | grep -q refused", true},
        {"a name", "test $(uname -n) = sandbox", true},
        {"its address", "getent hosts sandbox | grep -q ^127", true},
        {"a sanitizer",
         "command -v cc >/dev/null || exit 0; echo 'int main(void){return 0;}' > t.c && "
         "cc -fsanitize=address -o t t.c || exit 0; ./t",
         true},
        {"a debugger",
         "./attacker attack ptrace | grep ESCAPED && ./attacker attack vm-read | grep ESCAPED",
         true},
        {"it is not process 1", "test $$ != 1", false},
    };

    world_open(machine);
    for (size_t i = 0; i < CH_LEN(works); i++) {
        if (works[i].boxed && !w.boxed)
            continue;
        world_run(works[i].command, "");
        if (w.k.is_error)
            fail_msg("%s, %s: %s", box_machine_names[machine], works[i].what, w.k.content);
    }
    /* Without namespaces, other terminals are closed, but not the command's own. */
    world_run(w.boxed ? "echo a > /dev/tty" : "echo a > /dev/tty && echo b > /dev/stdin",
              ",\"pty\":true");
    assert_false(w.k.is_error);
    assert_int_equal(kit_entries(&w.k, "../outside"), 4);
    assert_non_null(
        strstr(w.k.details, w.boxed ? "\"sandbox\":\"on\"" : "\"sandbox\":\"degraded\""));
    world_close();
}

/* A command that is abandoned leaves neither processes nor files that others trust. */
static void test_abandoned(enum box_machine machine) {
    char mark[24];
    CH_BUF_AUTO arguments = {0};

    world_open(machine);
    snprintf(mark, sizeof(mark), "8%d", (int)getpid());
    ch_buf_addf(&arguments, "{\"command\":\"echo evil > .env; echo up > up; sleep %s\"}", mark);
    struct kit_call call = {"c", "exec", ch_buf_str(&arguments), 0};
    kit_start(&w.k, &call, 1);
    for (int i = 0; i < 1000 && !holds("up", "up"); i++) {
        ch_loop_tick(w.k.loop);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    assert_true(holds("up", "up"));
    CH_AUTOFREE char *env = kit_path(&w.k, ".env");
    struct stat st;
    assert_int_equal(lstat(env, &st), 0);
    kit_end(&w.k);
    world_wait_until_gone("abandoned", mark);
    for (int i = 0; i < 2000 && lstat(env, &st) == 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    assert_int_equal(lstat(env, &st), -1);
    world_close();
}

/* Nor does one that is abandoned at any moment of its start. */
static void test_abandoned_early(enum box_machine machine) {
    char mark[24];
    CH_BUF_AUTO arguments = {0};

    world_open(machine);
    snprintf(mark, sizeof(mark), "9%d", (int)getpid());
    ch_buf_addf(&arguments, "{\"command\":\"sleep %s\"}", mark);
    struct kit_call call = {"c", "exec", ch_buf_str(&arguments), 0};
    for (int moment = 0; moment < 24; moment++) {
        int64_t from = kit_ms();
        kit_start(&w.k, &call, 1);
        do {
            ch_loop_tick(w.k.loop);
            nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
        } while (kit_ms() - from < moment);
        kit_end(&w.k);
    }
    world_wait_until_gone("abandoned early", mark);
    world_close();
}

/* Eight at once, in one workspace, each of which makes what is set aside at the end of another. */
static void test_together(enum box_machine machine) {
    struct kit_call calls[8];

    world_open(machine);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < CH_LEN(calls); i++)
            calls[i] = (struct kit_call){
                "c", "exec",
                i % 2
                    ? "{\"command\":\"(echo evil > .env) 2>/dev/null; sleep 0.05; true\"}"
                    : "{\"command\":\"for i in 1 2 3 4 5 6 7 8 9; do (mkdir -p .git/hooks && echo "
                      "evil > .git/hooks/x) 2>/dev/null; sleep 0.02; done; true\"}",
                0};
        kit_start(&w.k, calls, CH_LEN(calls));
        kit_wait(&w.k);
        assert_int_equal(ch_batch_totals(w.k.batch).ok, 8);
        CH_AUTOFREE char *git = kit_path(&w.k, ".git/hooks/x"), *env = kit_path(&w.k, ".env");
        struct stat st;
        if (w.boxed && (lstat(git, &st) == 0 || lstat(env, &st) == 0))
            fail_msg("%s: something was planted or left", box_machine_names[machine]);
    }
    world_close();
}

/* --- all of it, on every machine ------------------------------------------------- */

ON_ALL(test_bombs)
ON_ALL(test_limits)
ON_ALL(test_daily_life)
ON_ALL(test_abandoned)
ON_ALL(test_abandoned_early)
ON_ALL(test_together)

static int run_all(void) {
    const struct CMUnitTest tests[] = {
        TESTS_OF(test_bombs),     TESTS_OF(test_limits),   TESTS_OF(test_daily_life),
        TESTS_OF(test_abandoned), TESTS_OF(test_abandoned_early), TESTS_OF(test_together),
        cmocka_unit_test(test_memory_amid_signals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv) {
    return world_main(argc, argv, run_all);
}
