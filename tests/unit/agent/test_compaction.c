/* test_compaction.c -- which way the history is made shorter, and what always stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "agent/context/compaction.h"
#include "model/provider/target.h"
#include "support/fake_journal.h"

static char shortened[64]; /* strategies of the compactions so far */

static void note_compaction(struct stage *st, const struct chela_event *ev) {
    (void)st;
    if (ev->type == CHELA_EV_COMPACTION) {
        size_t n = strlen(shortened);
        snprintf(shortened + n, sizeof(shortened) - n, "%s ",
                 chela_compacted_name(ev->compaction.strategy));
        if (ev->compaction.tokens_after >= ev->compaction.tokens_before)
            fail_msg("%s: %zu tokens, were %zu", shortened, ev->compaction.tokens_after,
                     ev->compaction.tokens_before);
    }
}

static struct ch_msg *text_of(enum ch_msg_kind kind, const char *word, size_t times) {
    CH_BUF_AUTO text = {0};
    for (size_t i = 0; i < times; i++)
        ch_buf_addf(&text, "%s%zu ", word, i);
    return ch_msg_text(kind, ch_buf_sv(&text), 1000);
}

/* An agent whose model has a window of 4,000 tokens, and a history of `turns` questions. */
static void open_with(struct stage *st, enum chela_compaction mode, size_t turns, size_t words,
                      const struct fake_reply *replies, size_t n) {
    struct chela_compaction_opts compaction = CHELA_COMPACTION_OPTS(.mode = mode);
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.compaction = &compaction);
    shortened[0] = '\0';
    stage_open(st, &opts, replies, n);
    st->on_event = note_compaction;
    st->agent->targets[0]->window = 4000;
    for (size_t i = 0; i < turns; i++) {
        ch_transcript_add(&st->session->transcript, text_of(CH_MSG_USER, "ask", words));
        ch_transcript_add(&st->session->transcript, text_of(CH_MSG_ASSISTANT, "say", words));
    }
}

static bool sent(const struct stage *st, size_t i, const char *text) {
    assert_true(i < st->model.nrequests);
    return strstr(ch_buf_str(&st->model.requests[i]), text) != NULL;
}

/* A history that fits is not touched. */
static void test_it_fits(void **state) {
    static const struct fake_reply replies[] = {{.body = A_SAY("hi")}};
    struct stage st;
    (void)state;
    open_with(&st, CHELA_COMPACTION_DEFAULT, 2, 20, replies, CH_LEN(replies));
    stage_play(&st, "go");
    assert_string_equal(shortened, "");
    assert_int_equal(st.session->transcript.n, 6);
    stage_close(&st);
}

/* Without a summary: the newest messages stay, and the requests that leave are carried over. */
static void test_retain(void **state) {
    static const struct fake_reply replies[] = {{.body = A_SAY("hi")}};
    struct stage st;
    (void)state;
    open_with(&st, CHELA_COMPACTION_RETAIN, 12, 150, replies, CH_LEN(replies));
    stage_play(&st, "the newest");
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    assert_string_equal(shortened, "retain ");
    assert_int_equal(st.model.nrequests, 1);
    assert_true(sent(&st, 0, "the newest"));
    assert_true(st.session->transcript.n < 26);
    assert_int_equal(st.session->transcript.msgs[0]->kind, CH_MSG_EVENT);
    stage_close(&st);
}

/* Off: the run ends with an error that names the cause, and nothing is lost. */
static void test_off(void **state) {
    static const struct fake_reply replies[] = {{.body = A_SAY("hi")}};
    struct stage st;
    (void)state;
    open_with(&st, CHELA_COMPACTION_OFF, 12, 150, replies, CH_LEN(replies));
    stage_play(&st, "go");
    assert_string_equal(shortened, "");
    assert_true(st.session->transcript.n >= 25);
    stage_close(&st);
}

/* A call of the summary's model that fails leaves the summary out; the run goes on. */
static void test_no_summary(void **state) {
    static const struct fake_reply replies[] = {{.status = 400, .body = "{}"},
                                                {.body = A_SAY("hi")}};
    struct stage st;
    (void)state;
    open_with(&st, CHELA_COMPACTION_DEFAULT, 12, 150, replies, CH_LEN(replies));
    stage_play(&st, "go");
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    assert_string_equal(shortened, "retain ");
    assert_string_equal(chela_run_text(st.run), "hi");
    stage_close(&st);
}

#define NO_STREAM                                                                              \
    "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\","                         \
    "\"message\":\"Your organization must be verified to stream this model.\"}}"

/* A refused request for the summary is made again in the form that the service takes. */
static void test_repaired(void **state) {
    static const struct fake_reply replies[] = {{.status = 400, .body = NO_STREAM},
                                                {.hang = true}};
    struct stage st;
    (void)state;
    open_with(&st, CHELA_COMPACTION_DEFAULT, 12, 150, replies, CH_LEN(replies));
    stage_start(&st, "go");
    for (int i = 0; i < 100 && st.model.nrequests < 2; i++)
        ch_loop_tick(st.rt->loop);
    assert_true(sent(&st, 0, "\"stream\":true"));
    assert_false(sent(&st, 1, "\"stream\":true"));
    assert_true(sent(&st, 1, "You write the memory of a conversation"));
    chela_cancel(st.run, NULL);
    stage_finish(&st);
    stage_close(&st);
}

static void close_at_warning(struct stage *st, const struct chela_event *ev) {
    if (ev->type == CHELA_EV_WARNING && st->session) {
        if (st->arg)
            chela_session_close(CH_TAKE(st->session));
        else
            chela_cancel(st->run, NULL);
    }
}

/* The warning about the refusal reaches a host that stops the run or closes the session. */
static void test_closed_at_the_refusal(void **state) {
    static const struct fake_reply replies[] = {{.status = 400, .body = NO_STREAM},
                                                {.hang = true}};
    (void)state;
    for (long arg = 0; arg < 2; arg++) {
        struct stage st;
        open_with(&st, CHELA_COMPACTION_DEFAULT, 12, 150, replies, CH_LEN(replies));
        st.on_event = close_at_warning;
        st.arg = arg;
        stage_start(&st, "go");
        for (int i = 0; i < 100; i++)
            ch_loop_tick(st.rt->loop);
        assert_int_equal(st.ends, arg ? 0 : 1);
        assert_int_equal(st.model.open, 0);
        stage_close(&st);
    }
}

/* A run that is cancelled while a second summary is written has paid for the first one. */
static void test_cancelled_after_a_summary(void **state) {
    static const struct fake_reply replies[] = {{.body = A_SAY("no summary")}, {.hang = true}};
    struct stage st;
    (void)state;
    open_with(&st, CHELA_COMPACTION_DEFAULT, 12, 150, replies, CH_LEN(replies));
    stage_start(&st, "go");
    for (int i = 0; i < 100 && st.model.nrequests < 2; i++)
        ch_loop_tick(st.rt->loop);
    chela_cancel(st.run, NULL);
    stage_finish(&st);
    assert_string_equal(stage_verdict(&st), "cancelled/cancelled");
    assert_int_equal(st.model.nrequests, 2);
    assert_int_equal(st.run->m.usage.input, 10);
    stage_close(&st);
}

/* One message that is too large by itself: the error says how large it is. */
static void test_one_large_message(void **state) {
    static const struct fake_reply replies[] = {{.body = A_SAY("hi")}};
    struct stage st;
    CH_BUF_AUTO large = {0};
    (void)state;
    open_with(&st, CHELA_COMPACTION_DEFAULT, 0, 0, replies, CH_LEN(replies));
    for (int i = 0; i < 6000; i++)
        ch_buf_addf(&large, "word%d ", i);
    stage_play(&st, ch_buf_str(&large));
    assert_string_equal(stage_verdict(&st), "error/context_overflow");
    assert_non_null(strstr(chela_run_error(st.run), "the message is about"));
    assert_int_equal(st.model.nrequests, 0);
    stage_close(&st);
}

/* The rewritten history is stored before the next model call, with what a reader needs. */
static void test_stored(void **state) {
    static const struct fake_reply replies[] = {{.body = A_SAY("hi")}};
    struct stage st;
    struct fake_journal f;
    (void)state;
    open_with(&st, CHELA_COMPACTION_RETAIN, 0, 0, replies, CH_LEN(replies));
    fake_journal_attach(&f, &st);
    for (size_t i = 0; i < 12; i++) {
        ch_transcript_add(&st.session->transcript, text_of(CH_MSG_USER, "ask", 150));
        ch_transcript_add(&st.session->transcript, text_of(CH_MSG_ASSISTANT, "say", 150));
    }
    stage_play(&st, "go");
    const char *at = strstr(ch_buf_str(&f.log), "compaction");
    assert_non_null(at);
    assert_non_null(strstr(at, "message")); /* the reply comes after it */
    chela_session *copy = fake_journal_session(&st, "copy");
    assert_int_equal(copy->transcript.n, st.session->transcript.n);
    stage_close(&st);
    fake_journal_release(&f);
}

static void add_large_result(struct ch_transcript *t) {
    struct ch_block call = {.type = CH_BLOCK_TOOL_CALL,
                            .id = CH_SV("c1"),
                            .name = CH_SV("look"),
                            .text = CH_SV("{}")};
    struct ch_msg *words = text_of(CH_MSG_USER, "seen", 3000);
    struct ch_block result = {.type = CH_BLOCK_TOOL_RESULT,
                              .id = CH_SV("c1"),
                              .name = CH_SV("look"),
                              .text = ch_msg_words(words)};
    ch_transcript_add(t, text_of(CH_MSG_USER, "ask", 2));
    ch_transcript_add(t, ch_msg_new(CH_MSG_ASSISTANT, &call, 1, 1));
    ch_transcript_add(t, ch_msg_new(CH_MSG_RESULTS, &result, 1, 1));
    ch_msg_free(words);
}

/* Results that were pruned before a summary that does not come are pruned in the store, too. */
static void test_cancelled_after_pruning(void **state) {
    static const struct fake_reply replies[] = {{.hang = true}};
    struct stage st;
    struct fake_journal f;
    (void)state;
    open_with(&st, CHELA_COMPACTION_DEFAULT, 0, 0, replies, CH_LEN(replies));
    fake_journal_attach(&f, &st);
    struct ch_transcript *t = &st.session->transcript;
    add_large_result(t);
    size_t before = t->msgs[2]->size;
    for (size_t i = 0; i < 6; i++) {
        ch_transcript_add(t, text_of(CH_MSG_USER, "ask", 120));
        ch_transcript_add(t, text_of(CH_MSG_ASSISTANT, "say", 120));
    }
    stage_start(&st, "go");
    for (int i = 0; i < 40; i++)
        ch_loop_tick(st.rt->loop);
    assert_int_equal(st.model.open, 1); /* the summary is being written */
    assert_null(strstr(ch_buf_str(&f.log), "compaction"));
    assert_true(t->msgs[2]->size < before);
    chela_cancel(st.run, NULL);
    stage_finish(&st);
    assert_non_null(strstr(ch_buf_str(&f.log), "compaction"));
    stage_close(&st);
    fake_journal_release(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_fits),           cmocka_unit_test(test_retain),
        cmocka_unit_test(test_off),               cmocka_unit_test(test_no_summary),
        cmocka_unit_test(test_repaired),
        cmocka_unit_test(test_closed_at_the_refusal),
        cmocka_unit_test(test_cancelled_after_a_summary),
        cmocka_unit_test(test_one_large_message), cmocka_unit_test(test_stored),
        cmocka_unit_test(test_cancelled_after_pruning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
