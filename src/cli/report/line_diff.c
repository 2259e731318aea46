/* line_diff.c -- see line_diff.h. The longest common subsequence of lines, by the usual table. */
#include "cli/report/line_diff.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/support/mem.h"

#define AROUND 3
#define MOST 4000 /* lines of a text that are compared; the rest counts as changed */

struct lines {
    const char **at; /* owned */
    size_t *length;  /* owned */
    size_t n;
};

struct shown { /* a line of the result */
    char mark;
    const char *at;
    size_t length;
};

static struct lines split_lines(const char *text) {
    struct lines l = {0};
    while (*text && l.n < MOST) {
        l.at = ch_must(realloc(l.at, (l.n + 1) * sizeof(*l.at)));
        l.length = ch_must(realloc(l.length, (l.n + 1) * sizeof(*l.length)));
        l.at[l.n] = text;
        l.length[l.n++] = strcspn(text, "\n");
        text += l.length[l.n - 1];
        text += *text == '\n';
    }
    return l;
}

static void lines_free(struct lines *l) {
    free(l->at);
    free(l->length);
}

static bool same_line(const struct lines *a, size_t i, const struct lines *b, size_t k) {
    return a->length[i] == b->length[k] && memcmp(a->at[i], b->at[k], a->length[i]) == 0;
}

/* table[i * (b->n + 1) + k]: common lines of the texts from line i and line k on. */
static unsigned short *common_table(const struct lines *a, const struct lines *b) {
    size_t width = b->n + 1;
    unsigned short *t = ch_must(calloc((a->n + 1) * width, sizeof(*t)));
    for (size_t i = a->n; i-- > 0;)
        for (size_t k = b->n; k-- > 0;) {
            unsigned short down = t[(i + 1) * width + k], right = t[i * width + k + 1];
            t[i * width + k] = same_line(a, i, b, k)
                                   ? (unsigned short)(t[(i + 1) * width + k + 1] + 1)
                                   : (down > right ? down : right);
        }
    return t;
}

static size_t walk_table(const struct lines *a, const struct lines *b, const unsigned short *t,
                         struct shown *out) {
    size_t i = 0, k = 0, n = 0, width = b->n + 1;
    while (i < a->n || k < b->n) {
        if (i < a->n && k < b->n && same_line(a, i, b, k)) {
            out[n++] = (struct shown){' ', a->at[i], a->length[i]};
            i++;
            k++;
        } else if (i < a->n && (k == b->n || t[(i + 1) * width + k] >= t[i * width + k + 1])) {
            out[n++] = (struct shown){'-', a->at[i], a->length[i]};
            i++;
        } else {
            out[n++] = (struct shown){'+', b->at[k], b->length[k]};
            k++;
        }
    }
    return n;
}

static bool is_near_change(const struct shown *list, size_t n, size_t i) {
    size_t from = i > AROUND ? i - AROUND : 0, to = i + AROUND < n ? i + AROUND : n - 1;
    for (size_t k = from; k <= to; k++)
        if (list[k].mark != ' ')
            return true;
    return false;
}

unsigned ch_line_diff(FILE *out, const char *before, const char *after) {
    struct lines a = split_lines(before), b = split_lines(after);
    unsigned short *table = common_table(&a, &b);
    struct shown *list = ch_must(calloc(a.n + b.n + 1, sizeof(*list)));
    size_t n = walk_table(&a, &b, table, list);
    unsigned changed = 0;
    bool gap = false;
    for (size_t i = 0; i < n; i++) {
        changed += list[i].mark != ' ';
        if (!is_near_change(list, n, i)) {
            gap = true;
            continue;
        }
        if (gap)
            fputs("...\n", out);
        gap = false;
        fprintf(out, "%c %.*s\n", list[i].mark, (int)list[i].length, list[i].at);
    }
    free(list);
    free(table);
    lines_free(&a);
    lines_free(&b);
    return changed;
}
