/* test_apply_patch.c -- several files in one step: all of them change, or
 * none; and nothing is left behind. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "support/toolkit.h"
#include "tool/builtin/builtin.h"
#include "tool/builtin/files/stage.h"
#include "tool/call/call.h"
#include "tool/call/function.h"
#include "json/writer.h"

static void setup(struct kit *k) {
    kit_init(k);
    ch_builtin_add_with(&k->registry, NULL, NULL, NULL, NULL);
    kit_put(k, "a", "one\ntwo\nthree\n");
    kit_put(k, "b", "1\n2\n3\n");
    kit_put(k, "c", "x\n");
    kit_mkdir(k, "dir");
    kit_put(k, "../outside", "secret\n");
    kit_link(k, "../outside", "out");
    kit_put_bytes(k, "binary", "a\0b\n", 4);
}

static const char *apply(struct kit *k, const char *patch) {
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);

    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "input", patch);
    ch_jw_end(&w, '}');
    return kit_call(k, "apply_patch", ch_buf_str(&json));
}

static void expect(struct kit *k, const char *path, const char *want) {
    CH_AUTOFREE char *got = kit_get(k, path);

    if (!want ? got != NULL : !got || strcmp(got, want) != 0)
        fail_msg("%s: %s", path, got ? got : "(none)");
}

static void test_all_kinds(void **state) {
    struct kit k;

    (void)state;
    setup(&k);
    CH_AUTOFREE char *path = kit_path(&k, "b");
    assert_int_equal(chmod(path, 0751), 0);
    const char *got = apply(&k, "*** Begin Patch\n"
                                "*** Update File: a\n@@\n one\n-two\n+TWO\n+2\n"
                                "*** Add File: new/deep/file\n+hello\n"
                                "*** Update File: b\n*** Move to: moved/b\n@@\n-2\n+zwei\n"
                                "*** Delete File: c\n"
                                "*** End Patch\n");
    assert_string_equal(got, "Applied the patch to 4 files:\nM a (+2 -1)\n"
                             "A new/deep/file (+1 -0)\nM b -> moved/b (+1 -1)\nD c\n");
    assert_string_equal(
        k.details,
        "{\"files\":[{\"path\":\"a\",\"action\":\"updated\",\"added\":2,\"removed\":1},"
        "{\"path\":\"new/deep/file\",\"action\":\"added\",\"added\":1,\"removed\":0},"
        "{\"path\":\"b\",\"action\":\"moved\",\"to\":\"moved/b\",\"added\":1,\"removed\":1},"
        "{\"path\":\"c\",\"action\":\"deleted\",\"added\":0,\"removed\":0}]}");
    expect(&k, "a", "one\nTWO\n2\nthree\n");
    expect(&k, "new/deep/file", "hello\n");
    expect(&k, "moved/b", "1\nzwei\n3\n");
    expect(&k, "b", NULL);
    expect(&k, "c", NULL);
    struct stat st;
    CH_AUTOFREE char *moved = kit_path(&k, "moved/b");
    assert_int_equal(stat(moved, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0751);
    assert_int_equal(kit_entries(&k, "."), 6); /* a binary dir moved new out */
    assert_int_equal(kit_entries(&k, "moved"), 1);
    kit_free(&k);
}

static void test_diff(void **state) {
    struct kit k;

    (void)state;
    setup(&k);
    apply(&k, "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,3 +1,2 @@\n one\n-two\n three\n"
              "diff --git a/c b/c\ndeleted file mode 100644\n--- a/c\n+++ /dev/null\n"
              "@@ -1 +0,0 @@\n-x\n");
    assert_false(k.is_error);
    expect(&k, "a", "one\nthree\n");
    expect(&k, "c", NULL);
    kit_free(&k);
}

/* One file, several times in one patch. */
static void test_in_sequence(void **state) {
    struct kit k;

    (void)state;
    setup(&k);
    apply(&k, "*** Begin Patch\n"
              "*** Update File: a\n-one\n+1\n"
              "*** Update File: ./a\n-1\n+uno\n"
              "*** Delete File: c\n"
              "*** Add File: c\n+fresh\n"
              "*** Add File: t\n+temp\n"
              "*** Delete File: t\n"
              "*** Update File: b\n*** Move to: d\n"
              "*** Update File: d\n*** Move to: e\n@@\n-1\n+I\n"
              "*** End Patch\n");
    assert_false(k.is_error);
    expect(&k, "a", "uno\ntwo\nthree\n");
    expect(&k, "c", "fresh\n");
    expect(&k, "t", NULL);
    expect(&k, "b", NULL);
    expect(&k, "d", NULL);
    expect(&k, "e", "I\n2\n3\n");
    kit_free(&k);
}

/* A file that the patch itself adds is moved: it has the usual mode. */
static void test_move_of_new_file(void **state) {
    struct kit k;
    struct stat st, usual;

    (void)state;
    setup(&k);
    apply(&k, "*** Begin Patch\n*** Add File: n\n+x\n"
              "*** Update File: n\n*** Move to: m\n*** Add File: u\n+x\n*** End Patch\n");
    assert_false(k.is_error);
    CH_AUTOFREE char *moved = kit_path(&k, "m"), *other = kit_path(&k, "u");
    assert_int_equal(stat(moved, &st), 0);
    assert_int_equal(stat(other, &usual), 0);
    assert_int_equal(st.st_mode, usual.st_mode);
    assert_int_equal(st.st_uid, usual.st_uid);
    kit_free(&k);
}

#define FIRST "*** Begin Patch\n*** Update File: a\n-one\n+1\n*** Add File: n/f\n+x\n"
#define LAST "*** End Patch\n"

/* A good change first, then one that cannot be: nothing happens. */
static const struct {
    const char *what, *patch, *holds, *type;
} refusals[] = {
    {"no fit", FIRST "*** Update File: b\n-nope\n+x\n" LAST,
     "Nothing was changed: b: the change at line 8 of the patch does not fit", "invalid_arguments"},
    {"ambiguous", FIRST "*** Update File: a\n@@\n+q\n" LAST, "does not say where",
     "invalid_arguments"},
    {"missing", FIRST "*** Update File: bb\n-1\n+x\n" LAST, "Cannot update bb: there is no such",
     "not_found"},
    {"delete a missing one", FIRST "*** Delete File: q\n" LAST, "Cannot delete q", "not_found"},
    {"add an existing one", FIRST "*** Add File: b\n+x\n" LAST, "b is to be added but is there",
     "invalid_arguments"},
    {"move onto another", FIRST "*** Update File: b\n*** Move to: c\n" LAST, "c is there already",
     "invalid_arguments"},
    {"a directory", FIRST "*** Update File: dir\n-1\n+x\n" LAST, "it is a directory",
     "invalid_arguments"},
    {"below a file", FIRST "*** Add File: b/x\n+x\n" LAST, "Cannot write b/x", "not_found"},
    {"binary", FIRST "*** Update File: binary\n-a\n+x\n" LAST, "binary is not text",
     "invalid_arguments"},
    {"outside", FIRST "*** Add File: ../evil\n+x\n" LAST, "outside of the workspace",
     "permission_denied"},
    {"absolute", FIRST "*** Add File: /tmp/evil\n+x\n" LAST, "outside of the workspace",
     "permission_denied"},
    {"through a link", FIRST "*** Update File: out\n-secret\n+x\n" LAST, "outside of the workspace",
     "permission_denied"},
    {"move outside", FIRST "*** Update File: b\n*** Move to: ../evil\n" LAST,
     "outside of the workspace", "permission_denied"},
    {"cut off", FIRST, "was the patch cut off?", "invalid_arguments"},
    {"a deletion that shows less",
     "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+1\n--- a/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n",
     "has more lines than the patch shows", "invalid_arguments"},
};

static void test_nothing_happens(void **state) {
    struct kit k;

    (void)state;
    setup(&k);
    for (size_t i = 0; i < CH_LEN(refusals); i++) {
        const char *got = apply(&k, refusals[i].patch);
        if (!k.is_error || !strstr(got, refusals[i].holds) ||
            strcmp(k.error_type, refusals[i].type) != 0)
            fail_msg("%s: %s", refusals[i].what, got);
        expect(&k, "a", "one\ntwo\nthree\n");
        expect(&k, "b", "1\n2\n3\n");
        expect(&k, "c", "x\n");
        expect(&k, "../outside", "secret\n");
        expect(&k, "../evil", NULL);
        assert_int_equal(kit_entries(&k, "."), 6);
    }
    kit_free(&k);
}

static void test_arguments(void **state) {
    struct kit k;

    (void)state;
    setup(&k);
    kit_call(&k, "apply_patch", "{\"patch\":\"--- c\\n+++ c\\n@@\\n-x\\n+y\\n\"}");
    expect(&k, "c", "y\n");
    assert_non_null(strstr(kit_call(&k, "apply_patch", "{}"), "input\\\" is missing"));
    kit_free(&k);
}

/* --- the stage ----------------------------------------------------------- */

struct staged {
    struct kit *k;
    int rc;
    size_t failed;
};

/* Between preparing and doing, `b` is changed by somebody else. */
static int meddle(chela_call *call, void *user) {
    struct staged *s = user;
    struct ch_stage stage = {.call = call};
    struct stat st[3];
    static const char *const names[] = {"a", "b", "c"};

    for (int i = 0; i < 3; i++)
        close(ch_file_open(call, names[i], &st[i]));
    assert_int_equal(ch_stage_write(&stage, "x/y/z", NULL, NULL, CH_SV("new\n")), 0);
    assert_int_equal(ch_stage_write(&stage, "a", &st[0], &st[0], CH_SV("changed\n")), 0);
    assert_int_equal(ch_stage_remove(&stage, "c", &st[2]), 0);
    assert_int_equal(ch_stage_write(&stage, "b", &st[1], &st[1], CH_SV("changed\n")), 0);
    expect(s->k, "a", "one\ntwo\nthree\n");
    expect(s->k, "x/y/z", NULL);
    kit_put(s->k, "b", "by somebody else\n");
    s->rc = ch_stage_commit(&stage, &s->failed);
    expect(s->k, "c", "x\n");
    ch_stage_release(&stage);
    return 0;
}

static void test_undone(void **state) {
    struct kit k;
    struct staged s = {.k = &k};
    struct chela_tool_opts opts =
        CHELA_TOOL_OPTS(.name = "meddle", .fn = meddle, .user = &s, .flags = CHELA_TOOL_ON_LOOP);
    struct stat before, after;

    (void)state;
    setup(&k);
    CH_AUTOFREE char *a = kit_path(&k, "a");
    assert_int_equal(stat(a, &before), 0);
    assert_int_equal(ch_function_add(&k.registry, &opts, NULL), 0);
    kit_call(&k, "meddle", "{}");
    assert_int_equal(s.rc, -EBUSY);
    assert_int_equal(s.failed, 3);
    expect(&k, "a", "one\ntwo\nthree\n");
    expect(&k, "b", "by somebody else\n");
    expect(&k, "c", "x\n");
    assert_int_equal(stat(a, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino); /* the very same file */
    assert_int_equal(kit_entries(&k, "."), 6);     /* no x, no leftovers */
    kit_free(&k);
}

/* The same with every single change failing in turn. */
static int fail_at(chela_call *call, void *user) {
    struct staged *s = user;
    struct ch_stage stage = {.call = call};
    static const char *const names[] = {"f0", "f1", "f2", "f3"};
    struct stat st;

    for (size_t i = 0; i < CH_LEN(names); i++) {
        close(ch_file_open(call, names[i], &st));
        int rc = i % 2 ? ch_stage_remove(&stage, names[i], &st)
                       : ch_stage_write(&stage, names[i], &st, &st, CH_SV("new"));
        assert_int_equal(rc, 0);
    }
    assert_int_equal(ch_stage_write(&stage, "fresh", NULL, NULL, CH_SV("new")), 0);
    if (s->failed < CH_LEN(names))
        kit_put(s->k, names[s->failed], "meddled with");
    else if (s->failed == CH_LEN(names))
        kit_put(s->k, "fresh", "meddled with");
    size_t failed = 99;
    s->rc = ch_stage_commit(&stage, &failed);
    if (s->rc < 0)
        assert_int_equal(failed, s->failed);
    ch_stage_release(&stage);
    return 0;
}

static void test_each_failure(void **state) {
    (void)state;
    for (size_t i = 0; i <= 5; i++) {
        struct kit k;
        struct staged s = {.k = &k, .failed = i};
        struct chela_tool_opts opts = CHELA_TOOL_OPTS(.name = "fail_at", .fn = fail_at, .user = &s,
                                                      .flags = CHELA_TOOL_ON_LOOP);
        kit_init(&k);
        for (int n = 0; n < 4; n++) {
            char name[] = {'f', (char)('0' + n), 0};
            kit_put(&k, name, "old");
        }
        assert_int_equal(ch_function_add(&k.registry, &opts, NULL), 0);
        kit_call(&k, "fail_at", "{}");
        if (i == 5) {
            assert_int_equal(s.rc, 0);
            expect(&k, "f0", "new");
            expect(&k, "f1", NULL);
            assert_int_equal(kit_entries(&k, "."), 3);
        } else {
            assert_int_equal(s.rc, i == 4 ? -EEXIST : -EBUSY);
            for (size_t n = 0; n < 4; n++) {
                char name[] = {'f', (char)('0' + n), 0};
                expect(&k, name, n == i ? "meddled with" : "old");
            }
            expect(&k, "fresh", i == 4 ? "meddled with" : NULL);
            assert_int_equal(kit_entries(&k, "."), i == 4 ? 5 : 4);
        }
        kit_free(&k);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_kinds),    cmocka_unit_test(test_diff),
        cmocka_unit_test(test_in_sequence),
        cmocka_unit_test(test_move_of_new_file),  cmocka_unit_test(test_nothing_happens),
        cmocka_unit_test(test_arguments),    cmocka_unit_test(test_undone),
        cmocka_unit_test(test_each_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
