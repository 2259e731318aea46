/* test_equal.c -- numbers by value, however they are spelt, and deep equality. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "json/json.h"

static const struct ch_json *read_text(struct ch_arena *a, const char *text) {
    const struct ch_json *v = NULL;
    if (ch_json_parse(a, ch_sv_str(text), CH_JSON_STRICT, &v, NULL, NULL) < 0)
        fail_msg("refused: %s", text);
    return v;
}

/* -1, 0 or 1: the order of a and b. */
static const struct {
    const char *a, *b;
    int order;
} numbers[] = {
    {"1", "1", 0},
    {"1", "1.0", 0},
    {"1", "10e-1", 0},
    {"1", "0.1e1", 0},
    {"100", "1e2", 0},
    {"100", "1E+02", 0},
    {"0", "-0", 0},
    {"0", "0.000e99", 0},
    {"0e5", "-0.0e-7", 0},
    {"0.1", "0.10", 0},
    {"0.05", "5e-2", 0},
    {"1e400", "10e399", 0},
    {"1e400", "1e401", -1},
    {"9223372036854775807", "9223372036854775808", -1},
    {"9007199254740993", "9007199254740992", 1},
    {"123456789012345678901234567890", "123456789012345678901234567891", -1},
    {"123456789012345678901234567890", "1.2345678901234567890123456789e29", 0},
    {"0.1", "0.1000000000000000055511151231257827", -1},
    {"-1", "1", -1},
    {"-2", "-1", -1},
    {"-1e3", "-1e2", -1},
    {"2", "10", -1},
    {"0.9", "0.11", 1},
    {"12", "1.2", 1},
    {"0", "1e-400", -1},
    {"0", "-1e-400", 1},
    {"1e-1", "1e1", -1},
    {"10.01", "1001e-2", 0},
    {"1.5", "1.50000000000000000000001", -1},
    {"1e99999999999999999999", "10e99999999999999999998", 0},
    {"1e100000000000000000000", "10e99999999999999999999", 0},
    {"1e99999999999999999999", "1e99999999999999999998", 1},
    {"1e-99999999999999999999", "0.1e-99999999999999999998", 0},
    {"1e-100000000000000000000", "0.1e-99999999999999999999", 0},
    {"1e99999999999999999999", "1e-99999999999999999999", 1},
    {"1e00000000000000000000000000005", "100000", 0},
    {"1e18446744073709551616", "1", 1},
};

static void test_numbers(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(numbers); i++) {
        CH_ARENA_AUTO a = {0};
        const struct ch_json *x = read_text(&a, numbers[i].a), *y = read_text(&a, numbers[i].b);
        int there = ch_json_compare(x, y), back = ch_json_compare(y, x);
        if ((there > 0) - (there < 0) != numbers[i].order ||
            (back > 0) - (back < 0) != -numbers[i].order)
            fail_msg("%s ? %s: %d, %d", numbers[i].a, numbers[i].b, there, back);
        assert_int_equal(ch_json_equal(x, y), numbers[i].order == 0);
        assert_int_equal(ch_json_compare(x, x), 0);
    }
}

static const struct {
    const char *text;
    bool fits;
    int64_t value;
} integers[] = {
    {"0", true, 0},
    {"-0", true, 0},
    {"0.0", true, 0},
    {"0e9999999999999999999999", true, 0},
    {"1", true, 1},
    {"-1", true, -1},
    {"1.0", true, 1},
    {"1e2", true, 100},
    {"1.5e1", true, 15},
    {"150e-1", true, 15},
    {"0.001e3", true, 1},
    {"1000000000000000000", true, INT64_C(1000000000000000000)},
    {"9223372036854775807", true, INT64_MAX},
    {"9223372036854775807.000", true, INT64_MAX},
    {"922337203685477580.7e1", true, INT64_MAX},
    {"-9223372036854775808", true, INT64_MIN},
    {"9223372036854775808", false, 0},
    {"-9223372036854775809", false, 0},
    {"9999999999999999999", false, 0},
    {"10000000000000000000", false, 0},
    {"18446744073709551616", false, 0},
    {"1e18", true, INT64_C(1000000000000000000)},
    {"1e19", false, 0},
    {"1e400", false, 0},
    {"1e99999999999999999999", false, 0},
    {"1e-99999999999999999999", false, 0},
    {"0.5", false, 0},
    {"-0.5", false, 0},
    {"15e-1", false, 0},
    {"1.00000000000000000000000001", false, 0},
    {"12345678901234567.8", false, 0},
    {"\"1\"", false, 0},
    {"null", false, 0},
    {"[]", false, 0},
};

static void test_integers(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(integers); i++) {
        CH_ARENA_AUTO a = {0};
        int64_t got = 77;
        bool fits = ch_json_as_int(read_text(&a, integers[i].text), &got);
        if (fits != integers[i].fits || got != (fits ? integers[i].value : 77))
            fail_msg("%s: %d %lld", integers[i].text, fits, (long long)got);
    }
    int64_t unused;
    assert_false(ch_json_as_int(NULL, &unused));
}

static void test_doubles(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"0", 0},
        {"1", 1},
        {"-2.5", -2.5},
        {"0.1", 0.1},
        {"1e22", 1e22},
        {"1e23", 1e23},
        {"123456789012345", 123456789012345.0},
        {"1234567890123456789", 1234567890123456789.0},
        {"3.14159265358979323846", 3.14159265358979323846},
        {"9007199254740993", 9007199254740992.0},
        {"2.2250738585072011e-308", 2.2250738585072011e-308},
        {"4.9e-324", 4.9e-324},
        {"1e-400", 0},
        {"0.000000000000000000000001", 1e-24},
        {"1e400", INFINITY},
        {"-1e400", -INFINITY},
        {"1e99999999999999999999", INFINITY},
        {"1e-99999999999999999999", 0},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_ARENA_AUTO a = {0};
        double got = ch_json_double(read_text(&a, cases[i].text), NAN);
        if (got != cases[i].value)
            fail_msg("%s: %.17g", cases[i].text, got);
    }
    CH_ARENA_AUTO a = {0};
    assert_true(signbit(ch_json_double(read_text(&a, "-0"), 1)));
    assert_true(signbit(ch_json_double(read_text(&a, "-0.0"), 1)));
}

static const struct {
    const char *a, *b;
    bool equal;
} values[] = {
    {"null", "null", true},
    {"true", "false", false},
    {"true", "1", false},
    {"null", "false", false},
    {"\"a\"", "\"\\u0061\"", true},
    {"\"a\"", "\"b\"", false},
    {"\"1\"", "1", false},
    {"\"\"", "\"\\u0000\"", false},
    {"[]", "[]", true},
    {"[]", "{}", false},
    {"[1,2]", "[1.0,2e0]", true},
    {"[1,2]", "[2,1]", false},
    {"[1,2]", "[1,2,3]", false},
    {"[[]]", "[[[]]]", false},
    {"{}", "{}", true},
    {"{\"a\":1,\"b\":2}", "{\"b\":2.0,\"a\":1}", true},
    {"{\"a\":1}", "{\"a\":2}", false},
    {"{\"a\":1}", "{\"b\":1}", false},
    {"{\"a\":1}", "{\"a\":1,\"b\":1}", false},
    {"{\"a\":1,\"a\":2}", "{\"a\":2}", true},
    {"{\"a\":1,\"a\":2}", "{\"a\":1}", false},
    {"{\"a\":1,\"a\":2,\"b\":3}", "{\"b\":3,\"a\":2,\"b\":3}", true},
    {"{\"a\":1,\"b\":2}", "{\"a\":1,\"a\":1}", false},
    {"{\"a\":[{\"x\":1,\"y\":[]}]}", "{\"a\":[{\"y\":[],\"x\":1}]}", true},
};

static void test_values(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(values); i++) {
        CH_ARENA_AUTO a = {0};
        const struct ch_json *x = read_text(&a, values[i].a), *y = read_text(&a, values[i].b);
        if (ch_json_equal(x, y) != values[i].equal || ch_json_equal(y, x) != values[i].equal)
            fail_msg("%s ? %s", values[i].a, values[i].b);
    }
    CH_ARENA_AUTO a = {0};
    assert_true(ch_json_equal(NULL, NULL));
    assert_false(ch_json_equal(NULL, read_text(&a, "null")));
}

static const char *object_text(struct ch_buf *b, size_t n, size_t step, size_t odd) {
    ch_buf_clear(b);
    for (size_t i = 0; i < n; i++) {
        size_t k = i * step % n; /* step and n have no common factor */
        ch_buf_addf(b, "%c\"key%zu\":%zu", i ? ',' : '{', k, k == odd ? n : k);
    }
    ch_buf_addc(b, '}');
    return ch_buf_str(b);
}

/* Sizes on both sides of the switch to sorting, and one that would take for
 * ever if every name were searched for. */
static void test_large_objects(void **state) {
    (void)state;
    static const size_t sizes[] = {3, 15, 16, 17, 100, 100001};
    for (size_t i = 0; i < CH_LEN(sizes); i++) {
        CH_ARENA_AUTO a = {0};
        CH_BUF_AUTO x = {0};
        CH_BUF_AUTO y = {0};
        CH_BUF_AUTO z = {0};
        const struct ch_json *straight = read_text(&a, object_text(&x, sizes[i], 1, SIZE_MAX));
        const struct ch_json *mixed =
            read_text(&a, object_text(&y, sizes[i], sizes[i] - 1, SIZE_MAX));
        const struct ch_json *other = read_text(&a, object_text(&z, sizes[i], sizes[i] - 1, 2));
        assert_true(ch_json_equal(straight, mixed));
        assert_false(ch_json_equal(straight, other));
    }
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO twice = {0};
    ch_buf_add_str(&twice, "{\"key3\":\"shadowed\"");
    for (size_t i = 0; i < 40; i++)
        ch_buf_addf(&twice, ",\"key%zu\":%zu", i, i);
    ch_buf_addc(&twice, '}');
    CH_BUF_AUTO once = {0};
    assert_true(ch_json_equal(read_text(&a, ch_buf_str(&twice)),
                              read_text(&a, object_text(&once, 40, 1, SIZE_MAX))));
}

static void test_deep(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO text = {0};
    for (int i = 0; i < CH_LIMIT_JSON_DEPTH; i++)
        ch_buf_add_str(&text, i % 2 ? "[" : "{\"b\":0,\"a\":");
    ch_buf_addc(&text, '1');
    for (int i = CH_LIMIT_JSON_DEPTH; i-- > 0;)
        ch_buf_addc(&text, i % 2 ? ']' : '}');
    const struct ch_json *v = read_text(&a, ch_buf_str(&text));
    assert_true(ch_json_equal(v, read_text(&a, ch_buf_str(&text))));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),       cmocka_unit_test(test_integers),
        cmocka_unit_test(test_doubles),       cmocka_unit_test(test_values),
        cmocka_unit_test(test_large_objects), cmocka_unit_test(test_deep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
