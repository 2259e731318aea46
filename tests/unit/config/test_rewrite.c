/* test_rewrite.c -- writers of one file at the same time: no change is lost. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/limits.h"
#include "config/rewrite.h"

static char folder[] = "/tmp/test_rewrite.XXXXXX";
static char file[64], previous[80];

static int rewrite(const char *before, const char *after, const char *why) {
    struct chela_error err = {0};
    int rc = ch_config_rewrite(file, ch_sv_str(before), ch_sv_str(after), &err);
    if (rc < 0)
        assert_non_null(strstr(err.message, why));
    return rc;
}

static void check(const char *path, const char *text) {
    CH_BUF_AUTO is = {0};
    struct chela_error err = {0};
    assert_int_equal(ch_file_load(path, CH_LIMIT_YAML_FILE, &is, &err), 0);
    assert_string_equal(ch_buf_str(&is), text);
}

static void test_replaced(void **state) {
    (void)state;
    assert_int_equal(rewrite("", "a: 1\n", ""), 0);
    assert_int_equal(rewrite("a: 1\n", "a: 2\n", ""), 0);
    check(file, "a: 2\n");
    check(previous, "a: 1\n");
    assert_int_equal(rewrite("a: 1\n", "a: 3\n", "was changed by another program"), CHELA_EIO);
    check(file, "a: 2\n");
    check(previous, "a: 1\n");
}

/* Another writer has compared the file and has not renamed its own yet. */
static void test_two_writers(void **state) {
    int other = open(file, O_RDONLY | O_CLOEXEC);
    (void)state;
    assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(rewrite("a: 2\n", "a: 4\n", "is being changed by another"), CHELA_EIO);
    check(file, "a: 2\n");
    close(other);
    assert_int_equal(rewrite("a: 2\n", "a: 4\n", ""), 0);
    assert_int_equal(rewrite("a: 4\n", "a: 5\n", ""), 0); /* the lock was released */
    check(file, "a: 5\n");
}

static int setup(void **state) {
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(file, sizeof(file), "%s/chela.yaml", folder);
    snprintf(previous, sizeof(previous), "%s" CH_CONFIG_PREVIOUS, file);
    FILE *f = fopen(file, "w");
    return f ? fclose(f) : -1;
}

static int teardown(void **state) {
    (void)state;
    unlink(file);
    unlink(previous);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_replaced),
                                       cmocka_unit_test(test_two_writers)};
    return cmocka_run_group_tests_name("rewrite", tests, setup, teardown);
}
