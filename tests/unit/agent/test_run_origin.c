/* test_run_origin.c -- the requester of a run, its input, and the address of the answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/handle/run_origin.h"
#include "agent/machine/message_origin.h"
#include "base/mem.h"

static void begin(chela_run *run, const struct chela_run_opts *opts) {
    *run = (chela_run){0};
    ch_run_origin_init(run, opts);
}

static void end(chela_run *run) {
    ch_run_origin_free(run);
}

static void same(const char *got, const char *want) {
    if (!got || !want)
        assert_ptr_equal(got, want);
    else
        assert_string_equal(got, want);
}

static void test_no_options(void **state) {
    (void)state;
    static const struct chela_run_opts none = CHELA_RUN_OPTS(.user = NULL);
    chela_run run;
    begin(&run, &none);
    assert_null(ch_run_origin_principal(&run)->channel);
    assert_null(ch_run_origin_principal(&run)->sender);
    assert_null(ch_run_origin_prompt(&run));
    assert_null(ch_run_origin_input(&run));
    assert_null(ch_run_origin_take_input(&run));
    assert_null(ch_run_origin_event(&run));
    assert_null(ch_run_origin_drop_if(&run));
    assert_null(ch_run_origin_answer_to(&run));
    assert_null(ch_run_origin_focus(&run));
    assert_null(ch_run_origin_of_message(&run)->id);
    assert_false(ch_run_origin_compacts(&run));
    end(&run);
}

/* The texts of the options may change when the functions have returned. */
static void test_texts_are_copied(void **state) {
    (void)state;
    char channel[] = "feishu", sender[] = "ou_1", prompt[] = "p1", event[] = "ev_1", to[] = "oc_1",
         drop[] = "HEARTBEAT_OK", focus[] = "names";
    char *const texts[] = {channel, sender, prompt, event, to, drop, focus};
    struct chela_run_opts opts = CHELA_RUN_OPTS(
        .channel = channel, .sender = sender, .permission = CHELA_PERM_READ, .prompt = prompt,
        .event_id = event, .answer_to = to, .drop_if = drop);
    chela_run run;
    begin(&run, &opts);
    ch_run_origin_message(&run, ch_msg_text(CH_MSG_USER, CH_SV("hello"), 0), &opts);
    ch_run_origin_compact(&run, focus);
    for (size_t i = 0; i < CH_LEN(texts); i++)
        texts[i][0] = '?';
    assert_string_equal(ch_run_origin_principal(&run)->channel, "feishu");
    assert_string_equal(ch_run_origin_principal(&run)->sender, "ou_1");
    assert_int_equal(ch_run_origin_principal(&run)->permission, CHELA_PERM_READ);
    assert_string_equal(ch_run_origin_prompt(&run), "p1");
    assert_string_equal(ch_run_origin_event(&run), "ev_1");
    assert_string_equal(ch_run_origin_answer_to(&run), "oc_1");
    assert_string_equal(ch_run_origin_drop_if(&run), "HEARTBEAT_OK");
    assert_string_equal(ch_run_origin_focus(&run), "names");
    end(&run);
}

static void test_input(void **state) {
    (void)state;
    struct chela_run_opts opts = CHELA_RUN_OPTS(.event_id = "ev_1");
    struct ch_msg *input = ch_msg_text(CH_MSG_USER, CH_SV("hello"), 0);
    chela_run run;
    begin(&run, &opts);
    ch_run_origin_message(&run, input, &opts);
    assert_ptr_equal(ch_run_origin_input(&run), input);
    assert_ptr_equal(ch_run_origin_input(&run), input); /* reading does not take */
    assert_ptr_equal(ch_run_origin_take_input(&run), input);
    assert_null(ch_run_origin_input(&run));
    assert_null(ch_run_origin_take_input(&run));
    assert_string_equal(ch_run_origin_event(&run), "ev_1"); /* the rest stays */
    assert_false(ch_run_origin_compacts(&run));
    ch_msg_free(input);
    end(&run);
}

static void test_compaction(void **state) {
    (void)state;
    static const struct {
        const char *focus, *kept;
    } cases[] = {
        {NULL, NULL},
        {"", NULL},
        {" ", " "},
        {"the names", "the names"},
    };
    static const struct chela_run_opts none = CHELA_RUN_OPTS(.user = NULL);
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        chela_run run;
        begin(&run, &none);
        ch_run_origin_compact(&run, cases[i].focus);
        assert_true(ch_run_origin_compacts(&run));
        same(ch_run_origin_focus(&run), cases[i].kept);
        assert_null(ch_run_origin_input(&run));
        end(&run);
    }
}

static void test_recall(void **state) {
    (void)state;
    static const struct {
        const char *answer_to, *drop_if;
    } cases[] = {
        {NULL, NULL},
        {"oc_1", NULL},
        {NULL, "HEARTBEAT_OK"},
        {"oc_1", "HEARTBEAT_OK"},
    };
    static const struct chela_run_opts none = CHELA_RUN_OPTS(.user = NULL);
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        char *to = ch_strdup(cases[i].answer_to), *drop = ch_strdup(cases[i].drop_if);
        chela_run run;
        begin(&run, &none);
        ch_run_origin_recall(&run, to, drop);
        assert_ptr_equal(ch_run_origin_answer_to(&run), to); /* taken, not copied */
        assert_ptr_equal(ch_run_origin_drop_if(&run), drop);
        assert_null(ch_run_origin_event(&run));
        end(&run);
    }
}

static void test_address_and_message(void **state) {
    (void)state;
    struct chela_run_opts opts = CHELA_RUN_OPTS(.answer_to = "oc_1", .drop_if = "OK");
    struct chela_inbound in = CHELA_INBOUND(.message_id = "om_1");
    struct ch_message_origin empty = {0}, other = {.id = ch_strdup("om_2")};
    char *to = ch_strdup("oc_2");
    chela_run run;
    opts.inbound = &in;
    begin(&run, &opts);
    ch_run_origin_message(&run, ch_msg_text(CH_MSG_USER, CH_SV("hello"), 0), &opts);
    assert_string_equal(ch_run_origin_of_message(&run)->id, "om_1");
    ch_run_origin_answers(&run, &empty, to);
    assert_ptr_equal(ch_run_origin_answer_to(&run), to);
    assert_string_equal(ch_run_origin_of_message(&run)->id, "om_1");
    ch_run_origin_answers(&run, &other, NULL);
    assert_ptr_equal(ch_run_origin_answer_to(&run), to);
    assert_string_equal(ch_run_origin_of_message(&run)->id, "om_2");
    assert_null(other.id);
    assert_string_equal(ch_run_origin_drop_if(&run), "OK");
    end(&run); /* releases the input and the id of the message */
}

/* A run without options keeps no origin after its input was taken, and gets one again. */
static void test_empty_origin(void **state) {
    (void)state;
    static const struct chela_run_opts none = CHELA_RUN_OPTS(.user = NULL);
    struct ch_message_origin empty = {0}, other = {.id = ch_strdup("om_1")};
    chela_run run;
    begin(&run, &none);
    ch_run_origin_message(&run, ch_msg_text(CH_MSG_USER, CH_SV("hello"), 0), &none);
    assert_non_null(run.origin);
    ch_msg_free(ch_run_origin_take_input(&run));
    assert_null(run.origin);
    assert_null(ch_run_origin_principal(&run)->channel);
    assert_null(ch_run_origin_input(&run));
    ch_run_origin_answers(&run, &empty, NULL);
    assert_null(run.origin);
    ch_run_origin_answers(&run, &other, NULL);
    assert_string_equal(ch_run_origin_of_message(&run)->id, "om_1");
    end(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_options),     cmocka_unit_test(test_texts_are_copied),
        cmocka_unit_test(test_input),          cmocka_unit_test(test_compaction),
        cmocka_unit_test(test_recall),         cmocka_unit_test(test_address_and_message),
        cmocka_unit_test(test_empty_origin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
