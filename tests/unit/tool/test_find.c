/* test_find.c -- walking a tree: what is seen, what is left out, where it
 * ends; and the tool on top of it. */
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
#include "json/writer.h"

static void tree(struct kit *k) {
    kit_init(k);
    ch_builtin_add_with(&k->registry, NULL, NULL, NULL, NULL);
    kit_put(k, "Makefile", "");
    kit_put(k, "main.c", "");
    kit_put(k, "main.o", "");
    kit_mkdir(k, "src");
    kit_put(k, "src/a.c", "");
    kit_put(k, "src/a.h", "");
    kit_put(k, "src/keep.o", "");
    kit_mkdir(k, "src/deep");
    kit_put(k, "src/deep/b.c", "");
    kit_put(k, "src/deep/.hidden.c", "");
    kit_put(k, "src/deep/log.txt", "");
    kit_mkdir(k, "build");
    kit_put(k, "build/gen.c", "");
    kit_mkdir(k, ".git");
    kit_mkdir(k, ".git/info");
    kit_put(k, ".git/config.c", "");
    kit_put(k, ".git/info/exclude", "secret.c\n");
    kit_put(k, "secret.c", "");
    kit_put(k, ".gitignore", "*.o\n/build/\n");
    kit_put(k, "src/.gitignore", "!keep.o\n/deep/*.txt\n");
    kit_put(k, "../outside.c", "");
    kit_link(k, "../outside.c", "link.c");
    kit_link(k, "src", "dirlink");
}

static const struct {
    const char *what, *arguments, *want; /* '!': the error holds this */
} cases[] = {
    {"by name, any depth", "{\"pattern\":\"*.c\"}", "link.c\nmain.c\nsrc/a.c\nsrc/deep/b.c\n"},
    {"everything", "{\"pattern\":\"**\"}",
     "Makefile\ndirlink\nlink.c\nmain.c\nsrc/\nsrc/a.c\nsrc/a.h\nsrc/deep/\nsrc/deep/b.c\n"
     "src/keep.o\n"},
    {"with a slash", "{\"pattern\":\"src/*.c\"}", "src/a.c\n"},
    {"globstar", "{\"pattern\":\"src/**/*.c\"}", "src/a.c\nsrc/deep/b.c\n"},
    {"braces", "{\"pattern\":\"**/*.{h,o}\"}", "src/a.h\nsrc/keep.o\n"},
    {"leading dot and slash", "{\"pattern\":\"./src/*.h\"}", "src/a.h\n"},
    {"below a directory", "{\"pattern\":\"*.c\",\"path\":\"src\"}", "src/a.c\nsrc/deep/b.c\n"},
    {"relative to it", "{\"pattern\":\"deep/*\",\"path\":\"src/\"}", "src/deep/b.c\n"},
    {"parents' rules hold there", "{\"pattern\":\"*.txt\",\"path\":\"src/deep\"}",
     "Nothing below this directory matches"},
    {"files", "{\"pattern\":\"{src,s*/a.*}\",\"type\":\"file\"}", "src/a.c\nsrc/a.h\n"},
    {"directories", "{\"pattern\":\"*\",\"type\":\"directory\"}", "src/\nsrc/deep/\n"},
    {"directories by slash", "{\"pattern\":\"**/deep/\"}", "src/deep/\n"},
    {"hidden", "{\"pattern\":\"*.c\",\"path\":\"src\",\"hidden\":true}",
     "src/a.c\nsrc/deep/.hidden.c\nsrc/deep/b.c\n"},
    {"a dot asks for hidden ones", "{\"pattern\":\".*.c\"}", "src/deep/.hidden.c\n"},
    {".git never", "{\"pattern\":\"config.c\",\"hidden\":true,\"include_ignored\":true}",
     "Nothing below the workspace matches the pattern."},
    {".git when named", "{\"pattern\":\"*.c\",\"path\":\".git\"}", ".git/config.c\n"},
    {"ignored", "{\"pattern\":\"*.{o,txt}\",\"include_ignored\":true}",
     "main.o\nsrc/deep/log.txt\nsrc/keep.o\n"},
    {"an ignored start", "{\"pattern\":\"*\",\"path\":\"build\"}", "build/gen.c\n"},
    {"through a link that stays inside", "{\"pattern\":\"*.h\",\"path\":\"dirlink\"}",
     "dirlink/a.h\n"},
    {"limit", "{\"pattern\":\"*.c\",\"limit\":2}",
     "link.c\nmain.c\n[There are more than these 2; use a narrower pattern or path.]\n"},
    {"limit not reached", "{\"pattern\":\"*.h\",\"limit\":1}", "src/a.h\n"},
    {"aliases", "{\"glob\":\"*.h\",\"directory\":\"src\",\"max_results\":5}", "src/a.h\n"},
    {"no match", "{\"pattern\":\"nope\"}",
     "Nothing below the workspace matches the pattern; hidden names were not looked at; what "
     ".gitignore rules out was not looked at.\n"},
    {"a file", "{\"pattern\":\"*\",\"path\":\"main.c\"}", "!not a directory"},
    {"missing", "{\"pattern\":\"*\",\"path\":\"srcc\"}", "!Similar names there: src"},
    {"outside", "{\"pattern\":\"*\",\"path\":\"..\"}", "!outside of the workspace"},
    {"absolute elsewhere", "{\"pattern\":\"/etc/*\"}", "!outside of the workspace"},
    {"empty", "{\"pattern\":\"\"}", "!The pattern is empty"},
    {"no pattern", "{}", "!pattern\\\" is missing"},
    {"bad type", "{\"pattern\":\"*\",\"type\":\"socket\"}", "!must be file, directory or any"},
    {"too many braces", "{\"pattern\":\"{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}\"}",
     "!more than 64 patterns"},
};

static void test_cases(void **state) {
    struct kit k;

    (void)state;
    tree(&k);
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        bool error = cases[i].want[0] == '!';
        const char *got = kit_call(&k, "find", cases[i].arguments);
        bool whole = cases[i].want[strlen(cases[i].want) - 1] == '\n';
        if (k.is_error != error || (error   ? !strstr(got, cases[i].want + 1)
                                    : whole ? strcmp(got, cases[i].want) != 0
                                            : !strstr(got, cases[i].want)))
            fail_msg("%s: %s", cases[i].what, got);
    }
    kit_free(&k);
}

static void test_absolute(void **state) {
    struct kit k;
    CH_BUF_AUTO arguments = {0};

    (void)state;
    tree(&k);
    ch_buf_addf(&arguments, "{\"pattern\":\"%s/src/*.h\",\"path\":\"src\"}", k.workspace);
    assert_string_equal(kit_call(&k, "find", ch_buf_str(&arguments)), "src/a.h\n");
    assert_string_equal(k.details, "{\"matches\":[\"src/a.h\"],\"truncated\":false}");
    kit_free(&k);
}

static void test_odd_names(void **state) {
    struct kit k;

    (void)state;
    kit_init(&k);
    ch_builtin_add_with(&k.registry, NULL, NULL, NULL, NULL);
    kit_put(&k, "new\nline", "");
    kit_put(&k, "bad\xff", "");
    kit_put(&k, "[x]", "");
    assert_string_equal(kit_call(&k, "find", "{\"pattern\":\"*\"}"),
                        "[x]\nbad\xef\xbf\xbd\nnew?line\n");
    assert_string_equal(kit_call(&k, "find", "{\"pattern\":\"\\\\[x]\"}"), "[x]\n");
    kit_free(&k);
}

/* Deeper than is walked, and a directory that cannot be read: both are said. */
static void test_left_out(void **state) {
    struct kit k;
    CH_BUF_AUTO path = {0};

    (void)state;
    kit_init(&k);
    ch_builtin_add_with(&k.registry, NULL, NULL, NULL, NULL);
    for (int i = 0; i < CH_LIMIT_WALK_DEPTH + 5; i++) {
        ch_buf_addf(&path, "%sd", i ? "/" : "");
        kit_mkdir(&k, ch_buf_str(&path));
    }
    ch_buf_add_str(&path, "/file");
    kit_put(&k, ch_buf_str(&path), "");
    const char *got = kit_call(&k, "find", "{\"pattern\":\"file\"}");
    assert_non_null(strstr(got, "[1 directories nested too deeply were left out.]"));
    if (geteuid() != 0) { /* root reads everything */
        CH_AUTOFREE char *full = kit_path(&k, "d");
        assert_int_equal(chmod(full, 0), 0);
        got = kit_call(&k, "find", "{\"pattern\":\"*\"}");
        assert_non_null(strstr(got, "d/\n[1 directories could not be read.]"));
        assert_int_equal(chmod(full, 0755), 0);
    }
    kit_free(&k);
}

/* A page is filled, not overfilled, and what is missing is said. */
static void test_page(void **state) {
    struct kit k;

    (void)state;
    kit_init(&k);
    ch_builtin_add_with(&k.registry, NULL, NULL, NULL, NULL);
    for (int i = 0; i < 900; i++) {
        char name[64];
        snprintf(name, sizeof(name), "a-rather-long-name-of-a-file-%04d", i);
        kit_put(&k, name, "");
    }
    const char *got = kit_call(&k, "find", "{\"pattern\":\"*\"}");
    assert_false(k.truncated);
    assert_true(strlen(got) <= CH_LIMIT_RESULT_CHARS);
    assert_true(strlen(got) > CH_LIMIT_RESULT_CHARS - 700);
    assert_non_null(strstr(got, "\n[There are more than these "));
    kit_free(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),     cmocka_unit_test(test_absolute),
        cmocka_unit_test(test_odd_names), cmocka_unit_test(test_left_out),
        cmocka_unit_test(test_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
