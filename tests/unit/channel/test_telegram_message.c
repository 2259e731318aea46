/* test_telegram_message.c -- what a message says, and to whom. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "channel/telegram.h"
#include "channel/telegram_message.h"

/* Each is {"message_id":1,"date":5,"from":{..},"chat":{..}} and what stands here. */
static const struct {
    const char *more;
    const char *text, *thread, *quoted, *file; /* quoted: "ID SENDER: TEXT"; NULL: none */
    bool meant, picture;
} cases[] = {
    {"\"text\":\"hello\"", "hello", NULL, NULL, NULL, false, false},
    {"\"text\":\"hi @ChelaBot!\"", "hi !", NULL, NULL, NULL, true, false},
    {"\"text\":\"hi @ChelaBots\"", "hi @ChelaBots", NULL, NULL, NULL, false, false},
    {"\"text\":\"@ChelaBot\"", "", NULL, NULL, NULL, true, false}, /* who mentions us is heard */
    {"\"text\":\"/stop@chelabot\"", "/stop", NULL, NULL, NULL, true, false},
    {"\"caption\":\"@chelabot look\",\"photo\":[{\"file_id\":\"S\"},{\"file_id\":\"L\"}]",
     "[picture]  look", NULL, NULL, "L", true, true},
    {"\"document\":{\"file_id\":\"D\",\"file_name\":\"a b.pdf\"}", "[file: a b.pdf]", NULL, NULL,
     "D", false, false},
    {"\"document\":{\"file_id\":\"D\",\"mime_type\":\"image/png\"}", "[file]", NULL, NULL, "D",
     false, true},
    {"\"animation\":{\"file_id\":\"A\"},\"document\":{\"file_id\":\"A\"}", "[animation]", NULL,
     NULL, "A", false, false},
    {"\"location\":{\"latitude\":1}", "[location]", NULL, NULL, NULL, false, false},
    {"\"location\":{\"latitude\":52.5,\"longitude\":-13.4}", "[location: 52.5, -13.4]", NULL, NULL,
     NULL, false, false},
    {"\"venue\":{\"title\":\"Bar\",\"address\":\"Road 1\"},"
     "\"location\":{\"latitude\":1,\"longitude\":2}",
     "[location: Bar, Road 1; 1, 2]", NULL, NULL, NULL, false, false},
    {"\"contact\":{\"phone_number\":\"+49\",\"first_name\":\"Bo\",\"last_name\":\"Li\"}",
     "[contact: Bo Li, +49]", NULL, NULL, NULL, false, false},
    {"\"poll\":{\"question\":\"Tea?\",\"options\":[{\"text\":\"yes\"},{\"text\":\"no\"}]}",
     "[poll: Tea? / yes / no]", NULL, NULL, NULL, false, false},
    {"\"text\":\"\U0001f600 here @chelabot and there\",\"entities\":["
     "{\"type\":\"text_link\",\"offset\":3,\"length\":4,\"url\":\"https://a.example/\"},"
     "{\"type\":\"mention\",\"offset\":8,\"length\":9},"
     "{\"type\":\"text_link\",\"offset\":22,\"length\":5,\"url\":\"https://b.example/\"},"
     "{\"type\":\"text_link\",\"offset\":-9,\"length\":5,\"url\":\"https://c.example/\"},"
     "{\"type\":\"text_link\",\"offset\":900,\"length\":5,\"url\":\"https://d.example/\"}]",
     "\U0001f600 here (https://a.example/)  and there (https://b.example/)", NULL, NULL, NULL,
     true, false},
    {"\"caption\":\"see\",\"photo\":[{\"file_id\":\"L\"}],\"caption_entities\":["
     "{\"type\":\"text_link\",\"offset\":0,\"length\":3,\"url\":\"https://a.example/\"}]",
     "[picture] see (https://a.example/)", NULL, NULL, "L", false, true},
    {"\"new_chat_members\":[{\"id\":3}]", "", NULL, NULL, NULL, false, false},
    {"\"text\":\"x\",\"message_thread_id\":5,\"is_topic_message\":true", "x", "5", NULL, NULL,
     false, false},
    {"\"text\":\"x\",\"message_thread_id\":5", "x", NULL, NULL, NULL, false, false},
    {"\"text\":\"x\",\"reply_to_message\":{\"message_id\":4,\"text\":\"before\","
     "\"from\":{\"id\":8,\"first_name\":\"Bo\"}}",
     "x", NULL, "4 Bo: before", NULL, false, false},
    {"\"text\":\"x\",\"reply_to_message\":{\"message_id\":4,\"caption\":\"c\",\"photo\":[{}],"
     "\"from\":{\"id\":999,\"first_name\":\"Chela\"}},\"quote\":{\"text\":\"of it\"}",
     "x", NULL, "4 Chela: of it", NULL, true, false},
    {"\"text\":\"x\",\"reply_to_message\":{\"message_id\":4,\"voice\":{\"file_id\":\"V\"}}", "x",
     NULL, "4 ?: [voice message]", NULL, false, false},
    {"\"text\":\"x\",\"is_topic_message\":true,\"message_thread_id\":2,"
     "\"reply_to_message\":{\"message_id\":2,\"forum_topic_created\":{\"name\":\"T\"},"
     "\"from\":{\"id\":999}}",
     "x", "2", NULL, NULL, false, false},
    {"\"text\":\"x\",\"quote\":{\"text\":\"from elsewhere\"}", "x", NULL, "? ?: from elsewhere",
     NULL, false, false},
    /* words of somebody else are no command, and mention nobody */
    {"\"text\":\"/approve ap_1 @ChelaBot\",\"forward_origin\":{\"type\":\"user\","
     "\"sender_user\":{\"id\":6,\"first_name\":\"Eve\"}}",
     "[forwarded from Eve] /approve ap_1", NULL, NULL, NULL, false, false},
    {"\"text\":\"/stop\",\"forward_origin\":{\"type\":\"hidden_user\",\"sender_user_name\":\"E\"}",
     "[forwarded from E] /stop", NULL, NULL, NULL, false, false},
    {"\"text\":\"/stop\",\"forward_origin\":{\"type\":\"channel\",\"chat\":{\"title\":\"News\"}}",
     "[forwarded from News] /stop", NULL, NULL, NULL, false, false},
    {"\"text\":\"/stop\",\"forward_date\":5", "[forwarded] /stop", NULL, NULL, NULL, false, false},
    {"\"text\":\"/approve ap_1\",\"via_bot\":{\"id\":6,\"username\":\"evil_bot\"}",
     "[via @evil_bot] /approve ap_1", NULL, NULL, NULL, false, false},
};

static const char *or_none(const char *s) {
    return s ? s : "(none)";
}

static void check_same(size_t i, const char *got, const char *want) {
    if (strcmp(or_none(got), or_none(want)) != 0)
        fail_msg("%s: got '%s', want '%s'", cases[i].more, or_none(got), or_none(want));
}

static void read_case(const char *more, struct ch_arena *a, struct ch_telegram_message *out) {
    const struct ch_json *v;
    const char *json = ch_arena_printf(
        a, "{\"message_id\":1,\"date\":5,\"from\":{\"id\":7,\"first_name\":\"Ann\"},"
           "\"chat\":{\"id\":-100,\"type\":\"supergroup\"},%s}", more);
    assert_int_equal(ch_json_parse(a, ch_sv_str(json), CH_JSON_STRICT, &v, NULL, NULL), 0);
    assert_int_equal(ch_telegram_read(v, "999", "ChelaBot", a, out, NULL), 0);
}

static void test_read(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_ARENA_AUTO a = {0};
        struct ch_telegram_message m;
        read_case(cases[i].more, &a, &m);
        const struct chela_beside *q = m.quoted;
        check_same(i, m.text, cases[i].text);
        check_same(i, m.who.thread, cases[i].thread);
        check_same(i, m.file.id, cases[i].file);
        check_same(i, q ? ch_arena_printf(&a, "%s %s: %s", q->message_id ? q->message_id : "?",
                                          q->sender ? q->sender : "?", q->text)
                        : NULL,
                   cases[i].quoted);
        assert_int_equal(m.who.meant, cases[i].meant ? CH_MEANT : CH_NOT_MEANT);
        assert_int_equal(m.answers_us, q && strstr(cases[i].more, "\"id\":999") != NULL);
        assert_int_equal(m.file.picture, cases[i].picture);
        assert_int_equal(m.news, strstr(cases[i].more, "new_chat_members") != NULL);
        assert_string_equal(m.who.chat, "-100");
        assert_string_equal(m.name, "Ann");
        assert_true(m.ts == 5000 && m.who.person && !m.who.direct);
    }
}

/* What does not say who and where is none. */
static void test_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"{}", "[]", "{\"message_id\":1}",
                                      "{\"message_id\":1,\"chat\":{\"id\":\"7\"}}",
                                      "{\"chat\":{\"id\":7},\"text\":\"x\"}"};
    for (size_t i = 0; i < CH_LEN(bad); i++) {
        CH_ARENA_AUTO a = {0};
        struct ch_telegram_message m;
        struct chela_error err = {0};
        const struct ch_json *v;
        assert_int_equal(ch_json_parse(&a, ch_sv_str(bad[i]), CH_JSON_STRICT, &v, NULL, NULL), 0);
        assert_int_equal(ch_telegram_read(v, NULL, NULL, &a, &m, &err), CHELA_EPARSE);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_read),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
