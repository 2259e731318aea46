/* test_feishu_message.c -- what a message says, who may, and in which session. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "channel/feishu.h"
#include "channel/feishu_message.h"
#include "json/writer.h"

static void write_event(struct ch_buf *out, const char *type, const char *content,
                        const char *mentions, const char *more, const char *sender) {
    struct ch_jw w = ch_jw(out);
    ch_buf_addf(out, "{\"sender\":%s,\"message\":{\"message_id\":\"om_1\",\"chat_id\":\"oc_1\",%s"
                     "\"create_time\":\"1609073151345\",\"mentions\":%s,\"message_type\":\"%s\","
                     "\"content\":",
                sender ? sender
                       : "{\"sender_id\":{\"open_id\":\"ou_a\",\"union_id\":\"on_a\"},"
                         "\"sender_type\":\"user\"}",
                more, mentions ? mentions : "[]", type);
    ch_jw_cstr(&w, content);
    ch_buf_add_str(out, "}}");
}

static int read_event(struct ch_arena *a, const char *type, const char *content,
                      const char *mentions, const char *more, const char *sender,
                      struct ch_feishu_message *m) {
    CH_ARENA_AUTO gone = {0}; /* before the message is looked at */
    CH_BUF_AUTO text = {0};
    const struct ch_json *event;
    write_event(&text, type, content, mentions, more, sender);
    assert_int_equal(ch_json_parse(&gone, ch_buf_sv(&text), CH_JSON_STRICT, &event, NULL, NULL), 0);
    return ch_feishu_read(event, "ou_bot", a, m, NULL);
}

#define BOT "{\"key\":\"@_user_1\",\"id\":{\"open_id\":\"ou_bot\"},\"name\":\"Bot\"}"
#define TEN "{\"key\":\"@_user_10\",\"id\":{\"open_id\":\"ou_ten\"},\"name\":\"Ten\"}"

static const struct {
    const char *type, *content, *mentions, *want;
} contents[] = {
    {"text", "{\"text\":\"hello\"}", NULL, "hello"},
    {"text", "{\"text\":\" @_user_1 hi \"}", "[" BOT "]", "hi"},
    {"text", "{\"text\":\"@_user_10 and @_user_1\"}", "[" BOT "," TEN "]", "@Ten and"},
    {"text", "{\"text\":\"@_user_3 mail a@b.c\"}", "[" BOT "]", "@_user_3 mail a@b.c"},
    {"text", "{}", NULL, ""},
    {"post",
     "{\"title\":\"T\",\"content\":[[{\"tag\":\"text\",\"text\":\"a\"},{\"tag\":\"a\",\"href\":"
     "\"u\",\"text\":\"t\"}],[{\"tag\":\"at\",\"user_id\":\"@_user_1\",\"user_name\":\"Bot\"},"
     "{\"tag\":\"code_block\",\"language\":\"C\",\"text\":\"x;\"}],[{\"tag\":\"img\"}]]}",
     "[" BOT "]", "T\na[t](u)\n```C\nx;\n```\n[picture]"},
    {"post", "{\"zh_cn\":{\"content\":[[{\"tag\":\"text\",\"text\":\"one\"}]]}}", NULL, "one"},
    {"post", "{\"content\":[[{\"tag\":\"at\",\"user_id\":\"ou_bot\"},{\"tag\":\"text\","
             "\"text\":\"x\"}]]}", NULL, "x"},
    {"image", "{\"image_key\":\"img_1\"}", NULL, "[picture]"},
    {"file", "{\"file_key\":\"f\",\"file_name\":\"a.pdf\"}", NULL, "[file: a.pdf]"},
    {"audio", "{\"file_key\":\"f\",\"speech_to_text\":\"yes\"}", NULL, "[voice message: yes]"},
    {"location", "{\"name\":\"Bar\",\"longitude\":\"113.3\",\"latitude\":\"22.9\"}", NULL,
     "[location: Bar; 22.9, 113.3]"},
    {"location", "{\"name\":\"Bar\"}", NULL, "[location: Bar]"},
    {"location", "{\"longitude\":\"113.3\",\"latitude\":\"22.9\"}", NULL,
     "[location: 22.9, 113.3]"},
    {"hologram", "{}", NULL, "[message of another kind: hologram]"},
};

static void test_contents(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(contents); i++) {
        CH_ARENA_AUTO a = {0};
        struct ch_feishu_message m;
        int rc = read_event(&a, contents[i].type, contents[i].content, contents[i].mentions,
                            "\"chat_type\":\"p2p\",", NULL, &m);
        if (rc < 0 || !ch_sv_is(m.text, contents[i].want))
            fail_msg("%s: %d '%.*s'", contents[i].content, rc, CH_SV_FMT(m.text));
    }
}

/* Ids become parts of paths: what is none is refused. */
static void test_ids(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    struct ch_feishu_message m;
    assert_int_equal(read_event(&a, "text", "{}", NULL, "\"chat_id\":\"oc/../x\",", NULL, &m),
                     CHELA_EPARSE); /* of two the last one counts */
    assert_int_equal(read_event(&a, "text", "no JSON", NULL, "", NULL, &m), CHELA_EPARSE);
    const struct ch_json *event;
    struct ch_sv bad = CH_SV("{\"message\":{\"message_id\":\"om/1\",\"chat_id\":\"oc\"}}");
    assert_int_equal(ch_json_parse(&a, bad, CH_JSON_STRICT, &event, NULL, NULL), 0);
    assert_int_equal(ch_feishu_read(event, NULL, &a, &m, NULL), CHELA_EPARSE);
}

static char *ann[] = {"ou_a", NULL}, *by_union[] = {"on_a", NULL}, *all[] = {"*", NULL},
            *team[] = {"oc_1", NULL}, *none[] = {NULL};

#define P2P "\"chat_type\":\"p2p\","
#define GROUP "\"chat_type\":\"group\","
#define PROGRAM "{\"sender_id\":{\"open_id\":\"ou_a\"},\"sender_type\":\"app\"}"
#define OURSELVES "{\"sender_id\":{\"open_id\":\"ou_bot\"},\"sender_type\":\"user\"}"

static const struct {
    const char *name, *chat, *sender, *mentions;
    struct ch_rules rules;
    const char *bot;
    enum chela_channel_judgement want;
} cases[] = {
    {"listed", P2P, NULL, NULL, {.people = ann}, "ou_bot", CHELA_CHANNEL_TAKE},
    {"by another of its ids", P2P, NULL, NULL, {.people = by_union}, "ou_bot", CHELA_CHANNEL_TAKE},
    {"everybody is", P2P, NULL, NULL, {.people = all}, "ou_bot", CHELA_CHANNEL_TAKE},
    {"nobody is", P2P, NULL, NULL, {.people = none}, "ou_bot", CHELA_CHANNEL_IGNORE},
    {"open", P2P, NULL, NULL, {.direct = CH_WELCOME_OPEN}, NULL, CHELA_CHANNEL_TAKE},
    {"off",
     P2P,
     NULL,
     NULL,
     {.direct = CH_WELCOME_OFF, .people = all},
     "ou_bot",
     CHELA_CHANNEL_IGNORE},
    {"a program", P2P, PROGRAM, NULL, {.direct = CH_WELCOME_OPEN}, "ou_bot", CHELA_CHANNEL_IGNORE},
    {"ourselves",
     P2P,
     OURSELVES,
     NULL,
     {.direct = CH_WELCOME_OPEN},
     "ou_bot",
     CHELA_CHANNEL_IGNORE},
    {"a group that is listed",
     GROUP,
     NULL,
     "[" BOT "]",
     {.groups = team},
     "ou_bot",
     CHELA_CHANNEL_TAKE},
    {"one that is not", GROUP, NULL, "[" BOT "]", {.groups = none}, "ou_bot", CHELA_CHANNEL_IGNORE},
    {"a list of people is none of groups",
     GROUP,
     NULL,
     "[" BOT "]",
     {.people = all},
     "ou_bot",
     CHELA_CHANNEL_IGNORE},
    {"without a mention",
     GROUP,
     NULL,
     "[" TEN "]",
     {.groups = team},
     "ou_bot",
     CHELA_CHANNEL_IGNORE},
    {"who are we", GROUP, NULL, "[" BOT "]", {.groups = team}, NULL, CHELA_CHANNEL_LATER},
    {"asked or not",
     GROUP,
     NULL,
     NULL,
     {.groups = team, .unasked = true},
     NULL,
     CHELA_CHANNEL_TAKE},
    {"groups off",
     GROUP,
     NULL,
     "[" BOT "]",
     {.group = CH_WELCOME_OFF, .groups = all},
     "ou_bot",
     CHELA_CHANNEL_IGNORE},
};

static void test_judgements(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_ARENA_AUTO a = {0};
        struct ch_feishu_message m;
        assert_int_equal(read_event(&a, "text", "{\"text\":\"x\"}", cases[i].mentions,
                                    cases[i].chat, cases[i].sender, &m), 0);
        struct ch_author who = ch_feishu_author(&m, cases[i].bot);
        if (ch_rules_judge(&cases[i].rules, &who) != cases[i].want)
            fail_msg("%s", cases[i].name);
    }
}

static const struct {
    const char *chat;
    enum ch_sharing scope;
    const char *want;
} sessions[] = {
    {P2P, CH_BY_SENDER, "feishu:oc_1"},
    {GROUP, CH_BY_TOPIC, "feishu:oc_1"},
    {GROUP "\"thread_id\":\"omt_1\",", CH_BY_TOPIC, "feishu:oc_1:omt_1"},
    {GROUP "\"thread_id\":\"omt_1\",", CH_BY_CHAT, "feishu:oc_1"},
    {GROUP "\"thread_id\":\"omt_1\",", CH_BY_SENDER, "feishu:oc_1:omt_1:ou_a"},
    {"\"chat_type\":\"topic_group\",\"root_id\":\"om_0\",", CH_BY_TOPIC, "feishu:oc_1:om_0"},
};

static void test_sessions(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(sessions); i++) {
        CH_ARENA_AUTO a = {0};
        struct ch_feishu_message m;
        struct ch_rules rules = {.scope = sessions[i].scope};
        read_event(&a, "text", "{\"text\":\"x\"}", NULL, sessions[i].chat, NULL, &m);
        struct ch_author who = ch_feishu_author(&m, NULL);
        assert_string_equal(ch_rules_session(&rules, "feishu", &who, &a), sessions[i].want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contents),
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_judgements),
        cmocka_unit_test(test_sessions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
