/* test_mailbox.c -- events from outside and messages to it: accepted once, sent
 * until there is a receipt, in order, under the same key in every life. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "chela/mailbox.h"
#include "agent/handle/session.h"
#include "agent/journal/journal.h"
#include "base/error.h"
#include "base/limits.h"
#include "store/store.h"
#include "support/stage.h"

static const struct fake_reply replies[] = {
    {.body = A_SAY("one")},
    {.body = A_SAY("two")},
    {.body = A_SAY("three")},
};

/* The other side: what it was sent, "KEY=TEXT " each time, and what it says. */
static struct {
    struct ch_buf got;
    enum chela_receipt says;
    bool silent; /* it does not answer at all */
    int64_t wait_ms;
    unsigned attempts;
} peer;

static void on_send(chela_runtime *rt, const struct chela_outbound *m, void *user) {
    (void)user;
    peer.attempts = m->attempts;
    if (!peer.silent)
        assert_int_equal(chela_outbox_receipt(rt, m->key, peer.says, "as told", peer.wait_ms, NULL),
                         0);
    const char *turn = strrchr(m->key, ':'); /* m is valid after its receipt too */
    ch_buf_addf(&peer.got, "%s=%s ", turn ? turn + 1 : m->key, m->text);
}

static int no_call(chela_call *call, const struct chela_message *m, void *user) {
    (void)call, (void)m, (void)user;
    return 0;
}

static chela_store *new_store(void) {
    chela_store *s = NULL;
    assert_int_equal(chela_store_open("memory:", NULL, &s, NULL), 0);
    ch_buf_release(&peer.got);
    memset(&peer, 0, sizeof(peer));
    return s;
}

/* A process of its own, as it were. */
static void open_life(struct stage *st, chela_store *store, size_t skip) {
    struct chela_channel channel = CHELA_CHANNEL(.name = "wire", .send = no_call);
    stage_open(st, NULL, replies + skip, CH_LEN(replies) - skip);
    assert_int_equal(chela_runtime_store(st->rt, store, CHELA_DURABILITY_DEFAULT, NULL), 0);
    chela_session_close(st->session);
    assert_int_equal(chela_session_new(st->agent, "a", &st->session, NULL), 0);
    assert_int_equal(chela_session_wait(st->session, NULL), 0);
    assert_int_equal(chela_session_channel(st->session, &channel, NULL), 0);
    assert_int_equal(chela_outbox_channel(st->rt, "wire", on_send, NULL, NULL), 0);
}

static void settle_down(struct stage *st) {
    for (int i = 0; i < 200; i++)
        ch_loop_tick(st->rt->loop);
}

static void close_life(struct stage *st, chela_store *store) {
    stage_close(st);
    if (store)
        chela_store_close(store);
    ch_buf_release(&peer.got);
}

static int count_item(const struct chela_store_item *item, void *user) {
    ch_buf_addf(user, "%s(%s,%u) ", item->state, item->receipt, (unsigned)item->attempts);
    return 0;
}

static void check_box(chela_store *store, enum chela_store_box box, const char *want) {
    CH_BUF_AUTO got = {0};
    assert_int_equal(chela_store_items(store, box, count_item, &got, NULL), 0);
    assert_string_equal(ch_buf_str(&got), want);
}

/* --- in ---------------------------------------------------------------------------- */

static void note_rc(int rc, const struct chela_error *err, void *user) {
    (void)err;
    *(int *)user = rc;
}

static int accept_event(struct stage *st, const char *id) {
    int rc = 1;
    struct chela_inbox_event e = CHELA_INBOX_EVENT(.id = id, .session = "a", .data = "{}", .n = 2);
    assert_int_equal(chela_inbox_accept(st->rt, &e, note_rc, &rc, NULL), 0);
    assert_int_equal(rc, 1); /* not from inside the call */
    settle_down(st);
    return rc;
}

/* What a channel does with an event: accept it, then send it in. */
static int send_event(struct stage *st, const char *id, const char *text) {
    struct chela_run_opts opts = CHELA_RUN_OPTS(.event_id = id, .answer_to = "them");
    accept_event(st, id);
    int rc = chela_session_send(st->session, text, strlen(text), &opts, NULL);
    settle_down(st);
    return rc;
}

static int note_messages(const struct chela_store_session *row, void *user) {
    *(uint64_t *)user = row->messages;
    return 0;
}

/* An event that the session has: the store refuses the record, and nothing changes. */
static void check_refused_again(struct stage *st, chela_store *store) {
    uint64_t messages = 0;
    ch_buf_clear(&peer.got);
    assert_int_equal(send_event(st, "e1", "hi"), 0);
    assert_int_equal(chela_run_reason(st->session->run), CHELA_REASON_STORE);
    assert_non_null(strstr(chela_run_error(st->session->run), "no longer waits"));
    assert_string_equal(ch_buf_str(&peer.got), "");
    chela_store_session(store, "a", note_messages, &messages, NULL);
    assert_int_equal(messages, 2);
}

static void test_an_event_is_dealt_with_once(void **state) {
    struct stage st;
    chela_store *store = new_store();
    (void)state;
    open_life(&st, store, 0);
    assert_int_equal(accept_event(&st, "e1"), 0);
    assert_int_equal(accept_event(&st, "e1"), CHELA_EEXIST);
    check_box(store, CHELA_STORE_INBOX, "new(,0) ");
    assert_int_equal(send_event(&st, "e1", "hi"), 0);
    check_box(store, CHELA_STORE_INBOX, "");
    check_refused_again(&st, store);
    assert_int_equal(accept_event(&st, "e2"), 0);
    assert_int_equal(chela_inbox_settle(st.rt, "e2", NULL), 0);
    settle_down(&st);
    check_box(store, CHELA_STORE_INBOX, "");
    close_life(&st, NULL);
    /* the store knows it in the next life as well */
    open_life(&st, store, 1);
    check_refused_again(&st, store);
    close_life(&st, store);
}

static void test_what_cannot_be_accepted(void **state) {
    struct stage st;
    chela_store *store = new_store();
    struct chela_inbox_event e = CHELA_INBOX_EVENT(.id = "e", .session = "a");
    struct chela_run_opts opts = CHELA_RUN_OPTS(.event_id = "e");
    chela_session *early;
    (void)state;
    stage_open(&st, NULL, replies, CH_LEN(replies));
    assert_int_equal(chela_inbox_accept(st.rt, &e, note_rc, NULL, NULL), CHELA_ESTATE);
    assert_int_equal(chela_run_start(st.session, "x", 1, &opts, NULL, NULL), CHELA_ESTATE);
    stage_close(&st);

    open_life(&st, store, 0);
    e.id = "";
    assert_int_equal(chela_inbox_accept(st.rt, &e, note_rc, NULL, NULL), CHELA_EINVAL);
    e.id = "\xff";
    assert_int_equal(chela_inbox_accept(st.rt, &e, note_rc, NULL, NULL), CHELA_EINVAL);
    assert_int_equal(chela_session_new(st.agent, "b", &early, NULL), 0);
    assert_int_equal(chela_run_start(early, "x", 1, &opts, NULL, NULL), CHELA_ESTATE);
    close_life(&st, store);
}

/* --- out --------------------------------------------------------------------------- */

static void test_an_answer_is_sent(void **state) {
    struct stage st;
    chela_store *store = new_store();
    (void)state;
    open_life(&st, store, 0);
    assert_int_equal(send_event(&st, "e1", "hi"), 0);
    assert_string_equal(ch_buf_str(&peer.got), "1=one ");
    assert_int_equal(chela_outbox_waiting(st.rt), 0);
    check_box(store, CHELA_STORE_OUTBOX, "");
    close_life(&st, store);
}

/* Later and later, with the same key; then it is left for people. */
static void test_a_peer_that_does_not_take_it(void **state) {
    struct stage st;
    chela_store *store = new_store();
    (void)state;
    peer.says = CHELA_RECEIPT_UNCERTAIN;
    open_life(&st, store, 0);
    assert_int_equal(send_event(&st, "e1", "hi"), 0);
    assert_int_equal(send_event(&st, "e2", "and"), 0);
    assert_string_equal(ch_buf_str(&peer.got), "1=one "); /* the second waits its turn */
    st.now += 999;
    settle_down(&st);
    assert_string_equal(ch_buf_str(&peer.got), "1=one ");
    st.now += 1;
    settle_down(&st);
    assert_string_equal(ch_buf_str(&peer.got), "1=one 1=one ");
    assert_int_equal(peer.attempts, 1);
    for (int i = 2; i < CH_LIMIT_SENDS; i++) {
        st.now += 300000;
        settle_down(&st);
    }
    check_box(store, CHELA_STORE_OUTBOX,
              "failed({\"note\":\"as told\"},10) uncertain({\"note\":\"as told\"},1) ");
    peer.says = CHELA_RECEIPT_SENT;
    ch_buf_clear(&peer.got);
    st.now += 300000;
    settle_down(&st);
    assert_string_equal(ch_buf_str(&peer.got), "1=two ");
    assert_int_equal(chela_outbox_waiting(st.rt), 0);
    close_life(&st, store);
}

static int recall(const struct chela_store_item *item, void *user) {
    assert_int_equal(chela_outbox_recall(user, item, NULL), 0);
    return 0;
}

/* The wait that a peer asks for is kept, also by the next process. */
static void test_a_peer_that_asks_for_a_wait(void **state) {
    struct stage st;
    chela_store *store = new_store();
    (void)state;
    peer.says = CHELA_RECEIPT_UNCERTAIN;
    peer.wait_ms = 1200000;
    open_life(&st, store, 0);
    int64_t began = st.now;
    assert_int_equal(send_event(&st, "e1", "hi"), 0);
    st.now = began + 1199000;
    settle_down(&st);
    assert_string_equal(ch_buf_str(&peer.got), "1=one ");
    close_life(&st, NULL);

    peer.says = CHELA_RECEIPT_SENT;
    open_life(&st, store, 1);
    st.now = began + 1100000;
    assert_int_equal(chela_store_items(store, CHELA_STORE_OUTBOX, recall, st.rt, NULL), 0);
    settle_down(&st);
    st.now = began + 1199000;
    settle_down(&st);
    assert_string_equal(ch_buf_str(&peer.got), "");
    st.now = began + 1200000;
    settle_down(&st);
    assert_string_equal(ch_buf_str(&peer.got), "1=one ");
    close_life(&st, store);
}

/* A peer that asks for a short wait again and again is not used up in seconds. */
static void test_a_peer_that_asks_for_short_waits(void **state) {
    struct stage st;
    chela_store *store = new_store();
    (void)state;
    peer.says = CHELA_RECEIPT_UNCERTAIN;
    peer.wait_ms = 1000;
    open_life(&st, store, 0);
    assert_int_equal(send_event(&st, "e1", "hi"), 0);
    for (int i = 0; i < 300; i++) {
        st.now += 1000;
        settle_down(&st);
    }
    peer.says = CHELA_RECEIPT_SENT;
    st.now += 300000;
    settle_down(&st);
    assert_int_equal(chela_outbox_waiting(st.rt), 0);
    check_box(store, CHELA_STORE_OUTBOX, "");
    close_life(&st, store);
}

static void test_without_a_receipt_it_is_sent_again(void **state) {
    struct stage st;
    chela_store *store = new_store();
    CH_BUF_AUTO first = {0};
    (void)state;
    open_life(&st, store, 0);
    peer.silent = true;
    assert_int_equal(send_event(&st, "e1", "hi"), 0);
    assert_int_equal(chela_outbox_waiting(st.rt), 1);
    ch_buf_add_sv(&first, ch_buf_sv(&peer.got));
    close_life(&st, NULL);

    peer.silent = false;
    open_life(&st, store, 1);
    assert_int_equal(chela_store_items(store, CHELA_STORE_OUTBOX, recall, st.rt, NULL), 0);
    assert_int_equal(chela_store_items(store, CHELA_STORE_OUTBOX, recall, st.rt, NULL), 0);
    settle_down(&st);
    assert_string_equal(ch_buf_str(&peer.got), ch_buf_str(&first)); /* once */
    check_box(store, CHELA_STORE_OUTBOX, "");
    assert_int_equal(chela_outbox_receipt(st.rt, "a:x:1", CHELA_RECEIPT_SENT, NULL, 0, NULL),
                     CHELA_ENOENT);
    close_life(&st, store);
}

/* A message that cannot be stored does not hold up the message behind it. */
static void test_the_next_message_is_sent_after_a_refused_one(void **state) {
    struct stage st;
    chela_store *store = new_store();
    struct chela_outbound m = CHELA_OUTBOUND(.key = "k", .session = "a", .channel = "wire",
                                             .text = "x");
    static const char data[] = "{\"channel\":\"wire\",\"text\":\"y\"}";
    struct chela_store_item behind = {
        .id = "b", .key = "a", .state = "intent", .data = data, .n = sizeof(data) - 1};
    int rc = 1;
    (void)state;
    open_life(&st, store, 0);
    assert_int_equal(chela_outbox_put(st.rt, &m, NULL, NULL, NULL), 0);
    settle_down(&st);
    assert_int_equal(chela_outbox_put(st.rt, &m, note_rc, &rc, NULL), 0);
    assert_int_equal(chela_outbox_recall(st.rt, &behind, NULL), 0);
    settle_down(&st);
    assert_int_equal(rc, CHELA_EEXIST);
    assert_string_equal(ch_buf_str(&peer.got), "k=x b=y ");
    close_life(&st, store);
}

static void test_the_same_key_is_the_same_message(void **state) {
    struct stage st;
    chela_store *store = new_store();
    struct chela_outbound m = CHELA_OUTBOUND(.key = "k", .session = "a", .channel = "wire",
                                             .text = "x");
    int rc[2] = {1, 1};
    (void)state;
    open_life(&st, store, 0);
    assert_int_equal(chela_outbox_put(st.rt, &m, note_rc, &rc[0], NULL), 0);
    assert_int_equal(chela_outbox_put(st.rt, &m, note_rc, &rc[1], NULL), 0);
    settle_down(&st);
    assert_int_equal(rc[0], 0);
    assert_int_equal(rc[1], CHELA_EEXIST);
    assert_string_equal(ch_buf_str(&peer.got), "k=x ");
    m.channel = "";
    assert_int_equal(chela_outbox_put(st.rt, &m, NULL, NULL, NULL), CHELA_EINVAL);
    m.channel = "nobody's";
    peer.silent = true;
    char key[16];
    m.key = key;
    for (int i = 0; i < CH_LIMIT_OUTBOX; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        assert_int_equal(chela_outbox_put(st.rt, &m, NULL, NULL, NULL), 0);
    }
    assert_int_equal(chela_outbox_put(st.rt, &m, NULL, NULL, NULL), CHELA_ELIMIT);
    settle_down(&st);
    assert_string_equal(ch_buf_str(&peer.got), "k=x ");
    assert_int_equal(chela_outbox_channel(st.rt, "nobody's", on_send, NULL, NULL), 0);
    settle_down(&st);
    assert_string_equal(ch_buf_str(&peer.got), "k=x k0=x "); /* one at a time */
    close_life(&st, store);
}

/* --- what the model said by itself --------------------------------------------------- */

static const struct fake_reply talks[] = {
    {.body = A_USE("c1", "message",
                 "{\\\"action\\\":\\\"send\\\",\\\"message\\\":\\\"so be it\\\"}")},
    {.hang = true},
    {.body = A_SAY("so be it")},
};

static int say_it(chela_call *call, const struct chela_message *m, void *user) {
    ch_buf_add_str(user, m->text);
    chela_result_text(call, "said", 4);
    return 0;
}

static void open_talker(struct stage *st, chela_store *store, size_t skip, struct ch_buf *said) {
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.tools = "message");
    struct chela_channel channel = CHELA_CHANNEL(.name = "wire", .send = say_it, .user = said);
    stage_open(st, &opts, talks + skip, CH_LEN(talks) - skip);
    assert_int_equal(chela_runtime_store(st->rt, store, CHELA_DURABILITY_DEFAULT, NULL), 0);
    chela_session_close(st->session);
    assert_int_equal(chela_session_new(st->agent, "a", &st->session, NULL), 0);
    assert_int_equal(chela_session_wait(st->session, NULL), 0);
    assert_int_equal(chela_session_channel(st->session, &channel, NULL), 0);
    assert_int_equal(chela_outbox_channel(st->rt, "wire", on_send, NULL, NULL), 0);
}

/* ...in an earlier life is not said once more as the answer. */
static void test_said_before_the_crash(void **state) {
    struct stage st;
    chela_store *store = new_store();
    CH_BUF_AUTO said = {0};
    (void)state;
    open_talker(&st, store, 0, &said);
    assert_int_equal(send_event(&st, "e1", "well?"), 0);
    assert_string_equal(ch_buf_str(&said), "so be it");
    close_life(&st, NULL);

    open_talker(&st, store, 2, &said);
    assert_int_equal(chela_run_resume(st.session, NULL, &st.run, NULL), 0);
    settle_down(&st);
    assert_string_equal(chela_run_text(st.run), "so be it");
    assert_string_equal(ch_buf_str(&said), "so be it");
    assert_string_equal(ch_buf_str(&peer.got), "");
    check_box(store, CHELA_STORE_OUTBOX, "");
    close_life(&st, store);
}

/* --- messages that a run does not get to ------------------------------------------------ */

static const struct fake_reply failing[] = {
    {.status = 400, .body = "{\"error\":{\"message\":\"no\"}}"},
    {.body = A_SAY("better")},
};

static void send_more(struct stage *st, const struct chela_event *ev) {
    struct chela_run_opts opts = CHELA_RUN_OPTS(.event_id = "e2", .answer_to = "her");
    if (ev->type != CHELA_EV_MODEL_REQUEST || st->arg++)
        return;
    assert_int_equal(chela_session_send(st->session, "more", 4, &opts, NULL), 0);
}

static void test_what_a_run_does_not_get_to(void **state) {
    struct stage st;
    chela_store *store = new_store();
    (void)state;
    open_life(&st, store, 0);
    fake_model_release(&st.model);
    fake_model_init(&st.model, st.rt->loop, failing, CH_LEN(failing));
    assert_int_equal(accept_event(&st, "e2"), 0);
    st.on_event = send_more;
    stage_start(&st, "first");
    settle_down(&st);
    assert_int_equal(chela_run_status(st.run), CHELA_STATUS_ERROR);
    /* it was accepted, so it begins a run of its own */
    assert_string_equal(ch_buf_str(&peer.got), "1=better ");
    assert_int_equal(st.session->transcript.n, 3);
    close_life(&st, store);
}

/* ...and an event that another process took up meanwhile: nothing of it is done here. */
static void test_what_another_process_took_up(void **state) {
    struct stage st;
    chela_store *store = new_store();
    (void)state;
    open_life(&st, store, 0);
    fake_model_release(&st.model);
    fake_model_init(&st.model, st.rt->loop, failing, CH_LEN(failing));
    assert_int_equal(accept_event(&st, "e2"), 0);
    assert_int_equal(chela_inbox_settle(st.rt, "e2", NULL), 0);
    st.on_event = send_more;
    stage_start(&st, "first");
    settle_down(&st);
    assert_int_equal(chela_run_reason(st.run), CHELA_REASON_STORE);
    assert_string_equal(ch_buf_str(&peer.got), "");
    close_life(&st, store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_event_is_dealt_with_once),
        cmocka_unit_test(test_what_cannot_be_accepted),
        cmocka_unit_test(test_an_answer_is_sent),
        cmocka_unit_test(test_a_peer_that_does_not_take_it),
        cmocka_unit_test(test_a_peer_that_asks_for_a_wait),
        cmocka_unit_test(test_a_peer_that_asks_for_short_waits),
        cmocka_unit_test(test_without_a_receipt_it_is_sent_again),
        cmocka_unit_test(test_the_next_message_is_sent_after_a_refused_one),
        cmocka_unit_test(test_the_same_key_is_the_same_message),
        cmocka_unit_test(test_said_before_the_crash),
        cmocka_unit_test(test_what_a_run_does_not_get_to),
        cmocka_unit_test(test_what_another_process_took_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
