/* test_command.c -- programs as tools: well-behaved ones and the other kind. */
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "support/toolkit.h"
#include "tool/builtin/builtin.h"
#include "tool/call/command.h"

/* A tool that runs `script` in a shell. */
static void add(struct kit *k, const char *name, const char *script, int64_t timeout_ms) {
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    struct ch_command_opts opts = {
        .tool = CHELA_TOOL_OPTS(.name = name, .timeout_ms = timeout_ms),
        .argv = argv,
    };
    struct chela_error err = {0};

    if (ch_command_add(&k->registry, &opts, &err) < 0)
        fail_msg("%s", err.message);
}

static const struct {
    const char *what, *script;
    const char *type, *want; /* type NULL: success */
} cases[] = {
    {"echo", "printf hello", NULL, "hello"},
    {"nothing", ":", NULL, ""},
    {"stdin is the arguments", "cat", NULL, "{\"a\":[1,2]}"},
    {"ignores stdin", "exec <&-; echo ok", NULL, "ok\n"},
    {"cleaned", "printf '\\033[31mred\\033[0m \\377'", NULL, "red \xef\xbf\xbd"},
    {"stderr is not the result", "echo noise >&2; echo data", NULL, "data\n"},
    {"workspace", "basename \"$PWD\"", NULL, "ws\n"},
    {"call id", "printf %s \"$CHELA_CALL_ID\"", NULL, "c"},
    {"key", "printf %s \"$CHELA_IDEMPOTENCY_KEY\"", NULL, "s:r:1.0:c"},
    {"exit code", "echo out; echo first >&2; echo why >&2; exit 3", "internal",
     "failed with exit code 3: why"},
    {"stderr tail", "echo first >&2; echo why >&2; exit 3", "internal",
     "\"stderr\":\"first\\nwhy\\n\""},
    {"stdout on failure", "echo out; exit 3", "internal", "\"stdout\":\"out\\n\""},
    {"silent failure", "exit 1", "internal", "failed with exit code 1."},
    {"code in details", "exit 77", "internal", "\"details\":{\"exit_code\":77}"},
    {"signal", "kill -SEGV $$", "internal", "ended by signal 11"},
    {"not a command", "exec /nonexistent/program", "internal", "failed with exit code 127"},
};

static void test_cases(void **state) {
    struct kit k;

    (void)state;
    kit_init(&k);
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        char name[16];
        snprintf(name, sizeof(name), "t%zu", i);
        add(&k, name, cases[i].script, 0);
        kit_call(&k, name, "{\"a\":[1,2]}");
        if (k.is_error != (cases[i].type != NULL) ||
            (cases[i].type
                 ? strcmp(k.error_type, cases[i].type) != 0 || !strstr(k.content, cases[i].want)
                 : strcmp(k.content, cases[i].want) != 0))
            fail_msg("%s: %s", cases[i].what, k.content);
    }
    kit_free(&k);
}

static void test_environment(void **state) {
    struct kit k;

    (void)state;
    setenv("CHELA_TEST_SECRET", "hunter2", 1);
    setenv("LD_PRELOAD_X", "x", 1);
    setenv("TMPDIR", "/tmp", 1);
    kit_init(&k);
    add(&k, "env",
        "env | sed 's/=.*//' | grep -v '^_$' | grep -v '^PWD$' | grep -v SHLVL | "
        "grep -v OLDPWD | sort | tr '\\n' ' '",
        0);
    kit_call(&k, "env", "{}");
    assert_null(strstr(k.content, "SECRET"));
    assert_null(strstr(k.content, "LD_"));
    assert_non_null(strstr(k.content, "CHELA_CALL_ID CHELA_IDEMPOTENCY_KEY "));
    assert_non_null(strstr(k.content, "PATH "));
    assert_non_null(strstr(k.content, "TMPDIR "));
    struct ch_sv names = ch_sv_trim(ch_sv_str(k.content));
    while (names.n) {
        static const char *const allowed[] = {
            "PATH",   "HOME", "LANG",          "LC_ALL", "TERM",
            "TMPDIR", "TZ",   "CHELA_CALL_ID", "CHELA_IDEMPOTENCY_KEY"};
        struct ch_sv name = ch_sv_split(&names, ' ');
        bool ok = false;
        for (size_t i = 0; i < CH_LEN(allowed); i++)
            ok |= ch_sv_is(name, allowed[i]);
        if (!ok)
            fail_msg("%.*s was passed on", CH_SV_FMT(name));
    }
    unsetenv("CHELA_TEST_SECRET");
    unsetenv("LD_PRELOAD_X");
    kit_free(&k);
}

/* valgrind makes a fork of posix_spawn's vfork, and exec's failure is lost. */
static bool exec_failure_is_lost(void) {
    const char *preload = getenv("LD_PRELOAD");

    return preload && strstr(preload, "vgpreload");
}

static void test_cannot_start(void **state) {
    const char *const argv[] = {"/nonexistent/program", NULL};
    const char *const sh[] = {"/bin/sh", "-c", "pwd", NULL};
    struct kit k;

    (void)state;
    kit_init(&k);
    struct ch_command_opts missing = {.tool = CHELA_TOOL_OPTS(.name = "missing"), .argv = argv};
    struct ch_command_opts nowhere = {
        .tool = CHELA_TOOL_OPTS(.name = "nowhere"), .argv = sh, .cwd = "/nonexistent"};
    struct ch_command_opts root = {.tool = CHELA_TOOL_OPTS(.name = "root"), .argv = sh, .cwd = "/"};
    assert_int_equal(ch_command_add(&k.registry, &missing, NULL), 0);
    assert_int_equal(ch_command_add(&k.registry, &missing, NULL), CHELA_EEXIST);
    assert_int_equal(ch_command_add(&k.registry, &nowhere, NULL), 0);
    assert_int_equal(ch_command_add(&k.registry, &root, NULL), 0);
    kit_call(&k, "missing", "{}");
    assert_true(k.is_error);
    if (!exec_failure_is_lost())
        assert_non_null(strstr(k.content, "/nonexistent/program"));
    kit_call(&k, "nowhere", "{}");
    assert_true(k.is_error);
    assert_string_equal(kit_call(&k, "root", "{}"), "/\n");
    kit_free(&k);
}

static long peak_kb(void) {
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

/* Programs that print without end, or never end: one result, soon, and memory
 * stays bounded. */
static void test_floods(void **state) {
    static const struct {
        const char *what, *script;
        const char *type, *want;
        int64_t timeout_ms;
    } floods[] = {
        {"a gigabyte", "head -c 1000000000 /dev/zero | tr '\\0' x", "internal",
         "printed more than 16 MB", 20000},
        {"endless", "yes", "internal", "printed more than 16 MB", 20000},
        {"endless stderr", "yes >&2", "internal", "printed more than 16 MB", 20000},
        {"never ends", "sleep 1000", "timeout", "did not finish", 100},
        {"never reads", "sleep 1000 < /dev/null", "timeout", "did not finish", 100},
        {"ignores TERM", "trap '' TERM; sleep 1000 & wait; sleep 1000", "timeout", "did not finish",
         100},
        {"loops", "while :; do :; done", "timeout", "did not finish", 100},
        {"leaves a child", "sleep 1000 & echo started", NULL, "started", 20000},
        {"a megabyte", "head -c 1000000 /dev/zero | tr '\\0' x", NULL, "characters are left out",
         20000},
    };
    CH_AUTOFREE char *input = ch_malloc(300001);
    struct kit k;

    (void)state;
    memset(input, ' ', 300000);
    memcpy(input, "{}", 2);
    input[300000] = '\0';
    kit_init(&k);
    for (size_t i = 0; i < CH_LEN(floods); i++) {
        char name[16];
        snprintf(name, sizeof(name), "t%zu", i);
        add(&k, name, floods[i].script, floods[i].timeout_ms);
        long before = peak_kb();
        int64_t from = kit_ms();
        kit_call(&k, name, input);
        if (k.is_error != (floods[i].type != NULL) || !strstr(k.content, floods[i].want) ||
            (floods[i].type && strcmp(k.error_type, floods[i].type) != 0))
            fail_msg("%s: %s", floods[i].what, k.content);
        assert_true(strlen(k.content) < 4 * CH_LIMIT_RESULT_CHARS);
        assert_true(kit_ms() - from < 10000);
        assert_true(peak_kb() - before < 150 * 1024);
    }
    kit_free(&k);
}

static bool is_sleep(const char *pid, const char *mark) {
    char path[288], text[256] = "";

    snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    size_t n = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    return strcmp(text, "sleep") == 0 && n > 6 && strcmp(text + 6, mark) == 0;
}

/* Does a `sleep MARK` run? */
static bool alive(const char *mark) {
    DIR *d = opendir("/proc");
    bool found = false;

    assert_non_null(d);
    for (struct dirent *e; !found && (e = readdir(d));)
        found = is_sleep(e->d_name, mark);
    closedir(d);
    return found;
}

static void test_nothing_is_left(void **state) {
    static const char *const scripts[] = {
        "sleep %d & sleep %d",                               /* a child */
        "trap '' TERM; (trap '' TERM; sleep %d) & sleep %d", /* deaf ones */
    };

    (void)state;
    for (size_t i = 0; i < CH_LEN(scripts) * 2; i++) {
        struct kit k;
        char script[128], mark[16];
        int seconds = 50000 + (int)(getpid() % 10000) * 4 + (int)i;
        snprintf(mark, sizeof(mark), "%d", seconds);
        CH_BUF_AUTO text = {0};
        for (const char *p = scripts[i / 2]; *p; p++) {
            if (p[0] == '%' && p[1] == 'd') {
                ch_buf_add_str(&text, mark);
                p++;
            } else {
                ch_buf_addc(&text, *p);
            }
        }
        snprintf(script, sizeof(script), "%s", ch_buf_str(&text));
        kit_init(&k);
        add(&k, "t", script, 200);
        kit_call(&k, "t", "{}");
        assert_string_equal(k.error_type, "timeout");
        if (i % 2) { /* the loop goes on: TERM, then KILL */
            for (int n = 0; n < 400 && alive(mark); n++) {
                struct timespec t = {0, 10000000};
                ch_loop_tick(k.loop);
                nanosleep(&t, NULL);
            }
            assert_false(alive(mark));
        }
        kit_free(&k); /* or it does not: KILL at once */
        struct timespec t = {0, 100000000};
        nanosleep(&t, NULL);
        assert_false(alive(mark));
    }
}

static void test_cancel_and_close(void **state) {
    static const struct kit_call call = {"c", "t", "{}", 0};

    (void)state;
    for (int close_it = 0; close_it < 2; close_it++) {
        struct kit k;
        kit_init(&k);
        add(&k, "t", "sleep 1000", 0);
        kit_start(&k, &call, 1);
        while (!strstr(ch_buf_str(&k.log), "started"))
            ch_loop_tick(k.loop);
        int64_t from = kit_ms();
        if (close_it) {
            kit_end(&k);
        } else {
            ch_batch_cancel(k.batch, "enough");
            kit_wait(&k);
            assert_string_equal(k.error_type, "cancelled");
        }
        kit_free(&k);
        assert_true(kit_ms() - from < 60000);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),           cmocka_unit_test(test_environment),
        cmocka_unit_test(test_cannot_start),    cmocka_unit_test(test_floods),
        cmocka_unit_test(test_nothing_is_left), cmocka_unit_test(test_cancel_and_close),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
