/* tokenize.c -- see tokenize.h.
 *
 * One pass over the characters. Each character has a class. A word ends at a
 * change of class (a separator, a digit after a letter) or of letter case
 * ("aB", "ABc"). The reader keeps only the current and the previous word, each
 * up to WORD_MAX bytes; longer words are cut. */
#include "search/tokenize.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "search/stem.h"

enum { WORD_MAX = 32, COMPOUND_MAX = 16 };

enum glyph {
    SEPARATOR,
    APOSTROPHE,
    END, /* end of a sentence */
    LOWER,
    UPPER,
    DIGIT,
    HAN,
    DENSE /* another script that is written without spaces */
};

struct text {
    char p[WORD_MAX]; /* folded */
    size_t n;
};

struct reader {
    struct ch_terms *out;
    size_t max;
    uint32_t sentence;
    struct text word, last; /* last.n 0: no previous word in the sentence */
    struct text compound;   /* all characters since the last separator */
    unsigned parts;         /* words of the compound */
    bool after_apostrophe;
    bool ascii;    /* the word is ASCII: English endings apply */
    char dense[4]; /* the previous character of a script without spaces, UTF-8; ndense 0: none */
    size_t ndense;
    bool dense_alone; /* that character is not part of a term yet */
};

/* --- characters ---------------------------------------------------------------- */

/* U+00C0..U+017F without accents; '-' has no plain letter. */
static const char plain[] = "aaaaaaaceeeeiiiidnooooo-ouuuuyts"  /* U+00C0 */
                            "aaaaaaaceeeeiiiidnooooo-ouuuuyty"  /* U+00E0 */
                            "aaaaaaccccccccddddeeeeeeeeeegggg"  /* U+0100 */
                            "gggghhhhiiiiiiiiiiiijjkkklllllll"  /* U+0120 */
                            "lllnnnnnnnnnoooooooorrrrrrssssss"  /* U+0140 */
                            "ssttttttuuuuuuuuuuuuwwyyyzzzzzzs"; /* U+0160 */

static bool tokenize_between(uint32_t c, uint32_t first, uint32_t last) {
    return c - first <= last - first;
}

static enum glyph ascii_class(uint32_t c) {
    if (tokenize_between(c, 'a', 'z'))
        return LOWER;
    if (tokenize_between(c, 'A', 'Z'))
        return UPPER;
    if (tokenize_between(c, '0', '9'))
        return DIGIT;
    if (c == '\'')
        return APOSTROPHE;
    return c == '.' || c == '!' || c == '?' || c == ';' || c == '\n' ? END : SEPARATOR;
}

/* Blocks of the Basic Multilingual Plane that are not letters of words. */
static enum glyph wide_class(uint32_t c) {
    static const struct {
        uint32_t first, last;
        enum glyph is;
    } blocks[] = {
        {0x0080, 0x00bf, SEPARATOR},   {0x00d7, 0x00d7, SEPARATOR}, {0x00f7, 0x00f7, SEPARATOR},
        {0x0e00, 0x0eff, DENSE},       {0x1000, 0x109f, DENSE},     {0x1780, 0x17ff, DENSE},
        {0x2018, 0x2019, APOSTROPHE},  {0x2000, 0x2bff, SEPARATOR}, {0x2e80, 0x2fdf, HAN},
        {0x3002, 0x3002, END},         {0x3005, 0x3007, HAN},       {0x3000, 0x303f, SEPARATOR},
        {0x3040, 0x33ff, DENSE},       {0x3400, 0x4dbf, HAN},       {0x4e00, 0x9fff, HAN},
        {0xac00, 0xd7ff, DENSE},       {0xe000, 0xf8ff, SEPARATOR}, {0xf900, 0xfaff, HAN},
        {0xfe00, 0xfe6f, SEPARATOR},   {0xff61, 0xff61, END},       {0xff62, 0xff65, SEPARATOR},
        {0xff66, 0xffdc, DENSE},       {0xffe0, 0xffff, SEPARATOR}, {0x20000, 0x3ffff, HAN},
        {0x1f000, 0x1faff, SEPARATOR},
    };

    for (size_t i = 0; i < CH_LEN(blocks); i++)
        if (tokenize_between(c, blocks[i].first, blocks[i].last))
            return blocks[i].is;
    return LOWER;
}

/* Return the class of a character and replace *c by its plain lower-case form.
 * Only ASCII capitals separate words. */
static enum glyph classify(uint32_t *c) {
    if (tokenize_between(*c, 0xff01, 0xff5e))
        *c -= 0xff01 - '!'; /* a full-width form */
    if (*c < 0x80) {
        enum glyph is = ascii_class(*c);
        *c += is == UPPER ? 'a' - 'A' : 0;
        return is;
    }
    enum glyph is = wide_class(*c);
    if (is != LOWER)
        return is;
    if (tokenize_between(*c, 0xc0, 0x17f))
        *c = (unsigned char)plain[*c - 0xc0];
    else if (tokenize_between(*c, 0x391, 0x3a9) || tokenize_between(*c, 0x410, 0x42f))
        *c += 32; /* Greek, Cyrillic */
    else if (tokenize_between(*c, 0x400, 0x40f))
        *c += 80;
    return LOWER;
}

/* --- terms ----------------------------------------------------------------------- */

static uint64_t hash(const char *p, size_t n) {
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)p[i]) * UINT64_C(0x100000001b3);
    h ^= h >> 32;
    h *= UINT64_C(0xd6e8feb86659fd93);
    return h ^ h >> 32;
}

static void tokenize_emit(struct reader *r, enum ch_term_kind kind, const char *p, size_t n) {
    struct ch_terms *w = r->out;

    if (w->n >= r->max)
        return;
    CH_GROW(w->list, w->n, w->cap, 32);
    w->list[w->n++] = (struct ch_search_term){hash(p, n), r->sentence, kind};
}

/* Normalize spelling: "analyse" becomes "analyze". */
static void respell(char *p, size_t n) {
    static const struct ch_sv endings[] = {CH_SV("isation"), CH_SV("ising"), CH_SV("ised"),
                                           CH_SV("ise"),     CH_SV("yse"),   CH_SV("ysing")};

    for (size_t i = 0; i < CH_LEN(endings); i++) {
        struct ch_sv e = endings[i];
        if (n > e.n + 2 && p[n - 1] == e.p[e.n - 1] && memcmp(p + n - e.n, e.p, e.n) == 0)
            p[n - e.n + 1] = 'z';
    }
}

static void emit_stem(struct reader *r, enum ch_term_kind kind, struct text t) {
    respell(t.p, t.n);
    tokenize_emit(r, kind, t.p, ch_stem(t.p, t.n));
}

static bool tokenize_append(struct text *t, const char *p, size_t n) {
    if (t->n + n > sizeof(t->p))
        return false;
    memcpy(t->p + t->n, p, n);
    t->n += n;
    return true;
}

/* --- words ----------------------------------------------------------------------- */

/* English stop words. Sorted. */
static const char *const empty_words[] = {
    "a",    "about",  "all",   "also", "am",    "an",    "and",   "any",  "are",  "as",    "at",
    "be",   "been",   "but",   "by",   "can",   "could", "did",   "do",   "does", "for",   "from",
    "give", "had",    "has",   "have", "he",    "help",  "her",   "his",  "how",  "i",     "if",
    "in",   "into",   "is",    "it",   "its",   "just",  "know",  "let",  "like", "me",    "my",
    "need", "no",     "not",   "of",   "off",   "on",    "or",    "our",  "out",  "over",  "please",
    "she",  "should", "so",    "some", "such",  "tell",  "than",  "that", "the",  "their", "them",
    "then", "there",  "these", "they", "this",  "those", "to",    "too",  "us",   "want",  "was",
    "we",   "were",   "what",  "when", "where", "which", "while", "who",  "whom", "why",   "will",
    "with", "would",  "you",   "your", "yours",
};

/* Words that often begin a new request within a request. */
static const char *const turns[] = {"also", "then"};

static int tokenize_compare(const void *key, const void *entry) {
    const struct text *t = key;
    const char *word = *(const char *const *)entry;
    size_t i = 0;
    while (i < t->n && t->p[i] == word[i])
        i++;
    return i == t->n ? -(word[i] != '\0') : (unsigned char)t->p[i] - (unsigned char)word[i];
}

static bool tokenize_listed(const struct text *t, const char *const *list, size_t n) {
    return bsearch(t, list, n, sizeof(*list), tokenize_compare) != NULL;
}

/* Whether t is the rest of "what's", "don't" or "we'll" after the apostrophe. */
static bool is_clitic(const struct text *t) {
    static const char *const clitics[] = {"d", "ll", "m", "re", "s", "t", "ve"};
    return tokenize_listed(t, clitics, CH_LEN(clitics));
}

static void tokenize_end_word(struct reader *r) {
    struct text w = r->word;
    bool clitic = r->after_apostrophe && is_clitic(&w);

    if (w.n == 0)
        return;
    r->word.n = 0;
    r->after_apostrophe = false;
    r->parts++;
    if (clitic || tokenize_listed(&w, empty_words, CH_LEN(empty_words))) {
        if (tokenize_listed(&w, turns, CH_LEN(turns)))
            r->sentence++;
        return;
    }
    bool digit = tokenize_between((unsigned char)w.p[0], '0', '9');
    if (w.n == 1 && !digit)
        return;
    if (r->ascii && !digit)
        emit_stem(r, CH_TERM_WORD, w);
    else
        tokenize_emit(r, CH_TERM_WORD, w.p, w.n);
    if (r->last.n && tokenize_append(&r->last, w.p, w.n))
        emit_stem(r, CH_TERM_JOINED, r->last);
    r->last = w;
}

/* Add a whole compound such as "GitHub" or "ec2", since other texts write it as
 * one word. */
static void end_compound(struct reader *r) {
    tokenize_end_word(r);
    if (r->parts > 1 && r->compound.n <= COMPOUND_MAX)
        emit_stem(r, CH_TERM_WORD, r->compound);
    r->compound.n = 0;
    r->parts = 0;
}

static void tokenize_add_letter(struct reader *r, uint32_t c) {
    char p[4];
    unsigned n = ch_utf8_put(p, c);

    if (r->word.n == 0)
        r->ascii = true;
    r->ascii &= n == 1;
    tokenize_append(&r->word, p, n);
    tokenize_append(&r->compound, p, n);
}

/* --- scripts without spaces ---------------------------------------------------------- */

static void end_dense(struct reader *r) {
    if (r->ndense && r->dense_alone)
        tokenize_emit(r, CH_TERM_CHAR, r->dense, r->ndense);
    r->ndense = 0;
}

static void add_dense(struct reader *r, uint32_t c, bool han) {
    char pair[8];
    size_t before = r->ndense;

    memcpy(pair, r->dense, before);
    size_t n = ch_utf8_put(r->dense, c);
    memcpy(pair + before, r->dense, n);
    r->ndense = n;
    if (before)
        tokenize_emit(r, CH_TERM_CHARS, pair, before + n);
    if (han)
        tokenize_emit(r, CH_TERM_CHAR, r->dense, n);
    r->dense_alone = !before && !han;
}

/* --- texts --------------------------------------------------------------------------- */

static void end_sentence(struct reader *r) {
    end_compound(r);
    r->last.n = 0;
    r->sentence++;
}

struct character {
    uint32_t c;
    unsigned n; /* bytes */
    enum glyph is;
};

/* The first character of a text; a separator if the text is empty or its first byte is not
 * valid. */
static struct character tokenize_first(struct ch_sv text) {
    struct character k = {.c = ' ', .n = 1, .is = SEPARATOR};
    unsigned n = ch_utf8_next(text, &k.c);
    if (n) {
        k.n = n;
        k.is = classify(&k.c);
    }
    return k;
}

static bool parts_words(enum glyph before, enum glyph now, enum glyph after) {
    if ((before == DIGIT) != (now == DIGIT))
        return true;
    return now == UPPER && (before == LOWER || (before == UPPER && after == LOWER));
}

static void tokenize_take(struct reader *r, uint32_t c, enum glyph before, enum glyph now,
                          enum glyph after) {
    if (now != HAN && now != DENSE)
        end_dense(r);
    switch (now) {
    case LOWER:
    case UPPER:
    case DIGIT:
        if (parts_words(before, now, after))
            tokenize_end_word(r);
        tokenize_add_letter(r, c);
        break;
    case HAN:
    case DENSE:
        end_compound(r);
        add_dense(r, c, now == HAN);
        break;
    case APOSTROPHE:
        end_compound(r);
        r->after_apostrophe = before == LOWER || before == UPPER;
        break;
    case END:
        if (c == '.' && after >= LOWER)
            end_compound(r); /* "3.5", "main.c", "os.path" */
        else
            end_sentence(r);
        break;
    case SEPARATOR:
        end_compound(r);
        break;
    }
}

void ch_terms_read(struct ch_terms *w, struct ch_sv text, size_t max) {
    struct reader r = {.out = w, .max = max, .sentence = w->n ? w->list[w->n - 1].sentence + 1 : 0};
    struct character now = tokenize_first(text);
    enum glyph before = SEPARATOR;

    while (text.n && w->n < max) {
        text = ch_sv(text.p + now.n, text.n - now.n);
        struct character after = tokenize_first(text);
        tokenize_take(&r, now.c, before, now.is, after.is);
        before = now.is;
        now = after;
    }
    end_compound(&r);
    end_dense(&r);
}

void ch_terms_clear(struct ch_terms *w) {
    w->n = 0;
}

void ch_terms_release(struct ch_terms *w) {
    ch_free(w->list);
    *w = (struct ch_terms){0};
}
