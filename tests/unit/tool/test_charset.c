/* test_charset.c -- which encoding a page is in, and what it decodes to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "tool/builtin/web/charset.h"

#define NIHAO_GBK "\xc4\xe3\xba\xc3"
#define NIHAO "\u4f60\u597d"

static const struct {
    const char *what, *type, *bytes, *want, *label;
} cases[] = {
    {"unlabelled UTF-8", "text/html", NIHAO, NIHAO, "utf-8"},
    {"unlabelled latin", "text/html", "caf\xe9 \x80 \x93x\x94", "caf\u00e9 \u20ac \u201cx\u201d",
     "windows-1252"},
    {"labelled latin-1 is windows-1252", "text/html; charset=ISO-8859-1", "\x80\xe9",
     "\u20ac\u00e9", "iso-8859-1"},
    {"labelled GBK", "text/html; charset=GBK", NIHAO_GBK, NIHAO, "gbk"},
    {"gb2312 means its superset", "text/html;charset=\"gb2312\"", NIHAO_GBK "\x81\x30\x81\x30",
     NIHAO "\xc2\x80", "gb2312"},
    {"single quotes, spaces, case", "text/html ; x=y ; CharSet = 'Gb18030' ", NIHAO_GBK, NIHAO,
     "gb18030"},
    {"meta", "text/html", "<html><meta charset=\"gbk\"><p>" NIHAO_GBK,
     "<html><meta charset=\"gbk\"><p>" NIHAO, "gbk"},
    {"meta, the long way", "text/html",
     "<META http-equiv=Content-Type content='text/html; charset=Big5'>\xa7\x41\xa6\x6e",
     "<META http-equiv=Content-Type content='text/html; charset=Big5'>" NIHAO, "big5"},
    {"meta that says UTF-16 cannot be", "", "<meta charset=utf-16>\u00e9",
     "<meta charset=utf-16>\u00e9", "utf-8"},
    {"the header comes before meta", "text/html; charset=utf-8", "<meta charset=gbk>" NIHAO,
     "<meta charset=gbk>" NIHAO, "utf-8"},
    {"a byte order mark comes before both", "text/html; charset=gbk",
     "\xef\xbb\xbf<meta charset=gbk>" NIHAO, "<meta charset=gbk>" NIHAO, "utf-8"},
    {"an unknown label counts as none", "text/html; charset=klingon", "caf\xe9", "caf\u00e9",
     "windows-1252"},
    {"XML", "text/xml", "<?xml version='1.0' encoding='windows-1251'?>\xcf\xf0",
     "<?xml version='1.0' encoding='windows-1251'?>\u041f\u0440", "windows-1251"},
    {"Japanese", "text/html; charset=Shift_JIS", "\x93\xfa\x96\x7b", "\u65e5\u672c", "shift_jis"},
    {"more Japanese", "text/html; charset=euc-jp", "\xc6\xfc\xcb\xdc", "\u65e5\u672c", "euc-jp"},
    {"Korean", "text/html; charset=euc-kr", "\xc7\xd1", "\ud55c", "euc-kr"},
    {"Cyrillic", "text/html; charset=koi8-r", "\xf0\xd2", "\u041f\u0440", "koi8-r"},
    {"wrong bytes of UTF-8", "text/html; charset=utf-8", "a\xff\xfe z", "a\ufffd\ufffd z", "utf-8"},
    {"wrong bytes of GBK", "text/html; charset=gbk",
     "a\xff"
     "b" NIHAO_GBK,
     "a\ufffdb" NIHAO, "gbk"},
    {"cut off in a character", "text/html; charset=gbk", NIHAO_GBK "\xc4", NIHAO "\ufffd", "gbk"},
    {"nothing", "", "", "", "utf-8"},
};

static void test_cases(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO got = {0};
        const char *label =
            ch_charset_decode(ch_sv_str(cases[i].bytes), ch_sv_str(cases[i].type), &got);
        if (strcmp(ch_buf_str(&got), cases[i].want) != 0 || strcmp(label, cases[i].label) != 0)
            fail_msg("%s: %s %s", cases[i].what, label, ch_buf_str(&got));
    }
}

static void test_utf16(void **state) {
    static const char little[] = "\xff\xfe`Oe\0\x3d\xd8\x00\xde", big[] = "\0a\0\0\xd8\x3d";
    CH_BUF_AUTO got = {0};

    (void)state;
    assert_string_equal(ch_charset_decode(ch_sv(little, 10), CH_SV(""), &got), "utf-16le");
    assert_string_equal(got.p, "\u4f60e\U0001f600");
    ch_buf_clear(&got);
    assert_string_equal(
        ch_charset_decode(ch_sv(big, 6), CH_SV("text/plain;charset=utf-16be"), &got), "utf-16be");
    assert_string_equal(got.p, "a \ufffd");
}

/* Every label of the table works here, on any bytes, and gives UTF-8. */
static void test_any_bytes(void **state) {
    static const char *const names[] = {
        "utf-8",     "iso-8859-1",  "iso-8859-2", "windows-1251", "koi8-u", "gb18030",     "big5",
        "shift_jis", "iso-2022-jp", "euc-kr",     "windows-874",  "utf-16", "windows-1255"};
    char bytes[4096];
    uint32_t seed = 7;

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)((seed = seed * 1664525u + 1013904223u) >> 24);
    for (size_t i = 0; i < CH_LEN(names); i++) {
        CH_BUF_AUTO type = {0}, got = {0};
        ch_buf_addf(&type, "text/html;charset=%s", names[i]);
        assert_string_equal(ch_charset_decode(ch_sv(bytes, sizeof(bytes)), ch_buf_sv(&type), &got),
                            names[i]);
        assert_true(got.n > 1000);
        assert_true(ch_utf8_valid(ch_buf_sv(&got)));
        assert_null(memchr(got.p, '\0', got.n));
    }
}

static void test_params(void **state) {
    static const struct {
        const char *header, *want;
    } params[] = {
        {"text/html; charset=x", "x"},
        {"text/html;charset=\"a;b", "a"},
        {"text/html", NULL},
        {"charset=x", NULL},
        {"text/html; charset", NULL},
        {"text/html; charset=", ""},
        {"text/html;;; charset = x ", "x"},
        {"", NULL},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(params); i++) {
        struct ch_sv got = ch_header_param(ch_sv_str(params[i].header), "charset");
        if ((got.p != NULL) != (params[i].want != NULL) ||
            (got.p && !ch_sv_is(got, params[i].want)))
            fail_msg("%s: %.*s", params[i].header, CH_SV_FMT(got));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_utf16),
        cmocka_unit_test(test_any_bytes),
        cmocka_unit_test(test_params),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
