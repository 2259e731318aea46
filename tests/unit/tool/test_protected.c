/* test_protected.c -- what the file tools must not write although it is inside of
 * the workspace: by name, by a link, before it is there, and by replacing what
 * is above it. The sandbox protects the same against programs: test_sandbox.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "support/toolkit.h"
#include "tool/builtin/builtin.h"
#include "tool/process/sandbox_policy.h"

static struct ch_sandbox_policy policy;

static void open_kit(struct kit *k) {
    kit_init(k);
    policy = (struct ch_sandbox_policy){0};
    k->opts.sandbox = &policy;
    assert_int_equal(ch_builtin_add_with(&k->registry, NULL, "group:files", NULL, NULL), 0);
}

static void expect(struct kit *k, const char *what, bool refused) {
    bool was = k->is_error && strcmp(k->error_type, "permission_denied") == 0 &&
               strstr(k->content, "it is protected");

    if (was != refused || (!refused && k->is_error))
        fail_msg("%s: %s", what, k->content);
}

static void write_file(struct kit *k, const char *path) {
    CH_BUF_AUTO arguments = {0};

    ch_buf_addf(&arguments, "{\"file_path\":\"%s\",\"content\":\"evil\"}", path);
    kit_call(k, "write", ch_buf_str(&arguments));
}

static void edit_file(struct kit *k, const char *path) {
    CH_BUF_AUTO arguments = {0};

    ch_buf_addf(&arguments,
                "{\"file_path\":\"%s\",\"edits\":[{\"old_text\":\"mine\",\"new_text\":\"evil\"}]}",
                path);
    kit_call(k, "edit", ch_buf_str(&arguments));
}

static void patch(struct kit *k, const char *format, const char *path) {
    CH_BUF_AUTO arguments = {0};

    ch_buf_add_str(&arguments, "{\"input\":\"*** Begin Patch\\n");
    for (const char *p = format; *p; p++)
        if (*p == '%')
            ch_buf_add_str(&arguments, path);
        else
            ch_buf_addc(&arguments, *p);
    ch_buf_add_str(&arguments, "*** End Patch\\n\"}");
    kit_call(k, "apply_patch", ch_buf_str(&arguments));
}

static const struct {
    const char *path;
    bool refused;
} fresh[] = {
    {".git/hooks/pre-commit", true},
    {".git/hooks", true},
    {".git/config", true},
    {".git", true}, /* a file in place of what is above */
    {"./x/../.git//hooks/./y", true},
    {".env", true},
    {"chela.yaml", true},
    {".ssh/authorized_keys", true},
    {"to-git/config", true},
    {"to-git/hooks/deep/er", true},
    {"to-env", true},
    {"a/b/up/.env", true},
    {".git/HEAD", false},
    {".environment", false},
    {"sub/.env", false},
    {".gitignore", false},
    {".npmrc", false}, /* only if it is there */
    {"chela.yaml.example", false},
};

/* Before anything is there: nothing is made, not even a directory. */
static void test_absent(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(fresh); i++)
        for (int by_patch = 0; by_patch < 2; by_patch++) {
            struct kit k;
            open_kit(&k);
            kit_link(&k, ".git", "to-git");
            kit_link(&k, ".env", "to-env");
            kit_mkdir(&k, "a");
            kit_mkdir(&k, "a/b");
            kit_link(&k, "../..", "a/b/up");
            int before = kit_entries(&k, ".");
            if (by_patch)
                patch(&k, "*** Add File: %\\n+evil\\n", fresh[i].path);
            else
                write_file(&k, fresh[i].path);
            bool dangling = strncmp(fresh[i].path, "to-git/", 7) == 0;
            if (dangling && by_patch) /* a link to nothing is no directory, which comes first */
                assert_true(k.is_error);
            else
                expect(&k, fresh[i].path, fresh[i].refused);
            if (fresh[i].refused)
                assert_int_equal(kit_entries(&k, "."), before);
            CH_AUTOFREE char *hooks = kit_path(&k, ".git/hooks");
            assert_int_equal(access(hooks, F_OK), -1);
            kit_free(&k);
        }
}

static const char *const there[] = {
    ".git/config",   ".git/hooks/pre-commit", ".env",   "chela.yaml",   ".npmrc",
    "to-git/config", "to-hooks/pre-commit",   "to-env", "deep/up/.env",
};

static void check_all(struct kit *k, const char *what) {
    static const char *const files[] = {".git/config", ".git/hooks/pre-commit", ".env",
                                        "chela.yaml", ".npmrc"};

    for (size_t i = 0; i < CH_LEN(files); i++) {
        CH_AUTOFREE char *got = kit_get(k, files[i]);
        if (!got || strcmp(got, "mine\n") != 0)
            fail_msg("%s: %s is %s", what, files[i], got ? got : "gone");
    }
}

static void test_present(void **state) {
    struct kit k;

    (void)state;
    open_kit(&k);
    kit_mkdir(&k, ".git");
    kit_mkdir(&k, ".git/hooks");
    kit_mkdir(&k, "deep");
    kit_put(&k, ".git/config", "mine\n");
    kit_put(&k, ".git/hooks/pre-commit", "mine\n");
    kit_put(&k, ".env", "mine\n");
    kit_put(&k, "chela.yaml", "mine\n");
    kit_put(&k, ".npmrc", "mine\n");
    kit_put(&k, "other", "mine\n");
    kit_link(&k, ".git", "to-git");
    kit_link(&k, "to-git/hooks", "to-hooks");
    kit_link(&k, ".env", "to-env");
    kit_link(&k, "..", "deep/up");
    for (size_t i = 0; i < CH_LEN(there); i++) {
        const char *path = there[i];
        write_file(&k, path);
        expect(&k, path, true);
        edit_file(&k, path);
        expect(&k, path, true);
        patch(&k, "*** Update File: %\\n@@\\n-mine\\n+evil\\n", path);
        expect(&k, path, true);
        patch(&k, "*** Delete File: %\\n", path);
        expect(&k, path, true);
        patch(&k, "*** Update File: %\\n*** Move to: elsewhere\\n@@\\n-mine\\n+evil\\n", path);
        expect(&k, path, true);
        patch(&k, "*** Update File: other\\n*** Move to: %\\n@@\\n-mine\\n+evil\\n", path);
        assert_true(k.is_error);
        check_all(&k, path);
        CH_AUTOFREE char *other = kit_get(&k, "other"), *elsewhere = kit_get(&k, "elsewhere");
        assert_string_equal(other, "mine\n"); /* all or nothing */
        assert_null(elsewhere);
        CH_BUF_AUTO arguments = {0}; /* looking is fine */
        ch_buf_addf(&arguments, "{\"file_path\":\"%s\"}", path);
        kit_call(&k, "read", ch_buf_str(&arguments));
        assert_false(k.is_error);
    }
    kit_free(&k);
}

/* A list of the operator's takes the place of the usual one. */
static void test_own_list(void **state) {
    struct kit k;

    (void)state;
    open_kit(&k);
    CH_AUTOFREE char *absolute = kit_path(&k, "locked");
    const char *const list[] = {"vault/keys", absolute, "maybe?", "/nonexistent", NULL};
    policy.protect = list;
    write_file(&k, "vault/keys/a");
    expect(&k, "vault/keys/a", true);
    write_file(&k, "vault/other");
    expect(&k, "vault/other", false);
    write_file(&k, "locked/file");
    expect(&k, "absolute", true);
    write_file(&k, ".env");
    expect(&k, ".env", false);
    write_file(&k, "maybe");
    expect(&k, "not there", false);
    write_file(&k, "maybe");
    expect(&k, "there", true);
    kit_free(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_absent),
        cmocka_unit_test(test_present),
        cmocka_unit_test(test_own_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
