/* test_rpc_message.c -- the codec of JSON-RPC messages, and the splitter of lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "rpc/rpc_lines.h"
#include "rpc/rpc_message.h"

#define HEAD "{\"jsonrpc\":\"2.0\","

static const struct {
    const char *text;
    int rc;
    enum ch_rpc_kind kind;
    const char *id; /* NULL: none */
} cases[] = {
    {HEAD "\"id\":1,\"method\":\"ping\"}", 0, CH_RPC_REQUEST, "1"},
    {HEAD "\"id\":\"a\",\"method\":\"ping\",\"params\":{}}", 0, CH_RPC_REQUEST, "a"},
    {HEAD "\"id\":\"\",\"method\":\"ping\",\"params\":[1]}", 0, CH_RPC_REQUEST, ""},
    {HEAD "\"id\":-7,\"method\":\"x\",\"extra\":1}", 0, CH_RPC_REQUEST, "-7"},
    {HEAD "\"id\":1,\"method\":\"x\",\"params\":null}", 0, CH_RPC_REQUEST, "1"},
    {HEAD "\"method\":\"notifications/x\"}", 0, CH_RPC_NOTIFICATION, NULL},
    {HEAD "\"id\":1,\"result\":{}}", 0, CH_RPC_RESULT, "1"},
    {HEAD "\"id\":1,\"result\":null}", 0, CH_RPC_RESULT, "1"},
    {HEAD "\"id\":1,\"error\":{\"code\":-32601,\"message\":\"no\"}}", 0, CH_RPC_ERROR, "1"},
    {HEAD "\"id\":1,\"result\":{},\"error\":null}", 0, CH_RPC_RESULT, "1"},
    {HEAD "\"id\":1,\"result\":null,\"error\":{\"code\":1}}", 0, CH_RPC_ERROR, "1"},
    {HEAD "\"id\":null,\"error\":{\"code\":-32700}}", 0, CH_RPC_ERROR, NULL},
    {HEAD "\"error\":{\"code\":-32700}}", 0, CH_RPC_ERROR, NULL},
    {"", CHELA_EPARSE, 0, NULL},
    {"{", CHELA_EPARSE, 0, NULL},
    {"nonsense", CHELA_EPARSE, 0, NULL},
    {"[]", CHELA_EPROTO, 0, NULL},
    {"[" HEAD "\"id\":1,\"method\":\"a\"}]", CHELA_EPROTO, 0, NULL},
    {"1", CHELA_EPROTO, 0, NULL},
    {"{}", CHELA_EPROTO, 0, NULL},
    {"{\"id\":1,\"method\":\"a\"}", CHELA_EPROTO, 0, "1"},
    {"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"a\"}", CHELA_EPROTO, 0, "1"},
    {HEAD "\"id\":null,\"method\":\"a\"}", CHELA_EPROTO, 0, NULL},
    {HEAD "\"id\":1.5,\"method\":\"a\"}", CHELA_EPROTO, 0, NULL},
    {HEAD "\"id\":{},\"method\":\"a\"}", CHELA_EPROTO, 0, NULL},
    {HEAD "\"id\":1,\"method\":7}", CHELA_EPROTO, 0, "1"},
    {HEAD "\"id\":1,\"method\":\"\"}", CHELA_EPROTO, 0, "1"},
    {HEAD "\"id\":1,\"method\":\"a\",\"params\":\"x\"}", CHELA_EPROTO, 0, "1"},
    {HEAD "\"id\":1}", CHELA_EPROTO, 0, "1"},
    {HEAD "\"id\":1,\"result\":1,\"error\":{\"code\":1}}", CHELA_EPROTO, 0, "1"},
    {HEAD "\"result\":1}", CHELA_EPROTO, 0, NULL},
    {HEAD "\"id\":1,\"error\":{\"code\":\"x\"}}", CHELA_EPROTO, 0, "1"},
    {HEAD "\"id\":1,\"error\":\"x\"}", CHELA_EPROTO, 0, "1"},
};

static void test_reads(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_ARENA_AUTO arena = {0};
        struct ch_rpc_message m;
        struct chela_error err = {0};
        int rc = ch_rpc_read(&arena, ch_sv_str(cases[i].text), &m, &err);
        if (rc != cases[i].rc || err.code != rc)
            fail_msg("%s: %d %s", cases[i].text, rc, err.message);
        assert_int_equal(!m.id.text.p, !cases[i].id);
        if (cases[i].id)
            assert_true(ch_sv_is(m.id.text, cases[i].id));
        if (rc == 0)
            assert_int_equal(m.kind, cases[i].kind);
    }
}

static void test_limits_names(void **state) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO text = {0};
    struct ch_rpc_message m;
    char name[CH_LIMIT_RPC_NAME + 2];

    (void)state;
    memset(name, 'a', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    ch_buf_addf(&text, HEAD "\"id\":1,\"method\":\"%s\"}", name);
    assert_int_equal(ch_rpc_read(&arena, ch_buf_sv(&text), &m, NULL), CHELA_ELIMIT);
    ch_buf_clear(&text);
    ch_buf_addf(&text, HEAD "\"id\":\"%s\",\"method\":\"a\"}", name);
    assert_int_equal(ch_rpc_read(&arena, ch_buf_sv(&text), &m, NULL), CHELA_EPROTO);
    assert_null(m.id.text.p);
}

static void test_invalid_utf8_is_replaced(void **state) {
    CH_ARENA_AUTO arena = {0};
    struct ch_rpc_message m;

    (void)state;
    assert_int_equal(
        ch_rpc_read(&arena, CH_SV(HEAD "\"id\":1,\"result\":{\"t\":\"a\xff\"}}"), &m, NULL), 0);
    assert_true(ch_sv_is(ch_json_get_str(m.result, "t"), "a\xef\xbf\xbd"));
}

static void test_writes(void **state) {
    CH_BUF_AUTO out = {0};
    struct ch_rpc_id text = {CH_SV("q\"\n"), true}, number = {CH_SV("12"), false}, none = {0};

    (void)state;
    ch_rpc_write_request(&out, 3, "a/b", CH_SV("{\n\"x\":1}"));
    assert_string_equal(ch_buf_str(&out),
                        HEAD "\"id\":3,\"method\":\"a/b\",\"params\":{ \"x\":1}}");
    ch_buf_clear(&out);
    ch_rpc_write_notification(&out, "n", ch_sv(NULL, 0));
    assert_string_equal(ch_buf_str(&out), HEAD "\"method\":\"n\"}");
    ch_buf_clear(&out);
    ch_rpc_write_result(&out, text, CH_SV("{}"));
    assert_string_equal(ch_buf_str(&out), HEAD "\"id\":\"q\\\"\\n\",\"result\":{}}");
    ch_buf_clear(&out);
    ch_rpc_write_error(&out, number, -1, CH_SV("no"), CH_SV("[1]"));
    assert_string_equal(ch_buf_str(&out),
                        HEAD "\"id\":12,\"error\":{\"code\":-1,\"message\":\"no\",\"data\":[1]}}");
    ch_buf_clear(&out);
    ch_rpc_write_error(&out, none, -32700, CH_SV("x"), ch_sv(NULL, 0));
    assert_string_equal(ch_buf_str(&out),
                        HEAD "\"id\":null,\"error\":{\"code\":-32700,\"message\":\"x\"}}");
}

static void test_ids(void **state) {
    struct ch_rpc_id one = {CH_SV("1"), false}, text = {CH_SV("1"), true}, none = {0};

    (void)state;
    assert_true(ch_rpc_id_is(one, 1));
    assert_false(ch_rpc_id_is(text, 1));
    assert_false(ch_rpc_id_is(none, 0));
    assert_false(ch_rpc_id_eq(one, text));
    assert_true(ch_rpc_id_eq(text, text));
}

/* --- lines */

struct seen {
    struct ch_buf text;
    int left; /* lines until the reader stops */
};

static bool on_line(struct ch_sv line, void *user) {
    struct seen *s = user;

    ch_buf_add_sv(&s->text, line);
    ch_buf_addc(&s->text, '|');
    return --s->left != 0;
}

static int split(const char *text, size_t piece, size_t max, int left, struct seen *s) {
    struct ch_rpc_lines l;
    size_t n = strlen(text);
    int rc = 0;

    *s = (struct seen){.left = left};
    ch_rpc_lines_init(&l, max, on_line, s);
    for (size_t at = 0; at < n && rc == 0 && s->left != 0; at += piece)
        rc = ch_rpc_lines_feed(&l, ch_sv(text + at, CH_MIN(piece, n - at)), NULL);
    ch_rpc_lines_release(&l);
    return rc;
}

static void test_lines_at_every_split(void **state) {
    static const char text[] = "one\n\n\r\ntwo\r\nthree and more\nrest";
    struct seen s;

    (void)state;
    for (size_t piece = 1; piece <= sizeof(text); piece++) {
        assert_int_equal(split(text, piece, 0, -1, &s), 0);
        assert_string_equal(ch_buf_str(&s.text), "one|two|three and more|");
        ch_buf_release(&s.text);
        assert_int_equal(split(text, piece, 0, 2, &s), 0);
        assert_string_equal(ch_buf_str(&s.text), "one|two|");
        ch_buf_release(&s.text);
        assert_int_equal(split(text, piece, 8, -1, &s), CHELA_ELIMIT);
        assert_string_equal(ch_buf_str(&s.text), "one|two|");
        ch_buf_release(&s.text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads),
        cmocka_unit_test(test_limits_names),
        cmocka_unit_test(test_invalid_utf8_is_replaced),
        cmocka_unit_test(test_writes),
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_lines_at_every_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
