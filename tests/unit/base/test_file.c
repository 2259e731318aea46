/* test_file.c -- reading whole files, bounded, and replacing them. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"

static void test_reads_up_to_the_limit(void **state) {
    (void)state;
    const char *tmp = getenv("TMPDIR");
    char path[256];
    snprintf(path, sizeof(path), "%s/chela-file-XXXXXX", tmp ? tmp : "/tmp");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    static char text[40000];
    memset(text, 'x', sizeof(text));
    assert_int_equal(write(fd, text, sizeof(text)), sizeof(text));
    close(fd);

    CH_BUF_AUTO out = {0};
    struct chela_error err = {0};
    ch_buf_add_str(&out, "before ");
    assert_int_equal(ch_file_load(path, sizeof(text), &out, &err), 0);
    assert_int_equal(out.n, 7 + sizeof(text));
    assert_memory_equal(out.p + 7, text, sizeof(text));

    ch_buf_clear(&out);
    assert_int_equal(ch_file_load(path, sizeof(text) - 1, &out, &err), CHELA_ELIMIT);
    assert_non_null(strstr(err.message, "larger than 39999 bytes"));
    unlink(path);
}

static void test_failures_name_the_path(void **state) {
    (void)state;
    CH_BUF_AUTO out = {0};
    struct chela_error err = {0};
    assert_int_equal(ch_file_load("/nonexistent/x", 10, &out, &err), CHELA_ENOENT);
    assert_string_equal(err.message, "/nonexistent/x: No such file or directory");
    assert_int_equal(ch_file_load("/", 10, &out, &err), CHELA_EIO);
    assert_string_equal(err.message, "/: Is a directory");
}

/* A disk without space: the limit of the process plays it. */
static void test_replaces_all_or_nothing(void **state) {
    (void)state;
    const char *tmp = getenv("TMPDIR");
    char path[256], expected[300];
    struct rlimit old, four = {.rlim_cur = 4};
    struct chela_error err = {0};
    CH_BUF_AUTO out = {0};

    snprintf(path, sizeof(path), "%s/chela-replace-%d", tmp ? tmp : "/tmp", (int)getpid());
    assert_int_equal(ch_file_save(path, CH_SV("old"), &err), 0);
    getrlimit(RLIMIT_FSIZE, &old);
    four.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &four), 0);
    int rc = ch_file_save(path, CH_SV("longer"), &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(rc, CHELA_EIO);
    snprintf(expected, sizeof(expected), "%s: File too large", path);
    assert_string_equal(err.message, expected);
    assert_int_equal(ch_file_load(path, 10, &out, &err), 0);
    assert_string_equal(ch_buf_str(&out), "old");
    unlink(path);
    assert_int_equal(ch_file_save("/nonexistent/x", CH_SV("x"), &err), CHELA_EIO);
    assert_string_equal(err.message, "/nonexistent/x: No such file or directory");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_up_to_the_limit),
        cmocka_unit_test(test_failures_name_the_path),
        cmocka_unit_test(test_replaces_all_or_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
