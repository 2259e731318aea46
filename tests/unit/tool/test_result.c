/* test_result.c -- what a model is shown of what a tool said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "tool/result/result.h"
#include "json/json.h"
#include "tool/result/sanitize.h"

static const struct {
    const char *what, *in, *want;
} cleaning[] = {
    {"plain", "hello\tworld\r\n", "hello\tworld\r\n"},
    {"colour", "\x1b[1;31mred\x1b[0m", "red"},
    {"cursor", "a\x1b[2Ab\x1b[Hc", "abc"},
    {"private CSI", "\x1b[?25lx\x1b[?25h", "x"},
    {"title, BEL", "\x1b]0;evil\atext", "text"},
    {"title, ST", "\x1b]0;evil\x1b\\text", "text"},
    {"hyperlink", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"},
    {"clipboard", "\x1b]52;c;aGk=\a", ""},
    {"DCS", "\x1bP1$r0m\x1b\\ok", "ok"},
    {"charset", "\x1b(Bx", "x"},
    {"reset",
     "\x1b"
     "cx",
     "x"},
    {"ESC at the end", "x\x1b", "x"},
    {"CSI at the end", "x\x1b[3", "x"},
    {"string never closed", "\x1b]0;text goes on", "0;text goes on"},
    {"8-bit CSI in UTF-8",
     "\xc2\x9b"
     "31mred",
     "red"},
    {"8-bit OSC in UTF-8",
     "\xc2\x9d"
     "0;t\xc2\x9cx",
     "x"},
    {"other C1",
     "a\xc2\x85"
     "b",
     "ab"},
    {"not C1", "\xc2\xa9", "\xc2\xa9"},
    {"controls",
     "a\x01\b\x7f"
     "b",
     "ab"},
    {"bad UTF-8",
     "a\xff\xc3"
     "b",
     "a\xef\xbf\xbd\xef\xbf\xbd"
     "b"},
    {"a lone C2", "a\xc2", "a\xef\xbf\xbd"},
    {"surrogate", "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    {"tag of a note", "a <runtime_note>b</runtime_note>", "a &lt;runtime_note>b&lt;/runtime_note>"},
    {"tag with blanks", "< /\tRUNTIME_note", "&lt; /\tRUNTIME_note"},
    {"tag with a control inside", "<run\x01time_note>", "&lt;runtime_note>"},
    {"tag after a control", "<\x1b[0m\rruntime_note>", "&lt;\rruntime_note>"},
    {"tag with a title inside", "</runtime\x1b]0;x\a_note>", "&lt;/runtime_note>"},
    {"no tag", "<runtime notes> <b> <runtime_not", "<runtime notes> <b> <runtime_not"},
    {"a title before one that never ends", "<\x1b]0;a\a\x1b]0;b", "<0;b"},
    {"Chinese", "\xe4\xbd\xa0\xe5\xa5\xbd", "\xe4\xbd\xa0\xe5\xa5\xbd"},
};

static void test_cleaning(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cleaning); i++) {
        CH_BUF_AUTO got = {0};
        ch_text_clean(&got, ch_sv_str(cleaning[i].in));
        if (strcmp(ch_buf_str(&got), cleaning[i].want) != 0)
            fail_msg("%s: %s", cleaning[i].what, ch_buf_str(&got));
    }
}

static void test_no_escape_survives(void **state) {
    uint32_t seed = 1;

    (void)state;
    for (int i = 0; i < 5000; i++) {
        char text[64];
        for (size_t k = 0; k < sizeof(text); k++) {
            static const char pool[] = "\x1b[]P\\;\a\xc2\x9b\x9d\x9c\x80\xe4\xbd\xa0"
                                       "1m aZ\n\x7f";
            seed = seed * 1664525u + 1013904223u;
            text[k] = pool[(seed >> 16) % (sizeof(pool) - 1)];
        }
        CH_BUF_AUTO got = {0};
        ch_text_clean(&got, ch_sv(text, sizeof(text)));
        assert_true(ch_utf8_valid(ch_buf_sv(&got)));
        assert_null(got.n ? memchr(got.p, 0x1b, got.n) : NULL);
        for (size_t k = 0; k + 1 < got.n; k++)
            assert_false((unsigned char)got.p[k] == 0xc2 && (unsigned char)got.p[k + 1] < 0xa0);
    }
}

static size_t characters(struct ch_sv s) {
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

static void say_error(struct ch_answer *a, const char *type, const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    ch_answer_error(a, type, fmt, ap);
    va_end(ap);
}

static void test_errors(void **state) {
    static const struct {
        const char *type, *want;
        bool retryable;
    } types[] = {
        {"timeout", "timeout", true},
        {"rate_limited", "rate_limited", true},
        {"network", "network", true},
        {"unavailable", "unavailable", true},
        {"invalid_arguments", "invalid_arguments", false},
        {"not_found", "not_found", false},
        {"permission_denied", "permission_denied", false},
        {"cancelled", "cancelled", false},
        {"internal", "internal", false},
        {"made_up", "internal", false},
    };

    (void)state;
    for (size_t i = 0; i < CH_LEN(types); i++) {
        struct ch_answer a = {0};
        struct ch_outcome o = {0};
        CH_BUF_AUTO want = {0};
        ch_answer_text(&a, CH_SV("said before"));
        say_error(&a, types[i].type, "no \"%d\"", 5);
        ch_answer_conclude(&a, 0, &o);
        ch_buf_addf(&want,
                    "{\"error\":\"no \\\"5\\\"\",\"error_type\":\"%s\",\"retryable\":%s,"
                    "\"details\":{}}",
                    types[i].want, types[i].retryable ? "true" : "false");
        assert_string_equal(ch_buf_str(&o.content), ch_buf_str(&want));
        assert_true(o.is_error);
        assert_int_equal(o.retryable, types[i].retryable);
        assert_string_equal(o.error_type, types[i].want);
        ch_outcome_release(&o);
    }
}

static void test_return_codes(void **state) {
    static const struct {
        int rc;
        const char *said, *type, *content;
    } cases[] = {
        {0, "", NULL, ""},
        {0, "fine", NULL, "fine"},
        {CHELA_ETIMEOUT, "", "timeout", "\"timed out\""},
        {CHELA_ENET, "", "network", "network failure"},
        {CHELA_EINVAL, "", "invalid_arguments", "invalid argument"},
        {CHELA_ENOENT, "", "not_found", "not found"},
        {CHELA_EPERM, "", "permission_denied", "not permitted"},
        {CHELA_EBUSY, "", "unavailable", "busy"},
        {CHELA_ECANCELED, "", "cancelled", "cancelled"},
        {CHELA_EIO, "disk on fire", "internal", "\"disk on fire\""},
        {-12345, "", "internal", "unknown error"},
    };

    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_answer a = {0};
        struct ch_outcome o = {0};
        ch_answer_text(&a, ch_sv_str(cases[i].said));
        ch_answer_conclude(&a, cases[i].rc, &o);
        assert_int_equal(o.is_error, cases[i].type != NULL);
        if (cases[i].type)
            assert_string_equal(o.error_type, cases[i].type);
        assert_non_null(strstr(ch_buf_str(&o.content), cases[i].content));
        ch_outcome_release(&o);
    }
}

static void test_details(void **state) {
    static const struct {
        const char *in, *want;
    } cases[] = {
        {" {\"a\": 1} ", "{\"a\": 1}"},
        {"[1]", "[1]"},
        {"no json", "\"no json\""},
        {"", "\"\""},
    };

    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_answer a = {0};
        struct ch_outcome o = {0};
        ch_answer_details(&a, CH_SV("{\"old\":1}"));
        ch_answer_details(&a, ch_sv_str(cases[i].in));
        say_error(&a, "internal", "x");
        ch_answer_conclude(&a, 0, &o);
        assert_string_equal(ch_buf_str(&o.details), cases[i].want);
        assert_non_null(strstr(ch_buf_str(&o.content), cases[i].want));
        ch_outcome_release(&o);
    }
}

/* Whatever the size of message and details, an error is JSON below the cap. */
static void test_long_errors(void **state) {
    static const size_t sizes[] = {100, 3999, 4001, 100000};

    (void)state;
    for (size_t i = 0; i < CH_LEN(sizes) * CH_LEN(sizes); i++) {
        struct ch_answer a = {0};
        struct ch_outcome o = {0};
        CH_BUF_AUTO text = {0}, json = {0};
        CH_ARENA_AUTO arena = {0};
        const struct ch_json *v;
        for (size_t k = 0; k < sizes[i / 4]; k++)
            ch_buf_addc(&text, '"');
        ch_buf_addc(&json, '"');
        for (size_t k = 0; k < sizes[i % 4] * 3; k++)
            ch_buf_addc(&json, 'd');
        ch_buf_addc(&json, '"');
        say_error(&a, "internal", "%s", ch_buf_str(&text));
        ch_answer_details(&a, ch_buf_sv(&json));
        ch_answer_conclude(&a, 0, &o);
        assert_true(characters(ch_buf_sv(&o.content)) <= CH_LIMIT_RESULT_CHARS);
        assert_int_equal(
            ch_json_parse(&arena, ch_buf_sv(&o.content), CH_JSON_STRICT, &v, NULL, NULL), 0);
        assert_non_null(ch_json_get(v, "details"));
        ch_outcome_release(&o);
    }
}

static void test_huge_text(void **state) {
    struct ch_answer a = {0};
    struct ch_outcome o = {0};
    char *mb = ch_malloc(CH_MB);

    (void)state;
    memset(mb, 'x', CH_MB);
    for (int i = 0; i < 40; i++)
        ch_answer_text(&a, ch_sv(mb, CH_MB));
    assert_int_equal(a.text.n, CH_LIMIT_TOOL_OUTPUT);
    ch_answer_conclude(&a, 0, &o);
    assert_true(o.truncated);
    assert_non_null(strstr(ch_buf_str(&o.content), "and 25165824 bytes after the end"));
    ch_outcome_release(&o);
    ch_free(mb);
}

static void test_media(void **state) {
    static const struct {
        const char *in, *want;
    } cases[] = {{"f", "Zg=="},
                 {"fo", "Zm8="},
                 {"foo", "Zm9v"},
                 {"foob", "Zm9vYg=="},
                 {"\xff\xfe\xfd", "//79"}};
    struct ch_answer a = {0};
    struct ch_outcome o = {0};

    (void)state;
    ch_answer_media(&a, "image/png", "", 0); /* a message with an empty picture cannot be read */
    assert_int_equal(a.nmedia, 0);
    for (size_t i = 0; i < CH_LEN(cases); i++)
        ch_answer_media(&a, "image/png", cases[i].in, strlen(cases[i].in));
    for (size_t i = 0; i < CH_LEN(cases); i++)
        assert_string_equal(a.media[i].data, cases[i].want);
    for (size_t i = 0; i < 2 * CH_LIMIT_RESULT_PARTS; i++)
        ch_answer_media(&a, "image/png", "x", 1);
    assert_int_equal(a.nmedia, CH_LIMIT_RESULT_PARTS);
    ch_answer_conclude(&a, 0, &o);
    assert_int_equal(o.nmedia, CH_LIMIT_RESULT_PARTS);
    assert_non_null(strstr(ch_buf_str(&o.content), "[0 bytes of image/png are left out]\n"));
    assert_non_null(strstr(ch_buf_str(&o.content), "left out: too much"));
    ch_outcome_release(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cleaning),
        cmocka_unit_test(test_no_escape_survives),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_return_codes),
        cmocka_unit_test(test_details),
        cmocka_unit_test(test_long_errors),
        cmocka_unit_test(test_huge_text),
        cmocka_unit_test(test_media),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
