/* test_labels.c -- the sources that a conversation remembers, and files that are private. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "base/limits.h"
#include "base/mem.h"
#include "egress/labels.h"
#include "guard/private_file.h"

static void test_a_set_survives_both_of_its_forms(void **state) {
    struct ch_labels a = {0}, b = {0}, c = {0};
    CH_BUF_AUTO json = {0}, text = {0};
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    struct ch_jw w = ch_jw(&json);
    (void)state;
    ch_labels_add(&a, CH_LABEL_FOREIGN, CH_SV("web:a.com"));
    ch_labels_add(&a, CH_LABEL_FOREIGN, CH_SV("web:a.com"));
    ch_labels_add(&a, CH_LABEL_PRIVATE, CH_SV("file:.env"));
    ch_jw_begin(&w, '{');
    ch_labels_write(&a, &w);
    ch_jw_end(&w, '}');
    assert_string_equal(ch_buf_str(&json),
                        "{\"labels\":{\"foreign\":[\"web:a.com\"],\"private\":[\"file:.env\"]}}");
    assert_int_equal(ch_json_parse(&arena, ch_buf_sv(&json), CH_JSON_STRICT, &v, NULL, NULL), 0);
    ch_labels_read(&b, v);
    ch_labels_write_text(&b, &text);
    assert_string_equal(ch_buf_str(&text), "web:a.com,private=file:.env");
    ch_labels_read_text(&c, ch_buf_sv(&text));
    assert_int_equal(c.n[CH_LABEL_FOREIGN], 1);
    assert_string_equal(c.names[CH_LABEL_PRIVATE][0], "file:.env");
    ch_labels_release(&a);
    ch_labels_release(&b);
    ch_labels_release(&c);
}

static void test_a_name_cannot_forge_another_source(void **state) {
    struct ch_labels a = {0}, b = {0};
    CH_BUF_AUTO text = {0};
    (void)state;
    ch_labels_add(&a, CH_LABEL_FOREIGN, CH_SV("web:x,private=owner\n"));
    ch_labels_write_text(&a, &text);
    ch_labels_read_text(&b, ch_buf_sv(&text));
    assert_int_equal(b.n[CH_LABEL_FOREIGN], 1);
    assert_int_equal(b.n[CH_LABEL_PRIVATE], 0);
    ch_labels_release(&a);
    ch_labels_release(&b);
}

static void test_a_full_set_keeps_the_fact_that_there_was_more(void **state) {
    struct ch_labels a = {0};
    char name[32];
    (void)state;
    for (int i = 0; i < 5 * CH_LIMIT_LABELS; i++) {
        snprintf(name, sizeof(name), "web:%d.example", i);
        ch_labels_add(&a, CH_LABEL_FOREIGN, ch_sv_str(name));
    }
    assert_int_equal(a.n[CH_LABEL_FOREIGN], CH_LIMIT_LABELS);
    assert_string_equal(a.names[CH_LABEL_FOREIGN][CH_LIMIT_LABELS - 1], "more");
    ch_labels_release(&a);
}

static void test_a_list_names_sources_by_word_or_by_name(void **state) {
    (void)state;
    assert_true(ch_labels_listed(CH_SV("owner, web"), CH_SV("web:a.com")));
    assert_true(ch_labels_listed(CH_SV("mcp:git"), CH_SV("mcp:git")));
    assert_false(ch_labels_listed(CH_SV("mcp:git"), CH_SV("mcp:github")));
    assert_false(ch_labels_listed(CH_SV("mcp:git"), CH_SV("mcp")));
    assert_false(ch_labels_listed(CH_SV(""), CH_SV("web")));
    assert_false(ch_labels_listed(CH_SV("we"), CH_SV("web")));
}

static void test_these_files_are_private_by_their_kind(void **state) {
    static const struct {
        const char *path, *patterns;
        bool want;
    } rows[] = {
        {".env", NULL, true},
        {"./sub/.ENV.production", NULL, true},
        {"deploy/prod.env", NULL, true},
        {".ssh/config", NULL, true},
        {"keys/server.pem", NULL, true},
        {"id_ed25519", NULL, true},
        {"id_ed25519.pub", NULL, false},
        {".env.example", NULL, false},
        {"README.md", NULL, false},
        {"src/environment.c", NULL, false},
        {"secrets", NULL, false},
        {"notes/diary.md", NULL, false},
        {"notes/diary.md", "notes/*", true},
        {"notes/diary.md", "*.md", true},
        {"", NULL, false},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++)
        if (ch_private_file(ch_sv_str(rows[i].path), rows[i].patterns) != rows[i].want)
            fail_msg("%s", rows[i].path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_set_survives_both_of_its_forms),
        cmocka_unit_test(test_a_name_cannot_forge_another_source),
        cmocka_unit_test(test_a_full_set_keeps_the_fact_that_there_was_more),
        cmocka_unit_test(test_a_list_names_sources_by_word_or_by_name),
        cmocka_unit_test(test_these_files_are_private_by_their_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
