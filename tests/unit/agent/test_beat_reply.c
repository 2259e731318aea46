/* test_beat_reply.c -- what is read in a reply of the text protocol. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/feature/heartbeat/beat_reply.h"
#include "base/mem.h"

/* want: "thoughts|name params;...|more"; NULL: it is of no use, because of `why`. */
static const struct {
    const char *name, *text, *want, *why;
} cases[] = {
    {"as it should be",
     "{\"thoughts\":\"t\",\"actions\":[{\"name\":\"send_message\","
     "\"params\":{\"content\":\"hi\"}}],\"request_heartbeat\":false}",
     "t|send_message {\"content\":\"hi\"};|", NULL},
    {"silence", "{\"actions\":[]}", "||", NULL},
    {"silence as null", "{\"thoughts\":\"t\",\"actions\":null}", "t||", NULL},
    {"several, in order",
     "{\"actions\":[{\"name\":\"a\",\"params\":{\"x\":1}},{\"name\":\"b\"}]}",
     "|a {\"x\":1};b {};|", NULL},
    {"another beat", "{\"actions\":[{\"name\":\"a\"}],\"request_heartbeat\":true}", "|a {};|more",
     NULL},
    {"...as a word", "{\"actions\":[],\"request_heartbeat\":\"true\"}", "||more", NULL},
    {"...among the thoughts",
     "{\"thoughts\":{\"plan\":\"p\",\"request_heartbeat\":true},\"actions\":[]}", "plan: p||more",
     NULL},
    {"thoughts with members",
     "{\"thoughts\":{\"observe\":\"o\",\"analyze_infer\":\"\",\"plan\":\"p\"},\"actions\":[]}",
     "observe: o\nplan: p||", NULL},
    {"older names",
     "{\"thoughts\":{},\"actions\":[{\"function\":\"a\","
     "\"params\":{\"inner_thoughts\":\"i\",\"x\":2}}]}",
     "|a {\"x\":2};|", NULL},
    {"names of other makers", "{\"actions\":[{\"tool\":\"a\",\"arguments\":{\"x\":1}}]}",
     "|a {\"x\":1};|", NULL},
    {"one action, no list", "{\"actions\":{\"name\":\"a\"}}", "|a {};|", NULL},
    {"a list alone", "[{\"name\":\"a\"}]", "|a {};|", NULL},
    {"in a fence", "```json\n{\"actions\":[]}\n```", "||", NULL},
    {"in words", "Sure {or not}! Here: {\"actions\":[{\"name\":\"a\"}]} Done.", "|a {};|", NULL},
    {"after reasoning with brackets", "[hm] (I think) {\"actions\":[]}", "||", NULL},
    {"a comma too many", "{\"actions\":[{\"name\":\"a\",\"params\":{\"x\":1,},},],}",
     "|a {\"x\":1};|", NULL},
    {"a raw line break",
     "{\"actions\":[{\"name\":\"send_message\",\"params\":{\"content\":\"a\nb\"}}]}",
     "|send_message {\"content\":\"a\\nb\"};|", NULL},
    {"a bracket in a text",
     "{\"thoughts\":\"} ] \\\" {\",\"actions\":[{\"name\":\"a\",\"params\":{\"x\":\"}]\"}}]}",
     "} ] \" {|a {\"x\":\"}]\"};|", NULL},
    {"params that are none", "{\"actions\":[{\"name\":\"a\",\"params\":\"x\"}]}", "|a {};|", NULL},
    {"nothing", "", NULL, "no JSON object"},
    {"words", "I will say hello.", NULL, "no JSON object"},
    {"cut off", "{\"thoughts\":\"t\",\"actions\":[{\"name\":\"send_message\",\"par", NULL,
     "cut off"},
    {"cut off in a text", "{\"actions\":[{\"name\":\"a\",\"params\":{\"x\":\"abc}]}", NULL,
     "cut off"},
    {"thoughts alone", "{\"thoughts\":\"t\"}", NULL, "no list \"actions\""},
    {"an action without a name", "{\"actions\":[{\"params\":{}}]}", NULL, "no list \"actions\""},
    {"actions that are words", "{\"actions\":[\"a\"]}", NULL, "no list \"actions\""},
    {"broken", "{\"actions\": oops}", NULL, "cannot be read"},
};

static void test_cases(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_ARENA_AUTO arena = {0};
        CH_BUF_AUTO got = {0};
        CH_BUF_AUTO why = {0};
        struct ch_beat_reply r;
        bool read = ch_beat_reply_read(ch_sv_str(cases[i].text), &arena, &r, &why);
        if (read != (cases[i].want != NULL))
            fail_msg("%s: %s", cases[i].name, read ? "was read" : ch_buf_str(&why));
        if (!read && !strstr(ch_buf_str(&why), cases[i].why))
            fail_msg("%s: %s", cases[i].name, ch_buf_str(&why));
        if (!read)
            continue;
        ch_buf_addf(&got, "%.*s|", CH_SV_FMT(r.thoughts));
        for (size_t k = 0; k < r.n; k++)
            ch_buf_addf(&got, "%.*s %.*s;", CH_SV_FMT(r.actions[k].name),
                        CH_SV_FMT(r.actions[k].params));
        ch_buf_addf(&got, "|%s", r.more ? "more" : "");
        if (strcmp(ch_buf_str(&got), cases[i].want) != 0)
            fail_msg("%s: %s", cases[i].name, ch_buf_str(&got));
    }
}

/* Whatever part of a reply arrives, no part of an action is taken for it. */
static void test_no_prefix_acts(void **state) {
    (void)state;
    const char *text = cases[0].text;
    for (size_t n = 0; n < strlen(text); n++) {
        CH_ARENA_AUTO arena = {0};
        CH_BUF_AUTO why = {0};
        struct ch_beat_reply r;
        CH_AUTOFREE char *part = ch_strndup(text, n);
        if (ch_beat_reply_read(ch_sv(part, n), &arena, &r, &why))
            fail_msg("the first %zu bytes are taken for a reply", n);
    }
}

static void test_too_many(void **state) {
    (void)state;
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO why = {0};
    struct ch_beat_reply r;
    ch_buf_add_str(&text, "{\"actions\":[");
    for (int i = 0; i < 20; i++)
        ch_buf_addf(&text, "%s{\"name\":\"a\"}", i ? "," : "");
    ch_buf_add_str(&text, "]}");
    assert_true(ch_beat_reply_read(ch_buf_sv(&text), &arena, &r, &why));
    assert_int_equal(r.n, CH_LIMIT_BEAT_ACTIONS);
    assert_int_equal(r.dropped, 20 - CH_LIMIT_BEAT_ACTIONS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_no_prefix_acts),
        cmocka_unit_test(test_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
