/* test_assemble.c -- texts that share a budget. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "prompt/assemble.h"
#include "prompt/tokens.h"

/* Lines of about ten tokens. */
static void fill(struct ch_buf *b, const char *word, size_t lines) {
    for (size_t i = 0; i < lines; i++)
        ch_buf_addf(b, "%s line %zu of the text, one two three\n", word, i);
}

static void test_order(void **state) {
    (void)state;
    CH_BUF_AUTO out = {0};
    struct ch_layer layers[] = {
        {.name = "rules", .kind = CH_LAYER_CONSTRAINTS, .text = CH_SV("last")},
        {.name = "input", .kind = CH_LAYER_USER, .text = CH_SV("user")},
        {.name = "notes", .kind = CH_LAYER_CONTEXT, .text = CH_SV("context\n")},
        {.name = "none", .kind = CH_LAYER_CONTEXT},
        {.name = "system", .kind = CH_LAYER_SYSTEM, .text = CH_SV("first")},
    };
    assert_int_equal(ch_assemble(layers, CH_LEN(layers), 0, &out), 0);
    assert_string_equal(ch_buf_str(&out), "first\n\ncontext\n\nuser\n\nlast");
}

/* The least important goes first, and none below its hundred tokens. */
static void test_what_is_cut(void **state) {
    (void)state;
    CH_BUF_AUTO text = {0};
    fill(&text, "a", 100);
    size_t all = ch_tokens(ch_buf_sv(&text));
    for (size_t budget = 4 * all + 100; budget > 100; budget -= budget / 7) {
        CH_BUF_AUTO out = {0};
        CH_BUF_AUTO report = {0};
        struct ch_layer layers[] = {
            {.name = "system", .kind = CH_LAYER_SYSTEM, .text = ch_buf_sv(&text)},
            {.name = "low", .kind = CH_LAYER_CONTEXT, .text = ch_buf_sv(&text), .priority = 1,
             .compressible = true},
            {.name = "high", .kind = CH_LAYER_CONTEXT, .text = ch_buf_sv(&text), .priority = 2,
             .compressible = true},
            {.name = "rules", .kind = CH_LAYER_CONSTRAINTS, .text = ch_buf_sv(&text),
             .compressible = true},
        };
        size_t over = ch_assemble(layers, CH_LEN(layers), budget, &out);
        assert_int_equal(layers[0].kept, all);
        assert_int_equal(layers[3].kept, all);
        assert_true(layers[1].kept >= CH_LIMIT_LAYER_LEAST);
        assert_true(layers[2].kept >= CH_LIMIT_LAYER_LEAST);
        assert_true(layers[2].kept == all || layers[1].kept == CH_LIMIT_LAYER_LEAST);
        size_t real = ch_tokens(ch_buf_sv(&out));
        if (over)
            assert_true(layers[1].kept + layers[2].kept == 2 * CH_LIMIT_LAYER_LEAST);
        else
            assert_in_range(real, 0, budget + 4); /* blank lines between */
        ch_assemble_report(layers, CH_LEN(layers), &report);
        assert_int_equal(strstr(ch_buf_str(&report), "low (") != NULL, layers[1].kept < all);
        assert_null(strstr(ch_buf_str(&report), "rules"));
        assert_int_equal(strstr(ch_buf_str(&out), "left out") != NULL, layers[1].kept < all);
    }
}

static void test_caps(void **state) {
    (void)state;
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO out = {0};
    fill(&text, "你好", 100);
    struct ch_layer layers[] = {
        {.name = "a", .kind = CH_LAYER_CONTEXT, .text = ch_buf_sv(&text), .cap = 300,
         .compressible = true},
        {.name = "b", .kind = CH_LAYER_CONTEXT, .text = ch_buf_sv(&text), .cap = 1,
         .compressible = true},
        {.name = "c", .kind = CH_LAYER_CONTEXT, .text = ch_buf_sv(&text), .cap = 1},
        {.name = "d", .kind = CH_LAYER_CONTEXT, .text = CH_SV("short"), .cap = 1,
         .compressible = true},
    };
    assert_int_equal(ch_assemble(layers, CH_LEN(layers), 0, &out), 0);
    assert_int_equal(layers[0].kept, 300);
    assert_int_equal(layers[1].kept, CH_LIMIT_LAYER_LEAST);
    assert_int_equal(layers[2].kept, layers[2].tokens);
    assert_int_equal(layers[3].kept, layers[3].tokens);
    assert_true(ch_tokens(ch_buf_sv(&out)) <=
                300 + CH_LIMIT_LAYER_LEAST + layers[2].tokens + layers[3].tokens + 6);
}

static void test_split(void **state) {
    (void)state;
    struct ch_budget b = ch_budget_split(8192, 25, 15);
    assert_in_range(b.system, 2000, 2048);
    assert_in_range(b.output, 1200, 1229);
    b = ch_budget_split(0, 25, 15);
    assert_int_equal(b.system + b.output, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_what_is_cut),
        cmocka_unit_test(test_caps),
        cmocka_unit_test(test_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
