/* stem.c -- see stem.h. The steps are numbered as in the paper.
 *
 * A word has the form [C](VC)^m[V], where C and V are runs of consonants and of
 * vowels; m is the word's measure. Most endings are removed only if the measure
 * of the rest is large enough: "relational" is shortened and "rational" is not. */
#include "search/stem.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

struct word {
    char *p;
    size_t n;
};

/* Sets of letters. */
#define L(letter) (UINT32_C(1) << ((letter) - 'a'))
#define VOWELS (L('a') | L('e') | L('i') | L('o') | L('u'))

static inline bool is_among(char c, uint32_t letters) {
    unsigned i = (unsigned char)c - (unsigned)'a';
    return i < 26 && letters >> i & 1;
}

/* y is a vowel if it follows a consonant. */
static bool is_vowel(const char *p, size_t i) {
    bool y_is_vowel = false;

    for (; p[i] == 'y' && i > 0; i--)
        y_is_vowel = !y_is_vowel;
    bool vowel = is_among(p[i], VOWELS);
    return y_is_vowel ? !vowel : vowel;
}

static unsigned stem_measure(const char *p, size_t n) {
    unsigned m = 0;
    bool after_vowel = false;

    for (size_t i = 0; i < n; i++) {
        bool vowel = is_vowel(p, i);
        m += after_vowel && !vowel;
        after_vowel = vowel;
    }
    return m;
}

static bool has_vowel(const char *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (is_vowel(p, i))
            return true;
    return false;
}

static bool ends_double(const struct word *w) {
    return w->n > 1 && w->p[w->n - 1] == w->p[w->n - 2] && !is_vowel(w->p, w->n - 1);
}

/* Whether the word ends in consonant, vowel, consonant other than w, x, y, as
 * in "hop": such a stem may have lost an e. */
static bool ends_short(const char *p, size_t n) {
    return n > 2 && !is_vowel(p, n - 1) && is_vowel(p, n - 2) && !is_vowel(p, n - 3) &&
           !is_among(p[n - 1], L('w') | L('x') | L('y'));
}

/* Compares the last letter first, since most words do not have the ending. */
static inline bool stem_ends_with(const struct word *w, const char *suffix, size_t n) {
    return w->n > n && w->p[w->n - 1] == suffix[n - 1] && memcmp(w->p + w->n - n, suffix, n) == 0;
}

static inline bool stem_ends(const struct word *w, const char *suffix) {
    return stem_ends_with(w, suffix, strlen(suffix));
}

struct rule {
    const char *suffix, *by;
    size_t suffix_n, by_n;
};
#define RULE(suffix, by) \
    { suffix, by, sizeof(suffix) - 1, sizeof(by) - 1 }

/* Apply the first rule that matches, if the measure of the rest is above m. last: the last letters
 * of the suffixes. Few words have one of them, so that few words are compared with all rules. */
static void stem_apply(struct word *w, const struct rule *rules, size_t n, uint32_t last,
                       unsigned m) {
    if (!is_among(w->p[w->n - 1], last))
        return;
    for (size_t i = 0; i < n; i++) {
        const struct rule *r = &rules[i];
        if (!stem_ends_with(w, r->suffix, r->suffix_n))
            continue;
        if (stem_measure(w->p, w->n - r->suffix_n) > m) {
            memcpy(w->p + w->n - r->suffix_n, r->by, r->by_n);
            w->n -= r->suffix_n - r->by_n;
        }
        return;
    }
}

/* plurals */
static void step_1a(struct word *w) {
    if (stem_ends(w, "sses") || stem_ends(w, "ies"))
        w->n -= 2;
    else if (stem_ends(w, "s") && !stem_ends(w, "ss"))
        w->n--;
}

/* Remove -ed and -ing, and restore an e that the ending replaced. */
static void step_1b(struct word *w) {
    if (stem_ends(w, "eed")) {
        w->n -= stem_measure(w->p, w->n - 3) > 0;
        return;
    }
    const char *suffix = stem_ends(w, "ed") ? "ed" : stem_ends(w, "ing") ? "ing" : NULL;
    if (!suffix || !has_vowel(w->p, w->n - strlen(suffix)))
        return;
    w->n -= strlen(suffix);
    if (stem_ends(w, "at") || stem_ends(w, "bl") || stem_ends(w, "iz"))
        w->p[w->n++] = 'e';
    else if (ends_double(w) && !is_among(w->p[w->n - 1], L('l') | L('s') | L('z')))
        w->n--;
    else if (stem_measure(w->p, w->n) == 1 && ends_short(w->p, w->n))
        w->p[w->n++] = 'e';
}

static void step_1c(struct word *w) {
    if (stem_ends(w, "y") && has_vowel(w->p, w->n - 1))
        w->p[w->n - 1] = 'i';
}

static void step_2(struct word *w) {
    static const struct rule rules[] = {
        RULE("ational", "ate"), RULE("tional", "tion"), RULE("enci", "ence"),
        RULE("anci", "ance"),   RULE("izer", "ize"),    RULE("bli", "ble"),
        RULE("alli", "al"),     RULE("entli", "ent"),   RULE("eli", "e"),
        RULE("ousli", "ous"),   RULE("ization", "ize"), RULE("ation", "ate"),
        RULE("ator", "ate"),    RULE("alism", "al"),    RULE("iveness", "ive"),
        RULE("fulness", "ful"), RULE("ousness", "ous"), RULE("aliti", "al"),
        RULE("iviti", "ive"),   RULE("biliti", "ble"),  RULE("logi", "log"),
    };
    stem_apply(w, rules, CH_LEN(rules), L('l') | L('i') | L('r') | L('n') | L('m') | L('s'), 0);
}

static void step_3(struct word *w) {
    static const struct rule rules[] = {
        RULE("icate", "ic"), RULE("ative", ""), RULE("alize", "al"), RULE("iciti", "ic"),
        RULE("ical", "ic"),  RULE("ful", ""),   RULE("ness", ""),
    };
    stem_apply(w, rules, CH_LEN(rules), L('e') | L('i') | L('l') | L('s'), 0);
}

static void step_4(struct word *w) {
    static const struct rule rules[] = {
        RULE("al", ""),   RULE("ance", ""), RULE("ence", ""), RULE("er", ""),    RULE("ic", ""),
        RULE("able", ""), RULE("ible", ""), RULE("ant", ""),  RULE("ement", ""), RULE("ment", ""),
        RULE("ent", ""),  RULE("ou", ""),   RULE("ism", ""),  RULE("ate", ""),   RULE("iti", ""),
        RULE("ous", ""),  RULE("ive", ""),  RULE("ize", ""),
    };
    const uint32_t last =
        L('l') | L('e') | L('r') | L('c') | L('t') | L('u') | L('m') | L('i') | L('s');
    if (!stem_ends(w, "ion"))
        stem_apply(w, rules, CH_LEN(rules), last, 1);
    else if ((stem_ends(w, "sion") || stem_ends(w, "tion")) && stem_measure(w->p, w->n - 3) > 1)
        w->n -= 3;
}

static void step_5(struct word *w) {
    if (stem_ends(w, "e")) {
        unsigned m = stem_measure(w->p, w->n - 1);
        if (m > 1 || (m == 1 && !ends_short(w->p, w->n - 1)))
            w->n--;
    }
    if (stem_ends(w, "ll") && stem_measure(w->p, w->n) > 1)
        w->n--;
}

size_t ch_stem(char *word, size_t n) {
    struct word w = {word, n};

    if (n <= 2 || word[n - 1] < 'a' || word[n - 1] > 'z')
        return n;
    step_1a(&w);
    step_1b(&w);
    step_1c(&w);
    step_2(&w);
    step_3(&w);
    step_4(&w);
    step_5(&w);
    return w.n;
}
