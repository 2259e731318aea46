/* fuzzy.c -- see fuzzy.h. */
#include "cli/support/fuzzy.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

enum { ADJACENT = 1000, EARLY = 200, SCATTERED = 300 };

static int fuzzy_fold(char c) {
    return tolower((unsigned char)c);
}

/* Offset of the word in the text; negative: the word does not occur. */
static long fuzzy_find(const char *word, size_t n, const char *text) {
    size_t len = strlen(text);
    for (size_t at = 0; at + n <= len; at++) {
        size_t i = 0;
        while (i < n && fuzzy_fold(text[at + i]) == fuzzy_fold(word[i]))
            i++;
        if (i == n)
            return (long)at;
    }
    return -1;
}

/* Number of bytes that the letters of the word span in the text; negative: not in order. */
static long fuzzy_span(const char *word, size_t n, const char *text) {
    size_t i = 0;
    const char *first = NULL;
    for (; *text && i < n; text++) {
        if (fuzzy_fold(*text) != fuzzy_fold(word[i]))
            continue;
        if (i++ == 0)
            first = text;
    }
    return i == n && first ? text - first : -1;
}

static int fuzzy_word(const char *word, size_t n, const char *text) {
    long at = fuzzy_find(word, n, text);
    if (at >= 0)
        return ADJACENT + (at < EARLY ? EARLY - (int)at : 0);
    long span = fuzzy_span(word, n, text);
    if (span < 0)
        return -1;
    return span < SCATTERED ? SCATTERED - (int)span : 0;
}

int ch_fuzzy_score(const char *query, const char *text) {
    int score = 0;
    for (;;) {
        query += strspn(query, " ");
        size_t n = strcspn(query, " ");
        if (n == 0)
            return score;
        int one = fuzzy_word(query, n, text);
        if (one < 0)
            return -1;
        score += one;
        query += n;
    }
}
