/* test_ls.c -- listing a directory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "support/toolkit.h"
#include "tool/builtin/builtin.h"
#include "json/json.h"

static void setup(struct kit *k) {
    kit_init(k);
    ch_builtin_add_with(&k->registry, NULL, NULL, NULL, NULL);
}

static const struct {
    const char *what, *arguments;
    const char *type, *want; /* type NULL: content equals want */
} cases[] = {
    {"default", "{}", NULL, ".hidden\nREADME.md\nbad?name\nempty/\nfifo\nlink\nscripts/\n"},
    {"dot", "{\"path\":\".\"}", NULL,
     ".hidden\nREADME.md\nbad?name\nempty/\nfifo\nlink\nscripts/\n"},
    {"nothing", "{\"path\":\"\"}", NULL,
     ".hidden\nREADME.md\nbad?name\nempty/\nfifo\nlink\nscripts/\n"},
    {"below", "{\"path\":\"scripts\"}", NULL, "a.sh\n"},
    {"slash", "{\"path\":\"scripts/\"}", NULL, "a.sh\n"},
    {"alias", "{\"file_path\":\"scripts\"}", NULL, "a.sh\n"},
    {"through a link", "{\"path\":\"link\"}", NULL, "a.sh\n"},
    {"empty", "{\"path\":\"empty\"}", NULL, "(The directory is empty.)"},
    {"a file", "{\"path\":\"README.md\"}", "invalid_arguments", "not a directory; use read"},
    {"missing", "{\"path\":\"script\"}", "not_found", "Similar names there: scripts"},
    {"outside", "{\"path\":\"..\"}", "permission_denied", "outside of the workspace"},
    {"a number", "{\"path\":1}", "not_found", "there is no such file"},
};

static void test_cases(void **state) {
    struct kit k;

    (void)state;
    setup(&k);
    kit_put(&k, "README.md", "");
    kit_put(&k, ".hidden", "");
    kit_put(&k, "bad\nname", "");
    kit_mkdir(&k, "scripts");
    kit_put(&k, "scripts/a.sh", "");
    kit_mkdir(&k, "empty");
    kit_link(&k, "scripts", "link");
    CH_AUTOFREE char *fifo = kit_path(&k, "fifo");
    assert_int_equal(mkfifo(fifo, 0644), 0);
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        kit_call(&k, "ls", cases[i].arguments);
        if (k.is_error != (cases[i].type != NULL) ||
            (cases[i].type
                 ? strcmp(k.error_type, cases[i].type) != 0 || !strstr(k.content, cases[i].want)
                 : strcmp(k.content, cases[i].want) != 0))
            fail_msg("%s: %s", cases[i].what, k.content);
    }
    kit_call(&k, "ls", "{}");
    assert_string_equal(k.details, "{\"entries\":[{\"name\":\".hidden\",\"type\":\"file\"},"
                                   "{\"name\":\"README.md\",\"type\":\"file\"},"
                                   "{\"name\":\"bad\\nname\",\"type\":\"file\"},"
                                   "{\"name\":\"empty\",\"type\":\"directory\"},"
                                   "{\"name\":\"fifo\",\"type\":\"other\"},"
                                   "{\"name\":\"link\",\"type\":\"link\"},"
                                   "{\"name\":\"scripts\",\"type\":\"directory\"}]}");
    kit_free(&k);
}

static size_t lines(const char *text) {
    size_t n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* More entries than fit: whole names, a note that adds up, never cut twice. */
static void test_many(void **state) {
    static const struct {
        int files, width;
    } many[] = {{2000, 5}, {2001, 5}, {2600, 5}, {500, 100}, {200, 200}};

    (void)state;
    for (size_t i = 0; i < CH_LEN(many); i++) {
        CH_ARENA_AUTO arena = {0};
        const struct ch_json *details;
        struct kit k;
        setup(&k);
        for (int n = 0; n < many[i].files; n++) {
            char name[256];
            snprintf(name, sizeof(name), "%0*d", many[i].width, n);
            kit_put(&k, name, "");
        }
        kit_call(&k, "ls", "{}");
        assert_false(k.is_error || k.truncated);
        assert_true(strlen(k.content) <= CH_LIMIT_RESULT_CHARS);
        const char *note = strchr(k.content, '[');
        size_t left_out = note ? strtoul(note + 1, NULL, 10) : 0;
        size_t shown = lines(k.content) - (note != NULL);
        assert_int_equal(shown + left_out, many[i].files);
        assert_true(shown <= CH_LIMIT_LS_ENTRIES);
        ch_json_parse(&arena, ch_sv_str(k.details), CH_JSON_STRICT, &details, NULL, NULL);
        assert_int_equal(ch_json_get(details, "entries")->n, shown);
        assert_int_equal(ch_json_int(ch_json_get(details, "omitted"), 0), left_out);
        kit_free(&k);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
