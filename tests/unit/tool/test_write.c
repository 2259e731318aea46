/* test_write.c -- writing whole files. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "support/toolkit.h"
#include "tool/builtin/builtin.h"

/* Instead of the system's: files have an owner without a number in this container. */
static int chown_fails;

int fchown(int fd, uid_t uid, gid_t gid) {
    (void)fd, (void)uid, (void)gid;
    errno = chown_fails;
    return chown_fails ? -1 : 0;
}

static void setup(struct kit *k) {
    kit_init(k);
    ch_builtin_add_with(&k->registry, NULL, NULL, NULL, NULL);
}

static void expect(struct kit *k, const char *path, const char *want) {
    CH_AUTOFREE char *got = kit_get(k, path);

    if (!got || strcmp(got, want) != 0)
        fail_msg("%s: %s", path, got ? got : "(missing)");
}

static const struct {
    const char *what, *arguments;
    const char *type, *want; /* type NULL: content equals want */
    const char *file, *holds;
} cases[] = {
    {"new", "{\"file_path\":\"new\",\"content\":\"hi\\n\"}", NULL, "Wrote new (3 bytes)", "new",
     "hi\n"},
    {"again", "{\"file_path\":\"new\",\"content\":\"\"}", NULL, "Wrote new (0 bytes)", "new", ""},
    {"alias", "{\"path\":\"p\",\"content\":\"x\"}", NULL, "Wrote p (1 bytes)", "p", "x"},
    {"UTF-8", "{\"file_path\":\"u\",\"content\":\"\\u4f60\"}", NULL, "Wrote u (3 bytes)", "u",
     "\xe4\xbd\xa0"},
    {"directories", "{\"file_path\":\"a/b/c\",\"content\":\"x\"}", NULL, "Wrote a/b/c (1 bytes)",
     "a/b/c", "x"},
    {"dots", "{\"file_path\":\"./a/../q\",\"content\":\"x\"}", NULL, "Wrote ./a/../q (1 bytes)",
     "q", "x"},
    {"through a link", "{\"file_path\":\"link\",\"content\":\"via\"}", NULL, "Wrote link (3 bytes)",
     "old", "via"},
    {"to a directory", "{\"file_path\":\"dir\",\"content\":\"x\"}", "invalid_arguments",
     "it is a directory", NULL, NULL},
    {"below a file", "{\"file_path\":\"old/x\",\"content\":\"x\"}", "not_found", "not a directory",
     NULL, NULL},
    {"trailing slash", "{\"file_path\":\"fresh/\",\"content\":\"x\"}", "invalid_arguments",
     "it is a directory", NULL, NULL},
    {"outside", "{\"file_path\":\"../x\",\"content\":\"x\"}", "permission_denied",
     "Cannot write ../x: it is outside of the workspace", NULL, NULL},
    {"no content", "{\"file_path\":\"x\"}", "invalid_arguments", "\\\"content\\\" is missing", NULL,
     NULL},
    {"content is an object", "{\"file_path\":\"x\",\"content\":{}}", "invalid_arguments",
     "must be a string", NULL, NULL},
    {"NUL", "{\"file_path\":\"x\",\"content\":\"a\\u0000\"}", "invalid_arguments", "NUL", NULL,
     NULL},
    {"no path", "{\"content\":\"x\"}", "invalid_arguments", "\\\"file_path\\\" is missing", NULL,
     NULL},
};

static void test_cases(void **state) {
    struct kit k;

    (void)state;
    setup(&k);
    kit_put(&k, "old", "old");
    kit_mkdir(&k, "dir");
    kit_link(&k, "old", "link");
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        kit_call(&k, "write", cases[i].arguments);
        if (k.is_error != (cases[i].type != NULL) ||
            (cases[i].type
                 ? strcmp(k.error_type, cases[i].type) != 0 || !strstr(k.content, cases[i].want)
                 : strcmp(k.content, cases[i].want) != 0))
            fail_msg("%s: %s", cases[i].what, k.content);
        if (cases[i].file)
            expect(&k, cases[i].file, cases[i].holds);
    }
    CH_AUTOFREE char *link = kit_path(&k, "link");
    struct stat st;
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode)); /* it still is one */
    kit_free(&k);
}

static void test_details(void **state) {
    struct kit k;

    (void)state;
    setup(&k);
    kit_call(&k, "write", "{\"file_path\":\"x.py\",\"content\":\"12345\"}");
    assert_string_equal(k.details, "{\"path\":\"x.py\",\"bytesWritten\":5}");
    kit_free(&k);
}

static void test_modes(void **state) {
    static const mode_t modes[] = {0600, 0755, 0664};
    struct kit k;

    (void)state;
    setup(&k);
    for (size_t i = 0; i < CH_LEN(modes); i++) {
        CH_AUTOFREE char *path = kit_path(&k, "x");
        struct stat st;
        kit_put(&k, "x", "old");
        assert_int_equal(chmod(path, modes[i]), 0);
        kit_call(&k, "write", "{\"file_path\":\"x\",\"content\":\"new\"}");
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, modes[i]);
    }
    mode_t mask = umask(027);
    CH_AUTOFREE char *fresh = kit_path(&k, "fresh");
    struct stat st;
    kit_call(&k, "write", "{\"file_path\":\"fresh\",\"content\":\"new\"}");
    umask(mask);
    assert_int_equal(stat(fresh, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    kit_free(&k);
}

/* A hard link outside of the workspace keeps its content. */
static void test_hard_link(void **state) {
    struct kit k;

    (void)state;
    setup(&k);
    kit_put(&k, "../outside", "precious");
    CH_AUTOFREE char *from = kit_path(&k, "../outside"), *to = kit_path(&k, "inside");
    assert_int_equal(link(from, to), 0);
    kit_call(&k, "write", "{\"file_path\":\"inside\",\"content\":\"new\"}");
    expect(&k, "inside", "new");
    expect(&k, "../outside", "precious");
    kit_free(&k);
}

static void test_read_only(void **state) {
    struct kit k;

    (void)state;
    if (geteuid() == 0)
        skip(); /* root may write everything */
    setup(&k);
    kit_put(&k, "x", "old");
    CH_AUTOFREE char *path = kit_path(&k, "x");
    assert_int_equal(chmod(path, 0444), 0);
    kit_call(&k, "write", "{\"file_path\":\"x\",\"content\":\"new\"}");
    assert_string_equal(k.error_type, "permission_denied");
    expect(&k, "x", "old");
    kit_free(&k);
}

/* Nothing but the file is left behind, whether it worked or not. */
static void test_no_leftovers(void **state) {
    struct kit k;

    (void)state;
    setup(&k);
    kit_mkdir(&k, "d");
    kit_call(&k, "write", "{\"file_path\":\"d/x\",\"content\":\"1\"}");
    kit_call(&k, "write", "{\"file_path\":\"d/x\",\"content\":\"2\"}");
    kit_mkdir(&k, "d/dir");
    kit_call(&k, "write", "{\"file_path\":\"d/dir\",\"content\":\"3\"}");
    assert_true(k.is_error);
    assert_int_equal(kit_entries(&k, "d"), 2);
    kit_free(&k);
}

static void test_large(void **state) {
    CH_BUF_AUTO args = {0};
    struct kit k;

    (void)state;
    setup(&k);
    ch_buf_add_str(&args, "{\"file_path\":\"big\",\"content\":\"");
    for (int i = 0; i < 5000000; i++)
        ch_buf_addc(&args, 'x');
    ch_buf_add_str(&args, "\"}");
    assert_string_equal(kit_call(&k, "write", ch_buf_str(&args)), "Wrote big (5000000 bytes)");
    kit_free(&k);
}

/* Writes of one reply happen in its order: the last one wins. */
static void test_order(void **state) {
    struct kit_call calls[] = {
        {"a", "write", "{\"file_path\":\"x\",\"content\":\"1\"}", 0},
        {"b", "edit", "{\"file_path\":\"x\",\"old_text\":\"1\",\"new_text\":\"2\"}", 0},
        {"c", "edit", "{\"file_path\":\"x\",\"old_text\":\"2\",\"new_text\":\"3\"}", 0},
        {"d", "read", "{\"file_path\":\"x\"}", 0},
    };
    struct kit k;

    (void)state;
    setup(&k);
    kit_start(&k, calls, 4);
    kit_wait(&k);
    assert_int_equal(ch_batch_totals(k.batch).ok, 4);
    assert_string_equal(k.content, "3");
    kit_free(&k);
}

static void test_foreign_owner(void **state) {
    static const int errors[] = {EPERM, EINVAL, ENOTSUP};
    struct kit k;

    (void)state;
    setup(&k);
    kit_put(&k, "f", "old");
    for (size_t i = 0; i < CH_LEN(errors); i++) {
        chown_fails = errors[i];
        kit_call(&k, "write", "{\"file_path\":\"f\",\"content\":\"new\"}");
        if (k.is_error)
            fail_msg("%s", k.content);
    }
    chown_fails = EIO;
    kit_call(&k, "write", "{\"file_path\":\"f\",\"content\":\"other\"}");
    assert_true(k.is_error);
    expect(&k, "f", "new");
    chown_fails = 0;
    kit_free(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),     cmocka_unit_test(test_details),
        cmocka_unit_test(test_modes),     cmocka_unit_test(test_hard_link),
        cmocka_unit_test(test_read_only), cmocka_unit_test(test_no_leftovers),
        cmocka_unit_test(test_large),     cmocka_unit_test(test_order),
        cmocka_unit_test(test_foreign_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
