/* test_record_events.c -- the events of runs, made from records of a journal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/journal/journal.h"
#include "base/buf.h"
#include "gateway/lane/record_events.h"

struct line {
    uint32_t type;
    const char *data;
    const char *want; /* "name:seq text;" of each event */
};

static const char *text_of(const struct chela_event *ev, struct ch_buf *out) {
    struct chela_str s = {"", 0};
    switch (ev->type) {
    case CHELA_EV_TEXT_DELTA:
    case CHELA_EV_REASONING_DELTA:
        s = ev->delta.text;
        break;
    case CHELA_EV_TOOL_CALL:
    case CHELA_EV_TOOL_START:
    case CHELA_EV_CLIENT_TOOL_REQUIRED:
        s = ev->call.id;
        break;
    case CHELA_EV_TOOL_RESULT:
        s = ev->result.content;
        break;
    case CHELA_EV_APPROVAL_REQUIRED:
        s = ev->approval.approval_id;
        break;
    case CHELA_EV_STEERING:
    case CHELA_EV_FOLLOW_UP:
        s = ev->note.text;
        break;
    case CHELA_EV_RUN_END:
        s = ev->end.text;
        break;
    default:
        break;
    }
    ch_buf_clear(out);
    ch_buf_add(out, s.p, s.n);
    if (ev->type == CHELA_EV_RUN_END && ev->end.ending.n)
        ch_buf_addf(out, "(%.*s)", (int)ev->end.ending.n, ev->end.ending.p);
    return ch_buf_str(out);
}

/* Reads the records one after the other. */
static void check_lines(const struct line *lines, size_t n) {
    struct ch_record_events s = {0};
    CH_BUF_AUTO got = {0}, text = {0};
    ch_buf_add_str(&s.session, "room");
    ch_buf_add_str(&s.agent, "main");
    for (size_t i = 0; i < n; i++) {
        struct chela_store_record r = {.seq = i + 1, .ts = 7, .type = lines[i].type,
                                       .data = lines[i].data, .n = strlen(lines[i].data)};
        struct ch_record_batch *b = ch_record_events_read(&s, &r);
        ch_buf_clear(&got);
        for (size_t k = 0; b && k < b->n; k++)
            ch_buf_addf(&got, "%s:%llu %s;", chela_event_name(b->events[k].type),
                        (unsigned long long)b->events[k].seq, text_of(&b->events[k], &text));
        if (strcmp(ch_buf_str(&got), lines[i].want) != 0)
            fail_msg("record %zu: '%s' instead of '%s'", i + 1, ch_buf_str(&got), lines[i].want);
        if (b)
            ch_record_batch_free(b);
    }
    ch_record_events_release(&s);
}

#define START(run) \
    {CH_REC_INBOUND, "{\"mode\":\"start\",\"run\":\"" run "\",\"message\":{\"content\":[]}}", ""}
#define STATE(run, status, seq, want) \
    {CH_REC_STATE, "{\"run\":\"" run "\",\"status\":\"" status "\",\"seq\":" #seq "}", want}
#define REPLY(content, want) \
    {CH_REC_MESSAGE,   \
     "{\"turn\":1,\"message\":{\"role\":\"assistant\",\"content\":[" content "]}}", want}
#define RESULT(id, want) \
    {CH_REC_DONE,        \
     "{\"message\":{\"content\":[{\"type\":\"tool_result\",\"id\":\"" id "\"}]}}", want}
#define CALL(id) "{\"type\":\"tool_call\",\"id\":\"" id "\",\"name\":\"t\",\"arguments\":{\"a\":1}}"

/* The holder numbers more events than the records show. Its RUN_END has the number before
 * the one of the state. */
static void test_a_run_with_a_call(void **state) {
    static const struct line lines[] = {
        START("r1"),
        STATE("r1", "running", 0, "run_start:0 ;"),
        REPLY("{\"type\":\"reasoning\",\"text\":\"hm\"}," CALL("c1"),
              "turn_start:1 ;reasoning_delta:2 hm;tool_call:3 c1;"),
        STATE("r1", "running", 20, ""),
        {CH_REC_STARTED, "{\"id\":\"c1\"}", "tool_start:20 c1;"},
        {CH_REC_DONE,
         "{\"ran\":true,\"message\":{\"content\":[{\"type\":\"tool_result\",\"id\":\"c1\","
         "\"content\":\"42\"}]}}",
         "tool_result:21 42;turn_end:22 ;"},
        REPLY("{\"type\":\"text\",\"text\":\"it is \"},{\"type\":\"text\",\"text\":\"42\"}",
              "turn_start:23 ;text_delta:24 it is ;text_delta:25 42;turn_end:26 ;"),
        STATE("r1", "done", 60, "run_end:59 it is 42;"),
        START("r2"),
        STATE("r2", "running", 0, "run_start:0 ;"),
        STATE("r2", "cancelled", 2, "run_end:1 ;"),
        START("r3"),
        STATE("r3", "running", 0, "run_start:0 ;"),
        STATE("r3", "error\",\"ending\":\"Too bad.", 2, "run_end:1 (Too bad.);"),
    };
    (void)state;
    check_lines(lines, CH_LEN(lines));
}

/* The turn ends after the calls, which may be after the pause. */
static void test_a_run_that_pauses_and_goes_on(void **state) {
    static const struct line lines[] = {
        START("r1"),
        STATE("r1", "running", 0, "run_start:0 ;"),
        REPLY(CALL("c1") "," CALL("c2"), "turn_start:1 ;tool_call:2 c1;tool_call:3 c2;"),
        {CH_REC_ASKED, "{\"call\":0,\"approval\":\"ap_1\",\"name\":\"t\"}",
         "approval_required:4 ap_1;"},
        STATE("r1", "paused", 30, "client_tool_required:5 c2;run_end:29 ;"),
        STATE("r1", "running", 30, "run_start:30 ;"),
        RESULT("c2", "tool_result:31 ;"),
        RESULT("c1", "tool_result:32 ;turn_end:33 ;"),
        REPLY(CALL("c3"), "turn_start:34 ;tool_call:35 c3;"),
        STATE("r1", "cancelled", 40, "turn_end:36 ;run_end:39 ;"),
        START("r2"),
        STATE("r2", "running", 0, "run_start:0 ;"),
        STATE("r2", "paused", 5, "run_end:4 ;"),
        STATE("r2", "cancelled", 8, "run_start:5 ;run_end:7 ;"),
        STATE("r2", "cancelled", 8, ""),
    };
    (void)state;
    check_lines(lines, CH_LEN(lines));
}

static void test_messages_are_told_when_they_are_delivered(void **state) {
    static const struct line lines[] = {
        START("r1"),
        STATE("r1", "running", 0, "run_start:0 ;"),
        {CH_REC_INBOUND,
         "{\"mode\":\"steer\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"now\"}]}}",
         ""},
        {CH_REC_INBOUND,
         "{\"mode\":\"follow_up\",\"message\":{\"content\":"
         "[{\"type\":\"text\",\"text\":\"then\"}]}}",
         ""},
        {CH_REC_MESSAGE, "{\"of\":3,\"message\":{\"role\":\"user\"}}", "steering:1 now;"},
        {CH_REC_MESSAGE, "{\"of\":3,\"message\":{\"role\":\"user\"}}", ""},
        {CH_REC_MESSAGE, "{\"of\":4,\"dropped\":true,\"message\":{\"role\":\"user\"}}", ""},
    };
    (void)state;
    check_lines(lines, CH_LEN(lines));
}

/* Nothing in a record may break the stream of the others. */
static void test_odd_records(void **state) {
    static const struct line lines[] = {
        {CH_REC_STATE, "not json", ""},
        {CH_REC_STATE, "[]", ""},
        {CH_REC_DONE, "{\"message\":{\"content\":7}}", ""},
        {CH_REC_ASKED, "{\"call\":99}", "client_tool_required:0 ;"},
        {CH_REC_STARTED, "{\"id\":\"nobody\"}", ""},
        {CH_REC_COMPACTION, "{\"keep\":1}", ""},
        {99, "{}", ""},
        START("r1"),
        STATE("r1", "running", 0, "run_start:0 ;"),
        REPLY("null,7,{\"type\":\"text\"}", "turn_start:1 ;turn_end:2 ;"),
        STATE("r1", "of another kind", 9, "run_end:8 ;"),
    };
    (void)state;
    check_lines(lines, CH_LEN(lines));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_with_a_call),
        cmocka_unit_test(test_a_run_that_pauses_and_goes_on),
        cmocka_unit_test(test_messages_are_told_when_they_are_delivered),
        cmocka_unit_test(test_odd_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
