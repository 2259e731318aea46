/* test_calculate.c -- expressions: exact where they can be, honest where not,
 * and clear about what is wrong. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "support/toolkit.h"
#include "tool/builtin/builtin.h"
#include "tool/builtin/data/expression.h"

static const struct {
    const char *in, *want; /* want: "= exact", "~ approximate", or an error */
} cases[] = {
    {"2 + 40", "= 42"},
    {"(3 + 5) * 2", "= 16"},
    {"2+3*4", "= 14"},
    {"(2+3)*4", "= 20"},
    {"10-4-3", "= 3"},
    {"100/10/2", "= 5"},
    {"-2^2", "= -4"},
    {"(-2)^2", "= 4"},
    {"2^3^2", "= 512"},
    {"2**10", "= 1024"},
    {"2^-1", "= 0.5"},
    {"2^-2^2", "= 0.0625"},
    {"--5", "= 5"},
    {"-+-5", "= 5"},
    {"0.1 + 0.2", "= 0.3"},
    {"19.99 * 3", "= 59.97"},
    {"1.10 - 1.10", "= 0"},
    {"-0", "= 0"},
    {"1/8", "= 0.125"},
    {"1/3", "~ 0.3333333333333333"},
    {"10/4", "= 2.5"},
    {"28 * 9/5 + 32", "= 82.4"},
    {"7 % 3", "= 1"},
    {"-7 % 3", "= 2"},
    {"7 % -3", "= -2"},
    {"5.5 % 2", "= 1.5"},
    {"10^50 % 7", "= 2"},
    {"2^200", "= 1606938044258990275541962092341162602522202993782792835301376"},
    {"2^64 - 1", "= 18446744073709551615"},
    {"123456789123456789 * 987654321987654321", "= 121932631356500531347203169112635269"},
    {"10^30 / 10^10", "= 100000000000000000000"},
    {"(10^40 + 1) - 10^40", "= 1"},
    {"20!", "= 2432902008176640000"},
    {"3!!", "= 720"},
    {"factorial(5)", "= 120"},
    {"0!", "= 1"},
    {"-3!", "= -6"},
    {"2^3!", "= 64"},
    {"1e3", "= 1000"},
    {"1.5e-3", "= 0.0015"},
    {"1E+2", "= 100"},
    {".5 + 5.", "= 5.5"},
    {"sqrt(16)", "= 4"},
    {"sqrt(2.25)", "= 1.5"},
    {"sqrt(2)", "~ 1.4142135623730951"},
    {"sqrt(10^400) / 10^199", "= 10"},
    {"sqrt(0)", "= 0"},
    {"abs(-3.5)", "= 3.5"},
    {"floor(2.7)", "= 2"},
    {"floor(-2.7)", "= -3"},
    {"ceil(2.1)", "= 3"},
    {"ceil(-2.1)", "= -2"},
    {"round(2.5)", "= 3"},
    {"round(-2.5)", "= -3"},
    {"round(2.567, 2)", "= 2.57"},
    {"round(1234, -2)", "= 1200"},
    {"round(0.4)", "= 0"},
    {"round(1/3, 3)", "~ 0.333"},
    {"min(3, 1, 2)", "= 1"},
    {"max(3, 1, 2)", "= 3"},
    {"max(7)", "= 7"},
    {"max(-5, -7)", "= -5"},
    {"min(1, pi)", "= 1"},
    {"pow(2, 10)", "= 1024"},
    {"pow(2, 0.5)", "~ 1.4142135623730951"},
    {"0^0", "= 1"},
    {"log10(1000)", "= 3"},
    {"log2(1024)", "= 10"},
    {"log(8, 2)", "= 3"},
    {"log10(10^400)", "= 400"},
    {"ln(1)", "= 0"},
    {"log(e)", "~ 1"},
    {"exp(0)", "= 1"},
    {"exp(1)", "~ 2.718281828459045"},
    {"sin(0) + cos(0)", "= 1"},
    {"atan(1) * 4", "~ 3.141592653589793"},
    {"SIN(PI)", "~ 1.2246467991473532e-16"},
    {"pi", "~ 3.141592653589793"},
    {"\xcf\x80", "~ 3.141592653589793"},
    {"6 \xc3\x97 7 \xc3\xb7 2 \xe2\x88\x92 1", "= 20"},
    {" \t\n 1 \r + \xc2\xa0 1 ", "= 2"},
    {"0.1^3", "= 0.001"},
    {"1 - 0.9999999999999999999999", "= 0.0000000000000000000001"},

    {"", "the expression ends too early at column 1"},
    {"   ", "the expression ends too early at column 4"},
    {"2 +", "the expression ends too early at column 4"},
    {"(1", "expected ')' at column 3"},
    {"1)", "unexpected ')' at column 2"},
    {"1 / 0", "division by zero at column 3"},
    {"1 % 0", "division by zero at column 3"},
    {"0 ^ -1", "division by zero at column 3"},
    {"foo(1)", "unknown name 'foo' at column 1"},
    {"1 + x", "unknown name 'x' at column 5"},
    {"2(3)", "expected an operator (write * to multiply) at column 2"},
    {"2 pi", "expected an operator (write * to multiply) at column 3"},
    {"1,234 + 1", "unexpected ',' (write numbers without thousands separators) at column 2"},
    {"1 $ 2", "unexpected '$' at column 3"},
    {"\xe4\xbd\xa0 + $", "unexpected '\xe4\xbd\xa0' at column 1"},
    {"\xcf\x80 + $", "unexpected '$' at column 5"},
    {"2+2=", "unexpected '=' at column 4"},
    {"sqrt(-1)", "sqrt of a negative number at column 1"},
    {"1 + ln(0)", "logarithm of a number that is not positive at column 5"},
    {"log(8, 1)", "logarithm to a base that is not positive, or 1 at column 1"},
    {"asin(2)", "the result is not a number at column 1"},
    {"sqrt", "expected '(' after 'sqrt' at column 5"},
    {"sqrt()", "unexpected ')' at column 6"},
    {"sqrt(1, 2)", "too many arguments for 'sqrt' at column 1"},
    {"pow(2)", "too few arguments for 'pow' at column 1"},
    {"log(1, 2, 3)", "too many arguments for 'log' at column 1"},
    {"1.5!", "the factorial needs a whole number that is not negative at column 4"},
    {"(-1)!", "the factorial needs a whole number that is not negative at column 5"},
    {"99999!", "the result is too large at column 6"},
    {"10^20000", "the result is too large at column 3"},
    {"9^9^9^9", "the result is too large at column 4"},
    {"1e99999", "the number has too many digits at column 1"},
    {"(-8)^(1/3)", "a negative number cannot be raised to a fraction at column 5"},
    {"0.1^20000", "the result is too small at column 4"},
    {"__import__('os')", "unknown name '__import__' at column 1"},
    {"1; rm -rf /", "unexpected ';' at column 2"},
};

static void evaluate(struct ch_sv text, struct ch_buf *got) {
    struct chela_error err = {0};
    CH_BUF_AUTO value = {0};
    bool exact;

    if (ch_expression(text, &value, &exact, &err) == 0)
        ch_buf_addf(got, "%s %s", exact ? "=" : "~", ch_buf_str(&value));
    else
        ch_buf_add_str(got, err.message);
}

static void test_cases(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO got = {0};
        evaluate(ch_sv_str(cases[i].in), &got);
        if (strcmp(ch_buf_str(&got), cases[i].want) != 0)
            fail_msg("%s\n  want %s\n  got  %s", cases[i].in, cases[i].want, ch_buf_str(&got));
    }
}

/* Products, sums and quotients of long numbers against identities. */
static void test_identities(void **state) {
    static const char *const zero[] = {
        "(2^3000 + 1) * (2^3000 - 1) - (2^6000 - 1)",
        "(10^900 + 7) * (10^900 - 7) - (10^1800 - 49)",
        "(3^500 * 7^400) / 7^400 - 3^500",
        "(3^500 * 7^400 + 12345) % 7^400 - 12345",
        "50! / 48! - 50 * 49",
        "1000! / 999! - 1000",
        "(123456789^40 - 1) % (123456789^20 - 1)",
        "(999999999^9 + 1) % (999999999 + 1)",
        "(10^18 * 999999999 + 999999998) % (10^9 * 999999999) - 999999998",
    };

    (void)state;
    for (size_t i = 0; i < CH_LEN(zero); i++) {
        CH_BUF_AUTO got = {0};
        evaluate(ch_sv_str(zero[i]), &got);
        if (strcmp(ch_buf_str(&got), "= 0") != 0)
            fail_msg("%s: %s", zero[i], ch_buf_str(&got));
    }
}

/* Against the machine's own 64-bit arithmetic. */
static void test_random_integers(void **state) {
    uint64_t seed = 88172645463325252u;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        int64_t v[2];
        for (int k = 0; k < 2; k++) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            v[k] = (int64_t)(seed >> (32 + seed % 31)) * (seed & 1 ? -1 : 1);
        }
        static const char ops[] = "+-*%";
        char op = ops[i % 4];
        if (op == '%' && v[1] == 0)
            continue;
        int64_t want = op == '+'   ? v[0] + v[1]
                       : op == '-' ? v[0] - v[1]
                       : op == '*' ? v[0] * v[1]
                                   : v[0] % v[1];
        if (op == '%' && want != 0 && (want < 0) != (v[1] < 0))
            want += v[1];
        CH_BUF_AUTO text = {0}, expect = {0}, got = {0};
        ch_buf_addf(&text, "(%lld) %c (%lld)", (long long)v[0], op, (long long)v[1]);
        ch_buf_addf(&expect, "= %lld", (long long)want);
        evaluate(ch_buf_sv(&text), &got);
        if (strcmp(ch_buf_str(&got), ch_buf_str(&expect)) != 0)
            fail_msg("%s: want %s, got %s", ch_buf_str(&text), ch_buf_str(&expect),
                     ch_buf_str(&got));
    }
}

static void fill(struct ch_buf *out, const char *piece, size_t times) {
    for (size_t i = 0; i < times; i++)
        ch_buf_add_str(out, piece);
}

/* Long, deep and expensive expressions end soon, with an answer. */
static void test_abuse(void **state) {
    static const struct {
        const char *piece;
        size_t times;
        const char *end, *want;
    } abuse[] = {
        {"(", 9000, "", "too deeply nested"},
        {"(", 100, "1", "expected ')'"},
        {"-", 9000, "1", "= 1"},
        {"2^", 4000, "1", "too deeply nested"},
        {"sqrt(", 1500, "4", "too deeply nested"},
        {"1+", 4500, "1", "= 4501"},
        {"9", 9999, "", "= 999"},
        {"1", 10001, "", "longer than"},
        {"2*", 4000, "1", "= 1"},
        {"3200!*", 1500, "0", ""},
        {"99^4999%7+", 900, "0", ""},
        {"1/7^2000+", 1000, "0", ""},
    };

    (void)state;
    for (size_t i = 0; i < CH_LEN(abuse); i++) {
        CH_BUF_AUTO text = {0}, got = {0};
        fill(&text, abuse[i].piece, abuse[i].times);
        ch_buf_add_str(&text, abuse[i].end);
        int64_t from = kit_ms();
        evaluate(ch_buf_sv(&text), &got);
        if (!strstr(ch_buf_str(&got), abuse[i].want))
            fail_msg("%zu x %s: %.200s", abuse[i].times, abuse[i].piece, ch_buf_str(&got));
        assert_true(kit_ms() - from < 20000);
    }
}

static void test_ten_thousand_digits(void **state) {
    CH_BUF_AUTO got = {0};

    (void)state;
    evaluate(CH_SV("10^9999"), &got);
    assert_int_equal(got.n, 2 + 10000);
    ch_buf_clear(&got);
    evaluate(CH_SV("10^10000"), &got);
    assert_string_equal(ch_buf_str(&got), "the result is too large at column 3");
}

static void test_tool(void **state) {
    struct kit k;

    (void)state;
    kit_init(&k);
    assert_int_equal(ch_builtin_add_with(&k.registry, NULL, "calculate", NULL, NULL), 0);
    assert_string_equal(kit_call(&k, "calculate", "{\"expression\":\"6*7\"}"), "42");
    assert_false(k.is_error);
    assert_string_equal(k.details, "{\"result\":\"42\",\"exact\":true}");
    assert_string_equal(kit_call(&k, "calculate", "{\"expression\":\"1/3\"}"),
                        "0.3333333333333333 (approximate)");
    kit_call(&k, "calculate", "{\"expression\":\"1/0\"}");
    assert_true(k.is_error);
    assert_string_equal(k.error_type, "invalid_arguments");
    assert_non_null(strstr(k.content, "division by zero at column 2"));
    kit_call(&k, "calculate", "{}");
    assert_string_equal(k.error_type, "invalid_arguments");
    assert_non_null(strstr(k.content, "expression"));
    kit_free(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_identities),
        cmocka_unit_test(test_random_integers),
        cmocka_unit_test(test_abuse),
        cmocka_unit_test(test_ten_thousand_digits),
        cmocka_unit_test(test_tool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
