/* test_feishu_card.c -- cards to decide by, and what comes back of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/error.h"
#include "channel/feishu.h"
#include "channel/feishu_card.h"

static const struct ch_json *parse(struct ch_arena *a, const char *text) {
    const struct ch_json *v;
    assert_int_equal(ch_json_parse(a, ch_sv_str(text), CH_JSON_STRICT, &v, NULL, NULL), 0);
    return v;
}

static const struct ch_json *elements(const struct ch_json *card) {
    return ch_json_path(card, "body", "elements", NULL);
}

static void test_ask(void **state) {
    (void)state;
    static const char text[] = "exec: rm -rf \"x\"\n<at id=all></at> **bold** \xe4\xbd\xa0";
    static const char *const words[] = {"allow-once", "allow-always", "deny"};
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO out = {0};
    ch_feishu_card_ask(&out, text, "feishu:oc_1", "ap_1");
    const struct ch_json *parts = elements(parse(&a, ch_buf_str(&out)));
    const struct ch_json *shown = ch_json_get(ch_json_at(parts, 0), "text");
    assert_true(ch_sv_is(ch_json_get_str(shown, "tag"), "plain_text"));
    assert_true(ch_sv_is(ch_json_get_str(shown, "content"), text));
    for (size_t i = 0; i < CH_LEN(words); i++) {
        const struct ch_json *button = ch_json_at(parts, i + 1);
        const struct ch_json *value =
            ch_json_get(ch_json_at(ch_json_get(button, "behaviors"), 0), "value");
        assert_true(ch_sv_is(ch_json_get_str(value, "decision"), words[i]));
        assert_true(ch_sv_is(ch_json_get_str(value, "approval"), "ap_1"));
        assert_true(ch_sv_is(ch_json_get_str(value, "session"), "feishu:oc_1"));
    }
}

static void test_decided(void **state) {
    (void)state;
    static const struct {
        int rc;
        const char *word, *type, *title; /* title NULL: the card stays */
    } cases[] = {
        {0, "allow-once", "success", "Allowed once by ou_1"},
        {0, "allow-always", "success", "Allowed always by ou_1"},
        {0, "deny", "success", "Denied by ou_1"},
        {CHELA_EEXIST, "deny", "error", "Decided before"},
        {CHELA_ENOENT, "deny", "error", "Decided before"},
        {CHELA_EPERM, "allow-always", "error", NULL},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_ARENA_AUTO a = {0};
        CH_BUF_AUTO out = {0};
        struct chela_error err = {0};
        struct chela_channel_decision d = {
            .session = "feishu:oc_1", .approval = "ap_1", .word = cases[i].word, .by = "ou_1"};
        if (cases[i].rc)
            ch_fail(&err, cases[i].rc, "because");
        ch_feishu_card_decided(&out, &d, "what", cases[i].rc ? &err : NULL);
        const struct ch_json *v = parse(&a, ch_buf_str(&out));
        const struct ch_json *card = ch_json_path(v, "card", "data", NULL);
        assert_true(ch_sv_is(ch_json_get_str(ch_json_get(v, "toast"), "type"), cases[i].type));
        assert_int_equal(card != NULL, cases[i].title != NULL);
        if (!card)
            continue;
        const struct ch_json *title = ch_json_path(card, "header", "title", NULL);
        assert_true(ch_sv_is(ch_json_get_str(title, "content"), cases[i].title));
        assert_int_equal(elements(card)->n, 1);
    }
}

static void test_press(void **state) {
    (void)state;
#define VALUE(...) "\"action\":{\"value\":{" __VA_ARGS__ "}},"
#define WHO "\"operator\":{\"open_id\":\"ou_1\"},\"context\":{\"open_chat_id\":\"oc_1\"}}"
#define ALL "\"session\":\"s\",\"approval\":\"a\",\"decision\":\"deny\""
    static const struct {
        const char *event;
        bool ours;
    } cases[] = {
        {"{" VALUE("\"chela\":\"approval\"," ALL) WHO, true},
        {"{" VALUE(ALL) WHO, false},
        {"{" VALUE("\"chela\":\"other\"," ALL) WHO, false},
        {"{" VALUE("\"chela\":\"approval\",\"session\":\"s\",\"decision\":\"deny\"") WHO, false},
        {"{" VALUE("\"chela\":\"approval\",\"approval\":7,\"session\":\"s\",\"decision\":\"d\"")
             WHO, false},
        {"{" VALUE("\"chela\":\"approval\"," ALL) "\"context\":{\"open_chat_id\":\"oc_1\"}}",
         false},
        {"{" VALUE("\"chela\":\"approval\"," ALL) "\"operator\":{\"open_id\":\"ou_1\"}}", false},
        {"{\"action\":{\"value\":\"text\"}," WHO, false},
        {"{}", false},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_ARENA_AUTO a = {0};
        struct ch_feishu_press p;
        if (ch_feishu_card_read(parse(&a, cases[i].event), &a, &p) != cases[i].ours)
            fail_msg("case %zu: %s", i, cases[i].event);
        if (cases[i].ours) {
            assert_string_equal(p.decision.by, "ou_1");
            assert_string_equal(p.chat, "oc_1");
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ask), cmocka_unit_test(test_decided),
                                       cmocka_unit_test(test_press)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
