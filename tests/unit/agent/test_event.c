/* test_event.c -- events as JSON lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/machine/event.h"
#include "base/mem.h"
#include "chela/session.h"

#define STR(s) \
    { (s), sizeof(s) - 1 }

static const struct chela_event inner = {.type = CHELA_EV_RUN_START,
                                         .run = "run_2",
                                         .seq = 1,
                                         .start = {"main~t-1", "b", "p/m", 0, NULL}};
static const struct chela_event inner_text = {
    .type = CHELA_EV_TEXT_DELTA, .run = "run_2", .seq = 2, .delta = {STR("x"), STR("x")}};

static void test_lines(void **state) {
    (void)state;
    static const struct {
        struct chela_event ev;
        const char *has[3], *lacks;
    } cases[] = {
        {{.type = CHELA_EV_TEXT_DELTA,
          .run = "run_1",
          .seq = 3,
          .ts = 7,
          .delta = {STR("a\"\n"), STR("")}},
         {"{\"type\":\"text_delta\",\"run\":\"run_1\",\"seq\":3,\"ts\":7,",
          "\"text\":\"a\\\"\\n\""},
         "so_far"},
        /* Arguments of a complete call are a value, those of a piece are text. */
        {{.type = CHELA_EV_TOOL_CALL,
          .call = {.id = STR("c1"), .name = STR("read"), .arguments = STR("{\"path\":\"a\"}")}},
         {"\"arguments\":{\"path\":\"a\"}", "\"id\":\"c1\""},
         "index"},
        {{.type = CHELA_EV_TOOL_CALL_DELTA, .call = {.index = 2, .arguments = STR("{\"pa")}},
         {"\"index\":2", "\"arguments_delta\":\"{\\\"pa\""},
         "\"id\""},
        /* An unknown cost is null, never 0. */
        {{.type = CHELA_EV_RUN_END,
          .end = {.status = CHELA_STATUS_DONE,
                  .reason = CHELA_REASON_COMPLETED,
                  .text = STR("ok"),
                  .usage = {.input = 3, .output = 2, .cost_usd = -1}}},
         {"\"cost_usd\":null", "\"total\":5", "\"reason\":\"task_completed\""},
         "\"error\""},
        {{.type = CHELA_EV_RUN_END, .end = {.usage = {.cost_usd = 0.25}, .error = STR("no")}},
         {"\"cost_usd\":0.25", "\"error\":\"no\""},
         "\"silent\""},
        /* The start of a child must not look like one of the reader's run. */
        {{.type = CHELA_EV_CHILD,
          .run = "run_1",
          .child = {.parent = "run_1", .depth = 1, .call = "c1", .event = &inner}},
         {"{\"type\":\"child_start\"", "\"parent\":\"run_1\"", "\"call\":\"c1\""},
         "run_start"},
        {{.type = CHELA_EV_CHILD,
          .run = "run_1",
          .child = {.parent = "run_1", .depth = 1, .call = "c1", .event = &inner_text}},
         {"\"parent\":\"run_1\"", "\"depth\":1"},
         "\"call\""},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        char *line = chela_event_json(&cases[i].ev);
        for (size_t k = 0; k < CH_LEN(cases[i].has) && cases[i].has[k]; k++)
            if (!strstr(line, cases[i].has[k]))
                fail_msg("case %zu lacks %s: %s", i, cases[i].has[k], line);
        if (strstr(line, cases[i].lacks))
            fail_msg("case %zu has %s: %s", i, cases[i].lacks, line);
        assert_null(strchr(line, '\n'));
        chela_free(line);
    }
}

static void test_names(void **state) {
    (void)state;
    assert_string_equal(chela_event_name(CHELA_EV_RUN_START), "run_start");
    assert_string_equal(chela_event_name(CHELA_EV_HANDOFF), "handoff");
    assert_string_equal(chela_event_name((enum chela_event_type)(CHELA_EV_EPOCH + 1)), "?");
    assert_string_equal(chela_event_name((enum chela_event_type) - 1), "?");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
