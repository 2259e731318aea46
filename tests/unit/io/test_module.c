/* test_module.c -- what is loaded as a module, and what is not. The file under
 * test is included, so that a module of another ABI need not be built. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "base/mem.h"
#include "io/module.c"

struct env {
    char dir[PATH_MAX];
    char path[PATH_MAX + 64];
};

static int set_up(void **state) {
    struct env *e = ch_alloc(sizeof(*e));
    const char *tmp = getenv("TMPDIR");
    snprintf(e->dir, sizeof(e->dir), "%s/module-XXXXXX", tmp ? tmp : "/tmp");
    *state = e;
    return mkdtemp(e->dir) ? 0 : -1;
}

static int tear_down(void **state) {
    struct env *e = *state;
    if (e->path[0])
        unlink(e->path);
    rmdir(e->dir);
    ch_free(e);
    return 0;
}

static const char *name_file(struct env *e, const char *module) {
    snprintf(e->path, sizeof(e->path), "%s/libchela-%s.so", e->dir, module);
    return e->path;
}

static void expect_failure(const char *name, const char *path, int code, const char *message) {
    struct chela_error err = {0};
    const void *ops = &err;
    int rc = ch_module_load(name, "test", path, &ops, &err);
    if (rc != code || err.code != code || !strstr(err.message, message))
        fail_msg("%s: %d %s", name, rc, err.message);
    assert_ptr_equal(ops, &err);
}

static void test_names(void **state) {
    static const char *const bad[] = {"", "../evil", "a/b", "a.b", "A", "a b"};
    (void)state;
    for (size_t i = 0; i < CH_LEN(bad); i++)
        expect_failure(bad[i], "/tmp", CHELA_EINVAL, "bad module name");
}

static void test_not_found(void **state) {
    struct env *e = *state;
    CH_BUF_AUTO path = {0};
    CH_BUF_AUTO want = {0};

    ch_buf_addf(&path, ":relative:.:%s::/nonexistent:", e->dir);
    ch_buf_addf(&want, "libchela-absent.so was not found in %s, /nonexistent, /", e->dir);
    expect_failure("absent", ch_buf_str(&path), CHELA_EMODULE, ch_buf_str(&want));
    expect_failure("absent", NULL, CHELA_EMODULE, "was not found in /");
    expect_failure("absent", NULL, CHELA_EMODULE, "/chela: install it");
}

static void test_not_a_library(void **state) {
    struct env *e = *state;
    FILE *f = fopen(name_file(e, "broken"), "w");
    fputs("not a library at all\n", f);
    fclose(f);
    expect_failure("broken", e->dir, CHELA_EMODULE, "module broken cannot be loaded: ");
}

static void test_not_a_module(void **state) {
    struct env *e = *state;
    Dl_info libc;

    assert_true(dladdr(dlsym(RTLD_DEFAULT, "strtoul"), &libc));
    assert_int_equal(symlink(libc.dli_fname, name_file(e, "libc")), 0);
    expect_failure("libc", e->dir, CHELA_EMODULE, "is not a chela module");
}

static void test_check(void **state) {
    static const struct {
        struct chela_module module;
        int code;
        const char *message;
    } table[] = {
        {{CHELA_MODULE_ABI, "x", "test", NULL}, CHELA_OK, ""},
        {{CHELA_MODULE_ABI + 1, "x", "test", NULL},
         CHELA_EMODULE,
         "p was built for module ABI 11, this chela has 10"},
        {{CHELA_MODULE_ABI, "y", "test", NULL},
         CHELA_EMODULE,
         "p is module y of kind test, not x of kind test"},
        {{CHELA_MODULE_ABI, "x", "store", NULL}, CHELA_EMODULE, "of kind store"},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(table); i++) {
        struct chela_error err = {0};
        assert_int_equal(io_module_check(&table[i].module, "x", "test", "p", &err), table[i].code);
        assert_non_null(strstr(err.message, table[i].message));
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names), CASE(test_not_found),         CASE(test_not_a_library),
        CASE(test_not_a_module),      cmocka_unit_test(test_check),
    };
    return cmocka_run_group_tests_name("module", tests, NULL, NULL);
}
