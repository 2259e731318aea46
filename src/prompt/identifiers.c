/* identifiers.c -- see identifiers.h. */
#include "prompt/identifiers.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "model/message/ids.h"

#define LONGEST 300 /* longer words are data, not identifiers */

/* --- words ---------------------------------------------------------------------- */

static bool identifiers_is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool identifiers_is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool identifiers_is_word(char c) {
    return identifiers_is_digit(c) || identifiers_is_letter(c) || (unsigned char)c >= 0x80;
}

static bool ends_word(char c) {
    return (unsigned char)c <= ' ' || strchr("\"'`()[]{}<>,;|*", c) || c == 0x7f;
}

/* ASCII words; in scripts without spaces a word ends where the script continues, except
 * inside a path, whose components may contain any script. */
static struct ch_sv identifiers_next_word(struct ch_sv *rest) {
    size_t at = 0, end;
    while (at < rest->n && (ends_word(rest->p[at]) || (unsigned char)rest->p[at] >= 0x80))
        at++;
    bool path = false, suffix = false;
    for (end = at; end < rest->n && !ends_word(rest->p[end]); end++) {
        char c = rest->p[end];
        if ((unsigned char)c >= 0x80 && (!path || suffix))
            break;
        path |= c == '/';
        suffix = c != '/' && (suffix || (c == '.' && path));
    }
    struct ch_sv word = ch_sv(rest->p + at, end - at);
    *rest = ch_sv(rest->p + end, rest->n - end);
    while (word.n && strchr(".:!?=&-/", word.p[word.n - 1]) && word.n > 1)
        word.n--;
    while (word.n && strchr(":!?=&", word.p[0]))
        word.p++, word.n--;
    return word;
}

struct makeup {
    unsigned digits, letters, slashes, dots, marks, capitals, small;
    bool at, scheme;
};

static struct makeup identifiers_look(struct ch_sv w) {
    struct makeup m = {0};
    for (size_t i = 0; i < w.n; i++) {
        char c = w.p[i];
        m.digits += identifiers_is_digit(c);
        m.letters += identifiers_is_letter(c) || (unsigned char)c >= 0x80;
        m.capitals += c >= 'A' && c <= 'Z' && i > 0;
        m.small += c >= 'a' && c <= 'z';
        m.slashes += c == '/';
        m.dots += c == '.' && i > 0;
        m.marks += c == '_' || c == '#' || c == '-' || c == ':' || c == '=';
        m.at |= c == '@' && i > 0;
        m.scheme |= c == ':' && i + 2 < w.n && w.p[i + 1] == '/' && w.p[i + 2] == '/';
    }
    return m;
}

/* "main.c", "report.final.md": letters, and a short end after a dot. */
static bool has_suffix(struct ch_sv w) {
    size_t i = w.n;
    while (i > 0 && identifiers_is_word(w.p[i - 1]))
        i--;
    size_t end = w.n - i;
    return i > 1 && w.p[i - 1] == '.' && end > 0 && end <= 5 && i > 2;
}

static bool is_identifier(struct ch_sv w) {
    if (w.n < 3 || w.n > LONGEST)
        return false;
    struct makeup m = identifiers_look(w);
    if (m.scheme || (m.at && m.dots))
        return true;
    if (m.slashes)
        return m.letters && w.n > 3 &&
               (strchr("/.~", w.p[0]) || m.slashes > 1 || m.digits || has_suffix(w));
    if (m.digits && m.letters)
        return w.n > 3 || m.capitals + (w.p[0] >= 'A' && w.p[0] <= 'Z') > 0;
    if (m.digits)
        return m.digits > 2 || (m.digits > 1 && (m.dots || m.marks));
    if (has_suffix(w))
        return m.dots == 1 && w.n > 4;
    bool joined = memchr(w.p, '_', w.n) && m.letters > 3;
    return joined || (m.capitals && m.small > 1 && w.n > 4); /* snake_case, camelCase */
}

/* --- the set ----------------------------------------------------------------------- */

void ch_identifiers_release(struct ch_identifiers *s) {
    ch_free(s->list);
    ch_free(s->slots);
    *s = (struct ch_identifiers){0};
}

/* Hash of the form: digits alone become "9", mixed words "x", of any length; letters stay.
 * Members of a series have equal forms. */
static uint64_t form_of(struct ch_sv w) {
    uint64_t h = 0;
    for (size_t i = 0; i < w.n;) {
        size_t from = i;
        bool digits = false, letters = false;
        for (; i < w.n && identifiers_is_word(w.p[i]); i++) {
            digits |= identifiers_is_digit(w.p[i]);
            letters |= !identifiers_is_digit(w.p[i]);
        }
        if (i > from)
            h = ch_hash(h, !digits ? ch_sv(w.p + from, i - from)
                           : letters ? CH_SV("x")
                                     : CH_SV("9"));
        else
            h = ch_hash(h, ch_sv(w.p + i++, 1));
    }
    return h;
}

static uint32_t *identifiers_slot_of(const struct ch_identifiers *s, struct ch_sv w) {
    size_t at = ch_hash(0, w) & (s->nslots - 1);
    while (s->slots[at] && !ch_sv_eq(s->list[s->slots[at] - 1].text, w))
        at = (at + 1) & (s->nslots - 1);
    return &s->slots[at];
}

static void identifiers_grow(struct ch_identifiers *s) {
    s->cap = s->cap ? s->cap * 2 : 64;
    s->list = ch_realloc(s->list, s->cap * sizeof(*s->list));
    ch_free(s->slots);
    s->nslots = s->cap * 2;
    s->slots = ch_alloc(s->nslots * sizeof(*s->slots));
    for (size_t i = 0; i < s->n; i++)
        *identifiers_slot_of(s, s->list[i].text) = (uint32_t)i + 1;
}

static void identifiers_add(struct ch_identifiers *s, struct ch_sv w, unsigned weight) {
    if (s->n == s->cap)
        identifiers_grow(s);
    uint32_t *slot = identifiers_slot_of(s, w);
    if (*slot) {
        struct ch_identifier *known = &s->list[*slot - 1];
        known->weight = CH_MAX(known->weight, weight);
        known->seen++;
    } else if (s->n < CH_LIMIT_IDENTIFIERS) {
        *slot = (uint32_t)s->n + 1;
        s->list[s->n++] = (struct ch_identifier){w, form_of(w), weight, 1};
    }
}

void ch_identifiers_read(struct ch_identifiers *s, struct ch_sv text, unsigned weight) {
    while (text.n) {
        struct ch_sv w = identifiers_next_word(&text);
        if (is_identifier(w))
            identifiers_add(s, w, weight);
    }
}

size_t ch_identifiers_count(struct ch_sv text) {
    size_t n = 0;
    while (text.n)
        n += is_identifier(identifiers_next_word(&text));
    return n;
}

bool ch_identifiers_have(const struct ch_identifiers *s, struct ch_sv word) {
    return s->nslots && *identifiers_slot_of(s, word);
}

bool ch_identifier_stands_in(struct ch_sv text, struct ch_sv word) {
    const char *end = text.p + text.n;
    for (const char *p = text.p; word.n && (p = memmem(p, (size_t)(end - p), word.p, word.n));
         p++) {
        bool before = p > text.p && (identifiers_is_digit(p[-1]) || identifiers_is_letter(p[-1]));
        const char *q = p + word.n;
        bool after = q < end && (identifiers_is_digit(*q) || identifiers_is_letter(*q));
        if (!before && !after)
            return true;
    }
    return false;
}

/* --- ranking ------------------------------------------------------------------------ */

struct ranked {
    const struct ch_identifier *of;
    uint32_t index, series; /* series: number of identifiers with its form */
};

static int by_form(const void *a, const void *b) {
    uint64_t x = ((const struct ranked *)a)->of->form, y = ((const struct ranked *)b)->of->form;
    return x < y ? -1 : x > y;
}

/* The weight of the source counts first, but four members of a series cost one step. */
static long worth(const struct ranked *r) {
    unsigned common = 0;
    for (uint32_t n = r->series; n > 1; n /= 4)
        common++;
    return (long)r->of->weight * 16 - (long)common * 16 + (long)CH_MIN(r->of->seen, 8u);
}

static int by_worth(const void *a, const void *b) {
    const struct ranked *x = a, *y = b;
    long d = worth(y) - worth(x);
    if (d)
        return d < 0 ? -1 : 1;
    return x->index > y->index ? -1 : x->index < y->index; /* the newer */
}

void ch_identifiers_rank(const struct ch_identifiers *s, uint32_t *order) {
    if (!s->n)
        return;
    CH_AUTOFREE struct ranked *all = ch_malloc(s->n * sizeof(*all));
    for (size_t i = 0; i < s->n; i++)
        all[i] = (struct ranked){&s->list[i], (uint32_t)i, 0};
    qsort(all, s->n, sizeof(*all), by_form);
    for (size_t i = 0, j; i < s->n; i = j) {
        for (j = i; j < s->n && all[j].of->form == all[i].of->form; j++)
            continue;
        for (size_t k = i; k < j; k++)
            all[k].series = (uint32_t)(j - i);
    }
    qsort(all, s->n, sizeof(*all), by_worth);
    for (size_t i = 0; i < s->n; i++)
        order[i] = all[i].index;
}
