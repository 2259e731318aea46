/* test_file.c -- reading whole files, bounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_up_to_the_limit),
        cmocka_unit_test(test_failures_name_the_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
