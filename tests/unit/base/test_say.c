/* test_say.c -- the catalogue of sentences for people. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/say.h"

static const char *const names[] = {
#define NAME(key) #key,
    CH_SAY_KEYS(NAME)
#undef NAME
};

/* Which of {1} to {4} a text has, as bits. */
static unsigned holes(const char *text) {
    unsigned found = 0;
    for (; (text = strchr(text, '{')); text++)
        if (text[1] >= '1' && text[1] <= '4' && text[2] == '}')
            found |= 1u << (text[1] - '1');
    return found;
}

static void test_every_language_has_every_sentence(void **state) {
    (void)state;
    for (int language = CHELA_LANGUAGE_EN; language <= CHELA_LANGUAGE_ZH; language++)
        for (size_t i = 0; i < CH_SAYS; i++)
            if (!ch_say_exactly((enum ch_say)i, (enum chela_language)language))
                fail_msg("%s is missing in language %d", names[i], language);
}

/* A sentence of a language may leave values out, but has none that the English one lacks. */
static void test_values_exist(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_SAYS; i++) {
        unsigned en = holes(ch_say((enum ch_say)i, CHELA_LANGUAGE_EN));
        unsigned zh = holes(ch_say((enum ch_say)i, CHELA_LANGUAGE_ZH));
        if (zh & ~en)
            fail_msg("%s: the Chinese sentence has a value of its own", names[i]);
    }
}

static void test_chinese_sentences_have_no_english_words(void **state) {
    static const char *const kept[] = {
        "/new",       "/approve",   "/deny", "/pair",   "/model",  "/reasoning", "allow-always",
        "allow-once", "deny",       "xhigh", "off",     "minimal", "low",        "medium",
        "high",       "max",        "default"};
    (void)state;
    for (size_t i = 0; i < CH_SAYS; i++) {
        CH_AUTOFREE char *text = ch_strdup(ch_say((enum ch_say)i, CHELA_LANGUAGE_ZH));
        for (size_t k = 0; k < CH_LEN(kept); k++)
            for (char *at; (at = strstr(text, kept[k]));)
                memset(at, ' ', strlen(kept[k]));
        for (const char *p = text; *p; p++)
            if ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z'))
                fail_msg("%s: %s", names[i], ch_say((enum ch_say)i, CHELA_LANGUAGE_ZH));
    }
}

static void test_language_of_words(void **state) {
    static const struct {
        const char *text;
        enum chela_language want;
    } cases[] = {
        {"hello", CHELA_LANGUAGE_EN},     {"请看 README", CHELA_LANGUAGE_ZH},
        {"/status", CHELA_LANGUAGE_AUTO}, {"/deny ap_1 太危险", CHELA_LANGUAGE_ZH},
        {"42", CHELA_LANGUAGE_AUTO},      {"", CHELA_LANGUAGE_AUTO},
        {"/model openai/x", CHELA_LANGUAGE_AUTO}, {"👍", CHELA_LANGUAGE_EN},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++)
        if (ch_say_language(ch_sv_str(cases[i].text)) != cases[i].want)
            fail_msg("%s", cases[i].text);
}

static void test_values_are_put_in(void **state) {
    CH_BUF_AUTO out = {0};
    (void)state;
    ch_say_add(&out, CH_SAY_DECIDED_BY, CHELA_LANGUAGE_ZH,
               CH_SAY_VALUES(CH_SV("已拒绝"), CH_SV("{1}")));
    assert_string_equal(ch_buf_str(&out), "已拒绝（{1}）");
    ch_buf_clear(&out);
    ch_say_add(&out, CH_SAY_PAIR_CODE, CHELA_LANGUAGE_AUTO, NULL, 0);
    assert_non_null(strstr(ch_buf_str(&out), "within an hour: "));
}

static void test_question_tells_its_language(void **state) {
    CH_BUF_AUTO text = {0};
    (void)state;
    ch_buf_addf(&text, "%s\nexec: ls", ch_say(CH_SAY_ASKS, CHELA_LANGUAGE_ZH));
    assert_int_equal(ch_say_language_of_question(ch_buf_str(&text)), CHELA_LANGUAGE_ZH);
    assert_int_equal(ch_say_language_of_question("exec: echo 你好"), CHELA_LANGUAGE_EN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_language_has_every_sentence),
        cmocka_unit_test(test_values_exist),
        cmocka_unit_test(test_chinese_sentences_have_no_english_words),
        cmocka_unit_test(test_language_of_words),
        cmocka_unit_test(test_values_are_put_in),
        cmocka_unit_test(test_question_tells_its_language),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
