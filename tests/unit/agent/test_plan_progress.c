/* test_plan_progress.c -- how far a plan has come, told by the conversation alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "agent/feature/mode/plan_progress.h"
#include "base/mem.h"

#define STEP(id, needs)                                                              \
    "{\"step_id\":" #id ",\"description\":\"d\",\"tool_name\":\"get\",\"tool_input\":{}," \
    "\"depends_on\":[" needs "]}"
#define PLAN "{\"steps\":[" STEP(1, "") "," STEP(2, "") "," STEP(3, "1,2") "]}"

/* A conversation in short, a word a message: "u" the user, "e" an event, "a" an
 * answer, "p4" plan_4 made, "p4!" and "p4-" refused, "4.2" step 2 of it done,
 * "4.2!" failed, "4.2r1" done again; several at once with commas. */
static void add(struct ch_transcript *t, enum ch_msg_kind kind, const struct ch_block *b,
                size_t n) {
    assert_int_equal(ch_transcript_add(t, ch_msg_new(kind, b, n, 0)), 0);
}

static void add_calls(struct ch_transcript *t, struct ch_sv word) {
    struct ch_block calls[8] = {0}, results[8] = {0};
    CH_ARENA_AUTO a = {0};
    size_t n = 0;
    while (word.n) {
        struct ch_sv one = ch_sv_split(&word, ',');
        bool failed = one.p[one.n - 1] == '!', denied = one.p[one.n - 1] == '-';
        struct ch_sv id = ch_sv(one.p, one.n - failed - denied);
        bool plan = id.p[0] == 'p';
        struct ch_sv rest = id, of = ch_sv_split(&rest, '.'), step = ch_sv_split(&rest, 'r');
        const char *text =
            plan     ? ch_arena_printf(&a, "plan_%.*s", (int)id.n - 1, id.p + 1)
            : rest.n ? ch_arena_printf(&a, "plan_%.*s_s%.*s_r%.*s", CH_SV_FMT(of), CH_SV_FMT(step),
                                       CH_SV_FMT(rest))
                     : ch_arena_printf(&a, "plan_%.*s_s%.*s", CH_SV_FMT(of), CH_SV_FMT(step));
        calls[n] = (struct ch_block){.type = CH_BLOCK_TOOL_CALL,
                                     .id = ch_sv_str(text),
                                     .name = plan ? CH_SV(CH_PLAN_TOOL) : CH_SV("get"),
                                     .text = plan ? CH_SV(PLAN) : CH_SV("{}")};
        results[n] = calls[n];
        results[n].type = CH_BLOCK_TOOL_RESULT;
        results[n].flags = failed ? CH_F_ERROR : denied ? CH_F_DENIED : 0;
        results[n++].text = CH_SV("r");
    }
    add(t, CH_MSG_ASSISTANT, calls, n);
    add(t, CH_MSG_RESULTS, results, n);
}

static void converse(struct ch_transcript *t, const char *words) {
    struct ch_sv rest = ch_sv_str(words);
    while (rest.n) {
        struct ch_sv word = ch_sv_split(&rest, ' ');
        struct ch_block text = {.type = CH_BLOCK_TEXT, .text = word};
        char c = word.p[0];
        if (c == 'u' || c == 'e' || c == 'a')
            add(t, c == 'u' ? CH_MSG_USER : c == 'e' ? CH_MSG_EVENT : CH_MSG_ASSISTANT, &text, 1);
        else
            add_calls(t, word);
    }
}

static const struct {
    const char *words;
    bool planned;
    unsigned done, failed, tries, retries;
    const char *request;
} rounds[] = {
    {"u1", false, 0, 0, 0, 0, "u1"},
    {"u1 a u2", false, 0, 0, 0, 0, "u2"},
    {"u1 p1", true, 0, 0, 0, 0, "u1"},
    {"u1 p1 a u2", false, 0, 0, 0, 0, "u2"}, /* answered: over */
    {"u1 p1!", false, 0, 0, 0, 0, "u1"},
    {"u1 p1- p3", true, 0, 0, 0, 0, "u1"},
    {"u1 p1 1.1,1.2", true, 3, 0, 0, 0, "u1"},
    {"u1 p1 1.1,1.2 e1", true, 3, 0, 0, 0, "u1"},
    {"u1 p1 1.1,1.2 1.3 e1", true, 7, 0, 0, 0, "u1"},
    {"u1 p1 1.1,1.2!", true, 1, 2, 0, 0, "u1"},
    {"u1 p1 1.1,1.2- 1.2r1", true, 3, 0, 1, 1, "u1"},
    {"u1 p1 1.1,1.2 1.3 1.1r1", true, 3, 0, 1, 1, "u1"}, /* 3 is stale */
    {"u1 p1 1.1,1.2 1.3 1.1r1 1.3r1", true, 7, 0, 1, 1, "u1"},
    {"u1 p1 1.1,1.2 1.3 1.1r1!", true, 2, 1, 1, 1, "u1"},
    {"u1 p1 1.1,1.2 1.2r1 p7 7.1", true, 1, 0, 0, 2, "u1"}, /* a new plan is one more try */
    {"u1 p1 1.1 u2", false, 0, 0, 0, 0, "u1\n\nu2"},       /* new words undo it */
    {"u1 p1 1.1 u2 p5", true, 0, 0, 0, 0, "u1\n\nu2"},
    {"a e1", false, 0, 0, 0, 0, "e1"}, /* woken by an event */
    {"u1 p1 9.1,1.9,1.x", true, 0, 0, 0, 0, "u1"},
};

static void test_rounds(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(rounds); i++) {
        struct ch_transcript t = {0};
        struct ch_plan_progress r;
        converse(&t, rounds[i].words);
        ch_plan_progress_read(&t, &r);
        if (r.planned != rounds[i].planned || r.done != rounds[i].done ||
            r.failed != rounds[i].failed || r.tries != rounds[i].tries ||
            r.retries != rounds[i].retries || !ch_sv_is(r.request, rounds[i].request))
            fail_msg("%s: planned %d done %u failed %u tries %u retries %u '%.*s'",
                     rounds[i].words, r.planned, r.done, r.failed, r.tries, r.retries,
                     CH_SV_FMT(r.request));
        ch_plan_progress_release(&r);
        ch_transcript_release(&t);
    }
}

/* A plan that a person changed is in the result of its call. */
static void test_changed_plan(void **state) {
    (void)state;
    struct ch_transcript t = {0};
    struct ch_plan_progress r;
    struct ch_block call = {.type = CH_BLOCK_TOOL_CALL, .id = CH_SV("plan_1"),
                            .name = CH_SV(CH_PLAN_TOOL), .text = CH_SV(PLAN)};
    struct ch_block result = call;
    result.type = CH_BLOCK_TOOL_RESULT;
    result.text = CH_SV("{\"steps\":[" STEP(4, "") "]}");
    add(&t, CH_MSG_ASSISTANT, &call, 1);
    add(&t, CH_MSG_RESULTS, &result, 1);
    ch_plan_progress_read(&t, &r);
    assert_int_equal(r.steps.n, 1);
    assert_int_equal(r.steps.list[0].id, 4);
    assert_int_equal(ch_plan_progress_step(&r, CH_SV("plan_1_s4_r2")), 0);
    assert_int_equal(ch_plan_progress_step(&r, CH_SV("plan_1_s1")), -1);
    assert_int_equal(ch_plan_progress_step(&r, CH_SV("plan_12_s4")), -1);
    ch_plan_progress_release(&r);
    ch_transcript_release(&t);
}

/* The plan stays readable when its messages are replaced or leave the conversation. */
static void test_plan_is_a_copy(void **state) {
    (void)state;
    struct ch_transcript t = {0};
    struct ch_plan_progress r;
    converse(&t, "u1 p1");
    ch_plan_progress_read(&t, &r);
    for (size_t i = 0; i < t.n; i++) /* as if the memory had another use already */
        for (uint32_t k = 0; k < t.msgs[i]->nblocks; k++) {
            struct ch_block *b = (struct ch_block *)&t.msgs[i]->blocks[k];
            memset((char *)b->text.p, 'x', b->text.n);
            memset((char *)b->id.p, 'x', b->id.n);
        }
    ch_transcript_release(&t);
    assert_int_equal(ch_plan_progress_step(&r, CH_SV("plan_1_s3")), 2);
    assert_true(ch_sv_is(r.steps.list[0].description, "d"));
    assert_true(ch_sv_is(r.steps.list[0].tool, "get"));
    ch_plan_progress_release(&r);
}

static void test_refusals(void **state) {
    static const struct {
        const char *words;
        unsigned refusals;
    } cases[] = {{"u1 p1- p3! p5-", 3}, {"u1 p1- p3", 0}, {"u1 p1 p3-", 1}, {"u1 p1- u2 p5-", 1},
                 {"u1 p1- a u2", 0}};
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_transcript t = {0};
        struct ch_plan_progress r;
        converse(&t, cases[i].words);
        ch_plan_progress_read(&t, &r);
        assert_int_equal(r.refusals, cases[i].refusals);
        ch_plan_progress_release(&r);
        ch_transcript_release(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rounds),
                                       cmocka_unit_test(test_changed_plan),
                                       cmocka_unit_test(test_plan_is_a_copy),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
