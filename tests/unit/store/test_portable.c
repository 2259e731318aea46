/* test_portable.c -- what an exported session may say when it is imported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "chela/store.h"

#define HEAD "{\"chela_session\":1,\"key\":\"a\",\"agent\":\"main\"}\n"
#define WAIT "{\\\"chela_wait\\\":{\\\"until\\\":5,\\\"attempts\\\":1}}"

static const struct {
    const char *type, *data, *read;
} records[] = {
    {"started", "{\"call\":0,\"effect\":\"once\"}", NULL},
    {"started", "{\"call\":0,\"state\":\"" WAIT "\"}", NULL},
    {"started", "{\"call\":0,\"state\":\"\"}", NULL},
    /* what is left of a call: files to put back, a task of a server */
    {"started", "{\"call\":0,\"state\":\"{\\\"aftermath\\\":\\\"Put notes.txt back?\\\"}\"}",
     "{\"call\":0,\"state\":\"\"}"},
    {"started", "{\"call\":0,\"state\":\"{\\\"task\\\":\\\"t1\\\"}\"}",
     "{\"call\":0,\"state\":\"\"}"},
    {"started", "{\"call\":0,\"state\":{\"chela_wait\":{}}}", "{\"call\":0,\"state\":\"\"}"},
    {"state", "{\"run\":\"r\",\"skills\":[\"s\"],\"host\":{},\"status\":\"running\"}",
     "{\"run\":\"r\",\"status\":\"running\"}"},
    {"state", "{\"for\":{\"approve\":\"auto\",\"deny\":\"exec\"}}",
     "{\"for\":{\"deny\":\"exec\"}}"},
    {"state", "{\"background\":[{\"key\":\"a~b_1\",\"agent\":\"main\"}],\"called\":1}",
     "{\"called\":1}"},
    {"inbound", "{\"mode\":\"start\",\"to\":\"oc_1\"}", "{\"mode\":\"start\"}"},
    {"answered", "{\"approval\":\"ap_1\",\"decision\":\"allow-once\"}", "{}"},
    {"compaction", "{\"messages\":[],\"allowed\":[\"00\"]}", "{\"messages\":[]}"},
};

static int keep_data(const struct chela_store_record *r, void *user) {
    ch_buf_add(user, r->data, r->n);
    return 0;
}

static void test_what_a_file_may_say(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(records); i++) {
        CH_BUF_AUTO text = {0};
        CH_BUF_AUTO read = {0};
        chela_store *store = NULL;
        ch_buf_addf(&text, HEAD "{\"seq\":1,\"type\":\"%s\",\"ts\":1,\"data\":%s}\n",
                    records[i].type, records[i].data);
        assert_int_equal(chela_store_open("memory:", NULL, &store, NULL), 0);
        assert_int_equal(chela_store_import(store, text.p, text.n, NULL, NULL, NULL), 0);
        assert_int_equal(chela_store_records(store, "a", 1, keep_data, &read, NULL), 0);
        assert_string_equal(ch_buf_str(&read),
                            records[i].read ? records[i].read : records[i].data);
        chela_store_close(store);
    }
}

static void test_keys(void **state) {
    char too_long[258] = {0};
    const char *const bad[] = {"", "\xff", too_long};
    chela_store *store = NULL;
    (void)state;
    memset(too_long, 'k', sizeof(too_long) - 1);
    assert_int_equal(chela_store_open("memory:", NULL, &store, NULL), 0);
    for (size_t i = 0; i < CH_LEN(bad); i++)
        assert_int_equal(chela_store_import(store, HEAD, strlen(HEAD), bad[i], NULL, NULL),
                         CHELA_EINVAL);
    assert_int_equal(chela_store_import(store, HEAD, strlen(HEAD), NULL, NULL, NULL), 0);
    assert_int_equal(chela_store_fork(store, "a", -1, bad[1], NULL), CHELA_EINVAL);
    chela_store_close(store);
}

#define ASKED(seq)                                             \
    "{\"seq\":" #seq ",\"type\":\"asked\",\"ts\":1,\"data\":{" \
    "\"call\":0,\"approval\":\"ap_0123456789\"}}\n"

static void read_session(chela_store *store, const char *key, struct ch_buf *out) {
    ch_buf_clear(out);
    assert_int_equal(chela_store_records(store, key, 1, keep_data, out, NULL), 0);
}

/* A call that waits in two sessions is decided in each by an id of its own. */
static void test_a_fork_has_its_own_approvals(void **state) {
    static const char text[] = HEAD ASKED(1) ASKED(2);
    CH_BUF_AUTO from = {0};
    CH_BUF_AUTO to = {0};
    CH_BUF_AUTO other = {0};
    chela_store *store = NULL;
    (void)state;
    assert_int_equal(chela_store_open("memory:", NULL, &store, NULL), 0);
    assert_int_equal(chela_store_import(store, text, strlen(text), NULL, NULL, NULL), 0);
    assert_int_equal(chela_store_fork(store, "a", -1, "b", NULL), 0);
    assert_int_equal(chela_store_fork(store, "a", -1, "c", NULL), 0);
    read_session(store, "a", &from);
    read_session(store, "b", &to);
    read_session(store, "c", &other);
    assert_int_equal(from.n, to.n);
    assert_memory_equal(to.p, to.p + to.n / 2, to.n / 2); /* the same id in both records */
    assert_null(strstr(ch_buf_str(&to), "ap_0123456789"));
    assert_non_null(strstr(ch_buf_str(&to), "\"approval\":\"ap_"));
    assert_string_not_equal(ch_buf_str(&to), ch_buf_str(&other));
    chela_store_close(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_file_may_say),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_a_fork_has_its_own_approvals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
