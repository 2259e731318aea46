/* test_exec.c -- the tools exec and process: what they take, what they answer,
 * and the jobs behind them. That the sandbox holds is test_sandbox.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "support/box.h"
#include "support/toolkit.h"
#include "tool/builtin/builtin.h"
#include "tool/call/approval.h"
#include "tool/result/head_tail.h"
#include "tool/process/jobs.h"
#include "tool/process/sandbox_policy.h"

static struct ch_sandbox_policy policy;
static struct ch_jobs *jobs;
static struct ch_buf ends; /* what on_exit was told */

static void on_exit_event(const struct ch_job_end *end, void *user) {
    (void)user;
    ch_buf_addf(&ends, "%s|%s|%d|%d|%d|%.*s;", end->id, end->command, end->exit_code, end->signal,
                end->killed, CH_SV_FMT(end->tail));
}

static void open_kit(struct kit *k) {
    struct chela_error err = {0};

    kit_init(k);
    policy = (struct ch_sandbox_policy){.helper = box_helper()};
    ch_buf_clear(&ends);
    jobs = ch_jobs_new(k->loop, k->workers, on_exit_event, NULL);
    k->opts.sandbox = &policy;
    k->opts.jobs = jobs;
    if (ch_builtin_add_with(&k->registry, NULL, "exec,process", NULL, &err) < 0)
        fail_msg("%s", err.message);
}

static void close_kit(struct kit *k) {
    kit_end(k);
    ch_jobs_close(jobs);
    ch_buf_release(&ends);
    kit_free(k);
}

/* The text below the heading "[exit code 0, 0.0 s]". */
static const char *output(const struct kit *k) {
    const char *line = strchr(k->content, '\n');
    return line ? line + 1 : "";
}

/* --- commands */

static const struct {
    const char *what, *arguments;
    const char *type, *want; /* type NULL: success, and want is all of the output */
} cases[] = {
    {"a command", "{\"command\":\"echo hello\"}", NULL, "hello\n"},
    {"nothing", "{\"command\":\"true\"}", NULL, "(no output)"},
    {"a pipe", "{\"command\":\"echo b a | tr ' ' '\\\\n' | sort\"}", NULL, "a\nb\n"},
    {"both streams, in order", "{\"command\":\"for i in 1 2 3; do echo o$i; echo e$i >&2; done\"}",
     NULL, "o1\ne1\no2\ne2\no3\ne3\n"},
    {"argv", "{\"argv\":[\"printf\",\"%s|\",\"a b\",\"$HOME\",\"*\"]}", NULL, "a b|$HOME|*|"},
    {"argv as command", "{\"command\":[\"echo\",\"x\"]}", NULL, "x\n"},
    {"stdin is empty", "{\"command\":\"cat; echo end\"}", NULL, "end\n"},
    {"the workspace", "{\"command\":\"basename \\\"$PWD\\\"\"}", NULL, "ws\n"},
    {"cwd", "{\"command\":\"basename \\\"$PWD\\\"\",\"cwd\":\"sub\"}", NULL, "sub\n"},
    {"workdir", "{\"command\":\"basename \\\"$PWD\\\"\",\"workdir\":\"./sub/\"}", NULL, "sub\n"},
    {"env", "{\"command\":\"echo $GREETING\",\"env\":{\"GREETING\":\"a b\"}}", NULL, "a b\n"},
    {"env wins", "{\"command\":\"echo $LANG $TERM\",\"env\":{\"LANG\":\"xx\",\"TERM\":\"yy\"}}",
     NULL, "xx yy\n"},
    {"no terminal", "{\"command\":\"test -t 0 || test -t 1 || echo $TERM\"}", NULL, "dumb\n"},
    {"a terminal",
     "{\"command\":\"test -t 0 && test -t 1 && test -t 2 && echo $TERM\",\"pty\":true}", NULL,
     "xterm-256color\n"},
    {"a controlling one", "{\"command\":\"echo yes > /dev/tty\",\"pty\":true}", NULL, "yes\n"},
    {"escapes", "{\"command\":\"printf '\\\\033[31mred\\\\033[0m\\\\n'\"}", NULL, "red\n"},
    {"bad bytes", "{\"command\":\"printf 'a\\\\377b\\\\n'\"}", NULL,
     "a\xef\xbf\xbd"
     "b\n"},
    {"null arguments", "{\"command\":\"echo x\",\"cwd\":null,\"timeout\":null,\"env\":null}", NULL,
     "x\n"},
    {"no such program", "{\"argv\":[\"no-such-program\"]}", "not_found",
     "cannot run no-such-program"},
    {"no such file", "{\"argv\":[\"./no-such-file\"]}", "not_found", "cannot run ./no-such-file"},
    {"no such directory", "{\"command\":\"true\",\"cwd\":\"nowhere\"}", "not_found", "nowhere"},
    {"a file for a directory", "{\"command\":\"true\",\"cwd\":\"file\"}", "not_found", "file"},
    {"cwd outside", "{\"command\":\"true\",\"cwd\":\"/\"}", "permission_denied", "/"},
    {"cwd above", "{\"command\":\"true\",\"cwd\":\"..\"}", "permission_denied", ".."},
    {"cwd by a link", "{\"command\":\"true\",\"cwd\":\"out\"}", "permission_denied", "out"},
    {"no command", "{}", "invalid_arguments", "\\\"command\\\" is missing"},
    {"an empty one", "{\"command\":\"  \"}", "invalid_arguments", "The command is empty"},
    {"an object", "{\"command\":{}}", "invalid_arguments", "must be a string"},
    {"both", "{\"command\":\"a\",\"argv\":[\"b\"]}", "invalid_arguments", "either command"},
    {"no words", "{\"argv\":[]}", "invalid_arguments", "argv must hold"},
    {"no program", "{\"argv\":[\"\"]}", "invalid_arguments", "name the program"},
    {"words that are none", "{\"argv\":[{}]}", "invalid_arguments", "argv"},
    {"a NUL", "{\"argv\":[\"echo\",\"a\\u0000b\"]}", "invalid_arguments", "without NUL"},
    {"a NUL in the command", "{\"command\":\"echo \\u0000\"}", "invalid_arguments", "without NUL"},
    {"milliseconds", "{\"command\":\"true\",\"timeout\":120000}", "invalid_arguments",
     "in seconds"},
    {"back in time", "{\"command\":\"true\",\"timeout\":-1}", "invalid_arguments", "in seconds"},
    {"env of a wrong type", "{\"command\":\"true\",\"env\":[]}", "invalid_arguments", "an object"},
    {"a value of one", "{\"command\":\"true\",\"env\":{\"A\":{}}}", "invalid_arguments",
     "must be a string"},
    {"a name that is none", "{\"command\":\"true\",\"env\":{\"A=B\":\"\"}}", "invalid_arguments",
     "no variable can have"},
};

static void test_cases(void **state) {
    struct kit k;

    (void)state;
    open_kit(&k);
    kit_mkdir(&k, "sub");
    kit_put(&k, "file", "");
    kit_link(&k, "..", "out");
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        kit_call(&k, "exec", cases[i].arguments);
        if (k.is_error != (cases[i].type != NULL) ||
            (cases[i].type
                 ? strcmp(k.error_type, cases[i].type) != 0 || !strstr(k.content, cases[i].want)
                 : strncmp(k.content, "[exit code 0, ", 14) != 0 ||
                       strcmp(output(&k), cases[i].want) != 0))
            fail_msg("%s: %s", cases[i].what, k.content);
    }
    close_kit(&k);
}

/* A command that fails has a result like any other: its output, and how it ended as the last
 * line. */
static void test_failures_are_results(void **state) {
    static const struct {
        const char *what, *arguments, *want, *detail;
    } failures[] = {
        {"exit code", "{\"command\":\"echo out; echo err >&2; exit 3\"}",
         "out\nerr\n[exit code 3]", "\"exit_code\":3"},
        {"no line end", "{\"command\":\"printf out; exit 255\"}", "out\n[exit code 255]",
         "\"exit_code\":255"},
        {"no output", "{\"command\":\"exit 77\"}", "(no output)\n[exit code 77]",
         "\"exit_code\":77"},
        {"bytes that are no text", "{\"command\":\"head -c 999 /dev/zero; exit 4\"}",
         "[exec: 999 bytes that are not text (or not in UTF-8), not shown]\n[exit code 4]",
         "\"exit_code\":4"},
        {"a signal", "{\"command\":\"kill -SEGV $$\"}",
         "(no output)\n[ended by signal 11 (Segmentation fault)]", "\"signal\":11"},
        {"time", "{\"command\":\"echo before; sleep 60\",\"timeout\":0.3}",
         "before\n[stopped after 0.3 s by its time limit; use a longer timeout, or background]",
         "\"timed_out\":true"},
    };
    struct kit k;

    (void)state;
    open_kit(&k);
    for (size_t i = 0; i < CH_LEN(failures); i++) {
        kit_call(&k, "exec", failures[i].arguments);
        if (k.is_error || strcmp(k.content, failures[i].want) != 0 ||
            !strstr(k.details, failures[i].detail))
            fail_msg("%s: %s %s", failures[i].what, k.content, k.details);
    }
    close_kit(&k);
}

/* Variables that choose the code that runs are not for the model to slip in. */
static void test_variables(void **state) {
    static const char *const names[] = {
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "BASH_ENV",
        "ENV",
        "PS4",
        "SHELLOPTS",
        "PATH",
        "PYTHONPATH",
        "NODE_OPTIONS",
        "LESSOPEN",
        "GIT_SSH_COMMAND",
        "GIT_EXTERNAL_DIFF",
        "BASH_FUNC_ls",
        "PERL5OPT",
        "IFS",
        "HOME",
    };
    struct kit k;

    (void)state;
    open_kit(&k);
    for (size_t i = 0; i < CH_LEN(names); i++) {
        CH_BUF_AUTO arguments = {0};
        ch_buf_addf(&arguments, "{\"command\":\"touch ran\",\"env\":{\"%s\":\"x\"}}", names[i]);
        kit_call(&k, "exec", ch_buf_str(&arguments));
        if (!k.error_type || strcmp(k.error_type, "invalid_arguments") != 0 ||
            !strstr(k.content, names[i]))
            fail_msg("%s: %s", names[i], k.content);
    }
    CH_AUTOFREE char *ran = kit_get(&k, "ran");
    assert_null(ran);
    close_kit(&k);
}

static void test_environment_is_clean(void **state) {
    struct kit k;

    (void)state;
    setenv("CHELA_TEST_SECRET", "hunter2", 1);
    setenv("OPENAI_API_KEY", "hunter2", 1);
    open_kit(&k);
    kit_call(&k, "exec", "{\"command\":\"env; cat /proc/self/environ\"}");
    assert_false(k.is_error);
    assert_null(strstr(k.content, "hunter2"));
    unsetenv("CHELA_TEST_SECRET");
    unsetenv("OPENAI_API_KEY");
    close_kit(&k);
}

/* The model can never approve itself. */
static void test_self_approval(void **state) {
    static const char *const arguments[] = {
        "{\"command\":\"/approve abc once\"}",
        "{\"command\":\"echo /approve abc\"}",
        "{\"command\":\"true; '/approve' abc\"}",
        "{\"command\":\"/app''rove abc\"}",
        "{\"command\":\"/appr\\\\ove abc\"}",
        "{\"command\":\"\\\"/approve\\\" abc\"}",
        "{\"command\":\"/APPROVE abc\"}",
        "{\"command\":\"printf x\\n/approve abc\"}",
        "{\"argv\":[\"echo\",\"/approve abc\"]}",
        "{\"argv\":[\"/approve\"]}",
        "{\"command\":\"echo $A\",\"env\":{\"A\":\"/approve abc\"}}",
    };
    static const char *const fine[] = {
        "{\"command\":\"echo docs/approve.md\"}",
        "{\"command\":\"echo https://example.com/approved\"}",
    };
    struct kit k;

    (void)state;
    open_kit(&k);
    for (size_t i = 0; i < CH_LEN(arguments); i++) {
        kit_call(&k, "exec", arguments[i]);
        if (!k.error_type || strcmp(k.error_type, "permission_denied") != 0)
            fail_msg("%s: %s", arguments[i], k.content);
    }
    for (size_t i = 0; i < CH_LEN(fine); i++) {
        kit_call(&k, "exec", fine[i]);
        assert_false(k.is_error);
    }
    kit_call(&k, "process", "{\"action\":\"write\",\"id\":\"job_1\",\"data\":\"/approve abc\"}");
    assert_string_equal(k.error_type, "permission_denied");
    close_kit(&k);
}

/* --- much output */

static void test_ends(void **state) {
    struct ch_ends e = {0};
    CH_BUF_AUTO text = {0}, all = {0};

    (void)state;
    for (size_t i = 0; all.n < 3 * CH_LIMIT_OUTPUT_END; i++) {
        size_t from = all.n;
        ch_buf_addf(&all, "line %zu\n", i);
        ch_ends_add(&e, ch_sv(all.p + from, all.n - from));
        if (i == 10) {
            ch_ends_text(&e, &text);
            assert_string_equal(ch_buf_str(&text), ch_buf_str(&all));
        }
    }
    ch_buf_clear(&text);
    ch_ends_text(&e, &text);
    assert_int_equal(e.total, all.n);
    assert_memory_equal(text.p, all.p, CH_LIMIT_OUTPUT_END);
    assert_memory_equal(text.p + text.n - CH_LIMIT_OUTPUT_END, all.p + all.n - CH_LIMIT_OUTPUT_END,
                        CH_LIMIT_OUTPUT_END);
    char note[64];
    snprintf(note, sizeof(note), "[... %zu bytes were not kept ...]",
             all.n - 2 * CH_LIMIT_OUTPUT_END);
    assert_non_null(strstr(ch_buf_str(&text), note));
    ch_ends_release(&e);
    ch_ends_add(&e, ch_buf_sv(&all)); /* all at once */
    ch_buf_clear(&text);
    ch_ends_text(&e, &text);
    assert_non_null(strstr(ch_buf_str(&text), note));
    ch_ends_release(&e);
}

static long peak_kb(void) {
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

static void test_floods(void **state) {
    struct kit k;

    (void)state;
    open_kit(&k);
    long before = peak_kb();
    kit_call(&k, "exec",
             "{\"command\":\"echo first; head -c 1000000000 /dev/zero | tr '\\\\0' x; echo; echo "
             "last\",\"timeout\":60}");
    assert_false(k.is_error);
    assert_true(k.truncated);
    assert_non_null(strstr(k.content, "first\n"));
    assert_non_null(strstr(k.content, "last\n"));
    assert_true(strlen(k.content) < 70000);
    /* The sanitizers' allocator keeps freed memory for a while. */
    assert_true(peak_kb() - before < 64 * 1024);

    kit_call(&k, "exec", "{\"command\":\"echo first; seq 1 200000; echo why it failed; exit 9\"}");
    assert_false(k.is_error);
    assert_true(k.truncated);
    assert_non_null(strstr(k.content, "first\n1\n2\n"));
    assert_null(strstr(k.content, ": ok"));
    assert_non_null(strstr(k.content, "are left out here"));
    assert_non_null(strstr(k.content, "200000\nwhy it failed\n[exit code 9]"));
    assert_true(strlen(k.content) < 17000);
    close_kit(&k);
}

static void test_parallel(void **state) {
    struct kit_call calls[8];
    struct kit k;

    (void)state;
    open_kit(&k);
    kit_call(&k, "exec", "{\"command\":\"true\"}"); /* the probe */
    for (size_t i = 0; i < CH_LEN(calls); i++)
        calls[i] = (struct kit_call){"c", "exec", "{\"command\":\"sleep 0.3\"}", 0};
    int64_t from = kit_ms();
    kit_start(&k, calls, CH_LEN(calls));
    kit_wait(&k);
    assert_true(kit_ms() - from < 8 * 300);
    assert_int_equal(ch_batch_totals(k.batch).ok, 8);
    close_kit(&k);
}

/* --- jobs */

/* Start one and give its id, valid until the next. */
static const char *start_job(struct kit *k, const char *arguments) {
    static char id[64];

    kit_call(k, "exec", arguments);
    if (k->is_error || !strstr(k->content, "job_"))
        fail_msg("%s", k->content);
    snprintf(id, sizeof(id), "%.20s", strstr(k->content, "job_"));
    return id;
}

static const char *process(struct kit *k, const char *action, const char *id, const char *more) {
    CH_BUF_AUTO arguments = {0};

    ch_buf_addf(&arguments, "{\"action\":\"%s\",\"id\":\"%s\"%s}", action, id, more);
    return kit_call(k, "process", ch_buf_str(&arguments));
}

static void expect(struct kit *k, const char *want) {
    if (!strstr(k->content, want))
        fail_msg("no '%s' in: %s", want, k->content);
}

static void wait_for_end(struct kit *k, const char *id) {
    for (int i = 0; i < 1000 && !strstr(ch_buf_str(&ends), id); i++) {
        struct timespec t = {0, 10000000};
        ch_loop_tick(k->loop);
        nanosleep(&t, NULL);
    }
    assert_non_null(strstr(ch_buf_str(&ends), id));
}

static void test_background(void **state) {
    struct kit k;
    char want[256];

    (void)state;
    open_kit(&k);
    int64_t from = kit_ms();
    const char *id =
        start_job(&k, "{\"command\":\"echo ready; while read x; do echo got $x; done; exit 5\","
                      "\"background\":true}");
    assert_true(kit_ms() - from < 5000);
    snprintf(want, sizeof(want), "{\"id\":\"%s\"}", id);
    assert_string_equal(k.details, want);

    process(&k, "poll", id, ",\"wait\":10");
    expect(&k, "running for");
    expect(&k, "ready\n");
    process(&k, "poll", id, "");
    expect(&k, "(no new output)");
    process(&k, "write", id, ",\"data\":\"one\\n\"");
    expect(&k, "Wrote 4 bytes.");
    process(&k, "poll", id, ",\"wait\":10");
    expect(&k, "got one\n");
    kit_call(&k, "process", "{\"action\":\"list\"}");
    expect(&k, id);
    expect(&k, "echo ready; while read x");
    assert_int_equal(ends.n, 0);

    process(&k, "write", id, ",\"data\":\"two\\n\",\"eof\":true");
    expect(&k, "closed the input");
    wait_for_end(&k, id);
    snprintf(want, sizeof(want), "%s|echo ready;", id);
    assert_non_null(strstr(ch_buf_str(&ends), want));
    assert_non_null(strstr(ch_buf_str(&ends), "|5|0|0|ready\ngot one\ngot two;"));
    process(&k, "poll", id, "");
    expect(&k, "ended with exit code 5");
    expect(&k, "got two\n[exit code 5]");
    expect(&k, "\n");
    process(&k, "log", id, "");
    expect(&k, "[lines 1 to 3 of 3]\nready\ngot one\ngot two\n[exit code 5]");
    process(&k, "log", id, ",\"offset\":2,\"limit\":1");
    expect(&k, "[lines 2 to 2 of 3]\ngot one\n");
    process(&k, "log", id, ",\"offset\":9");
    expect(&k, "(no output there)");
    process(&k, "write", id, ",\"data\":\"x\"");
    assert_string_equal(k.error_type, "invalid_arguments");
    process(&k, "kill", id, "");
    expect(&k, "ended with exit code 5"); /* it was over before */
    close_kit(&k);
}

static void test_kill(void **state) {
    struct kit k;

    (void)state;
    open_kit(&k);
    const char *id = start_job(&k, "{\"command\":\"sleep 1000\",\"background\":true}");
    process(&k, "kill", id, "");
    expect(&k, "killed by signal 15");
    expect(&k, "\n[killed by signal 15 (Terminated)]");
    assert_non_null(strstr(ch_buf_str(&ends), "|-1|15|1|;"));
    id = start_job(&k, "{\"command\":\"trap '' TERM; echo deaf; while :; do sleep 1; done\","
                       "\"background\":true}");
    process(&k, "poll", id, ",\"wait\":10");
    expect(&k, "deaf");
    int64_t from = kit_ms();
    process(&k, "kill", id, "");
    expect(&k, "killed by signal 9");
    assert_true(kit_ms() - from < 5000);
    close_kit(&k);
}

static void test_job_timeout_and_terminal(void **state) {
    struct kit k;

    (void)state;
    open_kit(&k);
    const char *id =
        start_job(&k, "{\"command\":\"sleep 1000\",\"background\":true,\"timeout\":0.3}");
    wait_for_end(&k, id);
    assert_non_null(strstr(ch_buf_str(&ends), "|-1|15|0|;"));
    process(&k, "poll", id, "");
    expect(&k, "stopped by its time limit after");
    expect(&k, "\n[stopped by its time limit]");
    id = start_job(&k, "{\"command\":\"stty -echo; echo ready; read x; echo \\\"<$x>\\\"; tty\","
                       "\"background\":true,\"pty\":true}");
    process(&k, "poll", id, ",\"wait\":10");
    expect(&k, "ready\n");
    process(&k, "write", id, ",\"data\":\"typed\\n\"");
    wait_for_end(&k, id);
    process(&k, "log", id, "");
    expect(&k, "<typed>\n");
    close_kit(&k);
}

static void test_wait_is_cut_short(void **state) {
    struct kit_call call = {"c", "process", NULL, 0};
    CH_BUF_AUTO arguments = {0};
    struct kit k;

    (void)state;
    open_kit(&k);
    const char *id = start_job(&k, "{\"command\":\"sleep 1000\",\"background\":true}");
    int64_t from = kit_ms();
    process(&k, "poll", id, ",\"wait\":0.3");
    expect(&k, "(no new output)");
    assert_true(kit_ms() - from >= 300);

    ch_buf_addf(&arguments, "{\"action\":\"poll\",\"id\":\"%s\",\"wait\":60}", id);
    call.arguments = ch_buf_str(&arguments);
    for (int close_it = 0; close_it < 2; close_it++) {
        from = kit_ms();
        kit_start(&k, &call, 1);
        while (!strstr(ch_buf_str(&k.log), "started"))
            ch_loop_tick(k.loop);
        ch_loop_tick(k.loop);
        if (close_it) {
            kit_end(&k);
        } else {
            ch_batch_cancel(k.batch, "enough");
            kit_wait(&k);
            assert_string_equal(k.error_type, "cancelled");
        }
        assert_true(kit_ms() - from < 5000);
    }
    close_kit(&k);
}

static void test_job_errors(void **state) {
    struct kit k;
    char other[64];

    (void)state;
    open_kit(&k);
    kit_call(&k, "process", "{\"action\":\"list\"}");
    assert_string_equal(k.content, "There are no background processes.");
    kit_call(&k, "process", "{}");
    assert_string_equal(k.error_type, "invalid_arguments");
    kit_call(&k, "process", "{\"action\":\"dance\"}");
    assert_string_equal(k.error_type, "invalid_arguments");
    kit_call(&k, "process", "{\"action\":\"poll\"}");
    assert_string_equal(k.error_type, "invalid_arguments");
    process(&k, "poll", "job_0123456789abcdef", "");
    assert_string_equal(k.error_type, "not_found");
    kit_call(&k, "exec", "{\"command\":\"true\",\"background\":true,\"cwd\":\"nowhere\"}");
    assert_true(k.is_error);
    expect(&k, "nowhere");
    const char *id = start_job(&k, "{\"command\":\"sleep 1000\",\"background\":true}");
    process(&k, "poll", id, ",\"wait\":61");
    assert_string_equal(k.error_type, "invalid_arguments");
    process(&k, "write", id, "");
    assert_string_equal(k.error_type, "invalid_arguments");
    process(&k, "log", id, ",\"limit\":0");
    assert_string_equal(k.error_type, "invalid_arguments");

    /* Another session's table knows nothing of it. */
    snprintf(other, sizeof(other), "%s", id);
    struct ch_jobs *theirs = ch_jobs_new(k.loop, k.workers, NULL, NULL);
    k.opts.jobs = theirs;
    process(&k, "kill", other, "");
    assert_string_equal(k.error_type, "not_found");
    kit_end(&k);
    ch_jobs_close(theirs);
    /* Without a table nothing goes to the background. */
    k.opts.jobs = NULL;
    kit_call(&k, "exec", "{\"command\":\"true\",\"background\":true}");
    assert_string_equal(k.error_type, "unavailable");
    kit_call(&k, "process", "{\"action\":\"list\"}");
    assert_false(k.is_error);
    close_kit(&k);
}

static void test_job_bounds(void **state) {
    struct kit k;
    char first[64];

    (void)state;
    open_kit(&k);
    policy.mode = CH_SANDBOX_OFF; /* the same without it, and quicker */
    for (int i = 0; i < CH_LIMIT_JOBS; i++)
        start_job(&k, "{\"command\":\"cat\",\"background\":true}");
    kit_call(&k, "exec", "{\"command\":\"cat\",\"background\":true}");
    assert_string_equal(k.error_type, "unavailable");
    expect(&k, "running already");
    kit_end(&k);
    ch_jobs_close(jobs); /* ends them all */
    jobs = ch_jobs_new(k.loop, k.workers, on_exit_event, NULL);
    k.opts.jobs = jobs;
    assert_int_equal(ends.n, 0);

    /* The log keeps the newest; those that ended are forgotten, oldest first. */
    snprintf(first, sizeof(first), "%s",
             start_job(&k, "{\"command\":\"seq 1 800000\",\"background\":true}"));
    wait_for_end(&k, first);
    process(&k, "log", first, ",\"limit\":1");
    expect(&k, "\n800000\n");
    expect(&k, "were not kept");
    process(&k, "poll", first, "");
    expect(&k, "bytes were not kept");
    for (int i = 0; i < CH_LIMIT_JOBS_ENDED; i++)
        wait_for_end(&k, start_job(&k, "{\"command\":\"true\",\"background\":true}"));
    process(&k, "log", first, "");
    assert_string_equal(k.error_type, "not_found");
    close_kit(&k);
}

static void close_the_table(const struct ch_job_end *end, void *user) {
    (void)end;
    ch_jobs_close(*(struct ch_jobs **)user);
    *(struct ch_jobs **)user = NULL;
}

static void test_closing_in_the_callback(void **state) {
    struct ch_jobs *own;
    struct kit k;

    (void)state;
    open_kit(&k);
    own = ch_jobs_new(k.loop, k.workers, close_the_table, &own);
    k.opts.jobs = own;
    start_job(&k, "{\"command\":\"sleep 1000\",\"background\":true}");
    start_job(&k, "{\"command\":\"true\",\"background\":true}");
    kit_end(&k);
    for (int i = 0; i < 1000 && own; i++) {
        struct timespec t = {0, 10000000};
        ch_loop_tick(k.loop);
        nanosleep(&t, NULL);
    }
    assert_null(own);
    close_kit(&k);
}

static void test_end_text(void **state) {
    static const struct {
        struct ch_job_end end;
        const char *want;
    } texts[] = {
        {{.exit_code = 0, .duration_ms = 1240}, "ended with exit code 0 after 1.2 s."},
        {{.exit_code = -1, .signal = 9, .killed = true}, "was killed after 0.0 s."},
        {{.exit_code = -1, .signal = 15, .timed_out = true}, "was stopped by its time limit after"},
        {{.exit_code = -1, .signal = 11}, "was ended by signal 11 (Segmentation fault)"},
        {{.exit_code = -1, .error = "no room"}, "failed: no room after"},
        {{.exit_code = 1, .tail = {"a\nb", 3}}, "The end of its output:\na\nb"},
    };

    (void)state;
    for (size_t i = 0; i < CH_LEN(texts); i++) {
        struct ch_job_end end = texts[i].end;
        CH_BUF_AUTO text = {0};
        end.id = "job_x";
        end.command = "make";
        ch_job_end_text(&end, &text);
        assert_int_equal(strncmp(ch_buf_str(&text), "Process job_x (make) ", 21), 0);
        if (!strstr(ch_buf_str(&text), texts[i].want))
            fail_msg("%s", ch_buf_str(&text));
    }
}

/* --- unasked, in the full sandbox */

/* Did the command run in the full sandbox? */
static bool runs_boxed(struct kit *k, const char *arguments) {
    kit_call(k, "exec", arguments);
    return !k->is_error && k->details && strstr(k->details, "\"sandbox\":\"on\"");
}

/* Cases of the rules "make test" and "npm run test:*". */
static const struct {
    const char *arguments;
    bool runs;
} project[] = {
    {"{\"command\":\"make test\"}", true},
    {"{\"command\":\"make test X=1\"}", true},
    {"{\"command\":\"make other\"}", false},
    {"{\"command\":\"make\"}", false},
    {"{\"command\":\"make -f x test\"}", false},
    {"{\"command\":\"make test; echo x\"}", false},
    {"{\"command\":\"X=1 make test\"}", false},
    {"{\"command\":\"make test\",\"env\":{\"SHELL\":\"x\"}}", false},
    {"{\"command\":\"echo x\"}", false},
    {"{\"command\":\"./make test\"}", false},
};

static void test_full_box(void **state) {
    static const char *const rules[] = {"exec: make test", "exec: npm run test:*", NULL};
    static const char interfaces[] =
        "{\"command\":\"tail -n +3 /proc/net/dev | grep -vc lo:; true\"}";
    struct ch_approvals *level = NULL, *by_rule = NULL;
    struct chela_error err = {0};
    CH_ARENA_AUTO arena = {0};
    struct kit k;
    (void)state;

    open_kit(&k);
    bool here = !ch_sandbox_lacks(&arena, &policy);
    kit_put(&k, "Makefile", "test:\n\t@echo tested $(X)\nother:\n\t@echo other\n");
    kit_put(&k, "make", "#!/bin/sh\necho mine\n");
    assert_int_equal(ch_approvals_new("exec=sandbox", NULL, &level, &err), 0);
    assert_int_equal(ch_approvals_new(NULL, rules, &by_rule, &err), 0);

    /* the level, whatever the policy says about mode and network */
    k.opts.ask_means = CH_CONSENT_DENY;
    k.opts.approvals = level;
    policy.mode = CH_SANDBOX_OFF;
    policy.network = CH_SANDBOX_NET_HOST;
    assert_int_equal(runs_boxed(&k, "{\"command\":\"echo x\"}"), here);
    assert_int_equal(runs_boxed(&k, interfaces), here);
    if (here)
        assert_string_equal(output(&k), "0\n");

    k.opts.approvals = NULL;
    k.opts.ask_means = CH_CONSENT_SANDBOX;
    assert_int_equal(runs_boxed(&k, "{\"command\":\"echo x\"}"), here);

    k.opts.ask_means = CH_CONSENT_DENY;
    k.opts.approvals = by_rule;
    for (size_t i = 0; i < CH_LEN(project); i++)
        if (runs_boxed(&k, project[i].arguments) != (here && project[i].runs))
            fail_msg("%s: %s", project[i].arguments, k.content);
    ch_approvals_free(level);
    ch_approvals_free(by_rule);
    close_kit(&k);
}

static char *asked; /* the question */

static enum chela_decision decline(const struct ch_block *call, const struct ch_ask *ask,
                                   char **reason, void *user) {
    (void)call;
    (void)reason;
    (void)user;
    ch_free(asked);
    asked = ch_strndup(ask->summary.p, ask->summary.n);
    return CHELA_DENY;
}

/* The question about a command; nobody agrees. */
static const char *question(struct kit *k, const char *arguments) {
    ch_free(asked);
    asked = NULL;
    kit_call(k, "exec", arguments);
    assert_true(k->is_error);
    assert_non_null(asked);
    return asked;
}

/* Without a layer, a person is asked and told the layer. */
static void test_no_full_box(void **state) {
    static const char *const rules[] = {"exec: make test", NULL};
    static const char lacks[] = "asked, for the sandbox lacks: helper (chela-sandbox is not";
    struct ch_approvals *by_rule = NULL;
    struct chela_error err = {0};
    struct kit k;
    (void)state;

    open_kit(&k);
    policy.helper = "/nonexistent/chela-sandbox";
    k.ops.ask = decline;
    assert_int_equal(ch_approvals_new(NULL, rules, &by_rule, &err), 0);
    k.opts.ask_means = CH_CONSENT_SANDBOX;
    assert_non_null(strstr(question(&k, "{\"command\":\"echo x\"}"), lacks));
    k.opts.ask_means = CH_CONSENT_ASK;
    k.opts.approvals = by_rule;
    assert_non_null(strstr(question(&k, "{\"command\":\"make test\"}"), lacks));
    ch_free(asked);
    asked = NULL;
    ch_approvals_free(by_rule);
    close_kit(&k);
}

/* --- several calls of one reply ---------------------------------------------------- */

static struct ch_sv result_of(struct kit *k, size_t i) {
    k->results = k->results ? k->results : ch_batch_message(k->batch, 0);
    return k->results->blocks[i].text;
}

static bool has(struct ch_sv text, const char *part) {
    return memmem(text.p, text.n, part, strlen(part)) != NULL;
}

/* A later call may depend on what a command left behind. */
static void test_dependent_calls(void **state) {
    struct kit k;
    static const struct kit_call calls[] = {
        {"a", "exec", "{\"command\":\"sleep 0.2; echo one >made\"}", 0},
        {"b", "exec", "{\"command\":\"cat made && echo two >made\"}", 0},
        {"c", "read", "{\"file_path\":\"made\"}", 0},
        {"d", "exec", "{\"command\":\"cat made\"}", 0},
        {"e", "exec", "{\"argv\":[\"rm\",\"made\"]}", 0},
    };

    (void)state;
    open_kit(&k);
    assert_int_equal(ch_builtin_add_with(&k.registry, NULL, "read", NULL, NULL), 0);
    kit_start(&k, calls, CH_LEN(calls));
    kit_wait(&k);
    assert_true(has(result_of(&k, 0), "exit code 0"));
    assert_true(has(result_of(&k, 1), "one"));
    assert_true(has(result_of(&k, 2), "two"));
    assert_true(has(result_of(&k, 3), "two"));
    assert_true(has(result_of(&k, 4), "exit code 0"));
    close_kit(&k);
}

/* Commands that provably only read run side by side; others run one after the other. */
static void test_independent_calls(void **state) {
    static const struct {
        const char *first, *second;
        bool parallel;
    } pairs[] = {
        {"{\"command\":\"sleep 0.2\"}", "{\"command\":\"ls -la\"}", true},
        {"{\"argv\":[\"sleep\",\"0.2\"]}", "{\"command\":\"cat /dev/null\"}", true},
        {"{\"command\":\"sleep 0.2\"}", "{\"command\":\"touch x\"}", false},
        {"{\"command\":\"sleep 0.2; true\"}", "{\"command\":\"ls\"}", false},
        {"{\"command\":\"sleep 0.2\",\"env\":{\"A\":\"b\"}}", "{\"command\":\"ls\"}", false},
        {"{\"command\":\"echo a >x\"}", "{\"command\":\"cat x\"}", false},
    };

    (void)state;
    for (size_t i = 0; i < CH_LEN(pairs); i++) {
        struct kit k;
        open_kit(&k);
        const struct kit_call calls[] = {{"a", "exec", pairs[i].first, 0},
                                         {"b", "exec", pairs[i].second, 0}};
        kit_start(&k, calls, CH_LEN(calls));
        kit_wait(&k);
        const char *log = ch_buf_str(&k.log), *b = strstr(log, "started b"),
                   *a = strstr(log, "finished a");
        if (!a || !b || (b < a) != pairs[i].parallel)
            fail_msg("%s, %s: %s", pairs[i].first, pairs[i].second, log);
        close_kit(&k);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_failures_are_results),
        cmocka_unit_test(test_variables),
        cmocka_unit_test(test_environment_is_clean),
        cmocka_unit_test(test_self_approval),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_floods),
        cmocka_unit_test(test_parallel),
        cmocka_unit_test(test_background),
        cmocka_unit_test(test_kill),
        cmocka_unit_test(test_job_timeout_and_terminal),
        cmocka_unit_test(test_wait_is_cut_short),
        cmocka_unit_test(test_job_errors),
        cmocka_unit_test(test_job_bounds),
        cmocka_unit_test(test_closing_in_the_callback),
        cmocka_unit_test(test_end_text),
        cmocka_unit_test(test_full_box),
        cmocka_unit_test(test_no_full_box),
        cmocka_unit_test(test_dependent_calls),
        cmocka_unit_test(test_independent_calls),
    };
    box_main(argc, argv);
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
