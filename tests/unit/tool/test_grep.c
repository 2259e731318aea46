/* test_grep.c -- lines that match: which files, which lines, how they are
 * shown, and what happens to patterns that would take forever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "support/toolkit.h"
#include "tool/builtin/builtin.h"
#include "tool/builtin/files/regex.h"
#include "json/writer.h"

#define NI "\xe4\xbd\xa0"

static const struct {
    const char *pattern;
    unsigned flags;
    const char *line;
    int found; /* or a negative code of ch_regex_new */
    size_t start, end;
} regexes[] = {
    {"b+", 0, "abbbc", 1, 1, 4},
    {"^b", 0, "ab", 0, 0, 0},
    {"\\bfoo\\b", 0, "a foo b", 1, 2, 5},
    {"\\d{3}", 0, "ab123", 1, 2, 5},
    {"FOO", CH_REGEX_NOCASE, "afoo", 1, 1, 4},
    {"a.c", CH_REGEX_LITERAL, "abc a.c", 1, 4, 7},
    {"A.C", CH_REGEX_LITERAL | CH_REGEX_NOCASE, "abc a.c", 1, 4, 7},
    {"", 0, "", 1, 0, 0},
    {".", 0, NI, 1, 0, 3},
    {"\\w", 0, "\xc3\xa9", 1, 0, 2}, /* a letter is a letter */
    {"x", 0, "\xff\xfex", 1, 2, 3},
    {"^.$", 0, "\xff", 0, 0, 0},
    {"(?=ab)\\K", 0, "cab", 1, 1, 1},
    {"(", 0, "", CHELA_EINVAL, 0, 0},
    {"*a", 0, "", CHELA_EINVAL, 0, 0},
    {"\\C", 0, "", CHELA_EINVAL, 0, 0},
    {"(", CH_REGEX_LITERAL, "f(", 1, 1, 2},
};

static void test_regex(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(regexes); i++) {
        struct chela_error err = {0};
        CH_AUTO(ch_regex) r = NULL;
        size_t start = 0, end = 0;
        int rc = ch_regex_new(ch_sv_str(regexes[i].pattern), regexes[i].flags, &r, &err);
        if (rc == 0)
            rc = ch_regex_find(r, ch_sv_str(regexes[i].line), &start, &end);
        if (rc != regexes[i].found || start != regexes[i].start || end != regexes[i].end)
            fail_msg("%s: %d %zu-%zu %s", regexes[i].pattern, rc, start, end, err.message);
    }
}

static void test_catastrophic(void **state) {
    static const char *const patterns[] = {"(a+)+$", "(a|a)*$",  "(.*)*x", "^(([a-z])+.)+[A-Z]$",
                                           "(?R)|a", "((a*)*)*b"};
    CH_BUF_AUTO line = {0}, huge = {0};

    (void)state;
    for (int i = 0; i < 60; i++)
        ch_buf_addc(&line, 'a');
    ch_buf_addc(&line, '!');
    for (int i = 0; i < 1000000; i++)
        ch_buf_addc(&huge, 'a');
    for (size_t i = 0; i < CH_LEN(patterns); i++) {
        CH_AUTO(ch_regex) r = NULL;
        size_t start, end;
        int64_t from = kit_ms();
        assert_int_equal(ch_regex_new(ch_sv_str(patterns[i]), 0, &r, NULL), 0);
        ch_regex_find(r, ch_buf_sv(&line), &start, &end);
        ch_regex_find(r, ch_buf_sv(&huge), &start, &end);
        if (kit_ms() - from > 5000)
            fail_msg("%s takes %d ms", patterns[i], (int)(kit_ms() - from));
    }
}

static void tree(struct kit *k) {
    kit_init(k);
    ch_builtin_add_with(&k->registry, NULL, NULL, NULL, NULL);
    kit_put(k, "a.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\ntwo again\n");
    kit_put(k, "b.c", "int main(void) {\r\n\treturn TWO;\r\n}\r\n");
    kit_mkdir(k, "sub");
    kit_put(k, "sub/c.txt", "two without an end of line");
    kit_put(k, "sub/.hidden", "two hidden\n");
    kit_put(k, "ignored.log", "two ignored\n");
    kit_put(k, ".gitignore", "*.log\n");
    kit_put_bytes(k, "binary", "two\0two\n", 8);
    kit_put(k, "../outside", "two outside\n");
    kit_link(k, "../outside", "link");
    kit_link(k, "a.txt", "inside");
}

static const struct {
    const char *what, *arguments, *want; /* '!': the error holds this */
} cases[] = {
    {"all files", "{\"pattern\":\"two\"}",
     "a.txt:2:two\na.txt:8:two again\nsub/c.txt:1:two without an end of line\n"},
    {"case", "{\"pattern\":\"two\",\"ignore_case\":true,\"path\":\"b.c\"}",
     "b.c:2:\treturn TWO;\n"},
    {"-i", "{\"pattern\":\"two\",\"-i\":true,\"path\":\"./b.c\"}", "b.c:2:\treturn TWO;\n"},
    {"a regular expression", "{\"pattern\":\"^t\\\\w+e$\"}", "a.txt:3:three\n"},
    {"CRLF", "{\"pattern\":\"\\\\{\\\\s*$\"}", "b.c:1:int main(void) {\n"},
    {"literal", "{\"pattern\":\"main(\",\"literal\":true}", "b.c:1:int main(void) {\n"},
    {"glob", "{\"pattern\":\"t\",\"glob\":\"*.c\"}",
     "b.c:1:int main(void) {\nb.c:2:\treturn TWO;\n"},
    {"glob with braces", "{\"pattern\":\"again|main\",\"glob\":\"*.{c,txt}\"}",
     "a.txt:8:two again\nb.c:1:int main(void) {\n"},
    {"not this glob", "{\"pattern\":\"two\",\"glob\":\"!a.*\"}",
     "sub/c.txt:1:two without an end of line\n"},
    {"below a directory", "{\"pattern\":\"two\",\"path\":\"sub\"}",
     "sub/c.txt:1:two without an end of line\n"},
    {"hidden", "{\"pattern\":\"two\",\"path\":\"sub\",\"hidden\":true}",
     "sub/.hidden:1:two hidden\nsub/c.txt:1:two without an end of line\n"},
    {"a hidden file that is named", "{\"pattern\":\"two\",\"path\":\"sub/.hidden\"}",
     "sub/.hidden:1:two hidden\n"},
    {"ignored", "{\"pattern\":\"ignored\",\"include_ignored\":true}",
     "ignored.log:1:two ignored\n"},
    {"context", "{\"pattern\":\"four\",\"context\":1}",
     "a.txt-3-three\na.txt:4:four\na.txt-5-five\n"},
    {"context at both ends", "{\"pattern\":\"one|again\",\"context\":2}",
     "a.txt:1:one\na.txt-2-two\na.txt-3-three\n--\na.txt-6-six\na.txt-7-seven\n"
     "a.txt:8:two again\n"},
    {"context that touches", "{\"pattern\":\"two|five\",\"context\":1,\"path\":\"a.txt\"}",
     "a.txt-1-one\na.txt:2:two\na.txt-3-three\na.txt-4-four\na.txt:5:five\na.txt-6-six\n"
     "a.txt-7-seven\na.txt:8:two again\n"},
    {"context that overlaps", "{\"pattern\":\"two|three\",\"context\":1,\"path\":\"a.txt\"}",
     "a.txt-1-one\na.txt:2:two\na.txt:3:three\na.txt-4-four\n--\na.txt-7-seven\n"
     "a.txt:8:two again\n"},
    {"before and after", "{\"pattern\":\"four\",\"-B\":1,\"-A\":2}",
     "a.txt-3-three\na.txt:4:four\na.txt-5-five\na.txt-6-six\n"},
    {"context over files", "{\"pattern\":\"again|without\",\"context\":1}",
     "a.txt-7-seven\na.txt:8:two again\n--\nsub/c.txt:1:two without an end of line\n"},
    {"files", "{\"pattern\":\"two\",\"output_mode\":\"files_with_matches\"}", "a.txt\nsub/c.txt\n"},
    {"count", "{\"pattern\":\"t\",\"output_mode\":\"count\"}", "a.txt:3\nb.c:2\nsub/c.txt:1\n"},
    {"limit", "{\"pattern\":\"two\",\"limit\":1}",
     "a.txt:2:two\n[Stopped after 1 matches; there are more. Use a narrower pattern, path or "
     "glob.]\n"},
    {"limit of files", "{\"pattern\":\"t\",\"output_mode\":\"count\",\"limit\":2}",
     "a.txt:3\nb.c:2\n[Stopped after 2 files; there are more. Use a narrower path or glob.]\n"},
    {"just the limit", "{\"pattern\":\"five\",\"limit\":1}", "a.txt:5:five\n"},
    {"a link that stays inside", "{\"pattern\":\"five\",\"path\":\"inside\"}", "inside:5:five\n"},
    {"no match", "{\"pattern\":\"nope\"}",
     "No line matches; hidden files were not searched; what .gitignore rules out was not "
     "searched.\n"},
    {"no match in a file", "{\"pattern\":\"nope\",\"path\":\"a.txt\"}", "No line matches.\n"},
    {"a binary file", "{\"pattern\":\"two\",\"path\":\"binary\"}", "No line matches.\n"},
    {"a link that leads out", "{\"pattern\":\"two\",\"path\":\"link\"}",
     "!outside of the workspace"},
    {"missing", "{\"pattern\":\"two\",\"path\":\"a.text\"}", "!Similar names there: a.txt"},
    {"outside", "{\"pattern\":\"x\",\"path\":\"../outside\"}", "!outside of the workspace"},
    {"bad pattern", "{\"pattern\":\"main(\"}", "!set literal to true"},
    {"empty pattern", "{\"pattern\":\"\"}", "!The pattern is empty"},
    {"two lines", "{\"pattern\":\"a\\nb\"}", "!only single lines are searched"},
    {"bad mode", "{\"pattern\":\"a\",\"output_mode\":\"x\"}", "!must be content"},
};

static void test_cases(void **state) {
    struct kit k;

    (void)state;
    tree(&k);
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        bool error = cases[i].want[0] == '!';
        const char *got = kit_call(&k, "grep", cases[i].arguments);
        if (k.is_error != error ||
            (error ? !strstr(got, cases[i].want + 1) : strcmp(got, cases[i].want) != 0))
            fail_msg("%s: %s", cases[i].what, got);
    }
    kit_call(&k, "grep", "{\"pattern\":\"again|main\"}");
    assert_string_equal(k.details, "{\"matches\":[{\"path\":\"a.txt\",\"line\":8},"
                                   "{\"path\":\"b.c\",\"line\":1}],\"files\":2,"
                                   "\"truncated\":false}");
    kit_free(&k);
}

/* A long line is shown around its match, and no character is split. */
static void test_long_lines(void **state) {
    struct kit k;
    CH_BUF_AUTO text = {0};

    (void)state;
    kit_init(&k);
    ch_builtin_add_with(&k.registry, NULL, NULL, NULL, NULL);
    for (int i = 0; i < 3000; i++)
        ch_buf_add_str(&text, i == 2000 ? "needle" : NI);
    kit_put(&k, "f", ch_buf_str(&text));
    const char *got = kit_call(&k, "grep", "{\"pattern\":\"needle\"}");
    assert_true(strlen(got) < 600);
    assert_int_equal(strncmp(got, "f:1:..." NI, 10), 0);
    assert_string_equal(got + strlen(got) - 7, NI "...\n");
    assert_non_null(strstr(got, NI "needle" NI));
    assert_null(strstr(got, "\xef\xbf\xbd"));
    kit_free(&k);
}

static void test_page(void **state) {
    struct kit k;
    CH_BUF_AUTO text = {0};

    (void)state;
    kit_init(&k);
    ch_builtin_add_with(&k.registry, NULL, NULL, NULL, NULL);
    for (int i = 0; i < 5000; i++)
        ch_buf_addf(&text, "a line of some length with the number %d in it\n", i);
    kit_put(&k, "f", ch_buf_str(&text));
    const char *got = kit_call(&k, "grep", "{\"pattern\":\"line\",\"limit\":1000}");
    assert_false(k.truncated);
    assert_true(strlen(got) <= CH_LIMIT_RESULT_CHARS && strlen(got) > 14000);
    assert_non_null(strstr(got, "\n[Stopped after 2"));
    kit_free(&k);
}

static void test_expensive(void **state) {
    struct kit k;
    CH_BUF_AUTO text = {0};

    (void)state;
    kit_init(&k);
    ch_builtin_add_with(&k.registry, NULL, NULL, NULL, NULL);
    for (int i = 0; i < 200; i++)
        ch_buf_add_str(&text, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\n");
    kit_put(&k, "f", ch_buf_str(&text));
    int64_t from = kit_ms();
    const char *got = kit_call(&k, "grep", "{\"pattern\":\"^(a+)+$\"}");
    assert_true(k.is_error);
    assert_non_null(strstr(got, "The search was given up"));
    assert_true(kit_ms() - from < 10000);
    kit_free(&k);
}

/* Larger than is read: the first part counts, and that is said. */
static void test_large_file(void **state) {
    struct kit k;
    CH_AUTOFREE char *mb = ch_malloc(CH_MB);

    (void)state;
    kit_init(&k);
    ch_builtin_add_with(&k.registry, NULL, NULL, NULL, NULL);
    memset(mb, 'x', CH_MB);
    mb[CH_MB - 1] = '\n';
    CH_AUTOFREE char *path = kit_path(&k, "big");
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("needle at the start\n", f);
    for (int i = 0; i < 17; i++)
        assert_int_equal(fwrite(mb, 1, CH_MB, f), CH_MB);
    fputs("needle at the end\n", f);
    fclose(f);
    assert_string_equal(kit_call(&k, "grep", "{\"pattern\":\"needle\"}"),
                        "big:1:needle at the start\n"
                        "[Of 1 large files only the first 16 MB were searched.]\n");
    kit_free(&k);
}

static void test_special_files(void **state) {
    struct kit k;

    (void)state;
    kit_init(&k);
    ch_builtin_add_with(&k.registry, NULL, NULL, NULL, NULL);
    CH_AUTOFREE char *fifo = kit_path(&k, "fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    kit_put(&k, "f", "x\n");
    assert_string_equal(kit_call(&k, "grep", "{\"pattern\":\"x\"}"), "f:1:x\n");
    assert_string_equal(kit_call(&k, "grep", "{\"pattern\":\"x\",\"path\":\"fifo\"}"),
                        "No line matches.\n");
    kit_free(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regex),      cmocka_unit_test(test_catastrophic),
        cmocka_unit_test(test_cases),      cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_page),       cmocka_unit_test(test_expensive),
        cmocka_unit_test(test_large_file), cmocka_unit_test(test_special_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
