/* test_search.c -- in which turn something was said, and what was said last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "store/search.h"
#include "store/store.h"

/* Two runs: three replies, of which the first asks for a tool. */
static const char journal[] =
    "{\"chela_session\":1,\"key\":\"a\",\"agent\":\"main\"}\n"
    "{\"seq\":1,\"type\":\"inbound\",\"ts\":1,\"data\":{\"run\":\"r1\",\"mode\":\"start\","
    "\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"find the apple\"}]}"
    "}}\n"
    "{\"seq\":2,\"type\":\"message\",\"ts\":2,\"data\":{\"run\":\"r1\",\"message\":{\"role\":"
    "\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"apple: I look\"}]}}}\n"
    "{\"seq\":3,\"type\":\"done\",\"ts\":3,\"data\":{\"run\":\"r1\",\"call\":0,\"message\":{"
    "\"role\":\"tool\",\"content\":[]}}}\n"
    "{\"seq\":4,\"type\":\"inbound\",\"ts\":4,\"data\":{\"run\":\"r1\",\"mode\":\"steer\","
    "\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a red apple\"}]}}}\n"
    "{\"seq\":5,\"type\":\"message\",\"ts\":5,\"data\":{\"run\":\"r1\",\"message\":{\"role\":"
    "\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"here is the apple\"}]}}}\n"
    "{\"seq\":6,\"type\":\"inbound\",\"ts\":6,\"data\":{\"run\":\"r2\",\"mode\":\"start\","
    "\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"one more apple\"}]}"
    "}}\n"
    "{\"seq\":7,\"type\":\"message\",\"ts\":7,\"data\":{\"run\":\"r2\",\"message\":{\"role\":"
    "\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"no apple is left\"}]}}}\n";

static chela_store *store;

static int set_up(void **state) {
    struct chela_error err = {0};
    (void)state;
    assert_int_equal(chela_store_open("memory:", NULL, &store, &err), 0);
    for (int i = 0; i < 2; i++)
        if (chela_store_import(store, journal, sizeof(journal) - 1, i ? "b" : "a", NULL, &err) < 0)
            fail_msg("%s", err.message);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    chela_store_close(store);
    return 0;
}

static int add_hit(const struct chela_store_hit *h, void *user) {
    ch_buf_addf(user, "%s %llu:%llu;", h->key, (unsigned long long)h->seq,
                (unsigned long long)h->turn);
    return 0;
}

static int add_said(const struct ch_recalled *what, void *user) {
    ch_buf_addf(user, "%s %llu:%llu;", what->session, (unsigned long long)what->seq,
                (unsigned long long)what->turn);
    return 0;
}

/* As `fork` counts: a reply is a turn, an input belongs to the one it causes. */
static void test_turns(void **state) {
    static const struct {
        const char *words, *key, *want;
    } cases[] = {
        {"apple", "a", "a 1:1;a 2:1;a 4:2;a 5:2;a 6:3;a 7:3;"},
        {"left", "a", "a 7:3;"},
        {"red", "b", "b 4:2;"},
        {"pear", NULL, ""},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO got = {0};
        struct chela_error err = {0};
        assert_int_equal(
            chela_store_search(store, cases[i].words, cases[i].key, 20, add_hit, &got, &err), 0);
        assert_string_equal(ch_buf_str(&got), cases[i].want);
    }
}

static void test_recall(void **state) {
    static const struct {
        struct ch_recall_query q;
        const char *want;
    } cases[] = {
        {{.text = "apple", .session = "a", .limit = 2}, "a 1:1;a 2:1;"},
        {{.text = "apple", .session = "a", .run = "r1", .limit = 9}, "a 6:3;a 7:3;"},
        {{.session = "a", .limit = 9}, "a 7:3;a 6:3;a 5:2;a 4:2;a 2:1;a 1:1;"},
        {{.session = "a", .run = "r2", .limit = 2}, "a 5:2;a 4:2;"},
        {{.session = "a", .limit = 1}, "a 7:3;"},
        {{.session = "nobody", .limit = 9}, ""},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO got = {0};
        struct chela_error err = {0};
        assert_int_equal(ch_store_recall(store, &cases[i].q, add_said, &got, &err), 0);
        assert_string_equal(ch_buf_str(&got), cases[i].want);
    }
    CH_BUF_AUTO all = {0};
    struct ch_recall_query everywhere = {.limit = 12};
    struct chela_error err = {0};
    assert_int_equal(ch_store_recall(store, &everywhere, add_said, &all, &err), 0);
    assert_non_null(strstr(ch_buf_str(&all), "a 7:3;"));
    assert_non_null(strstr(ch_buf_str(&all), "b 7:3;"));
}

/* A session that is deleted after its row was read. */
static int records_of_all_but_b(struct chela_store_db *db, const char *key, uint64_t from,
                                chela_store_record_fn *fn, void *user, struct chela_error *err) {
    return ch_store_memory.records(db, strcmp(key, "b") == 0 ? "nobody" : key, from, fn, user,
                                   err);
}

static void test_a_session_goes_meanwhile(void **state) {
    struct chela_store_ops ops = ch_store_memory;
    static const char *const words[] = {NULL, "apple"};
    (void)state;
    ops.records = records_of_all_but_b;
    store->ops = &ops;
    for (size_t i = 0; i < CH_LEN(words); i++) {
        CH_BUF_AUTO got = {0};
        struct ch_recall_query q = {.text = words[i], .limit = 12};
        struct chela_error err = {0};
        assert_int_equal(ch_store_recall(store, &q, add_said, &got, &err), 0);
        assert_non_null(strstr(ch_buf_str(&got), "a 7:3;"));
        assert_null(strstr(ch_buf_str(&got), "b "));
    }
    store->ops = &ch_store_memory;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_turns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_recall, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_session_goes_meanwhile, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
