/* test_journal_replay.c -- sessions rebuilt from the records of their journal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/journal/journal_replay.h"
#include "base/limits.h"
#include "base/mem.h"

#define USER(text) "{\"role\":\"user\",\"content\":\"" text "\"}"
#define CALLS                                                                                     \
    "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"I look\"},"               \
    "{\"type\":\"tool_call\",\"id\":\"c1\",\"name\":\"read\",\"arguments\":{}},"                  \
    "{\"type\":\"tool_call\",\"id\":\"c2\",\"name\":\"exec\",\"arguments\":{}}]}"
#define RESULT(id, text)                                                                          \
    "{\"role\":\"tool\",\"content\":[{\"type\":\"tool_result\",\"id\":\"" id                      \
    "\",\"name\":\"read\",\"content\":\"" text "\"}]}"
#define DIGEST "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

struct journal {
    struct ch_journal_replay *p;
    uint64_t seq;
    struct chela_error err;
};

static int fold(struct journal *j, enum ch_record_type type, const char *json) {
    struct chela_store_record r = {
        .seq = ++j->seq, .ts = 1000 + (int64_t)j->seq, .type = type, .data = json,
        .n = strlen(json)};
    return ch_journal_replay_fold(&r, j->p, &j->err);
}

static void add(struct journal *j, enum ch_record_type type, const char *json) {
    int rc = fold(j, type, json);
    if (rc < 0)
        fail_msg("record %d: %s", (int)j->seq, j->err.message);
}

static struct journal begin(void) {
    return (struct journal){.p = ch_journal_replay_new()};
}

/* A run with the input "hi" and a reply of two calls. */
static struct journal with_calls(void) {
    struct journal j = begin();
    add(&j, CH_REC_INBOUND, "{\"run\":\"run_1\",\"mode\":\"start\",\"message\":" USER("hi") "}");
    add(&j, CH_REC_MESSAGE, "{\"run\":\"run_1\",\"turn\":1,\"message\":" CALLS "}");
    return j;
}

static const struct ch_msg *message(const struct journal *j, size_t i) {
    assert_true(i < j->p->transcript.n);
    return j->p->transcript.msgs[i];
}

static void test_start(void **state) {
    (void)state;
    struct journal j = begin();
    assert_int_equal(j.p->status, CH_REPLAY_IDLE);
    add(&j, CH_REC_INBOUND,
        "{\"run\":\"run_1\",\"mode\":\"start\",\"event\":\"ev_1\",\"to\":\"chat\","
        "\"drop_if\":\"-\","
        "\"for\":{\"sender\":\"ann\"},\"message\":" USER("hi\\nthere") "}");
    assert_int_equal(j.p->status, CH_REPLAY_RUNNING);
    assert_string_equal(j.p->run, "run_1");
    assert_string_equal(j.p->answer_to, "chat");
    assert_string_equal(j.p->drop_if, "-");
    assert_string_equal(j.p->counters.goal, "hi");
    assert_string_equal(j.p->principal.sender, "ann");
    assert_int_equal(j.p->transcript.n, 1);
    assert_int_equal(j.p->began, 0);
    /* The next run forgets what belonged to the first. */
    add(&j, CH_REC_INBOUND, "{\"run\":\"run_2\",\"mode\":\"start\",\"message\":" USER("on") "}");
    assert_string_equal(j.p->run, "run_2");
    assert_null(j.p->answer_to);
    assert_null(j.p->drop_if);
    assert_null(j.p->principal.sender);
    assert_int_equal(j.p->began, 1);
    ch_journal_replay_free(j.p);
}

static void test_results_in_order(void **state) {
    (void)state;
    struct journal j = with_calls();
    assert_int_equal(j.p->ncalls, 2);
    assert_true(ch_sv_is(ch_journal_replay_block(j.p, 1)->id, "c2"));
    add(&j, CH_REC_DONE,
        "{\"call\":1,\"ran\":true,\"delivered\":\"said\",\"message\":" RESULT("c2", "second") "}");
    assert_int_equal(j.p->transcript.n, 2); /* one is still missing */
    add(&j, CH_REC_DONE, "{\"call\":1,\"message\":" RESULT("c2", "again") "}"); /* ignored */
    add(&j, CH_REC_DONE, "{\"call\":9,\"message\":" RESULT("c9", "of no call") "}");
    add(&j, CH_REC_DONE, "{\"call\":0,\"terminates\":true,\"message\":" RESULT("c1", "first") "}");
    const struct ch_msg *m = message(&j, 2);
    assert_int_equal(m->kind, CH_MSG_RESULTS);
    assert_int_equal(m->nblocks, 2);
    assert_true(ch_sv_is(m->blocks[0].text, "first"));
    assert_true(ch_sv_is(m->blocks[1].text, "second"));
    assert_true(j.p->results);
    assert_true(j.p->terminated);
    assert_null(j.p->reply);
    assert_string_equal(ch_buf_str(&j.p->delivered), "said");
    assert_null(ch_journal_replay_close(j.p, 1));
    ch_journal_replay_free(j.p);
}

/* A call that had started may have taken effect; the others have not. */
static void test_interrupted(void **state) {
    (void)state;
    struct journal j = with_calls();
    add(&j, CH_REC_STARTED, "{\"call\":1,\"effect\":\"once\"}");
    assert_true(j.p->calls[1].started && j.p->calls[1].once);
    struct ch_msg *m = ch_journal_replay_close(j.p, 7);
    assert_int_equal(m->nblocks, 2);
    assert_true(ch_sv_is(m->blocks[0].id, "c1"));
    assert_non_null(strstr(m->blocks[0].text.p, "\"cancelled\""));
    assert_non_null(strstr(m->blocks[1].text.p, "\"interrupted\""));
    assert_true(m->blocks[1].flags & CH_F_ERROR);
    assert_int_equal(m->ts, 7);
    ch_msg_free(m);
    ch_journal_replay_free(j.p);
}

/* A call that waits for its next attempt has a state. The next attempt replaces the state or, if
 * its effect is once, ends it. */
static void test_attempts(void **state) {
    (void)state;
    struct journal j = with_calls();
    const struct ch_replay_call *c = &j.p->calls[0];
    add(&j, CH_REC_STARTED, "{\"call\":0,\"effect\":\"once\"}");
    assert_null(c->state);
    add(&j, CH_REC_STARTED, "{\"call\":0,\"effect\":\"once\",\"state\":\"waits\"}");
    assert_string_equal(c->state, "waits");
    add(&j, CH_REC_STARTED, "{\"call\":0,\"effect\":\"once\"}");
    assert_string_equal(c->state, "waits");
    add(&j, CH_REC_STARTED, "{\"call\":0,\"effect\":\"once\",\"state\":\"\"}");
    assert_null(c->state);
    assert_true(c->started && c->once);
    add(&j, CH_REC_STARTED, "{\"call\":1,\"effect\":\"read\",\"state\":\"sleeps\"}");
    assert_false(j.p->calls[1].once);
    ch_journal_replay_free(j.p);
}

/* A new run closes the calls of the one before it: every vendor takes the transcript. */
static void test_superseded(void **state) {
    (void)state;
    struct journal j = with_calls();
    add(&j, CH_REC_INBOUND, "{\"run\":\"run_2\",\"mode\":\"start\",\"message\":" USER("on") "}");
    assert_int_equal(j.p->transcript.n, 4);
    assert_int_equal(message(&j, 2)->kind, CH_MSG_RESULTS);
    assert_int_equal(message(&j, 3)->kind, CH_MSG_USER);
    assert_int_equal(j.p->began, 3);
    ch_journal_replay_free(j.p);
}

static void test_queued(void **state) {
    (void)state;
    struct journal j = begin();
    add(&j, CH_REC_INBOUND, "{\"run\":\"run_1\",\"mode\":\"start\",\"message\":" USER("hi") "}");
    add(&j, CH_REC_INBOUND,
        "{\"run\":\"run_1\",\"mode\":\"steer\",\"to\":\"chat 2\",\"message\":" USER("left") "}");
    add(&j, CH_REC_INBOUND, "{\"run\":\"run_1\",\"mode\":\"follow_up\",\"message\":" USER("b") "}");
    add(&j, CH_REC_INBOUND, "{\"mode\":\"collect\",\"message\":" USER("c") "}");
    const struct ch_replay_note *n = CH_LIST_FIRST(&j.p->notes, struct ch_replay_note, link);
    assert_int_equal(n->seq, 2);
    assert_false(n->follow_up || n->alone);
    assert_null(j.p->answer_to); /* it is not delivered yet */
    add(&j, CH_REC_MESSAGE, "{\"run\":\"run_1\",\"turn\":1,\"of\":2}");
    assert_true(ch_sv_is(message(&j, 1)->blocks[0].text, "left"));
    assert_string_equal(j.p->answer_to, "chat 2");
    add(&j, CH_REC_MESSAGE, "{\"run\":\"run_1\",\"of\":3,\"dropped\":true}");
    add(&j, CH_REC_MESSAGE, "{\"run\":\"run_1\",\"of\":77}"); /* before the window: ignored */
    assert_int_equal(j.p->transcript.n, 2);
    n = CH_LIST_FIRST(&j.p->notes, struct ch_replay_note, link);
    assert_true(n->alone);
    assert_int_equal(n->seq, 4);
    ch_journal_replay_free(j.p);
}

/* What a run did not get to waits in the session once the run has ended. */
static void test_left_over(void **state) {
    (void)state;
    struct journal j = begin();
    add(&j, CH_REC_INBOUND, "{\"run\":\"run_1\",\"mode\":\"start\",\"message\":" USER("hi") "}");
    add(&j, CH_REC_INBOUND, "{\"run\":\"run_1\",\"mode\":\"steer\",\"message\":" USER("b") "}");
    add(&j, CH_REC_STATE, "{\"run\":\"run_1\",\"status\":\"idle\",\"state\":\"DONE\"}");
    assert_int_equal(ch_journal_replay_finish(j.p, &j.err), 0);
    assert_true(CH_LIST_FIRST(&j.p->notes, struct ch_replay_note, link)->alone);
    ch_journal_replay_free(j.p);
}

static void test_approvals(void **state) {
    (void)state;
    struct journal j = with_calls();
    const struct ch_replay_call *c = &j.p->calls[1];
    add(&j, CH_REC_ASKED,
        "{\"call\":1,\"approval\":\"ap_1\",\"name\":\"exec\",\"arguments\":\"{}\","
        "\"summary\":\"s\",\"remember\":true,\"digest\":\"" DIGEST "\"}");
    assert_int_equal(c->decision, CHELA_UNDECIDED);
    assert_int_equal(c->digest[1], 0x11);
    add(&j, CH_REC_ANSWERED, "{\"approval\":\"ap_other\",\"decision\":\"allow-once\"}");
    assert_int_equal(c->decision, CHELA_UNDECIDED);
    add(&j, CH_REC_ANSWERED, "{\"approval\":\"ap_1\",\"decision\":\"allow-always\"}");
    assert_int_equal(c->decision, CHELA_ALLOW_ALWAYS);
    assert_true(ch_memory_has(&j.p->memory, c->digest));
    /* A word that this version does not know is no consent. */
    add(&j, CH_REC_ANSWERED, "{\"approval\":\"ap_1\",\"decision\":\"allow-on-mondays\"}");
    assert_int_equal(c->decision, CHELA_DENY);
    /* Nothing is remembered for a call without a digest. */
    add(&j, CH_REC_ASKED, "{\"call\":0,\"approval\":\"ap_2\",\"remember\":true,\"digest\":\"00\"}");
    assert_false(j.p->calls[0].remember);
    ch_journal_replay_free(j.p);
}

static void test_questions_of_children(void **state) {
    (void)state;
    struct journal j = with_calls();
    add(&j, CH_REC_STARTED, "{\"call\":1,\"effect\":\"keyed\",\"child\":true}");
    assert_true(j.p->calls[1].child);
    assert_false(j.p->calls[1].once);
    for (int i = 0; i < 2; i++) /* a question that is asked again is one question */
        add(&j, CH_REC_ASKED,
            "{\"call\":1,\"child\":\"main~t-1\",\"approval\":\"ap_c\",\"id\":\"x1\"}");
    add(&j, CH_REC_ASKED, "{\"call\":1,\"child\":\"main~t-1\",\"id\":\"x2\"}");
    struct ch_replay_below *asked = ch_journal_replay_asked(j.p, CH_SV("ap_c"));
    struct ch_replay_below *left = ch_journal_replay_left(j.p, CH_SV("x2"));
    assert_non_null(asked);
    assert_non_null(left);
    assert_null(ch_journal_replay_left(j.p, CH_SV("x1"))); /* that one waits for consent */
    assert_null(left->next->next);
    assert_null(j.p->calls[1].approval);
    add(&j, CH_REC_ANSWERED, "{\"approval\":\"ap_c\",\"decision\":\"deny\",\"reason\":\"no\"}");
    assert_int_equal(asked->decision, CHELA_DENY);
    assert_string_equal(asked->reason, "no");
    add(&j, CH_REC_ANSWERED, "{\"id\":\"x2\",\"content\":\"42\",\"is_error\":false}");
    assert_string_equal(left->answer, "42");
    ch_journal_replay_free(j.p);
}

static void test_compaction(void **state) {
    (void)state;
    struct journal j = with_calls();
    add(&j, CH_REC_COMPACTION,
        "{\"messages\":[" USER("summary") "," USER("newest") "],\"allowed\":[\"" DIGEST
        "\",\"zz\"]}");
    assert_int_equal(j.p->transcript.n, 2);
    assert_true(ch_sv_is(message(&j, 0)->blocks[0].text, "summary"));
    assert_null(j.p->reply);
    assert_true(j.p->began == SIZE_MAX);
    assert_int_equal(j.p->memory.n, 1);
    add(&j, CH_REC_DROPPED, "{\"run\":\"run_1\"}"); /* where it began is not known any more */
    assert_int_equal(j.p->transcript.n, 2);
    ch_journal_replay_free(j.p);
}

static void test_dropped(void **state) {
    (void)state;
    struct journal j = with_calls();
    add(&j, CH_REC_DROPPED, "{\"run\":\"run_1\"}");
    assert_int_equal(j.p->transcript.n, 0);
    assert_null(j.p->reply);
    ch_journal_replay_free(j.p);
}

/* The record says how many messages are left, also after the run has pruned old results. */
static void test_dropped_after_compaction(void **state) {
    (void)state;
    static const struct {
        const char *record;
        size_t left;
    } cases[] = {{"{\"run\":\"run_1\",\"messages\":1}", 1},
                 {"{\"run\":\"run_1\",\"messages\":0}", 0},
                 {"{\"run\":\"run_1\",\"messages\":9}", 3},
                 {"{\"run\":\"run_1\"}", 3}};
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct journal j = with_calls();
        add(&j, CH_REC_COMPACTION,
            "{\"strategy\":\"prune\",\"messages\":[" USER("old") "," USER("beat") "]}");
        add(&j, CH_REC_MESSAGE,
            "{\"run\":\"run_1\",\"message\":{\"role\":\"assistant\",\"content\":\"OK\"}}");
        add(&j, CH_REC_DROPPED, cases[i].record);
        assert_int_equal(j.p->transcript.n, cases[i].left);
        ch_journal_replay_free(j.p);
    }
}

/* Only the last STATE counts. */
static void test_state(void **state) {
    (void)state;
    struct journal j = begin();
    add(&j, CH_REC_INBOUND, "{\"run\":\"run_1\",\"mode\":\"start\",\"message\":" USER("hi") "}");
    add(&j, CH_REC_STATE, "this is not even JSON");
    add(&j, CH_REC_STATE,
        "{\"run\":\"run_1\",\"state\":\"WAITING\",\"status\":\"paused\",\"reason\":"
        "\"approval_required\",\"seq\":17,\"turns\":3,\"tool_calls\":5,\"below\":{\"turns\":2},"
        "\"cost\":0.5,\"cost_unknown\":true,\"usage\":{\"input\":10},\"recoveries\":1,"
        "\"called\":2,\"goal\":\"g\"}");
    assert_int_equal(ch_journal_replay_finish(j.p, &j.err), 0);
    assert_int_equal(j.p->status, CH_REPLAY_PAUSED);
    assert_int_equal(j.p->m.state, CH_RUN_WAITING);
    assert_int_equal(j.p->m.reason, CH_REASON_APPROVAL);
    assert_int_equal(j.p->m.seq, 17);
    assert_int_equal(j.p->m.turns, 3);
    assert_int_equal(j.p->m.tool_calls, 5);
    assert_int_equal(j.p->m.below.turns, 2);
    assert_int_equal(j.p->m.usage.input, 10);
    assert_true(j.p->m.cost_unknown);
    assert_int_equal(j.p->recoveries, 1);
    assert_int_equal(j.p->called, 2);
    assert_string_equal(j.p->counters.goal, "g");
    assert_non_null(j.p->saved);
    ch_journal_replay_free(j.p);
}

/* A state of another program gives a run no more than its budget. */
static void test_amounts(void **state) {
    (void)state;
    struct journal j = begin();
    add(&j, CH_REC_STATE,
        "{\"run\":\"run_1\",\"status\":\"running\",\"seq\":-1,\"cost\":-5.5,\"usage\":{\"input\":"
        "-900000,\"output\":9223372036854775807,\"reasoning\":9223372036854775807}}");
    assert_int_equal(ch_journal_replay_finish(j.p, &j.err), 0);
    assert_int_equal(j.p->m.seq, 0);
    assert_int_equal(j.p->m.usage.input, 0);
    assert_true(j.p->m.cost == 0);
    int64_t sum;
    assert_false(__builtin_add_overflow(j.p->m.usage.output, j.p->m.usage.reasoning, &sum));
    ch_journal_replay_free(j.p);
}

static void test_damage(void **state) {
    (void)state;
    static const struct {
        enum ch_record_type type;
        const char *json;
    } cases[] = {
        {CH_REC_INBOUND, "{\"run\":\"run_1\",\"mode\":\"start\"}"},
        {CH_REC_INBOUND, "{"},
        {CH_REC_MESSAGE, "{\"message\":{\"role\":\"nobody\"}}"},
        {CH_REC_COMPACTION, "{}"},
        {CH_REC_DONE, "{\"call\":0,\"message\":" USER("no result") "}"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct journal j = with_calls();
        assert_true(fold(&j, cases[i].type, cases[i].json) < 0);
        assert_true(j.err.message[0] != '\0');
        ch_journal_replay_free(j.p);
    }
    struct journal j = begin(); /* a later version may have other types */
    add(&j, (enum ch_record_type)(CH_REC_TYPES + 5), "{");
    add(&j, CH_REC_STATE, "{");
    assert_true(ch_journal_replay_finish(j.p, &j.err) < 0);
    ch_journal_replay_free(j.p);
}

/* Records after a history that is full are read, and leave no open call; nothing is leaked
 * (address sanitizer). */
static void test_full(void **state) {
    (void)state;
    static const struct {
        enum ch_record_type type;
        const char *json;
    } cases[] = {
        {CH_REC_INBOUND, "{\"run\":\"r\",\"mode\":\"start\",\"message\":" USER("on") "}"},
        {CH_REC_MESSAGE, "{\"run\":\"r\",\"message\":" USER("on") "}"},
        {CH_REC_MESSAGE, "{\"run\":\"r\",\"of\":3}"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct journal j = with_calls();
        add(&j, CH_REC_INBOUND, "{\"run\":\"r\",\"mode\":\"steer\",\"message\":" USER("x") "}");
        j.p->transcript.bytes = CH_LIMIT_HISTORY; /* no room for the results of the calls */
        add(&j, cases[i].type, cases[i].json);
        assert_null(j.p->reply);
        ch_journal_replay_free(j.p);
    }
}

static void test_names(void **state) {
    (void)state;
    for (uint32_t t = CH_REC_NONE + 1; t < CH_REC_TYPES; t++)
        assert_int_equal(ch_record_type(ch_sv_str(ch_record_name(t))), t);
    assert_string_equal(ch_record_name(CH_REC_TYPES), "?");
    assert_int_equal(ch_record_type(CH_SV("?")), CH_REC_NONE);
    assert_string_equal(ch_decision_name(CHELA_ALLOW_ONCE), "allow-once");
}

/* A history that has reached its limit loads: a message that its run could not add is left out,
 * and so is a reply without room for the results of its calls. */
static void test_a_full_history(void **state) {
    static const char *const beyond[] = {
        "{\"run\":\"run_1\",\"message\":" USER("no room") "}",
        "{\"run\":\"run_1\",\"message\":" CALLS "}",
        "{\"run\":\"run_1\",\"note\":\"no room\"}",
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(beyond); i++) {
        struct journal j = begin();
        add(&j, CH_REC_INBOUND, "{\"run\":\"r\",\"mode\":\"start\",\"message\":" USER("hi") "}");
        j.p->transcript.bytes = CH_LIMIT_HISTORY - 1;
        add(&j, CH_REC_MESSAGE, beyond[i]);
        add(&j, CH_REC_DONE, "{\"call\":0,\"message\":" RESULT("c1", "of no call") "}");
        add(&j, CH_REC_INBOUND, "{\"run\":\"s\",\"mode\":\"start\",\"message\":" USER("x") "}");
        assert_int_equal(j.p->transcript.n, 1);
        assert_null(j.p->reply);
        assert_true(j.p->full);
        ch_journal_replay_free(j.p);
    }
    struct journal j = with_calls();
    j.p->transcript.bytes = CH_LIMIT_HISTORY - 1;
    add(&j, CH_REC_DONE, "{\"call\":0,\"message\":" RESULT("c1", "one") "}");
    add(&j, CH_REC_DONE, "{\"call\":1,\"message\":" RESULT("c2", "two") "}");
    assert_int_equal(j.p->transcript.n, 1); /* no call without a result */
    assert_false(j.p->results);
    assert_null(j.p->reply);
    ch_journal_replay_free(j.p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start),
        cmocka_unit_test(test_results_in_order),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_attempts),
        cmocka_unit_test(test_superseded),
        cmocka_unit_test(test_queued),
        cmocka_unit_test(test_left_over),
        cmocka_unit_test(test_approvals),
        cmocka_unit_test(test_questions_of_children),
        cmocka_unit_test(test_compaction),
        cmocka_unit_test(test_dropped),
        cmocka_unit_test(test_dropped_after_compaction),
        cmocka_unit_test(test_state),
        cmocka_unit_test(test_amounts),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_a_full_history),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
