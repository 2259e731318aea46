/* test_tokens.c -- guesses beside what o200k_base counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "prompt/tokens.h"

static const struct {
    const char *text;
    size_t counted;
} texts[] = {
    {"Hello, world!", 4},
    {"The quick brown fox jumps over the lazy dog. It's what they'd call a pangram.", 18},
    {"for (size_t i = 0; i < n; i++)\n    total += list[i].value;\n", 23},
    {"{\"path\":\"src/main.c\",\"offset\":120,\"limit\":40}", 15},
    {"请帮我写一个脚本，遍历当前目录下的所有文件，并按大小排序。", 21},
    {"调用 read 工具时，path 必须是相对路径。", 14},
    {"----------------------------------------------------------------\n", 2},
    {"1234567890", 4},
    {"internationalization of getHTTPResponseHeaders and snake_case_names", 11},
    {"\n\n\n        return;\n", 4},
};

/* A short text may be a few tokens off; a fifth is too much for any. */
static void test_guesses(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(texts); i++) {
        size_t n = ch_tokens(ch_sv_str(texts[i].text)), want = texts[i].counted;
        size_t off = n > want ? n - want : want - n;
        if (off > 1 + want / 5)
            fail_msg("%s: guessed %zu, counted %zu", texts[i].text, n, want);
    }
}

/* Scripts and data that vocabularies treat differently, as o200k_base, Llama 3, Gemma 3,
 * Qwen 3 and Mistral (Tekken) count them. */
struct script {
    const char *text;
    size_t counted[5];
};
static const struct script scripts[] = {
    {"Die Bundesregierung hat am Donnerstag beschlossen, die Förderung für erneuerbare E"
     "nergien deutlich auszuweiten. Künftig sollen auch kleinere Gemeinden Zuschüsse bea"
     "ntragen können, wenn sie ihre Verwaltungsgebäude mit Solaranlagen ausstatten. Für"
     " die Umsetzung des Gesetzes sind die Länder zuständig, die bis zum Jahresende ents"
     "prechende Verordnungen erlassen müssen. Umweltverbände begrüßten die Entscheidun"
     "g, kritisierten jedoch die langen Übergangsfristen.",
     {90, 127, 91, 124, 93}},
    {"明日の午後、東京で開催される会議に参加する予定です。会議"
     "では新しいソフトウェアの設計について話し合い、来月のリリ"
     "ースに向けた作業の進め方を決めることになっています。資料"
     "は事前に共有されていますので、時間があるときに目を通して"
     "おいてください。質問がある場合は、遠慮なくメールで連絡し"
     "てください。",
     {98, 95, 65, 83, 97}},
    {"내일 오후 서울에서 열리는 회의에 참석할 예정입니다. 회의에서"
     "는 새로운 소프트웨어의 설계에 대해 논의하고 다음 달 출시를 "
     "위한 작업 일정을 정할 것입니다. 자료는 미리 공유되었으니 시"
     "간이 있을 때 읽어 보시기 바랍니다. 질문이 있으면 언제든지 이"
     "메일로 연락해 주세요.",
     {74, 78, 68, 90, 73}},
    {"iVBORw0KGgoAAAANSUhEUgAAAB4AAAAeCAYAAAA7MK6iAAABhElEQVR4nO3WPUgcQRjG8d+dH4gfhSEgBEWw"
     "sBALC7ERLEQQrGwEsbCwEGxsBBsLQbARLCwsBAvBwkIQLAQLC8HCQrAQLCwEQUEQFPwoLNY8d7e3u3d7d0QI"
     "+YeFmXnnfZ6ZeWdmlxL+Y9RjDNsowCmOsYo5TOMd",
     {136, 142, 134, 142, 150}},
    {"1,4096,65535,16777216\n20260131,93847561,5550123,31415926\n2718281828,1618033988,141"
     "4213562,1732050807\n8,13,21,34,55,89,144,233,377,610,987,1597,2584,4181,6765",
     {81, 81, 157, 157, 157}},
};

/* Polish, Turkish, Russian, Hindi and Chinese: never far below. */
static const struct script others[] = {
    {"Rząd ogłosił w czwartek, że zwiększy dofinansowanie odnawial"
     "nych źródeł energii. W przyszłości również mniejsze gminy bę"
     "dą mogły ubiegać się o dotacje, jeżeli wyposażą swoje budynk"
     "i w instalacje słoneczne.",
     {65, 77, 62, 71, 65}},
    {"Hükümet perşembe günü yenilenebilir enerji desteğini artırac"
     "ağını açıkladı. Gelecekte küçük belediyeler de binalarını gü"
     "neş panelleriyle donatırlarsa başvuruda bulunabilecekler.",
     {50, 50, 49, 56, 59}},
    {"Правительство объявило в четверг, что увеличит поддержку воз"
     "обновляемых источников энергии. В будущем и небольшие города"
     " смогут получить средства, если установят на своих зданиях с"
     "олнечные батареи.",
     {43, 52, 43, 62, 49}},
    {"सरकार ने गुरुवार को घोषणा की कि वह अक्षय ऊर्जा के लिए सहायता"
     " बढ़ाएगी। भविष्य में छोटे शहर भी आवेदन कर सकेंगे, यदि वे अपन"
     "े भवनों पर सौर पैनल लगाते हैं।",
     {45, 76, 36, 142, 60}},
    {"政府星期四宣布，将大幅增加对可再生能源的补贴。今后，较小的城镇如果在办公楼上安装太阳能设备，也可以申请资助。各省负责落实"
     "这项法律，并须在年底之前公布相应的规定。",
     {58, 62, 51, 45, 73}},
};

static void check_script(const struct script *s, size_t least, size_t most) {
    static const char *const models[] = {"gpt-5", "Meta-Llama-3.1-70B", "models/gemini-3-pro",
                                         "qwen/qwen3-coder", "mistral-large-latest"};
    for (size_t m = 0; m < CH_LEN(models); m++) {
        size_t want = s->counted[m];
        enum ch_counting how = (enum ch_counting)ch_model_facts(ch_sv_str(models[m]))->counting;
        size_t n = ch_tokens_as(ch_sv_str(s->text), how);
        if (n * 100 < want * least || n * 100 > want * most)
            fail_msg("%s, %.20s: guessed %zu, counted %zu", models[m], s->text, n, want);
    }
}

static void test_scripts(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(scripts); i++)
        check_script(&scripts[i], 85, 115);
    for (size_t i = 0; i < CH_LEN(others); i++)
        check_script(&others[i], 80, 150);
}

static void test_vocabularies_of_models(void **state) {
    (void)state;
    static const struct {
        const char *model;
        enum ch_counting how;
    } cases[] = {
        {"", CH_COUNTING_USUAL},
        {"gpt-4-turbo", CH_COUNTING_OLDER},
        {"gpt-4-0613", CH_COUNTING_OLDER},
        {"gpt-4.1", CH_COUNTING_USUAL},
        {"gpt-4o-2024-08-06", CH_COUNTING_USUAL},
        {"claude-opus-4-6", CH_COUNTING_USUAL},
        {"claude-opus-4-7", CH_COUNTING_FINE},
        {"us.anthropic.claude-sonnet-5-5", CH_COUNTING_FINE},
        {"us.deepseek.r1-v1:0", CH_COUNTING_DEEPSEEK},
        {"deepseek-r1-distill-qwen-32b", CH_COUNTING_DEEPSEEK},
        {"codellama:7b", CH_COUNTING_META},
        {"gemma3:27b", CH_COUNTING_GOOGLE},
        {"mistralai/Mixtral-8x22B", CH_COUNTING_MISTRAL},
        {"QwQ-32B", CH_COUNTING_ALIBABA},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++)
        if (ch_model_facts(ch_sv_str(cases[i].model))->counting != cases[i].how)
            fail_msg("%s", cases[i].model);
    struct ch_sv text = CH_SV("The quick brown fox jumps over the lazy dog, and then sleeps.");
    size_t usual = ch_tokens(text), fine = ch_tokens_as(text, CH_COUNTING_FINE);
    assert_in_range(fine, usual * 13 / 10 - 1, usual * 13 / 10 + 1);
}

static void test_edges(void **state) {
    (void)state;
    assert_int_equal(ch_tokens(CH_SV("")), 0);
    assert_int_equal(ch_tokens(CH_SV(" ")), 1);
    assert_int_equal(ch_tokens(CH_SV("a")), 1);
    assert_int_equal(ch_tokens(CH_SV("   \n")), 1);
    assert_in_range(ch_tokens(CH_SV("\xff\xfe\x80\x00x")), 1, 8);
    assert_in_range(ch_tokens(CH_SV("\xe4\xbd")), 1, 3); /* cut in the middle */
}

/* Each byte is looked at a bounded number of times, whatever it is. */
static void test_long_runs(void **state) {
    static const char *const seeds[] = {"a", " ", "\n", "=", "A",
                                        "7", "\xe4\xbd\xa0", "\xff", "'s"};
    (void)state;
    for (size_t i = 0; i < CH_LEN(seeds); i++) {
        size_t len = strlen(seeds[i]), n = 200000;
        char *text = malloc(n * len);
        for (size_t k = 0; k < n; k++)
            memcpy(text + k * len, seeds[i], len);
        assert_in_range(ch_tokens(ch_sv(text, n * len)), 1, 2 * n);
        free(text);
    }
}

/* Short texts of every kind of character, with every lead, and bytes that are not UTF-8. */
static void test_bound(void **state) {
    static const char *const parts[] = {
        "a", "A", "ab", "é", "É", "ł", "ế", "日", "か", "한", "я", "क", "ა", "7",
        "-",  "…",  "😀",  " ",  "\n", "\xff", "'s", "QzT7", "Straße",
    };
    CH_BUF_AUTO text = {0};
    (void)state;
    for (size_t i = 0; i < CH_LEN(parts); i++)
        for (size_t k = 0; k < CH_LEN(parts); k++)
            for (size_t times = 0; times < 40; times++) {
                ch_buf_clear(&text);
                ch_buf_add_str(&text, parts[i]);
                for (size_t t = 0; t < times; t++)
                    ch_buf_add_str(&text, t % 2 ? parts[i] : parts[k]);
                if (ch_tokens(ch_buf_sv(&text)) > CH_TOKENS_A_BYTE * text.n)
                    fail_msg("%s", ch_buf_str(&text));
            }
}

static void test_gauge(void **state) {
    struct ch_gauge g = {0};
    (void)state;
    assert_int_equal(ch_gauge_expect(&g, 1000), 1000);
    ch_gauge_learn(&g, 1000, 1200);
    assert_int_equal(ch_gauge_expect(&g, 1000), 1200);
    assert_int_equal(ch_gauge_expect(&g, 1100), 1320);
    assert_int_equal(ch_gauge_expect(&g, 0), 0);
    ch_gauge_learn(&g, 0, 77); /* nothing to learn from */
    ch_gauge_learn(&g, 77, 0);
    assert_int_equal(ch_gauge_expect(&g, 1000), 1200);
    ch_gauge_learn(&g, 10, 1000); /* mostly the vendor's own words */
    assert_int_equal(ch_gauge_expect(&g, 20), 1020);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_guesses),
        cmocka_unit_test(test_scripts),
        cmocka_unit_test(test_vocabularies_of_models),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_long_runs),
        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_gauge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
