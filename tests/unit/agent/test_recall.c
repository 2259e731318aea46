/* test_recall.c -- when memory is searched for a run, and runs that have nothing to search
 * for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the headers it needs */
#include <cmocka.h>

#include "agent/context/recall.h"
#include "base/mem.h"
#include "support/stage.h"

static unsigned calls; /* of searched */

static void searched(chela_run *run) {
    (void)run;
    calls++;
}

static const struct {
    bool settings, memory;
    int64_t inject;
    bool want;
} wanted[] = {
    {false, false, 0, false}, {true, false, 0, false}, {true, true, 0, false},
    {true, false, 100, false}, {true, true, 1, true},  {true, true, 100, true},
    {true, true, -1, false},
};

static void test_wanted(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(wanted); i++) {
        struct ch_tool_settings settings = {.memory = wanted[i].memory,
                                            .memory_inject = wanted[i].inject};
        chela_agent agent = {.settings = wanted[i].settings ? &settings : NULL};
        chela_session session = {.agent = &agent};
        chela_run run = {.session = &session};
        if (ch_recall_wanted(&run) != wanted[i].want)
            fail_msg("row %zu", i);
    }
}

/* Messages without words of the user. text NULL: no message. */
static const struct {
    enum ch_msg_kind kind;
    enum ch_block_type type;
    const char *text;
} wordless[] = {
    {CH_MSG_USER, CH_BLOCK_TEXT, NULL},
    {CH_MSG_USER, CH_BLOCK_TEXT, ""},
    {CH_MSG_USER, CH_BLOCK_CONTEXT, "about the message"},
    {CH_MSG_USER, CH_BLOCK_IMAGE, "AAAA"},
    {CH_MSG_ASSISTANT, CH_BLOCK_TEXT, "words of the model"},
    {CH_MSG_EVENT, CH_BLOCK_TEXT, "words of the system"},
    {CH_MSG_TIMER, CH_BLOCK_TEXT, "words of a schedule"},
};

/* Nothing is searched for: the run continues at once, and its note is empty. */
static void test_no_words(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(wordless); i++) {
        struct stage st;
        stage_open(&st, NULL, NULL, 0);
        stage_start(&st, "hello");
        ch_transcript_cut(&st.session->transcript, 0);
        struct ch_block b = {.type = (uint8_t)wordless[i].type,
                             .text = ch_sv_str(wordless[i].text)};
        if (wordless[i].text)
            ch_transcript_add(&st.session->transcript, ch_msg_new(wordless[i].kind, &b, 1, 1));
        assert_null(st.run->recall);
        if (!ch_recall_ready(st.run, searched))
            fail_msg("row %zu is searched for", i);
        assert_non_null(st.run->recall);
        assert_true(ch_recall_ready(st.run, searched)); /* once per run */
        ch_recall_abort(st.run);
        assert_int_equal(ch_recall_take(st.run).n, 0);
        ch_recall_free(st.run);
        assert_null(st.run->recall);
        stage_close(&st);
    }
    assert_int_equal(calls, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wanted),
        cmocka_unit_test(test_no_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
