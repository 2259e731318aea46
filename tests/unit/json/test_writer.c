/* test_writer.c -- the bytes that come out, and that they read back the same. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "json/number.h"
#include "json/writer.h"
#include "support/comma_locale.h"

static void test_calls(void **state) {
    (void)state;
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "s", CH_SV("x"));
    ch_jw_kcstr(&w, "c", "y");
    ch_jw_kcstr(&w, "none", NULL);
    ch_jw_kint(&w, "i", -5);
    ch_jw_kbool(&w, "b", true);
    ch_jw_kraw(&w, "r", CH_SV("[1, 2]"));
    ch_jw_key_sv(&w, CH_SV("a\"b"));
    ch_jw_begin(&w, '[');
    ch_jw_null(&w);
    ch_jw_bool(&w, false);
    ch_jw_double(&w, 0.5);
    ch_jw_begin(&w, '{');
    ch_jw_end(&w, '}');
    ch_jw_begin(&w, '[');
    ch_jw_end(&w, ']');
    ch_jw_str(&w, ch_sv(NULL, 0));
    ch_jw_value(&w, NULL);
    ch_jw_end(&w, ']');
    ch_jw_kbegin(&w, "o", '{');
    ch_jw_kdouble(&w, "d", 0.25);
    ch_jw_kvalue(&w, "v", NULL);
    ch_jw_end(&w, '}');
    ch_jw_key(&w, "last");
    ch_jw_int(&w, 0);
    ch_jw_end(&w, '}');
    assert_string_equal(ch_buf_str(&out),
                        "{\"s\":\"x\",\"c\":\"y\",\"none\":null,\"i\":-5,\"b\":true,\"r\":[1, 2],"
                        "\"a\\\"b\":[null,false,0.5,{},[],\"\",null],"
                        "\"o\":{\"d\":0.25,\"v\":null},\"last\":0}");
}

static void test_strings(void **state) {
    (void)state;
    static const struct {
        struct ch_sv in;
        const char *want;
    } cases[] = {
        {{"", 0}, "\"\""},
        {{"plain", 5}, "\"plain\""},
        {{"a\"b\\c/d", 7}, "\"a\\\"b\\\\c/d\""},
        {{"\b\f\n\r\t", 5}, "\"\\b\\f\\n\\r\\t\""},
        {{"\0\x01\x1f\x7f", 4}, "\"\\u0000\\u0001\\u001f\x7f\""},
        {{"\xe4\xbd\xa0\xf0\x9f\x98\x80", 7}, "\"\xe4\xbd\xa0\xf0\x9f\x98\x80\""},
        {{"\xe2\x80\xa8", 3}, "\"\xe2\x80\xa8\""},
        {{"a\xff"
          "b",
          3},
         "\"a\xef\xbf\xbd"
         "b\""},
        {{"\xed\xa0\x80", 3}, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {{"\xe4\xbd", 2}, "\"\xef\xbf\xbd\xef\xbf\xbd\""},
        {{"seven..\n", 8}, "\"seven..\\n\""},
        {{"a long plain run and then\n one more", 35}, "\"a long plain run and then\\n one more\""},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO out = {0};
        CH_BUF_AUTO inner = {0};
        ch_json_quote(&out, cases[i].in);
        assert_string_equal(ch_buf_str(&out), cases[i].want);
        ch_json_escape(&inner, cases[i].in);
        assert_int_equal(inner.n, out.n - 2);
        assert_memory_equal(ch_buf_str(&inner), cases[i].want + 1, inner.n);
    }
}

static void test_integers(void **state) {
    (void)state;
    static const struct {
        int64_t v;
        const char *want;
    } cases[] = {
        {0, "0"},
        {-1, "-1"},
        {10, "10"},
        {INT64_MAX, "9223372036854775807"},
        {INT64_MIN, "-9223372036854775808"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO out = {0};
        struct ch_jw w = ch_jw(&out);
        ch_jw_int(&w, cases[i].v);
        assert_string_equal(ch_buf_str(&out), cases[i].want);
    }
}

static void expect_double(double v, const char *want) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_double(&w, v);
    assert_string_equal(ch_buf_str(&out), want);
}

static void test_doubles(void **state) {
    (void)state;
    static const struct {
        double v;
        const char *want;
    } cases[] = {
        {0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {-1.5, "-1.5"},
        {0.1, "0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {123456789012345680.0, "1.2345678901234568e+17"},
        {9007199254740993.0, "9007199254740992"},
        {1e21, "1e+21"},
        {1e-7, "1e-7"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {DBL_MIN, "2.2250738585072014e-308"},
        {5e-324, "5e-324"},
        {1e-310, "1e-310"},
        {INFINITY, "null"},
        {-INFINITY, "null"},
        {NAN, "null"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++)
        expect_double(cases[i].v, cases[i].want);
}

/* Bits at random: the text must read back as the same double, and the reader
 * must agree with the C library on it. */
static void test_doubles_read_back(void **state) {
    (void)state;
    uint64_t bits = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        CH_ARENA_AUTO a = {0};
        CH_BUF_AUTO out = {0};
        struct ch_jw w = ch_jw(&out);
        const struct ch_json *v;
        double d;
        bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
        uint64_t kind = i % 4 ? bits : (bits >> 40) << 40; /* some with few digits */
        memcpy(&d, &kind, sizeof(d));
        if (!isfinite(d))
            continue;
        ch_jw_double(&w, d);
        assert_int_equal(ch_json_parse(&a, ch_buf_sv(&out), CH_JSON_STRICT, &v, NULL, NULL), 0);
        assert_true(ch_json_double(v, NAN) == d);
        assert_true(strtod(ch_buf_str(&out), NULL) == d);
    }
}

static void test_doubles_in_another_locale(void **state) {
    (void)state;
    char *end;
    if (!comma_locale_enter()) {
        print_message("no locale with a decimal comma is installed\n");
        skip();
    }
    CH_ARENA_AUTO a = {0};
    const struct ch_json *v;
    struct ch_sv text = CH_SV("[0.1,3.141592653589793238462643383279]");
    expect_double(0.1, "0.1");
    expect_double(1.5e300, "1.5e+300");
    ch_json_parse(&a, text, CH_JSON_STRICT, &v, NULL, NULL);
    assert_true(ch_json_double(ch_json_at(v, 0), 0) == 0.1);
    assert_true(ch_json_double(ch_json_at(v, 1), 0) == 3.141592653589793);
    assert_true(ch_number_strtod("0.25x", &end) == 0.25 && *end == 'x');
    comma_locale_leave();
}

static void test_values_round_trip(void **state) {
    (void)state;
    static const char *const texts[] = {
        "null",
        "[]",
        "{}",
        "[1e400,9223372036854775808,0.1,-0,-0.0,1E5,100000000000000000000000000000000001]",
        "{\"a\":{\"b\":[{},[],{\"c\":null}]},\"d\":[true,false]}",
        "[[[[1],2],3],[[4]]]",
        "{\"a\":1,\"a\":2,\"\":\"\"}",
        "[\"a\\n\\\"\\\\b\",\"\xe4\xbd\xa0\",\"\\u0000\"]",
    };
    for (size_t i = 0; i < CH_LEN(texts); i++) {
        CH_ARENA_AUTO a = {0};
        CH_BUF_AUTO out = {0};
        struct ch_jw w = ch_jw(&out);
        const struct ch_json *v;
        assert_int_equal(ch_json_parse(&a, ch_sv_str(texts[i]), CH_JSON_STRICT, &v, NULL, NULL), 0);
        ch_jw_value(&w, v);
        assert_string_equal(ch_buf_str(&out), texts[i]);
    }
}

/* A value inside of a tree is written alone. */
static void test_subtrees(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    const struct ch_json *v;
    ch_json_parse(&a, CH_SV("{\"a\":[1,{\"b\":2}],\"c\":3}"), CH_JSON_STRICT, &v, NULL, NULL);
    ch_jw_begin(&w, '[');
    ch_jw_value(&w, ch_json_get(v, "a"));
    ch_jw_value(&w, ch_json_get(v, "c"));
    ch_jw_end(&w, ']');
    assert_string_equal(ch_buf_str(&out), "[[1,{\"b\":2}],3]");
}

/* The buffer's cap is exact, and an overflow is seen at the end. */
static void test_overflow(void **state) {
    (void)state;
    CH_BUF_AUTO exact = {.max = 13};
    struct ch_jw w = ch_jw(&exact);
    ch_jw_begin(&w, '[');
    ch_jw_cstr(&w, "12345");
    ch_jw_int(&w, 123);
    ch_jw_end(&w, ']');
    assert_false(exact.overflow);
    assert_string_equal(ch_buf_str(&exact), "[\"12345\",123]");
    CH_BUF_AUTO small = {.max = 12};
    w = ch_jw(&small);
    ch_jw_begin(&w, '[');
    ch_jw_cstr(&w, "12345");
    ch_jw_int(&w, 123);
    ch_jw_end(&w, ']');
    assert_true(small.overflow);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_doubles_read_back),
        cmocka_unit_test(test_doubles_in_another_locale),
        cmocka_unit_test(test_values_round_trip),
        cmocka_unit_test(test_subtrees),
        cmocka_unit_test(test_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
