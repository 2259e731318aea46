/* test_price.c -- what a reply costs, and that what is not known stays so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/price.h"

static void test_find(void **state) {
    (void)state;
    static const struct {
        const char *provider, *model;
        double input; /* 0: no price is known */
    } cases[] = {
        {"anthropic", "claude-sonnet-4-6", 3},
        {"anthropic", "claude-sonnet-4-5-20250929", 3},
        {"anthropic", "claude-opus-4-20250514", 15},
        {"anthropic", "claude-opus-4-5", 5}, /* not an opus-4 with a version */
        {"anthropic", "claude-3-5-haiku-latest", 0.8},
        {"openai", "gpt-4o-2024-08-06", 2.5},
        {"openai", "gpt-4o-mini", 0.15},
        {"openai-responses", "gpt-5", 1.25},
        {"gemini", "gemini-2.0-flash-001", 0.1},
        {"mistral", "mistral-large-2512", 0.5},
        {"groq", "openai/gpt-oss-120b", 0.15},
        {"openai", "gpt-5.9", 0},
        {"openai", "gpt-5-turbo-new", 0},
        {"openai", "gpt-5-", 0},
        {"anthropic", "claude-opus-4-9", 0},
        {"anthropic", "gpt-4o", 0},
        {"my-llm", "claude-sonnet-4-6", 0},
        {"ollama", "gpt-oss-120b", 0},
        {"openai", "", 0},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_price p = {0};
        bool found = ch_price_find(cases[i].provider, ch_sv_str(cases[i].model), &p);
        if (found != (cases[i].input > 0) || (found && p.input != cases[i].input))
            fail_msg("%s/%s: %g", cases[i].provider, cases[i].model, p.input);
    }
}

static void test_cost(void **state) {
    (void)state;
    static const struct ch_price plain = {3, 15, 0.3, 3.75, 0, 0};
    static const struct ch_price simple = {1, 2, -1, -1, 0, 0};
    static const struct ch_price tiered = {1, 10, 0.1, -1, 2, 1.5};
    static const struct {
        const struct ch_price *p;
        struct ch_usage u;
        enum ch_cache cache;
        double want; /* of a million: micro-dollars */
    } cases[] = {
        {&plain, {0}, CH_CACHE_SHORT, 0},
        {&plain, {.input = 100, .output = 10}, CH_CACHE_SHORT, 450},
        {&plain, {.input = 100, .cache_read = 60, .cache_write = 40}, CH_CACHE_SHORT, 168},
        {&plain, {.input = 40, .cache_write = 40}, CH_CACHE_LONG, 240},
        {&simple, {.input = 100, .cache_read = 60, .output = 5}, CH_CACHE_LONG, 110},
        {&simple, {.input = 10, .cache_read = 60}, CH_CACHE_SHORT, 60}, /* odd, not negative */
        {&tiered, {.input = 200000, .output = 10}, CH_CACHE_SHORT, 200100},
        {&tiered, {.input = 200001, .output = 10}, CH_CACHE_SHORT, 400152},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        double got = 1e6 * ch_price_cost(cases[i].p, &cases[i].u, cases[i].cache);
        if (got < cases[i].want - 1e-6 || got > cases[i].want + 1e-6)
            fail_msg("case %zu: %.9g", i, got);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
