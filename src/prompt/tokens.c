/* tokens.c -- see tokens.h. The averages were measured on prose, programs, JSON and text in
 * several languages with OpenAI's o200k_base vocabulary; bench/tokens.mjs shows the error on
 * other text. The profiles were measured with the vocabularies that they name; the errors are
 * in docs/internals/context.md. Costs are hundredths of a token. */
#include "prompt/tokens.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/utf8.h"

enum kind {
    MARK, SYMBOL, BLANK, NEWLINE, DIGIT, UPPER, LOWER, HAN, KANA, HANGUL,
    CYRILLIC, /* Greek and Armenian, too */
    INDIC,
    LETTER /* of any other script */
};
/* What precedes the first letter of a word within its token. */
enum lead { ALONE, AFTER_SPACE, AFTER_MARK, LEADS };
enum letters { SMALL, CAPITAL, CAPITALS, SPELLINGS };

#define LONGEST 16 /* letters; each further letter costs BEYOND */
#define BEYOND 35
#define ACCENT 80       /* extra cost of a letter with an accent, because such words are rarer in
                         * vocabularies */
#define DISTANT 90      /* more of that if the letter is not of western Europe: Polish, Turkish */
#define RANDOM 69       /* a character of base64 */
#define RANDOM_LEAST 24 /* from this length on, text can be recognized as random */

static const uint16_t word_costs[LEADS][SPELLINGS][LONGEST] = {
    [ALONE] =
        {{100, 100, 109, 103, 112, 113, 126, 134, 146, 150, 155, 169, 174, 230, 255, 290},
         {100, 102, 109, 107, 113, 121, 124, 131, 138, 166, 175, 195, 200, 226, 270, 300},
         {100, 108, 127, 170, 175, 220, 225, 240, 255, 265, 320, 360, 420, 450, 480, 520}},
    [AFTER_SPACE] =
        {{100, 100, 102, 102, 103, 104, 107, 110, 113, 119, 130, 150, 165, 190, 215, 245},
         {100, 103, 118, 113, 117, 122, 136, 156, 180, 200, 220, 240, 255, 270, 290, 310},
         {100, 100, 118, 117, 122, 135, 135, 140, 150, 192, 220, 280, 300, 350, 400, 450}},
    [AFTER_MARK] =
        {{100, 118, 125, 117, 126, 120, 150, 152, 184, 199, 200, 239, 260, 270, 310, 330},
         {102, 153, 170, 158, 195, 185, 195, 211, 235, 260, 255, 260, 280, 310, 330, 350},
         {102, 134, 137, 144, 135, 156, 197, 207, 260, 240, 260, 290, 420, 430, 500, 550}},
};

/* The effect of a vocabulary. Costs of a script: of its first character, and of each. */
static const struct profile {
    bool digits; /* each digit is a token */
    uint16_t han[2], kana[2], hangul[2];
    uint16_t cyrillic, indic, letter; /* of each letter */
    uint16_t marks, words, accented;  /* percent; accented: words of a text with accents */
} profiles[] = {
    [CH_COUNTING_USUAL] = {false, {36, 68}, {30, 60}, {40, 49}, 25, 33, 37, 100, 100, 98},
    [CH_COUNTING_META] = {false, {36, 68}, {30, 54}, {40, 55}, 31, 56, 45, 100, 102, 122},
    [CH_COUNTING_DEEPSEEK] = {false, {36, 58}, {30, 52}, {40, 56}, 28, 58, 42, 100, 102, 124},
    [CH_COUNTING_GOOGLE] = {true, {30, 60}, {10, 32}, {32, 44}, 25, 36, 40, 135, 106, 98},
    [CH_COUNTING_ALIBABA] = {true, {36, 62}, {20, 44}, {40, 56}, 33, 100, 56, 100, 101, 122},
    [CH_COUNTING_MISTRAL] = {true, {36, 88}, {30, 47}, {40, 47}, 30, 38, 50, 100, 104, 104},
    [CH_COUNTING_OLDER] = {false, {40, 104}, {40, 90}, {50, 92}, 44, 104, 90, 100, 101, 122},
    [CH_COUNTING_FINE] = {false, {36, 68}, {30, 60}, {40, 49}, 25, 33, 37, 100, 100, 98},
};

static bool tokens_between(uint32_t cp, uint32_t from, uint32_t to) {
    return cp >= from && cp <= to;
}

static enum kind kind_of_wide(uint32_t cp) {
    if (tokens_between(cp, 0xc0, 0x24f) && cp != 0xd7 && cp != 0xf7)
        return cp < 0xdf ? UPPER : LOWER;
    if (tokens_between(cp, 0x1e00, 0x1eff)) /* Vietnamese */
        return LOWER;
    if (tokens_between(cp, 0x3040, 0x30ff))
        return KANA;
    if (tokens_between(cp, 0x3400, 0x9fff) || tokens_between(cp, 0x20000, 0x3ffff))
        return HAN;
    if (tokens_between(cp, 0xac00, 0xd7a3))
        return HANGUL;
    if (tokens_between(cp, 0x370, 0x58f))
        return CYRILLIC;
    if (tokens_between(cp, 0x900, 0xdff))
        return INDIC;
    if (tokens_between(cp, 0x80, 0xbf) || tokens_between(cp, 0x2000, 0x2bff) ||
        tokens_between(cp, 0x3000, 0x303f) || tokens_between(cp, 0xe000, 0xf8ff) ||
        tokens_between(cp, 0xfe00, 0xfe6f) || tokens_between(cp, 0xff00, 0xff0f) ||
        tokens_between(cp, 0xff1a, 0xff20) || cp >= 0x1f000)
        return SYMBOL;
    return LETTER;
}

static const unsigned char ascii_kinds[0x80] = {
    [' '] = BLANK,         ['\t'] = BLANK,         ['\n'] = NEWLINE,       ['\r'] = NEWLINE,
    ['0' ... '9'] = DIGIT, ['A' ... 'Z'] = UPPER, ['a' ... 'z'] = LOWER,
};

static enum kind look_wide(struct ch_sv s, size_t at, unsigned *n) {
    uint32_t cp;
    unsigned len = ch_utf8_next(ch_sv(s.p + at, s.n - at), &cp);
    *n = len ? len : 1;
    return len ? kind_of_wide(cp) : SYMBOL;
}

/* The kind of the character at `at` and its length in *n; BLANK and 0 at the end, so that a
 * trailing blank is counted separately. */
static inline enum kind tokens_look(struct ch_sv s, size_t at, unsigned *n) {
    *n = at < s.n;
    if (at >= s.n)
        return BLANK;
    unsigned char c = (unsigned char)s.p[at];
    return c < 0x80 ? ascii_kinds[c] : look_wide(s, at, n);
}

static bool tokens_is_letter(enum kind k) {
    return k >= UPPER;
}

/* Length of the run of one kind from *at on; *at is advanced. Nearly all text is ASCII, and
 * a whole history is measured before its first request, so ASCII is classified inline. */
static size_t tokens_run_of(struct ch_sv s, size_t *at, enum kind kind) {
    const unsigned char *p = (const unsigned char *)s.p;
    size_t count = 0, i = *at;
    unsigned n;
    for (;; i += n, count++) {
        size_t from = i;
        while (i < s.n && p[i] < 0x80 && ascii_kinds[p[i]] == kind)
            i++;
        count += i - from;
        if (i >= s.n || p[i] < 0x80 || tokens_look(s, i, &n) != kind)
            break;
    }
    *at = i;
    return count;
}

/* Length of a contraction: the end of "it's" and "they'll" belongs to the word. */
static size_t contraction(struct ch_sv s, size_t at) {
    static const char *const ends[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    if (at >= s.n || s.p[at] != '\'')
        return 0;
    for (size_t i = 0; i < CH_LEN(ends); i++) {
        struct ch_sv end = ch_sv_str(ends[i]);
        unsigned n;
        if (ch_sv_starts(ch_sv(s.p + at, s.n - at), ends[i]) &&
            !tokens_is_letter(tokens_look(s, at + end.n, &n)))
            return end.n;
    }
    return 0;
}

static size_t latin_cost(struct ch_sv s, size_t *at, enum lead lead) {
    size_t from = *at;
    size_t upper = tokens_run_of(s, at, UPPER), lower = tokens_run_of(s, at, LOWER);
    enum letters spelling = upper == 0 ? SMALL : lower ? CAPITAL : CAPITALS;
    size_t n = upper + lower, accents = *at - from - n, distant = 0;
    for (size_t i = from; accents && i < *at; i++)
        distant += (unsigned char)s.p[i] > 0xc3 && (unsigned char)s.p[i] < 0xe0;
    *at += contraction(s, *at);
    if (n == 1 && spelling == CAPITALS)
        spelling = CAPITAL;
    size_t cost = word_costs[lead][spelling][(n < LONGEST ? n : LONGEST) - 1];
    return cost + (n > LONGEST ? (n - LONGEST) * BEYOND : 0) + accents * ACCENT +
           distant * DISTANT;
}

#define BOTH_CASES (1U << UPPER | 1U << LOWER)

/* True if the text at `at` looks like base64: no blanks, and letters of both cases and
 * digits in turns. */
static bool is_random(struct ch_sv s, size_t at) {
    size_t n = 0, turns = 0;
    enum kind before = MARK;
    unsigned seen = 0;
    for (; n < RANDOM_LEAST && at + n < s.n; n++) {
        unsigned char c = (unsigned char)s.p[at + n];
        enum kind k = c < 0x80 ? (enum kind)ascii_kinds[c] : SYMBOL;
        if (k != UPPER && k != LOWER && k != DIGIT && c != '+' && c != '/')
            break;
        turns += k != before;
        before = k;
        seen |= 1U << k;
    }
    return n == RANDOM_LEAST && turns * 10 >= n * 4 && (seen & BOTH_CASES) == BOTH_CASES;
}

/* Cost of text without words: its tokens are short whatever the vocabulary. */
static size_t random_cost(struct ch_sv s, size_t *at, const struct profile *p) {
    size_t from = *at, digits = 0;
    while (*at < s.n && is_random(s, *at)) {
        for (size_t i = 0; i < RANDOM_LEAST; i++)
            digits += s.p[*at + i] >= '0' && s.p[*at + i] <= '9';
        *at += RANDOM_LEAST;
    }
    return (*at - from) * RANDOM + (p->digits ? digits * 10 : 0);
}

static size_t script_cost(const uint16_t cost[2], size_t n) {
    return cost[0] + (size_t)cost[1] * n;
}

static size_t word_cost(struct ch_sv s, size_t *at, enum kind kind, enum lead lead,
                        const struct profile *p) {
    size_t from = *at;
    if (kind == UPPER || kind == LOWER) {
        size_t cost = latin_cost(s, at, lead) * p->words / 100;
        bool goes_on = *at < s.n && *at - from < 5 && (unsigned char)s.p[*at] < 0x80 &&
                       (ascii_kinds[(unsigned char)s.p[*at]] >= DIGIT);
        if (!goes_on || !is_random(s, from))
            return cost;
        *at = from;
        return random_cost(s, at, p);
    }
    size_t extra = lead == ALONE ? 0 : 50, n = tokens_run_of(s, at, kind);
    switch (kind) {
    case HAN:
        return script_cost(p->han, n) + extra;
    case KANA:
        return script_cost(p->kana, n) + extra;
    case HANGUL:
        return script_cost(p->hangul, n) + extra / 2;
    default:
        n *= kind == CYRILLIC ? p->cyrillic : kind == INDIC ? p->indic : p->letter;
        return CH_MAX(n, 100 + extra / 2);
    }
}

/* A run of many equal marks ("-----") costs one or two tokens, however long. */
static size_t mark_cost(struct ch_sv s, size_t *at, const struct profile *p) {
    size_t ascii = 0, wide = 0;
    char last = 0;
    unsigned n, same = 0;
    for (enum kind k; k = tokens_look(s, *at, &n), n && (k == MARK || k == SYMBOL); *at += n) {
        same = s.p[*at] == last ? same + 1 : 0;
        last = s.p[*at];
        if (k == SYMBOL)
            wide++;
        else if (same < 4)
            ascii++;
    }
    while (*at < s.n && (s.p[*at] == '\n' || s.p[*at] == '\r'))
        ++*at;
    size_t marks = (ascii > 3 ? 110 + 48 * (ascii - 3) : 100) * p->marks / 100;
    return wide ? 70 * wide + 30 + (ascii ? marks - 50 : 0) : marks;
}

static size_t blank_cost(struct ch_sv s, size_t *at) {
    unsigned n;
    size_t from = *at;
    tokens_run_of(s, at, BLANK);
    enum kind next = tokens_look(s, *at, &n);
    if (n && next == NEWLINE) {
        tokens_run_of(s, at, NEWLINE);
        return 100;
    }
    if (!n || next == DIGIT)
        return 100;
    --*at; /* the last blank is part of the next word */
    return *at > from ? 100 : 0;
}

static size_t digit_cost(struct ch_sv s, size_t *at, const struct profile *p) {
    size_t from = *at, n = tokens_run_of(s, at, DIGIT);
    if (n < 5 && *at < s.n && tokens_between((unsigned char)s.p[*at] | 32, 'a', 'z') &&
        is_random(s, from)) {
        *at = from;
        return random_cost(s, at, p);
    }
    return p->digits ? n * 100 : (n + 2) / 3 * 100;
}

/* Cost of the piece at `at`: a word with its lead, or anything else. */
static size_t piece_cost(struct ch_sv s, size_t *at, const struct profile *p) {
    unsigned n, m;
    enum kind kind = tokens_look(s, *at, &n), next = tokens_look(s, *at + n, &m);

    if (tokens_is_letter(kind))
        return word_cost(s, at, kind, ALONE, p);
    if (kind == DIGIT)
        return digit_cost(s, at, p);
    if (kind == NEWLINE) {
        tokens_run_of(s, at, NEWLINE);
        return 100;
    }
    if (m && tokens_is_letter(next)) {
        *at += n;
        return word_cost(s, at, next, kind == BLANK ? AFTER_SPACE : AFTER_MARK, p);
    }
    if (kind != BLANK)
        return mark_cost(s, at, p);
    if (m && (next == MARK || next == SYMBOL)) {
        *at += n;
        return mark_cost(s, at, p);
    }
    return blank_cost(s, at);
}

/* True if at least one byte of 150 begins a letter with an accent, as in German or French. */
static bool is_accented(struct ch_sv s) {
    size_t accents = 0;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        accents += c >= 0xc3 && c <= 0xc9;
    }
    return accents * 150 > s.n;
}

size_t ch_tokens_as(struct ch_sv text, enum ch_counting how) {
    struct profile p = profiles[how];
    size_t cost = 0;
    if (is_accented(text))
        p.words = p.accented;
    for (size_t at = 0; at < text.n;)
        cost += piece_cost(text, &at, &p);
    if (how == CH_COUNTING_FINE)
        cost += cost * 3 / 10;
    return (cost + 99) / 100;
}

/* --- learning ------------------------------------------------------------------ */

/* A vendor's fixed overhead must not be treated as a property of the text. */
#define FACTOR_MIN 0.5
#define FACTOR_MAX 2.0

static double tokens_bounded(double factor) {
    return factor < FACTOR_MIN ? FACTOR_MIN : factor > FACTOR_MAX ? FACTOR_MAX : factor;
}

void ch_gauge_learn(struct ch_gauge *g, size_t guessed, size_t counted) {
    if (!guessed || !counted)
        return;
    g->factor = tokens_bounded((double)counted / (double)guessed);
    g->guessed = guessed;
    g->counted = counted;
}

size_t ch_gauge_expect(const struct ch_gauge *g, size_t guessed) {
    if (g->factor == 0)
        return guessed;
    double more = ((double)guessed - (double)g->guessed) * g->factor;
    double all = (double)g->counted + more;
    return all > 0 ? (size_t)(all + 0.5) : 0;
}
