/* test_edit.c -- replacing pieces of files: found exactly or tolerantly, once,
 * and nothing else touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "support/toolkit.h"
#include "tool/call/call_path.h"
#include "tool/builtin/builtin.h"
#include "tool/builtin/files/file.h"
#include "tool/builtin/files/replace.h"
#include "tool/call/function.h"
#include "json/writer.h"

#define LQ "\xe2\x80\x9c" /* left double quotation mark */
#define RQ "\xe2\x80\x9d"
#define APOS "\xe2\x80\x99"
#define DASH "\xe2\x80\x94"
#define NBSP "\xc2\xa0"

static const struct {
    const char *what, *file;
    const char *edits[3][2]; /* old, new */
    const char *want;        /* starting with '!': the error */
} cases[] = {
    {"plain", "a b c", {{"b", "x"}}, "a x c"},
    {"delete", "a b c", {{" b", ""}}, "a c"},
    {"whole file", "abc", {{"abc", "x"}}, "x"},
    {"at the start", "abc", {{"a", "xx"}}, "xxbc"},
    {"at the end", "abc", {{"c", "xx"}}, "abxx"},
    {"several, in any order", "one two three", {{"three", "3"}, {"one", "1"}}, "1 two 3"},
    {"side by side", "abcd", {{"ab", "1"}, {"cd", "2"}}, "12"},
    {"new text is not searched again", "a b", {{"a", "b"}, {"b", "c"}}, "b c"},
    {"lines", "x\ny\nz\n", {{"y\n", "1\n2\n"}}, "x\n1\n2\nz\n"},

    {"blanks at line ends", "if x:  \n    y\t\nz\n", {{"if x:\n    y\nz", "ok"}}, "ok\n"},
    {"blanks in the old text", "if x:\n    y\n", {{"if x:   \n    y  ", "ok"}}, "ok\n"},
    {"a blank that separates words", "returnValue();", {{"return ", "return -"}}, "!was not found"},
    {"a blank before indentation", "a\n\tb\n", {{"a\n  ", "x\n  "}}, "!was not found"},
    {"blanks that end the old text", "ab\nb \nc", {{"b  ", "x"}}, "!occurs 2 times (lines 1, 2)"},
    {"blanks of the last line", "ab c\nb \t", {{"b  ", "x "}}, "ab c\nx "},
    {"blanks before CRLF", "a \r\nb\r\n", {{"a\t", "x"}}, "x\r\nb\r\n"},
    {"blanks after the match stay", "foo   \nbar\n", {{"foo\nbar", "X"}}, "X\n"},
    {"blanks before the match stay", "  foo \nbar", {{"foo\nbar", "X"}}, "  X"},
    {"CRLF file, LF text", "a\r\nb\r\nc\r\n", {{"a\nb", "1\n2"}}, "1\r\n2\r\nc\r\n"},
    {"CRLF kept in new lines", "a\r\nb\r\n", {{"b", "1\n2"}}, "a\r\n1\r\n2\r\n"},
    {"CRLF not doubled", "a\r\nb\r\n", {{"a\r\nb", "1\r\n2"}}, "1\r\n2\r\n"},
    {"LF file, CRLF text", "a\nb\n", {{"a\r\nb", "1\r\n2"}}, "1\n2\n"},
    {"only a line end", "a\r\nb", {{"\n", " "}}, "a b"},
    {"line end at the start", "a\r\nb\r\nc\r\n", {{"\nb\n", "\nX\n"}}, "a\r\nX\r\nc\r\n"},
    {"LF lines of a CRLF file",
     "a\r\nb\nc\nd\r\ne\r\n",
     {{"b\nc", "1\n2\n3"}},
     "a\r\n1\n2\n3\nd\r\ne\r\n"},
    {"CRLF lines of an LF file", "a\nb\r\nc\r\nd\ne\n", {{"b\nc", "1\n2"}}, "a\n1\r\n2\r\nd\ne\n"},
    {"no line ends known", "ab", {{"b", "\r\n"}}, "a\r\n"},
    {"quotes", "say " LQ "hi" RQ "!", {{"\"hi\"", "\"yo\""}}, "say \"yo\"!"},
    {"quotes the other way", "say \"hi\"!", {{LQ "hi" RQ, "x"}}, "say x!"},
    {"apostrophe, dash, space", "it" APOS "s a" NBSP "b" DASH "c", {{"it's a b-c", "ok"}}, "ok"},
    {"only the match changes", LQ "a" RQ " b " LQ "c" RQ, {{"\"c\"", "x"}}, LQ "a" RQ " b x"},
    {"exact before tolerant", "\"a\" " LQ "a" RQ, {{"\"a\"", "x"}}, "x " LQ "a" RQ},
    {"not UTF-8 around",
     "\xff"
     "a  \nb\xfe",
     {{"a\nb", "x"}},
     "\xff"
     "x\xfe"},
    {"Chinese", "\xe4\xbd\xa0\xe5\xa5\xbd \nx", {{"\xe5\xa5\xbd\nx", "!"}}, "\xe4\xbd\xa0!"},

    {"not found", "abc", {{"x", "y"}}, "!the old text of edit 1 was not found"},
    {"second not found", "abc", {{"a", "x"}, {"q", "y"}}, "!the old text of edit 2 was not found"},
    {"near miss",
     "def f():\n    return 1\n",
     {{"def f():\n    return 2", "x"}},
     "!its first line is at line 1"},
    {"twice", "a\nb\na\n", {{"a", "x"}}, "!the old text of edit 1 occurs 2 times (lines 1, 3)"},
    {"overlapping itself", "aaa", {{"aa", "x"}}, "!occurs 2 times (lines 1, 1)"},
    {"many times",
     "a\na\na\na\na\na\na\na\na\na\n",
     {{"a", "x"}},
     "!occurs 10 times (lines 1, 2, 3, 4, 5, 6, 7, 8, ...)"},
    {"twice, tolerantly", "a \nb\na\t\nb\n", {{"a\nb", "x"}}, "!occurs 2 times (lines 1, 3)"},
    {"overlap", "abcd", {{"abc", "1"}, {"cd", "2"}}, "!two edits overlap at line 1"},
    {"the same twice", "abcd", {{"bc", "1"}, {"bc", "2"}}, "!two edits overlap"},
    {"empty old text", "abc", {{"", "x"}}, "!is empty; use write"},
    {"blank old text", "abc", {{"  ", "x"}}, "!was not found"},
    {"no change", "abc", {{"b", "b"}}, "!change nothing"},
    {"empty file", "", {{"a", "b"}}, "!was not found"},
};

static void test_replace(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_replacement edits[3] = {0};
        struct chela_error err = {0};
        CH_BUF_AUTO out = {0};
        size_t n = 0;
        for (; n < 3 && cases[i].edits[n][0]; n++) {
            edits[n].old_text = ch_sv_str(cases[i].edits[n][0]);
            edits[n].new_text = ch_sv_str(cases[i].edits[n][1]);
        }
        int rc = ch_replace(ch_sv_str(cases[i].file), edits, n, &out, &err);
        bool error = cases[i].want[0] == '!';
        if ((rc < 0) != error || (error ? !strstr(err.message, cases[i].want + 1) || out.n
                                        : strcmp(ch_buf_str(&out), cases[i].want) != 0))
            fail_msg("%s: %d %s%s", cases[i].what, rc, err.message, ch_buf_str(&out));
        ch_edits_release(edits, n);
    }
}

/* A periodic text must not take the time its length squared would. */
static void test_periodic(void **state) {
    struct ch_replacement edit = {.new_text = CH_SV("x")};
    struct chela_error err = {0};
    CH_BUF_AUTO text = {0}, out = {0};

    (void)state;
    for (int i = 0; i < 2000000; i++)
        ch_buf_addc(&text, 'a');
    edit.old_text = ch_sv(text.p, 500000);
    int64_t from = kit_ms();
    assert_int_equal(ch_replace(ch_buf_sv(&text), &edit, 1, &out, &err), CHELA_EINVAL);
    assert_non_null(strstr(err.message, "occurs at least 100 times"));
    assert_true(kit_ms() - from < 60000);
    ch_edits_release(&edit, 1);
}

static void test_diff(void **state) {
    static const struct {
        const char *file, *old, *new, *want;
    } diffs[] = {
        {"a\nb\nc\n", "b", "x", "@@ line 2 @@\n-b\n+x\n"},
        {"a\nfoo bar\nc\n", "bar", "baz", "@@ line 2 @@\n-foo bar\n+foo baz\n"},
        {"a\nb\nc\n", "b\n", "", "@@ line 2 @@\n-b\n"},
        {"a\nb\nc\n", "a\nb", "1\n2\n3", "@@ line 1 @@\n-a\n-b\n+1\n+2\n+3\n"},
        {"a\r\nb\r\n", "b", "x", "@@ line 2 @@\n-b\n+x\n"},
        {"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", "1\n2\n3\n4\n5\n6\n7\n8\n9", "x",
         "@@ line 1 @@\n-1\n-2\n-3\n-4\n-5\n-6\n-7\n-8\n- ...\n+x\n"},
    };

    (void)state;
    for (size_t i = 0; i < CH_LEN(diffs); i++) {
        struct ch_replacement edit = {.old_text = ch_sv_str(diffs[i].old),
                                      .new_text = ch_sv_str(diffs[i].new)};
        CH_BUF_AUTO out = {0}, diff = {0};
        assert_int_equal(ch_replace(ch_sv_str(diffs[i].file), &edit, 1, &out, NULL), 0);
        ch_replace_diff(ch_sv_str(diffs[i].file), &edit, 1, &diff);
        assert_string_equal(ch_buf_str(&diff), diffs[i].want);
        ch_edits_release(&edit, 1);
    }
}

/* --- through the tool ---------------------------------------------------- */

static void setup(struct kit *k) {
    kit_init(k);
    ch_builtin_add_with(&k->registry, NULL, NULL, NULL, NULL);
    kit_put(k, "f", "one\ntwo\nthree\n");
}

static const struct {
    const char *what, *arguments;
    const char *type, *want, *holds;
} calls[] = {
    {"edits",
     "{\"file_path\":\"f\",\"edits\":[{\"old_text\":\"one\",\"new_text\":\"1\"},"
     "{\"old_text\":\"two\",\"new_text\":\"2\"}]}",
     NULL, "Edited f (2 replacements)\n@@ line 1 @@\n-one\n+1\n@@ line 2 @@\n-two\n+2\n",
     "1\n2\nthree\n"},
    {"one edit, spelt out", "{\"file_path\":\"f\",\"old_text\":\"two\",\"new_text\":\"2\"}", NULL,
     "Edited f (1 replacement)", "one\n2\nthree\n"},
    {"aliases", "{\"path\":\"f\",\"old_string\":\"two\",\"new_string\":\"2\"}", NULL, "Edited f",
     "one\n2\nthree\n"},
    {"aliases in edits",
     "{\"path\":\"f\",\"edits\":[{\"oldText\":\"two\",\"newText\":\"2\"}]}",
     NULL, "Edited f", "one\n2\nthree\n"},
    {"edits as a string",
     "{\"path\":\"f\",\"edits\":\"[{\\\"old_text\\\":\\\"two\\\","
     "\\\"new_text\\\":\\\"2\\\"}]\"}",
     NULL, "Edited f", "one\n2\nthree\n"},
    {"edits as an object", "{\"path\":\"f\",\"edits\":{\"old_text\":\"two\",\"new_text\":\"2\"}}",
     NULL, "Edited f", "one\n2\nthree\n"},
    {"tolerant is said", "{\"path\":\"f\",\"old_text\":\"one \\ntwo\",\"new_text\":\"x\"}", NULL,
     "matched despite different white space or quotes", "x\nthree\n"},
    {"after a line", "{\"path\":\"f\",\"insert_line\":1,\"new_text\":\"x\"}", NULL,
     "Edited f (1 replacement)", "one\nx\ntwo\nthree\n"},
    {"before the first line", "{\"path\":\"f\",\"insert_line\":0,\"new_text\":\"x\\n\"}", NULL,
     "Edited f (1 replacement)", "x\none\ntwo\nthree\n"},
    {"after the last line", "{\"path\":\"f\",\"insert_line\":3,\"new_text\":\"x\\n\"}", NULL,
     "Edited f (1 replacement)", "one\ntwo\nthree\nx\n"},
    {"after the end", "{\"path\":\"f\",\"insert_line\":4,\"new_text\":\"x\"}",
     "invalid_arguments", "edit 1 is after line 4 of a file of 3", NULL},
    {"not found", "{\"path\":\"f\",\"old_text\":\"four\",\"new_text\":\"4\"}", "invalid_arguments",
     "Cannot edit f: the old text of edit 1 was not found", "one\ntwo\nthree\n"},
    {"all or nothing",
     "{\"path\":\"f\",\"edits\":[{\"old_text\":\"one\",\"new_text\":\"1\"},"
     "{\"old_text\":\"four\",\"new_text\":\"4\"}]}",
     "invalid_arguments", "edit 2 was not found", "one\ntwo\nthree\n"},
    {"no edits", "{\"path\":\"f\",\"edits\":[]}", "invalid_arguments", "edits is empty", NULL},
    {"half an edit", "{\"path\":\"f\",\"edits\":[{\"old_text\":\"x\"}]}", "invalid_arguments",
     "Edit 1 needs the strings old_text and new_text", NULL},
    {"nothing at all", "{\"path\":\"f\"}", "invalid_arguments", "Edit 1 needs", NULL},
    {"missing", "{\"path\":\"g\",\"old_text\":\"a\",\"new_text\":\"b\"}", "not_found",
     "Similar names there: f", NULL},
    {"directory", "{\"path\":\".\",\"old_text\":\"a\",\"new_text\":\"b\"}", "invalid_arguments",
     "directory", NULL},
};

static void test_tool(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(calls); i++) {
        struct kit k;
        setup(&k);
        kit_call(&k, "edit", calls[i].arguments);
        if (k.is_error != (calls[i].type != NULL) || !strstr(k.content, calls[i].want) ||
            (calls[i].type && strcmp(k.error_type, calls[i].type) != 0))
            fail_msg("%s: %s", calls[i].what, k.content);
        CH_AUTOFREE char *got = kit_get(&k, "f");
        assert_string_equal(got, calls[i].holds ? calls[i].holds : "one\ntwo\nthree\n");
        assert_int_equal(kit_entries(&k, "."), 1);
        kit_free(&k);
    }
}

static void test_bom_mode_link(void **state) {
    struct stat st;
    struct kit k;

    (void)state;
    setup(&k);
    kit_put(&k, "b",
            "\xef\xbb\xbf"
            "a\r\nb\r\n");
    kit_link(&k, "b", "link");
    CH_AUTOFREE char *path = kit_path(&k, "b");
    assert_int_equal(chmod(path, 0751), 0);
    kit_call(&k, "edit", "{\"file_path\":\"link\",\"old_text\":\"a\",\"new_text\":\"1\\n2\"}");
    assert_false(k.is_error);
    CH_AUTOFREE char *got = kit_get(&k, "b");
    assert_string_equal(got, "\xef\xbb\xbf"
                             "1\r\n2\r\nb\r\n");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0751);
    kit_free(&k);
}

/* Somebody else writes the file between our reading and our writing. */
static int edit_late(chela_call *call, void *user) {
    struct kit *k = user;
    struct ch_place place;
    struct stat st;

    int fd = ch_file_open(call, "f", &st);
    assert_true(fd >= 0);
    close(fd);
    kit_put(k, "f", "theirs\n");
    assert_int_equal(ch_path_place(chela_call_workspace(call), NULL, "f", false, &place), 0);
    int rc = ch_file_replace(call, &place, &st, CH_SV("ours"));
    ch_place_release(&place);
    return ch_call_path_refuse(call, "edit", "f", rc);
}

static void test_changed_meanwhile(void **state) {
    struct chela_tool_opts late = CHELA_TOOL_OPTS(.name = "late", .fn = edit_late);
    struct kit k;

    (void)state;
    setup(&k);
    late.user = &k;
    assert_int_equal(ch_function_add(&k.registry, &late, NULL), 0);
    kit_call(&k, "late", "{}");
    assert_string_equal(k.error_type, "unavailable");
    assert_non_null(strstr(k.content, "changed at the same moment"));
    CH_AUTOFREE char *got = kit_get(&k, "f");
    assert_string_equal(got, "theirs\n");
    assert_int_equal(kit_entries(&k, "."), 1);
    kit_free(&k);
}

static void test_refusals(void **state) {
    struct kit k;

    (void)state;
    setup(&k);
    kit_put_bytes(&k, "bin", "a\0b", 3);
    kit_call(&k, "edit", "{\"file_path\":\"bin\",\"old_text\":\"a\",\"new_text\":\"x\"}");
    assert_non_null(strstr(k.content, "it is not text"));
    CH_BUF_AUTO args = {0};
    struct ch_jw w = ch_jw(&args);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "path", "f");
    ch_jw_key(&w, "edits");
    ch_jw_begin(&w, '[');
    for (int i = 0; i <= CH_LIMIT_EDITS; i++)
        ch_jw_raw(&w, CH_SV("{\"old_text\":\"a\",\"new_text\":\"b\"}"));
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    kit_call(&k, "edit", ch_buf_str(&args));
    assert_non_null(strstr(k.content, "More than 100 edits"));
    kit_free(&k);
}

static void test_details(void **state) {
    struct kit k;

    (void)state;
    setup(&k);
    kit_call(&k, "edit", "{\"path\":\"f\",\"old_text\":\"two\",\"new_text\":\"2\"}");
    assert_string_equal(k.details,
                        "{\"path\":\"f\",\"edits\":1,\"firstChangedLine\":2,\"bytesWritten\":12,"
                        "\"diff\":\"@@ line 2 @@\\n-two\\n+2\\n\"}");
    kit_free(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replace),       cmocka_unit_test(test_periodic),
        cmocka_unit_test(test_diff),          cmocka_unit_test(test_tool),
        cmocka_unit_test(test_bom_mode_link), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_details),       cmocka_unit_test(test_changed_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
