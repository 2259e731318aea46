/* test_dingtalk_message.c -- messages of DingTalk, titles, and Markdown for services that know a
 * part of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "channel/dingtalk/dingtalk.h"
#include "channel/dingtalk/dingtalk_message.h"
#include "channel/kit/markdown.h"

static struct ch_arena arena;

static int teardown(void **state) {
    (void)state;
    ch_arena_release(&arena);
    return 0;
}

static bool read_message(const char *json, struct chela_channel_message *m) {
    const struct ch_json *v;
    assert_int_equal(ch_json_parse(&arena, ch_sv_str(json), CH_JSON_REPLACE, &v, NULL, NULL), 0);
    return ch_dingtalk_read(v, &arena, m);
}

#define DIRECT                                                                                 \
    "\"msgId\":\"m+/=\",\"conversationType\":\"1\",\"conversationId\":\"cid1==\","             \
    "\"senderId\":\"$:LWCP_v1:$a\",\"senderNick\":\"Ann\",\"chatbotUserId\":\"$:LWCP_v1:$b\"," \
    "\"createAt\":1700000000000"

static void test_direct(void **state) {
    struct chela_channel_message m;
    (void)state;
    assert_true(read_message("{" DIRECT
                             ",\"senderStaffId\":\"ann\",\"text\":{\"content\":\" hi \"},"
                             "\"sessionWebhook\":\"https://x\"}",
                             &m));
    assert_string_equal(m.id, "m+/=");
    assert_string_equal(m.chat, "ann");
    assert_string_equal(m.sender, "ann");
    assert_string_equal(m.also[0], "$:LWCP_v1:$a");
    assert_string_equal(m.text, "hi");
    assert_true(m.direct && m.mentioned && !m.program);
    assert_null(m.handle);
    assert_int_equal(m.ts, 1700000000000);
}

static void test_outsider(void **state) {
    struct chela_channel_message m;
    (void)state;
    assert_true(read_message("{" DIRECT ",\"text\":{\"content\":\"hi\"},\"sessionWebhook\":"
                             "\"https://x\",\"sessionWebhookExpiredTime\":1700000005000}",
                             &m));
    assert_string_equal(m.chat, "cid1==");
    assert_string_equal(m.sender, "$:LWCP_v1:$a");
    assert_null(m.also[0]);
    assert_string_equal(m.handle, "1700000005000 https://x");
}

static void test_group(void **state) {
    struct chela_channel_message m;
    (void)state;
    assert_true(read_message(
        "{\"msgId\":\"m\",\"conversationType\":\"2\",\"conversationId\":\"cid2\",\"senderId\":"
        "\"b\","
        "\"senderStaffId\":\"s\",\"chatbotUserId\":\"b\",\"isInAtList\":true,\"conversationTitle\":"
        "\"Team\",\"text\":{\"content\":\"x\",\"repliedMsg\":{\"msgId\":\"q\",\"senderId\":\"b\","
        "\"content\":{\"text\":\"before\"}}}}",
        &m));
    assert_string_equal(m.chat, "cid2");
    assert_string_equal(m.chat_name, "Team");
    assert_true(m.mentioned && m.program && !m.direct && m.answers_us);
    assert_string_equal(m.quoted->text, "before");
    assert_string_equal(m.quoted->message_id, "q");
}

static void test_files(void **state) {
    struct chela_channel_message m;
    (void)state;
    assert_true(read_message("{" DIRECT ",\"senderStaffId\":\"ann\",\"content\":{\"richText\":["
                             "{\"text\":\"a\"},{\"downloadCode\":\"d1\"},{\"text\":\"b\"}]}}",
                             &m));
    assert_string_equal(m.text, "a\nb");
    assert_int_equal(m.nfiles, 1);
    assert_string_equal(m.files[0].handle, "d1");
    assert_true(read_message("{" DIRECT ",\"senderStaffId\":\"ann\",\"content\":{\"downloadCode\":"
                             "\"d2\",\"fileName\":\"a.txt\"}}",
                             &m));
    assert_string_equal(m.files[0].name, "a.txt");
    assert_true(read_message(
        "{" DIRECT ",\"senderStaffId\":\"ann\",\"content\":{\"recognition\":\"said\"}}", &m));
    assert_string_equal(m.text, "said");
}

static void test_refused(void **state) {
    static const char *const rows[] = {
        "7",
        "null",
        "[]",
        "{}",
        "{\"msgId\":\"m\"}",
        "{\"msgId\":\"m\",\"conversationId\":\"c\"}",
        "{\"msgId\":7,\"conversationId\":\"c\",\"senderId\":\"s\"}",
        "{\"msgId\":\"\\u0000\",\"conversationId\":\"c\",\"senderId\":\"s\"}"};
    struct chela_channel_message m;
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++)
        assert_false(read_message(rows[i], &m));
}

static void test_title(void **state) {
    static const struct {
        const char *text, *title;
    } rows[] = {{"# **Bold** title\nmore", " Bold title"},
                {"", "chela"},
                {"```\nx\n```", "chela"},
                {"0123456789012345678901234567890123456789012",
                 "0123456789012345678901234567890123456789"}};
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        CH_BUF_AUTO out = {0};
        ch_dingtalk_title(&out, ch_sv_str(rows[i].text));
        assert_string_equal(ch_buf_str(&out), rows[i].title);
    }
}

static void test_format(void **state) {
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"a\nb\n\nc", "a  \nb\n\nc"},
        {"# t\na", "# t\na"},
        {"a\n| x |\n|---|\nb", "a\n```\n| x |\n|---|\n```\nb"},
        {"| x |", "```\n| x |\n```"},
        {"```\na\nb\n```\nc\nd", "```\na\nb\n```\nc  \nd"},
        {"```\na", "```\na\n```"},
        {"````\n```\n| x |\n```\n````\nc\nd", "````\n```\n| x |\n```\n````\nc  \nd"},
        {"````\na", "````\na\n````"},
        {"```x```\nc\nd", "```x```  \nc  \nd"},
        {"", ""}};
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        CH_BUF_AUTO got = {0};
        ch_kit_format(&got, ch_sv_str(rows[i].text));
        assert_string_equal(ch_buf_str(&got), rows[i].want);
    }
}

/* Neither a text nor its code makes a client fetch an image from a host that the text names. */
static void test_images(void **state) {
    static const struct {
        const char *text, *want, *exact;
    } rows[] = {
        {"a\n\nb\n", "a\n\nb\n", NULL},
        {"![a](https://x.y) !", "[a](https://x.y) !", "!\u200b[a](https://x.y) !"},
        {"![](https://x.y)", "[image](https://x.y)", "!\u200b[](https://x.y)"},
        {"![a\nb](https://x.y)", "[a\nb](https://x.y)", NULL},
        {"![a][b]\n\n[b]: https://x.y", "[a][b]\n\n[b]: https://x.y", NULL},
        {"<IMG src='https://x.y'> <i>", "<\u200bIMG src='https://x.y'> <i>", NULL},
        {"wow! [a](b) !", "wow! [a](b) !", NULL},
        {"`![a](b)` ![c](d)", "`!\u200b[a](b)` [c](d)", NULL},
        {"```rust\nvec![1]\n![a](b)\n```\n![c](d)",
         "```rust\nvec![1]\n!\u200b[a](b)\n```\n[c](d)", NULL},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        CH_BUF_AUTO got = {0}, exact = {0};
        ch_kit_images_as_links(&got, ch_sv_str(rows[i].text), false);
        assert_string_equal(ch_buf_str(&got), rows[i].want);
        ch_kit_images_as_links(&exact, ch_sv_str(rows[i].text), true);
        if (rows[i].exact)
            assert_string_equal(ch_buf_str(&exact), rows[i].exact);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_direct),  cmocka_unit_test(test_outsider),
        cmocka_unit_test(test_group),   cmocka_unit_test(test_files),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_title),
        cmocka_unit_test(test_format), cmocka_unit_test(test_images)};
    return cmocka_run_group_tests_name("dingtalk", tests, NULL, teardown);
}
