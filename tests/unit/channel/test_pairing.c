/* test_pairing.c -- strangers, their codes, and who was approved. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/limits.h"
#include "channel/pairing.h"
#include "store/store.h"

static int set_up(void **state) {
    return chela_store_open("memory:", NULL, (chela_store **)state, NULL);
}

static int tear_down(void **state) {
    chela_store_close(*state);
    return 0;
}

static enum ch_pairing meet(chela_store *s, const char *sender, char code[16]) {
    struct chela_error err = {0};
    enum ch_pairing what;
    CH_BUF_AUTO text = {0};
    assert_int_equal(ch_pairing_meet(s, "feishu", sender, &what, &text, &err), 0);
    snprintf(code, 16, "%s", ch_buf_str(&text));
    return what;
}

static int count(const struct chela_pairing *p, void *user) {
    size_t *n = user;
    n[p->code != NULL]++;
    return 0;
}

static void test_story(void **state) {
    chela_store *s = *state;
    char one[16], two[16], again[16];
    size_t n[2] = {0};
    assert_int_equal(meet(s, "ou_1", one), CH_PAIRING);
    assert_int_equal(strlen(one), 8);
    assert_int_equal(meet(s, "ou_2", two), CH_PAIRING);
    assert_string_not_equal(one, two);
    assert_int_equal(meet(s, "ou_1", again), CH_PAIRING);
    assert_string_equal(one, again);
    assert_int_equal(meet(s, "ou_1", again), CH_PAIRING);
    assert_int_equal(meet(s, "ou_1", again), CH_UNPAIRED); /* told often enough */
    assert_int_equal(chela_pairing_approve(s, "AAAAAAAA", NULL, NULL, NULL), CHELA_ENOENT);
    assert_int_equal(ch_pairing_approve(s, "telegram", one, NULL, NULL, NULL), CHELA_ENOENT);
    assert_int_equal(ch_pairing_approve(s, "feishu", two, NULL, NULL, NULL), 0);
    assert_int_equal(chela_pairing_approve(s, one, NULL, NULL, NULL), 0);
    assert_int_equal(meet(s, "ou_1", again), CH_PAIRED);
    assert_int_equal(meet(s, "ou_2", again), CH_PAIRED);
    assert_int_equal(chela_pairing_list(s, count, n, NULL), 0);
    assert_int_equal(n[0], 2);
    assert_int_equal(n[1], 0);
    assert_int_equal(chela_pairing_approve(s, one, NULL, NULL, NULL), CHELA_ENOENT);
    assert_int_equal(chela_pairing_remove(s, "telegram", "ou_1", NULL), CHELA_ENOENT);
    assert_int_equal(chela_pairing_remove(s, "feishu", "ou_1", NULL), 0);
    assert_int_equal(meet(s, "ou_1", again), CH_PAIRING);
    assert_string_not_equal(one, again);
}

static void test_too_many(void **state) {
    chela_store *s = *state;
    char code[16], sender[32];
    for (int i = 0; i < CH_LIMIT_PAIRINGS; i++) {
        snprintf(sender, sizeof(sender), "ou_%d", i);
        assert_int_equal(meet(s, sender, code), CH_PAIRING);
    }
    assert_int_equal(meet(s, "ou_late", code), CH_UNPAIRED);
    assert_int_equal(meet(s, "ou_0", code), CH_PAIRING);
}

static int count_note(const struct chela_store_item *i, void *user) {
    (void)i;
    ++*(int *)user;
    return 0;
}

static int notes(chela_store *s) {
    int n = 0;
    assert_int_equal(chela_store_items(s, CHELA_STORE_NOTES, count_note, &n, NULL), 0);
    return n;
}

static void test_old(void **state) {
    chela_store *s = *state;
    struct chela_error err = {0};
    static const char data[] = "{\"code\":\"ABCDEFGH\",\"until\":1000,\"told\":3}";
    struct chela_store_change c = {.kind = CHELA_STORE_NOTE, .id = "pairing:feishu:ou_1",
                                   .key = "", .data = data, .n = sizeof(data) - 1, .now = 1};
    char code[16];
    assert_int_equal(ch_store_commit(s, &c, 1, true, &err), 0);
    assert_int_equal(chela_pairing_approve(s, "ABCDEFGH", NULL, NULL, NULL), CHELA_ENOENT);
    assert_int_equal(meet(s, "ou_1", code), CH_PAIRING); /* another */
    assert_string_not_equal(code, "ABCDEFGH");
    c.id = "pairing:feishu:ou_2";
    assert_int_equal(ch_store_commit(s, &c, 1, true, &err), 0);
    assert_int_equal(notes(s), 2);
    assert_int_equal(meet(s, "ou_1", code), CH_PAIRING);
    assert_int_equal(notes(s), 1); /* what is too old is swept away */
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(test_story), TEST(test_too_many), TEST(test_old)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
