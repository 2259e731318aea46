/* test_acp_update.c -- events and stored messages as notifications of an editor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "acp/acp_update.h"
#include "base/limits.h"

#define STR(s) \
    { s, sizeof(s) - 1 }

static void keep(struct ch_sv update, void *user) {
    struct ch_buf *all = user;
    ch_buf_add_sv(all, update);
    ch_buf_addc(all, '\n');
}

static void shows(struct ch_acp_shown *shown, const struct chela_event *ev, const char *expected) {
    CH_BUF_AUTO all = {0};
    ch_acp_update_event(shown, ev, keep, &all);
    assert_string_equal(ch_buf_str(&all), expected);
}

static void test_text_has_the_id_of_its_message(void **state) {
    (void)state;
    struct ch_acp_shown shown = {.cwd = "/w"};
    struct chela_event turn = {.type = CHELA_EV_TURN_START, .run = "r", .turn = {.turn = 2}};
    struct chela_event text = {
        .type = CHELA_EV_TEXT_DELTA, .run = "r", .delta = {.text = STR("hi")}};
    struct chela_event thought = {
        .type = CHELA_EV_REASONING_DELTA, .run = "r", .delta = {.text = STR("hm")}};
    shows(&shown, &turn, "");
    shows(&shown, &text,
          "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":"
          "\"hi\"},\"messageId\":\"r-2\"}\n");
    shows(&shown, &thought,
          "{\"sessionUpdate\":\"agent_thought_chunk\",\"content\":{\"type\":\"text\",\"text\":"
          "\"hm\"},\"messageId\":\"r-2-thought\"}\n");
}

static void test_an_ending_is_a_message(void **state) {
    (void)state;
    struct ch_acp_shown shown = {.cwd = "/w"};
    struct chela_event end = {.type = CHELA_EV_RUN_END,
                              .run = "r",
                              .end = {.status = CHELA_STATUS_STOPPED, .ending = STR("Enough.")}};
    shows(&shown, &end,
          "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":"
          "\"Enough.\"},\"messageId\":\"r-end\"}\n");
    end.end.text = (struct chela_str)STR("So far");
    shows(&shown, &end,
          "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":"
          "\"\\n\\nEnough.\"},\"messageId\":\"r-end\"}\n");
    end.end.status = CHELA_STATUS_CANCELLED;
    shows(&shown, &end, "");
    end.end.status = CHELA_STATUS_DONE;
    end.end.ending = (struct chela_str)STR("");
    shows(&shown, &end, "");
}

static void test_calls(void **state) {
    (void)state;
    struct ch_acp_shown shown = {.cwd = "/w"};
    struct chela_event edit = {
        .type = CHELA_EV_TOOL_CALL,
        .call = {.id = STR("c1"),
                 .name = STR("edit"),
                 .arguments = STR("{\"file_path\":\"./a.c\",\"edits\":[{\"old_text\":\"x\","
                                  "\"new_text\":\"y\"}]}")}};
    struct chela_event own = {
        .type = CHELA_EV_TOOL_CALL,
        .call = {.id = STR("c2"), .name = STR("deploy"), .arguments = STR("not json")}};
    shows(&shown, &edit,
          "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c1\",\"title\":\"Edit ./a.c\","
          "\"kind\":\"edit\",\"locations\":[{\"path\":\"/w/a.c\"}],\"rawInput\":{\"file_path\":"
          "\"./a.c\",\"edits\":[{\"old_text\":\"x\",\"new_text\":\"y\"}]},\"content\":[{\"type\":"
          "\"diff\",\"path\":\"/w/a.c\",\"oldText\":\"x\",\"newText\":\"y\"}],\"status\":"
          "\"pending\"}\n");
    shows(&shown, &own,
          "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c2\",\"title\":\"deploy\",\"kind\":"
          "\"other\",\"status\":\"pending\"}\n");
    ch_acp_shown_release(&shown);
}

/* The diff of a new file has no old text; only files below the directory are read. */
static void test_old_text_of_a_write(void **state) {
    (void)state;
    char dir[] = "/tmp/test_acp.XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/f", dir);
    struct ch_acp_shown shown = {.cwd = dir};
    struct chela_event ev = {
        .type = CHELA_EV_TOOL_CALL,
        .call = {.id = STR("c"),
                 .name = STR("write"),
                 .arguments = STR("{\"file_path\":\"f\",\"content\":\"new\"}")}};
    CH_BUF_AUTO before = {0}, after = {0}, outside = {0};
    ch_acp_update_event(&shown, &ev, keep, &before);
    assert_null(strstr(ch_buf_str(&before), "oldText"));
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("old", f);
    fclose(f);
    ch_acp_update_event(&shown, &ev, keep, &after);
    assert_non_null(strstr(ch_buf_str(&after), "\"oldText\":\"old\",\"newText\":\"new\""));
    ev.call.arguments =
        (struct chela_str)STR("{\"file_path\":\"../../etc/hostname\",\"content\":\"\"}");
    ch_acp_update_event(&shown, &ev, keep, &outside);
    assert_null(strstr(ch_buf_str(&outside), "oldText"));
    unlink(path);
    rmdir(dir);
    ch_acp_shown_release(&shown);
}

static void test_output_of_a_running_call_keeps_its_end(void **state) {
    (void)state;
    struct ch_acp_shown shown = {.cwd = "/w"};
    struct chela_event call = {
        .type = CHELA_EV_TOOL_CALL,
        .call = {.id = STR("c"), .name = STR("exec"), .arguments = STR("{\"command\":\"make\"}")}};
    struct chela_event line = {.type = CHELA_EV_TOOL_PROGRESS,
                               .note = {.id = STR("c"), .text = STR("0123456789")}};
    CH_BUF_AUTO all = {0};
    ch_acp_update_event(&shown, &call, keep, &all);
    for (size_t i = 0; i < CH_LIMIT_ACP_OUTPUT / 10 + 10; i++) {
        ch_buf_clear(&all);
        ch_acp_update_event(&shown, &line, keep, &all);
    }
    assert_true(shown.calls->output.n <= CH_LIMIT_ACP_OUTPUT);
    assert_int_equal(shown.calls->output.p[0], '0'); /* whole lines */
    line.note.id = (struct chela_str)STR("another");
    shows(&shown, &line, "");
    ch_acp_shown_release(&shown);
}

static void test_what_the_vendor_made(void **state) {
    struct ch_acp_shown shown = {.cwd = "/w"};
    (void)state;
    shows(&shown,
          &(struct chela_event){.type = CHELA_EV_SERVER_TOOL,
                                .server = {.id = STR("s1"),
                                           .name = STR("web_search"),
                                           .arguments = STR("{\"query\":\"q\"}"),
                                           .result = STR("found")}},
          "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"s1\","
          "\"title\":\"Search the web for q\","
          "\"kind\":\"search\",\"rawInput\":{\"query\":\"q\"},\"content\":[{\"type\":\"content\","
          "\"content\":{\"type\":\"text\",\"text\":\"found\"}}],\"status\":\"completed\"}\n");
    shows(&shown,
          &(struct chela_event){.type = CHELA_EV_MEDIA,
                                .made = {.media_type = STR("image/png"),
                                         .path = STR("media/a.png"),
                                         .data = STR("AAAA")}},
          "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"image\","
          "\"mimeType\":\"image/png\",\"data\":\"AAAA\",\"uri\":\"file:///w/media/a.png\"}}\n");
    shows(&shown,
          &(struct chela_event){.type = CHELA_EV_MEDIA,
                                .made = {.media_type = STR("video/mp4"),
                                         .url = STR("https://v/1")}},
          "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"resource_link\","
          "\"mimeType\":\"video/mp4\",\"name\":\"video/mp4\",\"uri\":\"https://v/1\"}}\n");
}

static void test_plan(void **state) {
    (void)state;
    struct ch_acp_shown shown = {0};
    struct chela_event ev = {
        .type = CHELA_EV_PLAN,
        .plan = {.steps = STR("[{\"description\":\"a\",\"status\":\"done\"},{\"description\":\"b\","
                              "\"status\":\"running\"},{\"description\":\"c\"}]")}};
    shows(
        &shown, &ev,
        "{\"sessionUpdate\":\"plan\",\"entries\":[{\"content\":\"a\",\"priority\":\"medium\","
        "\"status\":\"completed\"},{\"content\":\"b\",\"priority\":\"medium\",\"status\":"
        "\"in_progress\"},{\"content\":\"c\",\"priority\":\"medium\",\"status\":\"pending\"}]}\n");
}

static void test_only_what_the_editor_shows(void **state) {
    (void)state;
    struct ch_acp_shown shown = {0};
    struct chela_event warning = {.type = CHELA_EV_WARNING, .note = {.text = STR("careful")}};
    struct chela_event end = {.type = CHELA_EV_TURN_END,
                              .turn = {.usage = {.input = 5, .output = 2}}};
    struct chela_event shorter = {.type = CHELA_EV_COMPACTION, .run = "r", .seq = 9};
    shows(&shown, &warning, "");
    shows(&shown, &end, "");
    shows(&shown, &shorter, "");
    shown = (struct ch_acp_shown){.window = 100, .compactions = true, .notices = true};
    shows(&shown, &warning,
          "{\"sessionUpdate\":\"notice\",\"severity\":\"warning\",\"title\":\"careful\"}\n");
    shows(&shown, &end, "{\"sessionUpdate\":\"usage_update\",\"used\":7,\"size\":100}\n");
    shows(&shown, &shorter,
          "{\"sessionUpdate\":\"compaction_update\",\"compactionId\":\"r-9\",\"status\":"
          "\"completed\"}\n");
}

static void test_stored_messages(void **state) {
    (void)state;
    static const struct {
        const char *message, *expected;
    } cases[] = {
        {"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"q\"},{\"type\":\"image\"}]"
         "}",
         "{\"sessionUpdate\":\"user_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"q\"}}"
         "\n"
         "{\"sessionUpdate\":\"user_message_chunk\",\"content\":{\"type\":\"text\",\"text\":"
         "\"[image]\"}}\n"},
        {"{\"role\":\"assistant\",\"content\":[{\"type\":\"reasoning\",\"text\":\"\"},{\"type\":"
         "\"text\",\"text\":\"a\"}]}",
         "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":"
         "\"a\"}}\n"},
        {"{\"role\":\"tool\",\"content\":[{\"type\":\"tool_result\",\"id\":\"c\",\"name\":\"exec\","
         "\"denied\":true,\"content\":[{\"type\":\"text\",\"text\":\"no\"}]}]}",
         "{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"c\",\"status\":\"failed\","
         "\"content\":[{\"type\":\"content\",\"content\":{\"type\":\"text\",\"text\":\"no\"}}],"
         "\"rawOutput\":{\"content\":\"no\"}}\n"},
        {"{\"role\":\"assistant\",\"content\":[{\"type\":\"opaque\",\"data\":\"x\"}]}", ""},
        {"{}", ""},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_ARENA_AUTO a = {0};
        CH_BUF_AUTO all = {0};
        struct ch_acp_shown shown = {0};
        const struct ch_json *v = NULL;
        assert_int_equal(
            ch_json_parse(&a, ch_sv_str(cases[i].message), CH_JSON_STRICT, &v, NULL, NULL), 0);
        ch_acp_update_message(&shown, v, keep, &all);
        assert_string_equal(ch_buf_str(&all), cases[i].expected);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_has_the_id_of_its_message),
        cmocka_unit_test(test_an_ending_is_a_message),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_old_text_of_a_write),
        cmocka_unit_test(test_output_of_a_running_call_keeps_its_end),
        cmocka_unit_test(test_what_the_vendor_made),
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_only_what_the_editor_shows),
        cmocka_unit_test(test_stored_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
