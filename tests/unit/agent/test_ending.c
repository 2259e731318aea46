/* test_ending.c -- the sentences that tell people how a run ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/machine/ending.h"
#include "json/json.h"

static const enum ch_reason reasons[] = {
#define REASON(name, status) CH_REASON_##name,
    CH_REASONS(REASON)
#undef REASON
};

/* These need no sentence: the answer, a question or a card says it. */
static bool is_said(enum ch_reason r) {
    return r == CH_REASON_NONE || r == CH_REASON_COMPLETED || r == CH_REASON_ESCALATED ||
           r == CH_REASON_CLARIFICATION || ch_reason_status(r) == CH_STATUS_PAUSED;
}

static void test_every_reason_has_a_sentence(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(reasons); i++)
        for (int face = CH_ENDING_ANYWHERE; face <= CH_ENDING_CHAT; face++) {
            enum ch_reason r = reasons[i];
            const char *en = ch_ending_say(r, false, face, CHELA_LANGUAGE_EN);
            const char *zh = ch_ending_say(r, false, face, CHELA_LANGUAGE_ZH);
            if (is_said(r) != !*en || is_said(r) != !*zh)
                fail_msg("%s: '%s', '%s'", ch_reason_name(r), en, zh);
            bool named = strchr(ch_reason_name(r), '_') && strstr(en, ch_reason_name(r));
            if (*en && (named || strcmp(en, zh) == 0 || strchr(en, '_')))
                fail_msg("%s: '%s'", ch_reason_name(r), en);
            assert_string_equal(ch_ending_say(r, false, face, CHELA_LANGUAGE_AUTO), en);
            assert_int_equal(ch_ending_language(ch_sv_str(en)), CHELA_LANGUAGE_EN);
            if (*zh)
                assert_int_equal(ch_ending_language(ch_sv_str(zh)), CHELA_LANGUAGE_ZH);
        }
}

static void test_an_empty_answer_has_a_sentence(void **state) {
    (void)state;
    const enum ch_reason done = CH_REASON_COMPLETED;
    assert_non_null(strstr(ch_ending_say(done, true, CH_ENDING_CHAT, CHELA_LANGUAGE_EN),
                           "no answer"));
    assert_int_equal(ch_ending_language(ch_sv_str(
                         ch_ending_say(done, true, CH_ENDING_CHAT, CHELA_LANGUAGE_ZH))),
                     CHELA_LANGUAGE_ZH);
}

/* Commands of a chat are named in chats only. */
static void test_commands_are_of_a_chat(void **state) {
    (void)state;
    for (enum chela_language l = CHELA_LANGUAGE_EN; l <= CHELA_LANGUAGE_ZH; l++) {
        assert_non_null(strstr(ch_ending_say(CH_REASON_REFUSED, false, CH_ENDING_CHAT, l), "/new"));
        for (size_t i = 0; i < CH_LEN(reasons); i++)
            assert_null(strchr(ch_ending_say(reasons[i], false, CH_ENDING_ANYWHERE, l), '/'));
    }
}

/* A face that chooses the language has the same sentences. */
static void test_all_sentences_are_written(void **state) {
    (void)state;
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    const struct ch_json *v = NULL;
    ch_ending_write_all(&w);
    assert_int_equal(ch_json_parse(&arena, ch_buf_sv(&out), CH_JSON_STRICT, &v, NULL, NULL), 0);
    for (size_t i = 0; i < CH_LEN(reasons); i++) {
        const struct ch_json *both = ch_json_get(v, ch_reason_name(reasons[i]));
        const char *en = ch_ending_say(reasons[i], true, CH_ENDING_ANYWHERE, CHELA_LANGUAGE_EN),
                   *zh = ch_ending_say(reasons[i], true, CH_ENDING_ANYWHERE, CHELA_LANGUAGE_ZH);
        assert_int_equal(both != NULL, *en != '\0');
        assert_true(ch_sv_is(ch_json_get_str(both, "en"), en));
        assert_true(ch_sv_is(ch_json_get_str(both, "zh"), zh));
    }
    assert_int_equal(ch_ending_language(ch_sv_str(ch_ending_rejected(CHELA_LANGUAGE_ZH))),
                     CHELA_LANGUAGE_ZH);
    assert_non_null(strstr(ch_ending_rejected(CHELA_LANGUAGE_AUTO), "did not accept"));
}

static void test_language_of_words(void **state) {
    static const struct {
        const char *words;
        enum chela_language language;
    } rows[] = {
        {"", CHELA_LANGUAGE_EN},      {"hello", CHELA_LANGUAGE_EN},
        {"\xff\xfe", CHELA_LANGUAGE_EN}, {"déjà vu", CHELA_LANGUAGE_EN},
        {"请看 a.txt", CHELA_LANGUAGE_ZH}, {"run 这个", CHELA_LANGUAGE_ZH},
        {"😀", CHELA_LANGUAGE_EN},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++)
        if (ch_ending_language(ch_sv_str(rows[i].words)) != rows[i].language)
            fail_msg("%s", rows[i].words);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_reason_has_a_sentence),
        cmocka_unit_test(test_an_empty_answer_has_a_sentence),
        cmocka_unit_test(test_commands_are_of_a_chat),
        cmocka_unit_test(test_all_sentences_are_written),
        cmocka_unit_test(test_language_of_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
