/* test_outbox.c -- messages to the outside: stored first, in order, under the lease. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/journal/outbox.h"
#include "base/limits.h"
#include "support/fake_journal.h"

static const struct fake_reply answer[] = {{.body = A_SAY("hi")}};

struct world {
    struct stage st;
    struct fake_journal f;
    struct ch_buf sent; /* keys, as they are passed to the channel */
    bool at_once;       /* the channel gives the receipt inside of the call */
};

static void on_send(chela_runtime *rt, const struct chela_outbound *m, void *user) {
    struct world *w = user;
    ch_buf_addf(&w->sent, "%s%s", w->sent.n ? " " : "", m->key);
    if (w->at_once)
        assert_int_equal(chela_outbox_receipt(rt, m->key, CHELA_RECEIPT_SENT, NULL, 0, NULL), 0);
}

static void open_world(struct world *w) {
    memset(w, 0, sizeof(*w));
    STAGE_OPEN(&w->st, NULL, answer);
    fake_journal_attach(&w->f, &w->st);
    assert_int_equal(chela_outbox_channel(w->st.rt, "chat", on_send, w, NULL), 0);
}

static void close_world(struct world *w) {
    stage_close(&w->st);
    assert_int_equal(w->f.owed, 0);
    fake_journal_release(&w->f);
    ch_buf_release(&w->sent);
}

static void tick(struct world *w) {
    for (int i = 0; i < 8; i++)
        ch_loop_tick(w->st.rt->loop);
}

static int put(struct world *w, const char *key, const char *session) {
    struct chela_outbound m =
        CHELA_OUTBOUND(.key = key, .session = session, .channel = "chat", .text = "hello");
    int rc = chela_outbox_put(w->st.rt, &m, NULL, NULL, NULL);
    tick(w);
    return rc;
}

static int receipt(struct world *w, const char *key, enum chela_receipt what) {
    int rc = chela_outbox_receipt(w->st.rt, key, what, NULL, 0, NULL);
    tick(w);
    return rc;
}

static void is_sent(const struct world *w, const char *keys) {
    assert_string_equal(ch_buf_str(&w->sent), keys);
}

static void test_stored_before_it_is_sent(void **state) {
    struct world w;
    (void)state;
    open_world(&w);
    w.f.hold = true;
    assert_int_equal(put(&w, "k1", "elsewhere"), 0);
    assert_string_equal(ch_buf_str(&w.f.log), "intent:k1");
    is_sent(&w, "");
    fake_journal_commit(&w.f);
    tick(&w);
    is_sent(&w, "k1");
    assert_int_equal(receipt(&w, "k1", CHELA_RECEIPT_SENT), 0);
    assert_string_equal(ch_buf_str(&w.f.log), "intent:k1 receipt:k1=sent");
    assert_int_equal(chela_outbox_waiting(w.st.rt), 0);
    assert_int_equal(receipt(&w, "k1", CHELA_RECEIPT_SENT), CHELA_ENOENT);
    close_world(&w);
}

/* The store has the key already, or failed: this process sends nothing. */
static void test_not_stored(void **state) {
    static const int outcomes[] = {CHELA_EEXIST, CHELA_EIO};
    struct world w;
    (void)state;
    open_world(&w);
    for (size_t i = 0; i < CH_LEN(outcomes); i++) {
        w.f.change_rc = outcomes[i];
        assert_int_equal(put(&w, "k1", "t"), 0);
        is_sent(&w, "");
        assert_int_equal(chela_outbox_waiting(w.st.rt), 0);
        assert_int_equal(w.f.owed, 0);
    }
    close_world(&w);
}

/* One session's messages wait for each other; those of another session do not. */
static void test_order(void **state) {
    struct world w;
    (void)state;
    open_world(&w);
    put(&w, "a1", "a");
    put(&w, "a2", "a");
    put(&w, "b1", "b");
    is_sent(&w, "a1 b1");
    receipt(&w, "a1", CHELA_RECEIPT_UNCERTAIN); /* a2 still waits for a1 */
    is_sent(&w, "a1 b1");
    int64_t next_ms = -1;
    assert_int_equal(ch_outbox_stuck(w.st.rt, "chat", &next_ms), 1);
    assert_int_equal(next_ms, 1000);
    w.st.now += 1000;
    tick(&w);
    is_sent(&w, "a1 b1 a1");
    receipt(&w, "a1", CHELA_RECEIPT_REFUSED);
    is_sent(&w, "a1 b1 a1 a2");
    receipt(&w, "a2", CHELA_RECEIPT_SENT);
    receipt(&w, "b1", CHELA_RECEIPT_SENT);
    assert_int_equal(chela_outbox_waiting(w.st.rt), 0);
    close_world(&w);
}

static void test_a_receipt_inside_of_the_call(void **state) {
    struct world w;
    (void)state;
    open_world(&w);
    w.at_once = true;
    put(&w, "a1", "a");
    put(&w, "a2", "a");
    is_sent(&w, "a1 a2");
    assert_int_equal(chela_outbox_waiting(w.st.rt), 0);
    close_world(&w);
}

/* A message of a session that is open here is sent under the session's lease. */
static void test_lease(void **state) {
    struct world w;
    (void)state;
    open_world(&w);
    w.f.lease = CH_LEASE_LATE;
    put(&w, "k1", "t");
    assert_string_equal(ch_buf_str(&w.f.log), "send:k1");
    is_sent(&w, "");
    assert_int_equal(w.f.owed, 1); /* the lease is kept while the message waits */
    w.f.lease = CH_LEASE_HELD;
    w.st.now += 1000;
    tick(&w);
    is_sent(&w, "k1");
    receipt(&w, "k1", CHELA_RECEIPT_SENT);
    assert_int_equal(w.f.owed, 0);
    /* Another process has the session: it finds the message in the store. */
    w.f.lease = CH_LEASE_GONE;
    put(&w, "k2", "t");
    is_sent(&w, "k1");
    assert_int_equal(chela_outbox_waiting(w.st.rt), 0);
    close_world(&w);
}

static void test_without_its_channel(void **state) {
    struct world w;
    (void)state;
    open_world(&w);
    assert_int_equal(chela_outbox_channel(w.st.rt, "chat", NULL, NULL, NULL), 0);
    put(&w, "k1", "a");
    is_sent(&w, "");
    assert_true(ch_outbox_waits(w.st.rt, "chat") && ch_outbox_has(w.st.rt, "a"));
    assert_false(ch_outbox_is_sending(w.st.rt));
    chela_outbox_channel(w.st.rt, "chat", on_send, &w, NULL);
    tick(&w);
    is_sent(&w, "k1");
    assert_true(ch_outbox_sends(w.st.rt, &w));
    receipt(&w, "k1", CHELA_RECEIPT_SENT);
    close_world(&w);
}

static int recall(struct world *w, const char *key, const char *state, const char *data) {
    struct chela_store_item item = {
        .id = key, .key = "a", .state = state, .data = data, .n = strlen(data), .attempts = 2};
    int rc = chela_outbox_recall(w->st.rt, &item, NULL);
    tick(w);
    return rc;
}

/* Messages that an earlier process left in the store. */
static void test_recall(void **state) {
    struct world w;
    (void)state;
    open_world(&w);
    assert_int_equal(recall(&w, "k0", "failed", "{\"channel\":\"chat\"}"), 0);
    assert_int_equal(recall(&w, "k1", "", "{"), CHELA_EPARSE);
    assert_int_equal(recall(&w, "k1", "", "{\"text\":\"no channel\"}"), CHELA_EINVAL);
    is_sent(&w, "");
    assert_int_equal(recall(&w, "k2", "", "{\"channel\":\"chat\",\"text\":\"x\"}"), 0);
    assert_int_equal(recall(&w, "k2", "", "{\"channel\":\"chat\",\"text\":\"x\"}"), 0);
    is_sent(&w, "k2"); /* once, and not stored again */
    assert_string_equal(ch_buf_str(&w.f.log), "");
    receipt(&w, "k2", CHELA_RECEIPT_SENT);
    close_world(&w);
}

/* Another process has the connection: the messages stay in the store, in their order, and the
 * lease of their session is not kept for them. */
static void test_elsewhere(void **state) {
    struct world w;
    (void)state;
    open_world(&w);
    put(&w, "k1", "t");
    put(&w, "k2", "t");
    receipt(&w, "k1", CHELA_RECEIPT_ELSEWHERE);
    receipt(&w, "k2", CHELA_RECEIPT_ELSEWHERE);
    assert_string_equal(ch_buf_str(&w.f.log),
                        "send:k1 send:k2 receipt:k1=uncertain receipt "
                        "receipt:k2=uncertain receipt");
    assert_int_equal(chela_outbox_waiting(w.st.rt), 0);
    assert_int_equal(w.f.owed, 0);
    assert_true(ch_outbox_is_elsewhere(
        &(struct chela_store_item){.receipt = "{\"note\":\"x\",\"elsewhere\":true}"}));
    assert_false(ch_outbox_is_elsewhere(&(struct chela_store_item){.receipt = "{\"note\":\"x\"}"}));
    assert_false(ch_outbox_is_elsewhere(&(struct chela_store_item){.receipt = ""}));
    close_world(&w);
}

static int not_used(chela_call *call, const struct chela_message *m, void *user) {
    (void)call, (void)m, (void)user;
    return CHELA_EINTERNAL;
}

/* An answer enters the outbox with the record of the run's end. */
static void test_answer(void **state) {
    struct world w;
    struct chela_error err = {0};
    (void)state;
    open_world(&w);
    w.at_once = true;
    struct chela_channel channel = CHELA_CHANNEL(.name = "chat", .send = not_used);
    assert_int_equal(chela_session_channel(w.st.session, &channel, &err), 0);
    struct chela_run_opts opts = CHELA_RUN_OPTS(.answer_to = "room");
    assert_int_equal(chela_run_start(w.st.session, "go", 2, &opts, &w.st.run, &err), 0);
    stage_finish(&w.st);
    tick(&w);
    assert_non_null(strstr(ch_buf_str(&w.f.log), "outbound send:t:"));
    assert_non_null(strstr(ch_buf_str(&w.sent), ":1"));
    int64_t next_ms = -1;
    assert_int_equal(ch_outbox_stuck(w.st.rt, "chat", &next_ms), 0);
    assert_int_equal(next_ms, 0);
    close_world(&w);
}

static void test_what_is_refused(void **state) {
    struct world w;
    (void)state;
    open_world(&w);
    assert_int_equal(put(&w, "", "a"), CHELA_EINVAL);
    assert_int_equal(put(&w, "k", NULL), CHELA_EINVAL);
    assert_int_equal(chela_outbox_channel(w.st.rt, "", on_send, &w, NULL), CHELA_EINVAL);
    assert_int_equal(receipt(&w, "k", (enum chela_receipt)99), CHELA_EINVAL);
    assert_int_equal(receipt(&w, "k", CHELA_RECEIPT_SENT), CHELA_ENOENT);
    assert_string_equal(ch_buf_str(&w.f.log), "");
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stored_before_it_is_sent),
        cmocka_unit_test(test_not_stored),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_a_receipt_inside_of_the_call),
        cmocka_unit_test(test_lease),
        cmocka_unit_test(test_without_its_channel),
        cmocka_unit_test(test_recall),
        cmocka_unit_test(test_elsewhere),
        cmocka_unit_test(test_answer),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
