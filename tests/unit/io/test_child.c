/* test_child.c -- programs: feeding, collecting, capping, ending. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/limits.h"
#include "io/child.h"

static struct ch_loop *loop;

/* What the callbacks saw, kept for the test to look at. */
static struct {
    bool done;
    int calls;
    struct ch_child_result result;
    struct ch_buf out, err, live;
    struct chela_error error;
    int64_t took_ms;
} got;

static void keep(const struct ch_child_result *r, const struct chela_error *err, void *user) {
    (void)user;
    got.done = true;
    got.calls++;
    assert_int_equal(r == NULL, err != NULL);
    if (err) {
        got.error = *err;
        return;
    }
    got.result = *r;
    ch_buf_add_sv(&got.out, r->out);
    ch_buf_add_sv(&got.err, r->err);
}

static void keep_live(int stream, struct ch_sv data, void *user) {
    (void)user;
    ch_buf_addf(&got.live, "%d[%.*s]", stream, CH_SV_FMT(data));
}

static void forget(void) {
    ch_buf_release(&got.out);
    ch_buf_release(&got.err);
    ch_buf_release(&got.live);
    memset(&got, 0, sizeof(got));
}

static unsigned count_entries(const char *dir) {
    DIR *d = opendir(dir);
    unsigned n = 0;
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static unsigned fds_before;

static int setup(void **state) {
    (void)state;
    ch_loop_new(NULL, NULL, &loop, NULL); /* libuv keeps two from its first loop */
    ch_loop_close(loop, NULL, NULL);
    fds_before = count_entries("/proc/self/fd");
    return ch_loop_new(NULL, NULL, &loop, NULL);
}

static int teardown(void **state) {
    (void)state;
    ch_loop_close(loop, NULL, NULL);
    forget();
    if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD)
        return -1; /* a child, alive or dead, was left behind */
    return count_entries("/proc/self/fd") == fds_before ? 0 : -1;
}

static struct ch_child *start(const struct ch_child_opts *opts) {
    struct ch_child *c = ch_child_start(loop, opts, keep_live, keep, NULL);
    assert_non_null(c);
    assert_false(got.done);
    return c;
}

static void finish(void) {
    int64_t t0 = ch_mono_ms(&ch_clock_system);
    assert_int_equal(ch_loop_run(loop, &got.done), 0);
    got.took_ms = ch_mono_ms(&ch_clock_system) - t0;
    assert_int_equal(got.calls, 1);
    bool never = false;
    assert_int_equal(ch_loop_run(loop, &never), CHELA_ESTATE); /* nothing is held */
    assert_int_equal(got.calls, 1);
}

#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})
#define SH(script) ARGV("sh", "-c", script)

static void run(const struct ch_child_opts *opts) {
    forget();
    start(opts);
    finish();
}

#define RUN(...) run(&(struct ch_child_opts){__VA_ARGS__})

/* --- the ordinary life */

static const struct {
    const char *script, *input, *out, *err;
    int code, sig;
} lives[] = {
    {"echo hello", "", "hello\n", "", 0, 0},
    {"echo oops >&2; exit 3", "", "", "oops\n", 3, 0},
    {"echo a; echo b >&2; echo c", "", "a\nc\n", "b\n", 0, 0},
    {"cat", "fed", "fed", "", 0, 0},
    {"cat /dev/stdin", "fed", "fed", "", 0, 0},
    {"cat", "", "", "", 0, 0},
    {"exit 0", "nobody reads this", "", "", 0, 0},
    {"kill -9 $$", "", "", "", -1, SIGKILL},
    {"printf 'a\\0b' | od -An -c | tr -d ' \\n'", "", "a\\0b", "", 0, 0},
    {"exec >&- 2>&-; sleep 0.1; exit 7", "", "", "", 7, 0},
};

static void test_lives(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(lives); i++) {
        RUN(.argv = SH(lives[i].script), .input = ch_sv_str(lives[i].input));
        assert_string_equal(ch_buf_str(&got.out), lives[i].out);
        assert_string_equal(ch_buf_str(&got.err), lives[i].err);
        assert_int_equal(got.result.exit_code, lives[i].code);
        assert_int_equal(got.result.signal, lives[i].sig);
        assert_int_equal(got.result.out_total, strlen(lives[i].out));
        assert_int_equal(got.result.err_total, strlen(lives[i].err));
        assert_false(got.result.timed_out || got.result.stopped);
    }
}

static void test_environment_and_directory(void **state) {
    (void)state;
    RUN(.argv = ARGV("env"), .env = ARGV("A=1", "B=x y", "PATH=/usr/bin:/bin"));
    assert_string_equal(ch_buf_str(&got.out), "A=1\nB=x y\nPATH=/usr/bin:/bin\n");
    RUN(.argv = ARGV("env"), .env = ARGV("A=1"));
    assert_string_equal(ch_buf_str(&got.out), "A=1\n");
    RUN(.argv = SH("test \"$LC_ALL$HOME$PATH\""));
    assert_int_equal(got.result.exit_code, 0);
    RUN(.argv = ARGV("pwd"), .cwd = "/usr");
    assert_string_equal(ch_buf_str(&got.out), "/usr\n");
    RUN(.argv = ARGV("./env", "true"), .cwd = "/usr/bin"); /* counts from the new directory */
    assert_int_equal(got.result.exit_code, 0);
}

static void test_output_as_it_arrives(void **state) {
    (void)state;
    RUN(.argv = SH("echo one; sleep 0.05; echo two >&2; sleep 0.05; echo three"));
    assert_string_equal(ch_buf_str(&got.live), "1[one\n]2[two\n]1[three\n]");
}

/* --- a clean slate */

static void test_inherits_only_three_descriptors(void **state) {
    (void)state;
    int leaky = open("/dev/null", O_RDONLY); /* a host that forgot O_CLOEXEC */
    int high = fcntl(leaky, F_DUPFD, 200);
    /* ls itself opens the directory as the next free one. */
    RUN(.argv = SH("ls /proc/self/fd | tr '\\n' ' '"), .input = CH_SV("x"));
    assert_string_equal(ch_buf_str(&got.out), "0 1 2 3 ");
    RUN(.argv = SH("echo /proc/$$/fd/*"));
    assert_null(strstr(ch_buf_str(&got.out), "/200"));
    close(leaky);
    close(high);
}

static void test_signals_are_as_new(void **state) {
    (void)state;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old_pipe, old_term;
    sigset_t block, old;

    sigaction(SIGPIPE, &ignore, &old_pipe);
    sigaction(SIGTERM, &ignore, &old_term);
    sigemptyset(&block);
    sigaddset(&block, SIGINT);
    sigaddset(&block, SIGTERM);
    sigprocmask(SIG_BLOCK, &block, &old);
    RUN(.argv = SH("grep -E '^Sig(Blk|Ign)' /proc/self/status | tr -d '\\t'"));
    sigprocmask(SIG_SETMASK, &old, NULL);
    sigaction(SIGPIPE, &old_pipe, NULL);
    sigaction(SIGTERM, &old_term, NULL);
    unsigned long long blocked = 1, ignored = 1;
    assert_int_equal(sscanf(ch_buf_str(&got.out), "SigBlk:%llx SigIgn:%llx", &blocked, &ignored),
                     2);
    assert_int_equal(blocked, 0);
    assert_int_equal(ignored & 0x7fffffff, 0); /* above: two of the C library's own */
}

static void test_leads_a_session_without_terminal(void **state) {
    (void)state;
    RUN(.argv = SH("set -- $(cat /proc/$$/stat); test $1 = $5 && test $1 = $6 && test $7 = 0"));
    assert_int_equal(got.result.exit_code, 0);
}

/* A host that runs without stdin, stdout or stderr. */
static void test_host_without_stdio(void **state) {
    (void)state;
    int saved[3];

    for (int i = 0; i < 3; i++) {
        saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 50);
        close(i);
    }
    forget();
    ch_child_start(loop,
                   &(struct ch_child_opts){.argv = SH("cat; echo err >&2"), .input = CH_SV("in")},
                   NULL, keep, NULL);
    /* What the host prints must not end up in a pipe of ours. */
    bool free_still = fcntl(1, F_GETFD) < 0 && fcntl(2, F_GETFD) < 0;
    int rc = ch_loop_run(loop, &got.done);
    for (int i = 0; i < 3; i++) {
        dup2(saved[i], i);
        close(saved[i]);
    }
    assert_true(free_still);
    assert_int_equal(rc, 0);
    assert_string_equal(ch_buf_str(&got.out), "in");
    assert_string_equal(ch_buf_str(&got.err), "err\n");
}

/* --- much input, much output */

static void fill(struct ch_buf *b, size_t n) {
    for (size_t i = 0; b->n < n; i++)
        ch_buf_addf(b, "line %zu\n", i);
}

static void test_large_input(void **state) {
    (void)state;
    CH_BUF_AUTO in = {0};

    fill(&in, 3 << 20);
    RUN(.argv = ARGV("cat"), .input = ch_buf_sv(&in));
    assert_int_equal(got.out.n, in.n);
    assert_memory_equal(got.out.p, in.p, in.n);

    /* Programs that take little or nothing of it. */
    RUN(.argv = ARGV("head", "-n", "1"), .input = ch_buf_sv(&in));
    assert_string_equal(ch_buf_str(&got.out), "line 0\n");
    RUN(.argv = SH("exec <&-; sleep 0.1; echo fine"), .input = ch_buf_sv(&in));
    assert_string_equal(ch_buf_str(&got.out), "fine\n");
    RUN(.argv = SH("sleep 0.1; echo fine"), .input = ch_buf_sv(&in));
    assert_string_equal(ch_buf_str(&got.out), "fine\n");
}

/* Feeding must not need the host to ignore SIGPIPE, not even in its own loop,
 * where nobody guards uv_run. */
static void test_no_sigpipe_in_host_loop(void **state) {
    (void)state;
    struct ch_loop *own = loop;
    CH_BUF_AUTO in = {0};
    uv_loop_t host;

    fill(&in, 1 << 20);
    assert_int_equal(uv_loop_init(&host), 0);
    assert_int_equal(ch_loop_new(&host, NULL, &loop, NULL), 0);
    signal(SIGPIPE, SIG_DFL);
    forget();
    start(&(struct ch_child_opts){.argv = SH("read x; exec <&-; sleep 0.1; echo $x"),
                                  .input = ch_buf_sv(&in)});
    uv_run(&host, UV_RUN_DEFAULT);
    assert_string_equal(ch_buf_str(&got.out), "line 0\n");
    ch_loop_close(loop, NULL, NULL);
    uv_run(&host, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&host), 0);
    loop = own;
}

static void test_output_is_capped(void **state) {
    (void)state;
    RUN(.argv = SH("i=0; while [ $i -lt 2000 ]; do echo 1234567; echo 12 >&2; i=$((i+1)); done"),
        .max_output = 100);
    assert_int_equal(got.result.exit_code, 0);
    assert_int_equal(got.out.n, 100);
    assert_int_equal(got.err.n, 100);
    assert_int_equal(got.result.out_total, 16000);
    assert_int_equal(got.result.err_total, 6000);
    assert_memory_equal(got.out.p + 88, "1234567\n1234", 12);
    /* On the way, too, only what is kept was shown. */
    assert_true(got.live.n < 200 + 16000 / 8);

    RUN(.argv = SH("head -c 5000000 /dev/zero"), .max_output = 1);
    assert_int_equal(got.out.n, 1);
    assert_int_equal(got.result.out_total, 5000000);
}

/* --- input that comes later, one stream, a terminal, a report */

static struct ch_child *talking; /* for on_line */

static void tick_until(const char *text) {
    for (int i = 0; i < 500 && !strstr(ch_buf_str(&got.live), text); i++) {
        usleep(10 * 1000);
        ch_loop_tick(loop);
    }
    assert_non_null(strstr(ch_buf_str(&got.live), text));
}

static void test_input_that_comes_later(void **state) {
    (void)state;
    forget();
    talking = start(&(struct ch_child_opts){
        .argv = SH("while read x; do echo got $x; done; echo end"), .open_input = true,
        .input = CH_SV("first\n")});
    tick_until("got first");
    assert_int_equal(ch_child_write(talking, CH_SV("sec")), 0);
    assert_int_equal(ch_child_write(talking, CH_SV("ond\n")), 0);
    tick_until("got second");
    assert_int_equal(ch_child_write(talking, CH_SV("third\n")), 0);
    ch_child_end_input(talking);
    ch_child_end_input(talking);
    assert_int_equal(ch_child_write(talking, CH_SV("fourth\n")), CHELA_ESTATE);
    finish();
    assert_string_equal(ch_buf_str(&got.out), "got first\ngot second\ngot third\nend\n");
}

static void test_input_that_nobody_reads(void **state) {
    (void)state;
    CH_BUF_AUTO in = {0};

    fill(&in, CH_LIMIT_CHILD_INPUT / 2);
    forget();
    talking = start(&(struct ch_child_opts){.argv = SH("sleep 60"), .open_input = true});
    assert_int_equal(ch_child_write(talking, ch_buf_sv(&in)), 0);
    int rc = 0;
    for (int i = 0; i < 4 && rc == 0; i++)
        rc = ch_child_write(talking, ch_buf_sv(&in));
    assert_int_equal(rc, CHELA_ELIMIT);
    ch_child_stop(talking);
    finish();

    /* One that closes its stdin: the next words, or those after, are refused. */
    forget();
    talking = start(&(struct ch_child_opts){.argv = SH("exec <&-; echo deaf; sleep 60"),
                                            .open_input = true});
    tick_until("deaf");
    rc = ch_child_write(talking, CH_SV("hello"));
    assert_int_equal(rc == 0 ? ch_child_write(talking, CH_SV("hello")) : rc, CHELA_ESTATE);
    ch_child_stop(talking);
    finish();

    /* Without open_input there is nothing to write to. */
    forget();
    talking = start(&(struct ch_child_opts){.argv = SH("cat"), .input = CH_SV("x")});
    assert_int_equal(ch_child_write(talking, CH_SV("y")), CHELA_ESTATE);
    ch_child_end_input(talking);
    finish();
    assert_string_equal(ch_buf_str(&got.out), "x");
}

static void test_much_input_that_comes_later(void **state) {
    (void)state;
    CH_BUF_AUTO in = {0};

    fill(&in, 2 << 20);
    forget();
    talking = start(&(struct ch_child_opts){.argv = ARGV("cat"), .open_input = true});
    assert_int_equal(ch_child_write(talking, ch_buf_sv(&in)), 0);
    assert_int_equal(ch_child_write(talking, CH_SV("the end")), 0);
    ch_child_end_input(talking);
    finish();
    assert_int_equal(got.out.n, in.n + 7);
    assert_memory_equal(got.out.p, in.p, in.n);
    assert_memory_equal(got.out.p + in.n, "the end", 7);
}

static void test_one_stream(void **state) {
    (void)state;
    RUN(.argv = SH("for i in 1 2 3; do echo o$i; echo e$i >&2; done"), .merge = true);
    assert_string_equal(ch_buf_str(&got.out), "o1\ne1\no2\ne2\no3\ne3\n");
    assert_int_equal(got.err.n, 0);
    assert_int_equal(got.result.err_total, 0);
}

static void count_live(int stream, struct ch_sv data, void *user) {
    *(size_t *)user += stream == 1 ? data.n : 0;
}

static void test_nothing_kept(void **state) {
    (void)state;
    size_t seen = 0;
    struct ch_child_opts opts = {.argv = SH("head -c 5000000 /dev/zero"), .stream = true,
                                 .max_output = 10};
    forget();
    ch_child_start(loop, &opts, count_live, keep, &seen);
    finish();
    assert_int_equal(seen, 5000000);
    assert_int_equal(got.out.n, 0);
    assert_int_equal(got.result.out_total, 5000000);
}

static void test_terminal(void **state) {
    (void)state;
    RUN(.argv = SH("test -t 0 && test -t 1 && test -t 2 && stty size </dev/tty; echo err >&2"),
        .tty = true);
    assert_string_equal(ch_buf_str(&got.out), "40 120\nerr\n");
    assert_int_equal(got.result.exit_code, 0);
    RUN(.argv = ARGV("cat"), .tty = true); /* nothing to read: it ends */
    assert_int_equal(got.result.exit_code, 0);
    RUN(.argv = SH("stty -echo; read x; echo \"<$x>\""), .tty = true, .input = CH_SV("typed\n"));
    assert_non_null(strstr(ch_buf_str(&got.out), "<typed>\n"));

    forget();
    talking = start(&(struct ch_child_opts){
        .argv = SH("stty -echo; echo ready; while read x; do echo \"<$x>\"; done; echo end"),
        .tty = true, .open_input = true});
    tick_until("ready");
    assert_int_equal(ch_child_write(talking, CH_SV("one\n")), 0);
    tick_until("<one>");
    ch_child_end_input(talking);
    finish();
    assert_string_equal(ch_buf_str(&got.out), "ready\n<one>\nend\n");

    RUN(.argv = SH("sleep 60"), .tty = true, .timeout_ms = 100);
    assert_true(got.result.timed_out);
    assert_true(got.took_ms < 50000);
}

static struct ch_sv reported(const struct ch_child_result *r) {
    static char text[64];
    snprintf(text, sizeof(text), "%.*s", CH_SV_FMT(r->report));
    return ch_sv_str(text);
}

static void keep_report(const struct ch_child_result *r, const struct chela_error *err,
                        void *user) {
    keep(r, err, NULL);
    ch_buf_add_sv(user, reported(r));
}

static void test_report(void **state) {
    (void)state;
    CH_BUF_AUTO report = {0};
    struct ch_child_opts opts = {.argv = SH("echo out; echo word >&3; ls /proc/self/fd | wc -l"),
                                 .report = true};
    forget();
    ch_child_start(loop, &opts, keep_live, keep_report, &report);
    finish();
    assert_string_equal(ch_buf_str(&report), "word\n");
    assert_string_equal(ch_buf_str(&got.out), "out\n5\n"); /* 0 to 3, and the directory */
    assert_null(strstr(ch_buf_str(&got.live), "word"));

    RUN(.argv = SH("echo word >&3"));
    assert_int_not_equal(got.result.exit_code, 0);
    /* Too much of it is dropped, and does not block the program. */
    RUN(.argv = SH("head -c 1000000 /dev/zero >&3; echo fine"), .report = true);
    assert_string_equal(ch_buf_str(&got.out), "fine\n");
}

/* --- ending */

static void test_timeout(void **state) {
    (void)state;
    RUN(.argv = SH("echo before; sleep 60; echo after"), .timeout_ms = 100,
        .grace_ms = 50000);
    assert_true(got.result.timed_out);
    assert_false(got.result.stopped);
    assert_int_equal(got.result.exit_code, -1);
    assert_int_equal(got.result.signal, SIGTERM);
    assert_string_equal(ch_buf_str(&got.out), "before\n");
    assert_true(got.took_ms >= 95 && got.took_ms < 50000);
}

static void test_kill_after_grace(void **state) {
    (void)state;
    RUN(.argv = SH("trap '' TERM; echo ready; while :; do sleep 0.05; done"), .timeout_ms = 200,
        .grace_ms = 100);
    assert_true(got.result.timed_out);
    assert_int_equal(got.result.signal, SIGKILL);
    assert_true(got.took_ms >= 295 && got.took_ms < 50000); /* the loop's clock has whole ms */
}

static void test_term_is_enough_for_the_polite(void **state) {
    (void)state;
    RUN(.argv = SH("trap 'echo bye; exit 5' TERM; while :; do sleep 0.02; done"), .timeout_ms = 200,
        .grace_ms = 20000);
    assert_true(got.result.timed_out);
    assert_int_equal(got.result.exit_code, 5);
    assert_string_equal(ch_buf_str(&got.out), "bye\n");
    assert_true(got.took_ms < 20000);
}

static void test_stop(void **state) {
    (void)state;
    struct ch_child *c = start(&(struct ch_child_opts){.argv = SH("sleep 60"), .grace_ms = 50000});
    ch_child_stop(c);
    ch_child_stop(c);
    finish();
    assert_true(got.result.stopped);
    assert_false(got.result.timed_out);
    assert_int_equal(got.result.signal, SIGTERM);
}

static pid_t noted_pid(void) {
    const char *at = strstr(ch_buf_str(&got.live), "pid ");
    assert_non_null(at);
    return (pid_t)strtol(at + 4, NULL, 10);
}

/* A process is gone, or will be in a moment (init has to reap it). */
static bool is_gone(pid_t pid) {
    char path[64], state = 'Z';

    for (int i = 0; i < 200; i++) {
        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        FILE *f = fopen(path, "r");
        if (!f)
            return true;
        if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
            state = 'Z';
        fclose(f);
        if (state == 'Z')
            return true;
        usleep(10 * 1000);
    }
    return false;
}

static void test_grandchild_holding_the_pipes(void **state) {
    (void)state;
    RUN(.argv = SH("sleep 60 & echo pid $!; exit 4"));
    assert_int_equal(got.result.exit_code, 4);
    assert_false(got.result.stopped || got.result.timed_out);
    assert_true(got.took_ms < 50000);
    assert_true(is_gone(noted_pid()));
}

/* On a busy machine the grandchild may miss the time; it does not miss it again and again. */
static void test_grandchild_that_finishes_in_time(void **state) {
    (void)state;
    for (int i = 0; i < 20; i++) {
        RUN(.argv = SH("(sleep 0.05; echo late) & echo early"));
        if (strcmp(ch_buf_str(&got.out), "early\n") != 0)
            break;
    }
    assert_string_equal(ch_buf_str(&got.out), "early\nlate\n");
}

/* One that never stops writing cannot delay the end either. */
static void test_grandchild_that_floods(void **state) {
    (void)state;
    RUN(.argv = SH("yes & echo pid $!"), .max_output = 1000);
    assert_true(got.took_ms < 50000);
    assert_true(got.result.out_total > 1000);
    assert_true(is_gone(noted_pid()));
}

/* It has left the group: it cannot be killed, but it is not waited for. */
static void test_grandchild_in_its_own_session(void **state) {
    (void)state;
    RUN(.argv = SH("setsid sh -c 'echo pid $$; exec sleep 60' & sleep 0.1"));
    assert_true(got.took_ms < 50000);
    assert_int_equal(got.result.exit_code, 0);
    pid_t pid = noted_pid();
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_true(is_gone(pid));
}

static void test_background_process_that_let_go(void **state) {
    (void)state;
    RUN(.argv = SH("sleep 60 >/dev/null 2>&1 & echo pid $!"));
    pid_t pid = noted_pid();
    assert_int_equal(kill(pid, 0), 0); /* left alone */
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_true(is_gone(pid));

    /* But not if the child was stopped. */
    RUN(.argv = SH("(trap '' TERM; exec sleep 60 >/dev/null 2>&1) & echo pid $!; sleep 60"),
        .timeout_ms = 200);
    assert_true(is_gone(noted_pid()));
}

/* --- closing */

static void must_not_come(const struct ch_child_result *r, const struct chela_error *err, void *u) {
    (void)r, (void)err, (void)u;
    fail_msg("callback after ch_child_close");
}

static void ticks(int n) {
    while (n-- > 0) {
        ch_loop_tick(loop);
        usleep(2000);
    }
}

/* On a slow machine the child is stopped before it is closed. */
static void comes_before_close(const struct ch_child_result *r, const struct chela_error *err,
                               void *closed) {
    if (*(const bool *)closed)
        must_not_come(r, err, NULL);
}

static void test_close_at_any_moment(void **state) {
    (void)state;
    CH_BUF_AUTO in = {0};
    fill(&in, 1 << 20);
    bool closed[12] = {false};

    for (int delay = 0; delay < 12; delay++) {
        struct ch_child *c = ch_child_start(
            loop,
            &(struct ch_child_opts){.argv = SH("trap '' TERM; echo a; sleep 0.01; cat; sleep 60"),
                                    .input = ch_buf_sv(&in),
                                    .timeout_ms = delay % 3 ? 10 : 0},
            NULL, comes_before_close, &closed[delay]);
        ticks(delay);
        closed[delay] = true;
        ch_child_close(c);
        if (delay % 2)
            ticks(10);
    }
    bool never = false;
    assert_int_equal(ch_loop_run(loop, &never), CHELA_ESTATE);
    ch_child_close(NULL);
}

/* Closed while only a grandchild keeps the pipes: between exit and done. */
static void test_close_while_draining(void **state) {
    (void)state;
    struct ch_child *c =
        ch_child_start(loop, &(struct ch_child_opts){.argv = SH("sleep 60 & echo pid $!")},
                       keep_live, must_not_come, NULL);
    ticks(30);
    ch_child_close(c);
    ticks(150);
    assert_true(is_gone(noted_pid()));
}

static void test_close_of_failed_start(void **state) {
    (void)state;
    struct ch_child *c = ch_child_start(
        loop, &(struct ch_child_opts){.argv = ARGV("/no/such/program")}, NULL, must_not_come, NULL);
    ch_child_stop(c);
    ch_child_close(c);
    ticks(3);
}

static struct ch_child *victim;

static void close_on_output(int stream, struct ch_sv data, void *user) {
    (void)stream, (void)data, (void)user;
    ch_child_close(victim);
    got.done = true;
}

static void stop_on_output(int stream, struct ch_sv data, void *user) {
    (void)stream, (void)data, (void)user;
    ch_child_stop(victim);
}

static void close_in_done(const struct ch_child_result *r, const struct chela_error *err, void *u) {
    keep(r, err, u);
    ch_child_close(victim);
}

static void test_close_and_stop_in_callbacks(void **state) {
    (void)state;
    const struct ch_child_opts talker = {.argv = SH("echo a; sleep 60")};

    victim = ch_child_start(loop, &talker, close_on_output, must_not_come, NULL);
    assert_int_equal(ch_loop_run(loop, &got.done), 0);

    forget();
    victim = ch_child_start(loop, &talker, stop_on_output, keep, NULL);
    finish();
    assert_true(got.result.stopped);

    forget();
    victim = ch_child_start(loop, &(struct ch_child_opts){.argv = ARGV("true")}, NULL,
                            close_in_done, NULL);
    finish();
    assert_int_equal(got.result.exit_code, 0);

    /* Closed by the output that the end reads, and by late output. */
    forget();
    victim = ch_child_start(loop,
                            &(struct ch_child_opts){.argv = SH("(sleep 0.05; echo b; sleep 60) &")},
                            close_on_output, must_not_come, NULL);
    assert_int_equal(ch_loop_run(loop, &got.done), 0);
}

/* --- what cannot be started */

static char dir[] = "/tmp/chela-child-XXXXXX";

/* valgrind makes a fork of posix_spawn's vfork, and exec's failure is lost. */
static bool exec_failure_is_lost(void) {
    const char *preload = getenv("LD_PRELOAD");
    return preload && strstr(preload, "vgpreload");
}

static char *make_file(const char *name, const char *text, mode_t mode) {
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (int)strlen(text));
    fchmod(fd, mode);
    close(fd);
    return path;
}

static void check_refused(int code, const char *message) {
    assert_int_equal(got.error.code, code);
    assert_string_equal(got.error.message, message);
}

static void test_start_failures(void **state) {
    (void)state;
    char want[256];

    if (exec_failure_is_lost())
        skip();

    RUN(.argv = ARGV("no-such-program-here"));
    check_refused(CHELA_ENOENT, "cannot run no-such-program-here: not found in PATH");
    RUN(.argv = ARGV("/no/such/program"), .input = CH_SV("in"));
    check_refused(CHELA_ENOENT, "cannot run /no/such/program: no such file or directory");
    RUN(.argv = ARGV("/tmp"));
    check_refused(CHELA_EPERM, "cannot run /tmp: permission denied");
    RUN(.argv = ARGV("true"), .cwd = "/no/such/dir");
    check_refused(CHELA_ENOENT,
                  "cannot run true: working directory /no/such/dir: no such file or directory");
    RUN(.argv = ARGV("true"), .cwd = "/dev/null");
    check_refused(CHELA_ENOENT, "cannot run true: working directory /dev/null: not a directory");
    RUN(.argv = (const char *const[]){NULL});
    check_refused(CHELA_EINVAL, "cannot run a program without a name");
    RUN(.argv = ARGV(""));
    check_refused(CHELA_EINVAL, "cannot run a program without a name");

    assert_non_null(mkdtemp(dir));
    char in_path[64];
    snprintf(in_path, sizeof(in_path), "PATH=:bin:%s", dir);
    chmod(dir, 0); /* keeps out all but root */
    RUN(.argv = ARGV("plain"), .env = ARGV(in_path));
    check_refused(CHELA_ENOENT, "cannot run plain: not found in PATH");
    chmod(dir, 0700);
    const char *path = make_file("plain", "echo hi\n", 0644);
    RUN(.argv = ARGV(path));
    snprintf(want, sizeof(want), "cannot run %s: permission denied", path);
    check_refused(CHELA_EPERM, want);
    RUN(.argv = ARGV("plain"), .env = ARGV(in_path));
    check_refused(CHELA_EPERM, "cannot run plain: the file in PATH is not executable");
    unlink(path);
    path = make_file("script", "#!/no/such/interpreter\n", 0755);
    RUN(.argv = ARGV("script"), .env = ARGV(in_path));
    check_refused(CHELA_ENOENT, "cannot run script: its interpreter is missing");
    unlink(path);
    path = make_file("headless", "echo hi\n", 0755);
    RUN(.argv = ARGV("headless"), .env = ARGV(in_path));
    check_refused(CHELA_EIO, "cannot run headless: not a program (no #! line?)");
    unlink(path);
    rmdir(dir);
}

static void test_relative_path_entries_are_skipped(void **state) {
    (void)state;
    int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(chdir("/usr/bin"), 0);
    RUN(.argv = ARGV("env"), .env = ARGV("PATH=.::../bin"));
    assert_int_equal(fchdir(here), 0);
    close(here);
    check_refused(CHELA_ENOENT, "cannot run env: not found in PATH");
}

/* However many descriptors are left, as long as they are too few. */
static void test_out_of_descriptors(void **state) {
    (void)state;
    struct rlimit before;
    int held[256], n = 0;

    getrlimit(RLIMIT_NOFILE, &before);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){CH_LEN(held), before.rlim_max});
    while ((held[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        n++;
    for (int spare = 0; spare < 5; spare++) {
        RUN(.argv = ARGV("true"), .input = CH_SV("x"));
        check_refused(CHELA_ELIMIT, "cannot run true: too many open files");
        close(held[--n]);
    }
    RUN(.argv = ARGV("true"), .input = CH_SV("x")); /* the pipes, but no pidfd */
    assert_int_equal(got.result.exit_code, 0);
    while (n > 0)
        close(held[--n]);
    setrlimit(RLIMIT_NOFILE, &before);
}

/* --- hosts with habits of their own */

static void test_host_that_ignores_sigchld(void **state) {
    (void)state;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old;

    sigaction(SIGCHLD, &ignore, &old);
    RUN(.argv = SH("echo out; exit 3"));
    sigaction(SIGCHLD, &old, NULL);
    assert_string_equal(ch_buf_str(&got.out), "out\n");
    assert_int_equal(got.result.exit_code, -1);
    assert_int_equal(got.result.signal, 0);
}

/* A kernel, or a sandbox, without pidfd_open. In a process of its own, since
 * a filter cannot be taken off again. */
static void forbid_pidfd(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {CH_LEN(code), code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        _exit(77);
}

static int without_pidfd(void) {
    forget();
    ch_loop_new(NULL, NULL, &loop, NULL);
    ch_child_start(loop, &(struct ch_child_opts){.argv = SH("exec >&- 2>&-; sleep 0.1; exit 6")},
                   NULL, keep, NULL);
    if (ch_loop_run(loop, &got.done) != 0 || got.result.exit_code != 6)
        return 1;
    forget();
    ch_child_start(loop, &(struct ch_child_opts){.argv = SH("sleep 60"), .timeout_ms = 50}, NULL,
                   keep, NULL);
    if (ch_loop_run(loop, &got.done) != 0 || got.result.signal != SIGTERM)
        return 2;
    ch_child_close(ch_child_start(loop, &(struct ch_child_opts){.argv = SH("sleep 60")}, NULL,
                                  must_not_come, NULL));
    ticks(20);
    if (waitpid(-1, NULL, WNOHANG) != -1)
        return 3;
    ch_loop_close(loop, NULL, NULL);
    return 0;
}

static void test_without_pidfd(void **state) {
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        forbid_pidfd();
        _exit(without_pidfd());
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip(); /* already in a sandbox that allows no filters */
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* --- a clock the test holds */

static int64_t held_ms;

static int64_t read_held(void *user) {
    (void)user;
    return held_ms;
}

static void test_timeout_follows_the_loops_clock(void **state) {
    (void)state;
    const struct ch_clock clock = {read_held, read_held, NULL};
    struct ch_loop *real = loop;

    assert_int_equal(ch_loop_new(NULL, &clock, &loop, NULL), 0);
    /* Ends by itself: run waits for it although time stands still. */
    start(&(struct ch_child_opts){.argv = SH("sleep 0.05; echo x"), .timeout_ms = 10});
    finish();
    assert_false(got.result.timed_out);

    forget();
    start(&(struct ch_child_opts){.argv = SH("sleep 60"), .timeout_ms = 3600 * 1000});
    held_ms += 3600 * 1000 - 1;
    ticks(3);
    assert_false(got.done);
    held_ms += 1;
    finish();
    assert_true(got.result.timed_out);
    ch_loop_close(loop, NULL, NULL);
    loop = real;
}

/* The host dies as soon as the program was started: the program has its whole input. */
static void test_input_of_a_dead_host(void **state) {
    enum { SIZE = 1024 * 1024 };
    (void)state;
    char path[] = "/tmp/chela-child-XXXXXX", script[160];
    char *input = malloc(SIZE);
    int fd = mkstemp(path), status;
    struct stat st = {0};
    assert_true(fd >= 0 && input);
    memset(input, 'x', SIZE);
    snprintf(script, sizeof(script), "sleep 0.2; cat >%s; echo >>%s", path, path);
    pid_t host = fork();
    if (host == 0) {
        struct ch_child_opts opts = {.argv = SH(script), .input = ch_sv(input, SIZE)};
        ch_child_start(loop, &opts, NULL, keep, NULL);
        _exit(0);
    }
    free(input);
    assert_int_equal(waitpid(host, &status, 0), host);
    for (int i = 0; i < 600 && st.st_size != SIZE + 1; i++) {
        usleep(50000);
        fstat(fd, &st);
    }
    assert_int_equal(st.st_size, SIZE + 1);
    close(fd);
    unlink(path);
}

/* Nobody can change what the program was given. */
static void test_input_is_fixed(void **state) {
    (void)state;
    RUN(.argv = SH("cat; echo x >/dev/stdin || echo; cat /dev/stdin"), .input = CH_SV("abc"));
    assert_string_equal(ch_buf_str(&got.out), "abc\nabc");
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        T(test_lives),
        T(test_environment_and_directory),
        T(test_output_as_it_arrives),
        T(test_inherits_only_three_descriptors),
        T(test_signals_are_as_new),
        T(test_leads_a_session_without_terminal),
        T(test_host_without_stdio),
        T(test_large_input),
        T(test_no_sigpipe_in_host_loop),
        T(test_output_is_capped),
        T(test_timeout),
        T(test_kill_after_grace),
        T(test_term_is_enough_for_the_polite),
        T(test_stop),
        T(test_grandchild_holding_the_pipes),
        T(test_grandchild_that_finishes_in_time),
        T(test_grandchild_that_floods),
        T(test_grandchild_in_its_own_session),
        T(test_background_process_that_let_go),
        T(test_close_at_any_moment),
        T(test_close_while_draining),
        T(test_close_of_failed_start),
        T(test_close_and_stop_in_callbacks),
        T(test_start_failures),
        T(test_relative_path_entries_are_skipped),
        T(test_out_of_descriptors),
        T(test_host_that_ignores_sigchld),
        T(test_input_that_comes_later),
        T(test_input_that_nobody_reads),
        T(test_much_input_that_comes_later),
        T(test_one_stream),
        T(test_nothing_kept),
        T(test_terminal),
        T(test_report),
        T(test_input_of_a_dead_host),
        T(test_input_is_fixed),
        cmocka_unit_test(test_without_pidfd),
        T(test_timeout_follows_the_loops_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
