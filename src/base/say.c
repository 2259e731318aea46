/* say.c -- see say.h. */
#include "base/say.h"

#include "base/mem.h"
#include "base/say_languages.h"
#include "base/utf8.h"

static const char *const *const languages[] = {
    [CHELA_LANGUAGE_EN] = ch_say_en,
    [CHELA_LANGUAGE_ZH] = ch_say_zh,
};

const char *ch_say_exactly(enum ch_say key, enum chela_language language) {
    bool known = (size_t)language < CH_LEN(languages) && languages[language];
    return known && (size_t)key < CH_SAYS ? languages[language][key] : NULL;
}

const char *ch_say(enum ch_say key, enum chela_language language) {
    const char *said = ch_say_exactly(key, language);
    if (!said)
        said = ch_say_exactly(key, CHELA_LANGUAGE_EN);
    return said ? said : ch_say_en[CH_SAY_GENERAL];
}

void ch_say_add(struct ch_buf *out, enum ch_say key, enum chela_language language,
                const struct ch_sv *values, size_t n) {
    for (const char *p = ch_say(key, language); *p; p++) {
        bool hole = p[0] == '{' && p[1] >= '1' && p[1] <= '4' && p[2] == '}';
        if (!hole) {
            ch_buf_addc(out, *p);
            continue;
        }
        size_t i = (size_t)(p[1] - '1');
        if (i < n)
            ch_buf_add_sv(out, values[i]);
        p += 2;
    }
}

enum chela_language ch_say_language(struct ch_sv text) {
    bool command = ch_sv_starts(ch_sv_trim(text), "/"), letters = false;
    for (size_t i = 0; i < text.n;) {
        uint32_t c;
        size_t n = ch_utf8_next(ch_sv(text.p + i, text.n - i), &c);
        if ((c >= 0x3400 && c <= 0x9fff) || (c >= 0x20000 && c <= 0x3134f))
            return CHELA_LANGUAGE_ZH;
        letters |= !command && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0xc0);
        i += n ? n : 1;
    }
    return letters ? CHELA_LANGUAGE_EN : CHELA_LANGUAGE_AUTO;
}

enum chela_language ch_say_language_of_question(const char *question) {
    for (size_t i = 0; question && i < CH_LEN(languages); i++) {
        const char *asks = languages[i] ? languages[i][CH_SAY_ASKS] : NULL;
        if (asks && *asks && strncmp(question, asks, strlen(asks)) == 0)
            return (enum chela_language)i;
    }
    return CHELA_LANGUAGE_EN;
}
