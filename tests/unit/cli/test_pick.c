/* test_pick.c -- the picker: what a query finds, what the keys do, what is shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/support/fuzzy.h"
#include "cli/term/pick.h"
#include "cli/term/term.h"

static void test_score(void **state) {
    (void)state;
    assert_int_equal(0, ch_fuzzy_score("", "anything"));
    assert_int_equal(0, ch_fuzzy_score("  ", "anything"));
    assert_true(ch_fuzzy_score("shed", "paint the Shed") > 0);
    assert_true(ch_fuzzy_score("pnt", "paint the shed") >= 0);
    assert_true(ch_fuzzy_score("shed paint", "paint the shed") > 0);
    assert_true(ch_fuzzy_score("茶", "泡一壶茶") > 0);
    assert_true(ch_fuzzy_score("tnp", "paint") < 0);
    assert_true(ch_fuzzy_score("shed roof", "paint the shed") < 0);
    assert_true(ch_fuzzy_score("a", "") < 0);
    /* adjacent before scattered, early before late */
    assert_true(ch_fuzzy_score("son", "sonnet") > ch_fuzzy_score("son", "s-o-n"));
    assert_true(ch_fuzzy_score("son", "sonnet") > ch_fuzzy_score("son", "claude-sonnet"));
}

static struct ch_pick picker(void) {
    struct ch_pick p;
    ch_pick_init(&p, "pick");
    ch_pick_add(&p, "a", "claude-haiku", "200k");
    ch_pick_add(&p, "b", "claude-sonnet", "1m");
    ch_pick_add(&p, "c", "泡一壶茶", NULL);
    ch_pick_filter(&p, "");
    return p;
}

/* keys, then: the selected id, or '-', and the last action */
static const struct {
    const char *keys, *selected;
    enum ch_pick_action action;
} cases[] = {
    {"", "a", CH_PICK_NONE},
    {"\r", "a", CH_PICK_CHOSEN},
    {"\033[B\r", "b", CH_PICK_CHOSEN},
    {"\033[B\033[B\033[B\033[B\r", "c", CH_PICK_CHOSEN},
    {"\033[B\033[A\033[A\r", "a", CH_PICK_CHOSEN},
    {"\016\r", "b", CH_PICK_CHOSEN},
    {"\033[F\033[H\033[F", "c", CH_PICK_NONE},
    {"snt\r", "b", CH_PICK_CHOSEN},
    {"1m\r", "b", CH_PICK_CHOSEN}, /* by its facts */
    {"茶\r", "c", CH_PICK_CHOSEN},
    {"茶\x7f\r", "a", CH_PICK_CHOSEN}, /* a whole character is erased */
    {"zzz\r", "-", CH_PICK_NONE},
    {"zzz\025\r", "a", CH_PICK_CHOSEN},
    {"\003", "a", CH_PICK_CANCELLED},
    {"\004", "a", CH_PICK_CANCELLED},
};

static void test_keys(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ch_pick p = picker();
        enum ch_pick_action action = CH_PICK_NONE;
        size_t n = strlen(cases[i].keys), at = 0;
        while (at < n)
            at += ch_pick_feed(&p, cases[i].keys + at, n - at, &action);
        const struct ch_pick_item *item = ch_pick_selected(&p);
        assert_string_equal(cases[i].selected, item ? item->id : "-");
        assert_int_equal(cases[i].action, action);
        ch_pick_release(&p);
    }
}

static void test_escape(void **state) {
    (void)state;
    struct ch_pick p = picker();
    enum ch_pick_action action;
    ch_pick_feed(&p, "\033", 1, &action);
    assert_int_equal(CH_PICK_NONE, action);
    assert_true(ch_keys_waiting(&p.keys));
    assert_int_equal(CH_PICK_CANCELLED, ch_pick_flush(&p));
    ch_pick_release(&p);
}

/* No line is wider than the screen, and there are not more lines than fit. */
static void test_view(void **state) {
    (void)state;
    for (unsigned columns = 10; columns < 100; columns += 7) {
        for (size_t rows = 2; rows < 30; rows += 3) {
            struct ch_pick p = picker();
            struct ch_edit_view v;
            p.items[0].about = strdup("one\ntwo\033[2J\nthree\nfour\nfive\nsix");
            ch_pick_add(&p, "d", "a title that is longer than many screens are wide, by far",
                        "2026-01-01 10:00");
            ch_pick_filter(&p, "");
            ch_pick_view(&p, false, columns, rows, &v);
            assert_true(v.n <= rows || rows < 4);
            for (size_t i = 0; i < v.n; i++) {
                assert_true(ch_term_text_columns(v.lines[i], strlen(v.lines[i])) <= columns);
                assert_null(strchr(v.lines[i], '\033'));
                free(v.lines[i]);
            }
            free(v.lines);
            ch_pick_release(&p);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_score),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_escape),
        cmocka_unit_test(test_view),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
