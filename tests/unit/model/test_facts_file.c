/* test_facts_file.c -- columns of facts about models, and the user's file of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/limits.h"
#include "model/catalog/facts_file.h"

static void note(const char *text, void *user) {
    ch_buf_addf(user, "%s\n", text);
}

#define HEAD "{\"format\":1,\"models\":["

static void test_rows_of_a_file(void **state) {
    (void)state;
    static const char text[] =
        "{\"format\":1,\"as_of\":\"2026-11-19\",\"source\":\"mine\",\"models\":["
        "{\"match\":\"anthropic/claude-opus-5*\",\"efforts\":[\"off\",\"low\"],\"window\":500000},"
        "{\"match\":\"claude-opus-9*\",\"price_in\":1,\"price_out\":2,"
        "\"tiers\":[{\"above\":1000,\"in\":3,\"out\":4}],\"source\":\"yours\"},"
        "{\"match\":\"mine/*\",\"sampling\":\"none\"}]}";
    static const struct {
        const char *provider, *model, *match; /* match NULL: no row */
    } cases[] = {
        {"anthropic", "claude-opus-5", "anthropic/claude-opus-5*"},
        {"anthropic", "claude-opus-5-20260901", "anthropic/claude-opus-5*"},
        {"anthropic", "claude-opus-5-5", NULL}, /* another version */
        {"openrouter", "anthropic/claude-opus-5", "anthropic/claude-opus-5*"},
        {"bedrock", "us.anthropic.claude-opus-5-v1:0", "anthropic/claude-opus-5*"},
        {"anthropic", "claude-opus-9", "claude-opus-9*"},
        {"mine", "anything", "mine/*"},
        {"other", "anything", NULL},
    };
    CH_BUF_AUTO said = {0};
    CH_BUF_AUTO again = {0};
    struct ch_facts_file f = {0}, copy = {0};
    assert_int_equal(ch_facts_file_read(&f, ch_sv_str(text), "f", note, &said, NULL), 0);
    assert_string_equal(ch_buf_str(&said), "");
    assert_int_equal(f.n, 3);
    assert_string_equal(f.rows[0].source, "mine");
    assert_string_equal(f.rows[1].source, "yours");
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        const struct ch_facts_row *row =
            ch_facts_file_find(&f, cases[i].provider, ch_sv_str(cases[i].model));
        if (!row != !cases[i].match || (row && strcmp(row->match, cases[i].match) != 0))
            fail_msg("%s/%s: %s", cases[i].provider, cases[i].model, row ? row->match : "no row");
    }
    /* what is written is read as the same */
    ch_facts_file_write(&f, &again);
    assert_int_equal(ch_facts_file_read(&copy, ch_buf_sv(&again), "f", note, &said, NULL), 0);
    assert_string_equal(ch_buf_str(&said), "");
    for (size_t i = 0; i < f.n; i++) {
        assert_string_equal(copy.rows[i].match, f.rows[i].match);
        assert_true(copy.rows[i].some.known == f.rows[i].some.known);
        assert_true(ch_columns_compare(&copy.rows[i].some.facts, &f.rows[i].some.facts) == 0);
    }
    ch_facts_file_release(&f);
    ch_facts_file_release(&copy);
}

static void test_faults_of_rows_are_named_and_left_out(void **state) {
    (void)state;
    static const struct {
        const char *row, *said;
        size_t rows;
    } cases[] = {
        {"{\"match\":\"a/b\",\"window\":\"big\"}",
         "f: models[0] (a/b): window: expected a number of tokens, not string\n", 1},
        {"{\"match\":\"a/b\",\"window\":-1}",
         "f: models[0] (a/b): window: expected a number of tokens, not -1\n", 1},
        {"{\"match\":\"a/b\",\"windw\":1}",
         "f: models[0] (a/b): there is no column 'windw', did you mean window?\n", 1},
        {"{\"match\":\"a/b\",\"efforts\":[\"hgh\"]}", "'hgh'", 1},
        {"{\"match\":\"a/b\",\"thinks\":1}", "thinks: expected true or false, not 1", 1},
        {"{\"match\":\"a/b\",\"shutdown\":\"soon\"}", "a day such as 2026-12-31, not 'soon'", 1},
        {"{\"match\":\"a/b\",\"shutdown\":\"2026-13-01\"}", "a day such as", 1},
        {"{\"match\":\"a/b\",\"tiers\":[{\"above\":1}]}", "above, in, out", 1},
        {"{\"match\":\"a/b\",\"tiers\":[1]}", "tiers: expected a list", 1},
        {"{\"match\":\"a/b\",\"price_in\":1e99}", "price_in: expected US dollars, not 1e+99", 1},
        {"{\"match\":\"a/b\",\"maker\":\"acme\"}", "maker: expected one of", 1},
        {"{\"match\":\"a/b\",\"tokenizer\":[\"usual\"]}", "not array", 1},
        {"{\"match\":\"a/b\",\"cache_ttls\":[\"2d\"]}", "one of 5m, 1h, 24h, not '2d'", 1},
        {"{\"match\":\"a/b\",\"reads\":\"\"}", "reads: expected a name", 1},
        {"{\"match\":7}", "f: models[0]: match: expected a pattern", 0},
        {"{\"match\":\"a/\"}", "f: models[0]: match: expected a pattern", 0},
        {"{\"match\":\"/b\"}", "f: models[0]: match: expected a pattern", 0},
        {"{\"window\":1}", "f: models[0]: match: expected a pattern", 0},
        {"\"a/b\"", "f: models[0]: expected an object, not string", 0},
        {"{\"match\":\"a/b\",\"window\":null}", "", 1},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO text = {0};
        CH_BUF_AUTO said = {0};
        struct ch_facts_file f = {0};
        ch_buf_addf(&text, HEAD "%s,{\"match\":\"sound\",\"window\":5}]}", cases[i].row);
        assert_int_equal(ch_facts_file_read(&f, ch_buf_sv(&text), "f", note, &said, NULL), 0);
        if (!strstr(ch_buf_str(&said), cases[i].said) || (!*cases[i].said && said.n))
            fail_msg("%s: %s", cases[i].row, ch_buf_str(&said));
        assert_int_equal(f.n, cases[i].rows + 1);
        assert_int_equal(f.rows[f.n - 1].some.facts.window, 5);
        if (cases[i].rows)
            assert_true(f.rows[0].some.known == 0);
        ch_facts_file_release(&f);
    }
}

static void test_another_file_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "f: "},
        {HEAD "{\"match\":\"a/b\",", "f: "},
        {"[]", "f: this is no file of facts about models"},
        {"{\"models\":[]}", "f: format: expected 1"},
        {"{\"format\":2,\"models\":[]}", "f: format: expected 1"},
        {"{\"format\":1,\"models\":{}}", "f: this is no file"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_facts_file f = {0};
        struct chela_error err = {0};
        assert_true(ch_facts_file_read(&f, ch_sv_str(cases[i].text), "f", NULL, NULL, &err) < 0);
        if (!strstr(err.message, cases[i].why))
            fail_msg("%s: %s", cases[i].text, err.message);
        ch_facts_file_release(&f);
    }
}

static struct ch_some_facts some_of(struct ch_arena *a, const char *json) {
    struct ch_some_facts some = {0};
    const struct ch_json *v;
    struct chela_error err = {0};
    assert_int_equal(ch_json_parse(a, ch_sv_str(json), CH_JSON_STRICT, &v, NULL, NULL), 0);
    for (CH_JSON_MEMBERS(key, x, v)) {
        enum ch_column c = ch_column_find(ch_json_str(key));
        assert_true(c < CH_COLUMNS);
        if (ch_column_read(c, x, a, &some, &err) < 0)
            fail_msg("%s: %s", json, err.message);
    }
    return some;
}

static void test_columns_laid_over(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    struct ch_model_facts f = *ch_model_facts(CH_SV("claude-opus-5-5"));
    struct ch_some_facts over = some_of(
        &a, "{\"tool_choice\":[\"auto\",\"any\",\"tool\"],\"sampling\":\"free\",\"binding\":"
            "\"none\",\"efforts\":[],\"price_in\":8,\"tiers\":[{\"above\":9,\"in\":16,\"out\":30}],"
            "\"successor\":\"claude-opus-6\",\"apis\":[\"responses\",\"chat\"]}");
    ch_columns_apply(&f, &over, ~UINT64_C(0));
    assert_false(f.flags & (CH_M_NO_FORCED | CH_M_NO_SAMPLING | CH_M_BINDS));
    assert_true(f.flags & CH_M_RESPONSES);
    assert_true(f.flags & CH_M_ADAPTIVE); /* said nothing about */
    assert_int_equal(f.efforts, 0);
    assert_true(f.price.input == 8 && f.price.output == 20 && f.price.cache_read == 0.2);
    assert_true(f.price.long_above == 9 && f.price.long_input == 2 && f.price.long_output == 1.5);
    assert_string_equal(f.successor, "claude-opus-6");
    assert_int_equal(f.window, 1000000);
    /* the cache of a model without a price costs what input costs */
    struct ch_model_facts none = {0};
    struct ch_some_facts price = some_of(&a, "{\"price_in\":1,\"price_out\":2}");
    ch_columns_apply(&none, &price, ~UINT64_C(0));
    assert_true(none.price.cache_read == -1 && none.price.cache_write == -1);
}

/* Every column of every row can be written, and read as the same. */
static void test_built_in_rows_are_data(void **state) {
    (void)state;
    const struct ch_model_facts *f;
    for (size_t i = 0; (f = ch_model_facts_at(i)); i++) {
        CH_ARENA_AUTO a = {0};
        CH_BUF_AUTO json = {0};
        struct ch_jw w = ch_jw(&json);
        ch_jw_begin(&w, '{');
        ch_columns_write(&w, f, ~UINT64_C(0), true);
        ch_jw_end(&w, '}');
        struct ch_some_facts some = some_of(&a, ch_buf_str(&json));
        struct ch_model_facts read = {0};
        ch_columns_apply(&read, &some, ~UINT64_C(0));
        ch_column_set differ = ch_columns_compare(&read, f);
        if (f->price.input <= 0)
            differ &= ~CH_COLUMNS_OF_PRICE;
        for (unsigned c = 0; c < CH_COLUMNS; c++)
            if (differ & UINT64_C(1) << c)
                fail_msg("%s: %s: %s", f->match, ch_column_name((enum ch_column)c),
                         ch_buf_str(&json));
        if (f->successor && !ch_model_facts(ch_sv_str(f->successor))->match)
            fail_msg("%s: its successor %s has no row", f->match, f->successor);
    }
}

static void test_patterns_that_fit_nothing(void **state) {
    (void)state;
    static const char text[] = HEAD
        "{\"match\":\"anthropic/claude-opus-*\"},{\"match\":\"gpt-6*\"},"
        "{\"match\":\"anthropic/claud-opus-*\"},{\"match\":\"a/new\"}]}";
    struct ch_facts_file f = {0};
    assert_int_equal(ch_facts_file_read(&f, ch_sv_str(text), "f", NULL, NULL, NULL), 0);
    assert_false(ch_facts_row_is_idle(&f.rows[0]));
    assert_true(ch_facts_row_is_idle(&f.rows[2]));
    assert_false(ch_facts_row_is_idle(&f.rows[3]));
    ch_facts_file_release(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_a_file),
        cmocka_unit_test(test_faults_of_rows_are_named_and_left_out),
        cmocka_unit_test(test_another_file_is_refused),
        cmocka_unit_test(test_columns_laid_over),
        cmocka_unit_test(test_built_in_rows_are_data),
        cmocka_unit_test(test_patterns_that_fit_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
