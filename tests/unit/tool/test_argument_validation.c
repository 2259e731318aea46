/* test_argument_validation.c -- arguments against a tool's schema. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "tool/registry/argument_validation.h"

#define FILE_SCHEMA                                                                         \
    "{\"type\":\"object\",\"properties\":{\"file_path\":{\"type\":\"string\"},\"limit\":{"  \
    "\"type\":\"integer\"},\"kind\":{\"enum\":[\"a\",\"b\"]},\"tags\":{\"type\":\"array\"," \
    "\"items\":{\"type\":\"string\"}}},\"required\":[\"file_path\"],"                       \
    "\"additionalProperties\":false}"

static const struct {
    const char *name, *args;
    enum ch_fit fit;
    const char *text;  /* the arguments then, NULL: as they were */
    const char *words; /* must be among the words, NULL: none */
} rows[] = {
    {"as it should be", "{\"file_path\":\"x\",\"limit\":3}", CH_FITS, NULL, NULL},
    {"another name", "{\"path\":\"x\"}", CH_FITS_CORRECTED, "{\"file_path\":\"x\"}", "mapped"},
    {"a number in a string", "{\"file_path\":\"x\",\"limit\":\"3\"}", CH_FITS_CORRECTED,
     "{\"file_path\":\"x\",\"limit\":3}", "limit"},
    {"both slips", "{\"filename\":\"x\",\"limit\":\"3\"}", CH_FITS_CORRECTED,
     "{\"file_path\":\"x\",\"limit\":3}", "limit"},
    {"a list in a string", "{\"file_path\":\"x\",\"tags\":\"[\\\"u\\\"]\"}", CH_FITS_CORRECTED,
     "{\"file_path\":\"x\",\"tags\":[\"u\"]}", "tags"},
    {"the right name is there: the other is unknown", "{\"file_path\":\"x\",\"path\":\"y\"}",
     CH_FITS_NOT, NULL, "path"},
    {"missing", "{\"limit\":3}", CH_FITS_NOT, NULL, "file_path"},
    {"not one of the choices", "{\"file_path\":\"x\",\"kind\":\"c\"}", CH_FITS_NOT, NULL, "\"a\""},
    {"no number at all", "{\"file_path\":\"x\",\"limit\":\"many\"}", CH_FITS_NOT, NULL, "limit"},
    {"unknown key", "{\"file_path\":\"x\",\"colour\":1}", CH_FITS_NOT, NULL, "colour"},
};

static void test_rows(void **state) {
    (void)state;
    CH_AUTO(ch_contract) c = NULL;
    assert_int_equal(ch_contract_new(CH_SV(FILE_SCHEMA), "path=file_path filename=file_path", &c,
                                     NULL),
                     0);
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        CH_ARENA_AUTO arena = {0};
        CH_BUF_AUTO words = {0};
        const struct ch_json *args;
        struct ch_sv text = ch_sv_str(rows[i].args);
        assert_int_equal(ch_json_parse(&arena, text, CH_JSON_STRICT, &args, NULL, NULL), 0);
        enum ch_fit fit = ch_contract_check(c, &arena, &args, &text, &words);
        const char *want = rows[i].text ? rows[i].text : rows[i].args;
        if (fit != rows[i].fit || !ch_sv_is(text, want))
            fail_msg("%s: fit %d, %.*s (%s)", rows[i].name, fit, CH_SV_FMT(text),
                     ch_buf_str(&words));
        if (rows[i].words ? !strstr(ch_buf_str(&words), rows[i].words) : words.n > 0)
            fail_msg("%s: words are: %s", rows[i].name, ch_buf_str(&words));
    }
}

#define OPEN_SCHEMA                                                              \
    "{\"type\":\"object\",\"properties\":{\"file_path\":{\"type\":\"string\"}," \
    "\"limit\":{\"type\":\"integer\"}},\"required\":[\"file_path\"]}"

/* The contract of a built-in tool names what the schema leaves open. */
static void test_closed(void **state) {
    (void)state;
    static const struct {
        const char *args;
        bool fits, unknown;
        const char *words;
    } cases[] = {
        {"{\"file_path\":\"x\"}", true, false, NULL},
        {"{\"path\":\"x\"}", true, false, NULL}, /* a synonym is mapped */
        {"{\"path\":\"x\",\"depth\":1}", false, false, NULL}, /* the tool reads depth */
        {"{\"file_path\":\"x\",\"lmit\":3}", false, true, "did you mean 'limit'?"},
        {"{\"file_path\":\"x\",\"path\":\"y\"}", false, true, "path"},
        {"{}", false, false, "file_path"},
    };
    CH_AUTO(ch_contract) c = NULL;
    assert_int_equal(ch_contract_new(CH_SV(OPEN_SCHEMA), "path=file_path depth", &c, NULL), 0);
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_ARENA_AUTO arena = {0};
        CH_BUF_AUTO words = {0};
        const struct ch_json *args;
        struct ch_sv text = ch_sv_str(cases[i].args);
        assert_int_equal(ch_json_parse(&arena, text, CH_JSON_STRICT, &args, NULL, NULL), 0);
        enum ch_fit fit = ch_contract_check(c, &arena, &args, &text, &words);
        if ((fit != CH_FITS_NOT) != cases[i].fits ||
            ch_contract_found_unknown(c) != cases[i].unknown ||
            (cases[i].words && !strstr(ch_buf_str(&words), cases[i].words)))
            fail_msg("%s: fit %d (%s)", cases[i].args, fit, ch_buf_str(&words));
    }
}

/* A schema that says itself which parameters it permits is left as it is. */
static void test_closed_by_itself(void **state) {
    (void)state;
    static const struct {
        const char *more;
        bool fits;
    } schemas[] = {
        {"", false},
        {",\"description\":\"x\"", false},
        {",\"additionalProperties\":false", false},
        {",\"additionalProperties\":true", true},
        {",\"additionalProperties\":{\"type\":\"integer\"}", true},
        {",\"patternProperties\":{\"^x\":{}}", true},
        {",\"allOf\":[{\"properties\":{\"extra\":{}}}]", true},
        {",\"unevaluatedProperties\":false", false},
    };
    for (size_t i = 0; i < CH_LEN(schemas); i++) {
        CH_AUTO(ch_contract) c = NULL;
        CH_ARENA_AUTO arena = {0};
        CH_BUF_AUTO schema = {0}, words = {0};
        const struct ch_json *args;
        struct ch_sv text = CH_SV("{\"a\":1,\"extra\":2}");
        ch_buf_addf(&schema, "{\"type\":\"object\",\"properties\":{\"a\":{}}%s}", schemas[i].more);
        assert_int_equal(ch_contract_new(ch_buf_sv(&schema), "", &c, NULL), 0);
        assert_int_equal(ch_json_parse(&arena, text, CH_JSON_STRICT, &args, NULL, NULL), 0);
        enum ch_fit fit = ch_contract_check(c, &arena, &args, &text, &words);
        if ((fit == CH_FITS) != schemas[i].fits)
            fail_msg("%s: %d", schemas[i].more, fit);
    }
}

static void test_bad_schema(void **state) {
    (void)state;
    struct ch_contract *c = NULL;
    struct chela_error err = {0};
    assert_int_equal(ch_contract_new(CH_SV("{\"type\":\"objekt\"}"), NULL, &c, &err),
                     CHELA_EINVAL);
    assert_null(c);
    assert_non_null(strstr(err.message, "type"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_closed),
                                       cmocka_unit_test(test_closed_by_itself),
                                       cmocka_unit_test(test_bad_schema)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
