/* test_tool_choice.c -- which messages of a session select tools, and the budget of the
 * descriptions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* after the headers it needs */
#include <cmocka.h>

#include "agent/context/tool_choice.h"
#include "base/mem.h"
#include "model/provider/target.h"
#include "support/stage.h"

#define MOST_TOOLS 16

static struct ch_buf warned; /* warnings, each followed by ';' */

static void keep_warning(struct stage *st, const struct chela_event *ev) {
    (void)st;
    if (ev->type == CHELA_EV_WARNING)
        ch_buf_addf(&warned, "%.*s;", (int)ev->note.text.n, ev->note.text.p);
}

/* A run of an empty session, with four tools; one input adds one of them. feed_fish is
 * denied. */
static void open_run(struct stage *st, enum chela_selection mode, int64_t window) {
    static const char *const names[] = {"bake_bread", "wash_car", "feed_cat", "feed_fish"};
    const struct chela_toolset_opts toolset =
        CHELA_TOOLSET_OPTS(.selection = mode, .selection_size = 1);
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.toolset = &toolset, .deny = "feed_fish");
    stage_open(st, &opts, NULL, 0);
    for (size_t i = 0; i < CH_LEN(names); i++)
        stage_tool(st, names[i], 0);
    st->agent->targets[0]->window = window;
    st->on_event = keep_warning;
    ch_buf_clear(&warned);
    stage_start(st, "hello");
    st->run->target = st->agent->targets[0];
    ch_transcript_cut(&st->session->transcript, 0);
}

static void close_run(struct stage *st) {
    stage_close(st);
    ch_buf_release(&warned);
}

static void add(struct stage *st, enum ch_msg_kind kind, enum ch_block_type type,
                const char *text) {
    struct ch_block b = {.type = (uint8_t)type, .text = ch_sv_str(text)};
    if (type == CH_BLOCK_TOOL_CALL)
        b = (struct ch_block){.type = CH_BLOCK_TOOL_CALL,
                              .name = ch_sv_str(text),
                              .id = CH_SV("c1"),
                              .text = CH_SV("{}")};
    assert_int_equal(ch_transcript_add(&st->session->transcript, ch_msg_new(kind, &b, 1, 1)), 0);
}

static void ask(struct stage *st, const char *text) {
    add(st, CH_MSG_USER, CH_BLOCK_TEXT, text);
}

/* As the next run of the session does. */
static void select_anew(struct stage *st) {
    st->run->did = 0;
    ch_tool_choice_select(st->run);
}

/* The names of the described tools, each followed by a blank. */
static void described(struct stage *st, struct ch_buf *out) {
    struct ch_tool_def defs[MOST_TOOLS];
    assert_true(st->agent->registry.n < MOST_TOOLS);
    size_t n = ch_selection_defs(ch_tool_choice_selection(st->session), false, defs);
    ch_buf_clear(out);
    for (size_t i = 0; i < n; i++)
        ch_buf_addf(out, "%.*s ", CH_SV_FMT(defs[i].name));
}

static void check(struct stage *st, const char *want) {
    CH_BUF_AUTO got = {0};
    described(st, &got);
    assert_string_equal(ch_buf_str(&got), want);
}

/* The history of a new selection. An input without words follows it. */
static const struct {
    const char *name;
    struct {
        enum ch_msg_kind kind;
        enum ch_block_type type;
        const char *text;
    } msgs[3];
    const char *want;
} cases[] = {
    {"no message", {{0}}, "find_tools call_tool "},
    {"an input", {{CH_MSG_USER, CH_BLOCK_TEXT, "bake bread"}}, "find_tools call_tool bake_bread "},
    {"several inputs",
     {{CH_MSG_USER, CH_BLOCK_TEXT, "wash the car"}, {CH_MSG_USER, CH_BLOCK_TEXT, "bake bread"}},
     "find_tools call_tool wash_car "},
    {"an event", {{CH_MSG_EVENT, CH_BLOCK_TEXT, "wash the car"}}, "find_tools call_tool wash_car "},
    {"a timer", {{CH_MSG_TIMER, CH_BLOCK_TEXT, "wash the car"}}, "find_tools call_tool wash_car "},
    {"context", {{CH_MSG_USER, CH_BLOCK_CONTEXT, "wash the car"}}, "find_tools call_tool "},
    {"a result",
     {{CH_MSG_ASSISTANT, CH_BLOCK_TOOL_CALL, "bake_bread"},
      {CH_MSG_RESULTS, CH_BLOCK_TOOL_RESULT, "wash the car"}},
     "find_tools call_tool "},
    {"the model's words",
     {{CH_MSG_ASSISTANT, CH_BLOCK_TEXT, "wash the car"}},
     "find_tools call_tool "},
    {"a call",
     {{CH_MSG_USER, CH_BLOCK_TEXT, "bake bread"},
      {CH_MSG_ASSISTANT, CH_BLOCK_TOOL_CALL, "wash_car"}},
     "find_tools call_tool bake_bread "},
    {"a call of an unknown tool",
     {{CH_MSG_ASSISTANT, CH_BLOCK_TOOL_CALL, "fly"}},
     "find_tools call_tool "},
    {"a call of a denied tool",
     {{CH_MSG_ASSISTANT, CH_BLOCK_TOOL_CALL, "feed_fish"}},
     "find_tools call_tool "},
    {"the same tool again",
     {{CH_MSG_USER, CH_BLOCK_TEXT, "bake bread"},
      {CH_MSG_ASSISTANT, CH_BLOCK_TOOL_CALL, "bake_bread"},
      {CH_MSG_USER, CH_BLOCK_TEXT, "bake more bread"}},
     "find_tools call_tool bake_bread "},
    {"a denied tool is not found", {{CH_MSG_USER, CH_BLOCK_TEXT, "feed fish"}},
     "find_tools call_tool feed_cat "},
};

static void test_new_selection(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO got = {0};
        struct stage st;
        open_run(&st, CHELA_SELECTION_TOPK, 0);
        for (size_t k = 0; k < CH_LEN(cases[i].msgs) && cases[i].msgs[k].text; k++)
            add(&st, cases[i].msgs[k].kind, cases[i].msgs[k].type, cases[i].msgs[k].text);
        ask(&st, "");
        ch_tool_choice_select(st.run);
        described(&st, &got);
        if (strcmp(ch_buf_str(&got), cases[i].want) != 0)
            fail_msg("%s: %s", cases[i].name, ch_buf_str(&got));
        assert_int_equal(warned.n, 0);
        close_run(&st);
    }
}

static void test_made_once(void **state) {
    struct stage st;
    (void)state;
    open_run(&st, CHELA_SELECTION_TOPK, 0);
    assert_null(st.session->selection);
    struct ch_selection *s = ch_tool_choice_selection(st.session);
    assert_true(ch_selection_is_new(s));
    ask(&st, "bake bread");
    ch_tool_choice_select(st.run);
    assert_ptr_equal(ch_tool_choice_selection(st.session), s);
    assert_false(ch_selection_is_new(s));
    close_run(&st);
}

static void test_the_first_input_decides(void **state) {
    struct stage st;
    (void)state;
    open_run(&st, CHELA_SELECTION_TOPK, 0);
    ask(&st, "bake bread");
    ch_tool_choice_select(st.run);
    ask(&st, "wash the car");
    select_anew(&st);
    check(&st, "find_tools call_tool bake_bread ");
    ch_tool_choice_renew(st.session); /* as another process */
    select_anew(&st);
    check(&st, "find_tools call_tool bake_bread ");
    close_run(&st);
}

static void test_a_rewritten_history_chooses_again(void **state) {
    struct stage st;
    (void)state;
    open_run(&st, CHELA_SELECTION_TOPK, 0);
    ask(&st, "bake bread");
    ch_tool_choice_select(st.run);
    ch_transcript_cut(&st.session->transcript, 0);
    ask(&st, "wash the car");
    ch_tool_choice_renew(st.session);
    select_anew(&st);
    check(&st, "find_tools call_tool wash_car ");
    close_run(&st);
}

/* The descriptions of the three allowed tools take some 70 tokens. */
static const struct {
    enum chela_selection mode;
    int64_t window;
    const char *want, *warning; /* warning: a part; "": none */
} budgets[] = {
    {CHELA_SELECTION_ALL, 0, "bake_bread wash_car feed_cat ", ""},
    {CHELA_SELECTION_ALL, 100000, "bake_bread wash_car feed_cat ", ""},
    {CHELA_SELECTION_ALL, 200, "bake_bread wash_car feed_cat ",
     "(context.toolsPercent), and tools.selection says that all are described;"},
    {CHELA_SELECTION_AUTO, 0, "bake_bread wash_car feed_cat ", ""},
    {CHELA_SELECTION_AUTO, 100000, "bake_bread wash_car feed_cat ", ""},
    {CHELA_SELECTION_AUTO, 200, "find_tools call_tool wash_car ",
     "(context.toolsPercent), so that only those are described that fit the input;"},
};

static void test_budgets(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(budgets); i++) {
        CH_BUF_AUTO got = {0};
        struct stage st;
        open_run(&st, budgets[i].mode, budgets[i].window);
        ask(&st, "wash the car");
        ch_tool_choice_select(st.run);
        described(&st, &got);
        if (strcmp(ch_buf_str(&got), budgets[i].want) != 0)
            fail_msg("row %zu: %s", i, ch_buf_str(&got));
        if (!*budgets[i].warning != !warned.n || !strstr(ch_buf_str(&warned), budgets[i].warning))
            fail_msg("row %zu: %s", i, ch_buf_str(&warned));
        ch_buf_clear(&warned);
        select_anew(&st);
        assert_int_equal(warned.n, 0); /* a session is warned once */
        close_run(&st);
    }
}

/* A single tool over the budget: all tools are described in every mode. */
static void test_one_tool(void **state) {
    static const struct {
        enum chela_selection mode;
        const char *end;
    } rows[] = {
        {CHELA_SELECTION_AUTO, "(context.toolsPercent); there are too few tools to choose from;"},
        {CHELA_SELECTION_TOPK, "(context.toolsPercent); there are too few tools to choose from;"},
        {CHELA_SELECTION_ALL, ", and tools.selection says that all are described;"},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        struct stage st;
        open_run(&st, rows[i].mode, 30);
        assert_int_equal(chela_agent_remove_tool(st.agent, "bake_bread", NULL), 0);
        assert_int_equal(chela_agent_remove_tool(st.agent, "feed_cat", NULL), 0);
        ask(&st, "wash the car");
        ch_tool_choice_select(st.run);
        check(&st, "wash_car ");
        if (!strstr(ch_buf_str(&warned), "the descriptions of 1 tool take") ||
            !strstr(ch_buf_str(&warned), rows[i].end))
            fail_msg("row %zu: %s", i, ch_buf_str(&warned));
        close_run(&st);
    }
}

/* The figures of the warning fit together. */
static void test_figures(void **state) {
    struct stage st;
    size_t tools, tokens, percent;
    unsigned share;
    (void)state;
    open_run(&st, CHELA_SELECTION_ALL, 200);
    st.agent->context.tools_share = 20;
    ask(&st, "wash the car");
    ch_tool_choice_select(st.run);
    assert_int_equal(sscanf(ch_buf_str(&warned),
                            "the descriptions of %zu tools take about %zu tokens, %zu %% of the "
                            "context window; the budget is %u %%",
                            &tools, &tokens, &percent, &share),
                     4);
    assert_int_equal(tools, 3);
    assert_true(tokens > 40 && tokens < 150);
    assert_int_equal(percent, tokens / 2);
    assert_int_equal(share, 20);
    close_run(&st);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_selection),   cmocka_unit_test(test_made_once),
        cmocka_unit_test(test_the_first_input_decides),
        cmocka_unit_test(test_a_rewritten_history_chooses_again),
        cmocka_unit_test(test_budgets),         cmocka_unit_test(test_figures),
        cmocka_unit_test(test_one_tool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
