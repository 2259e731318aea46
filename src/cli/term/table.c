/* table.c -- see table.h. */
#include "cli/term/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "chela.h"
#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/term/term.h"

static size_t table_columns(const struct ch_table *t) {
    size_t n = 0;
    while (t->heads[n])
        n++;
    assert(n <= CH_TABLE_COLUMNS);
    return n;
}

char **ch_table_row(struct ch_table *t) {
    table_columns(t);
    t->cells = ch_must(realloc(t->cells, (t->n + 1) * sizeof(*t->cells)));
    memset(t->cells[t->n], 0, sizeof(t->cells[0]));
    return t->cells[t->n++];
}

struct filling {
    struct ch_table *table;
    const char *const *pointers;
    size_t columns;
};

/* The cell of an unknown value is empty. The first cell has a name, and a name may be "null". */
static int fill_row(const char *object, size_t n, void *user) {
    const struct filling *f = user;
    char **row = ch_table_row(f->table), *texts[CH_TABLE_COLUMNS];
    chela_json_get_all(object, n, f->pointers, texts, f->columns);
    for (size_t c = 0; c < f->columns; c++) {
        if (c == 0 || (texts[c] && strcmp(texts[c], "null") != 0))
            row[c] = ch_dup(texts[c] ? texts[c] : "");
        chela_free(texts[c]);
    }
    return 0;
}

void ch_table_fill(struct ch_table *t, const char *json, const char *const *pointers) {
    struct filling f = {t, pointers, table_columns(t)};
    chela_json_each(json, strlen(json), fill_row, &f);
}

static size_t length(const char *cell) {
    return cell ? ch_term_text_columns(cell, strlen(cell)) : 0;
}

/* Print the last cell in the remaining room; if there is too little, in full. */
static void print_last(FILE *out, const char *text, size_t room) {
    enum { LEAST = 12 };
    if (room < LEAST || length(text) <= room)
        fprintf(out, "%s\n", text ? text : "");
    else
        fprintf(out, "%.*s…\n", (int)ch_term_fit(text, strlen(text), (unsigned)room - 1), text);
}

static void print_cells(const struct ch_table *t, FILE *out, const char *const *text,
                        const size_t *width, size_t columns) {
    size_t used = 0;
    for (size_t c = 0; c + 1 < columns; c++) {
        fprintf(out, "%s%*s", text[c] ? text[c] : "", (int)(width[c] - length(text[c]) + 2), "");
        used += width[c] + 2;
    }
    print_last(out, text[columns - 1], t->columns > used ? t->columns - used : 0);
}

static bool is_plain(const char *text) {
    while (*text >= ' ' && *text <= '~')
        text++;
    return !*text;
}

/* A cell has one line: a text cannot add rows. */
static char *safe_cell(char *text) {
    if (is_plain(text))
        return text;
    char *safe = ch_escape_whole(CH_ESCAPE_LINE, text, strlen(text), NULL);
    free(text);
    return safe;
}

void ch_table_print(struct ch_table *t, FILE *out) {
    size_t width[CH_TABLE_COLUMNS] = {0}, columns = 0;
    for (; t->heads[columns]; columns++) {
        width[columns] = strlen(t->heads[columns]);
        for (size_t i = 0; i < t->n; i++)
            if (t->cells[i][columns])
                t->cells[i][columns] = safe_cell(t->cells[i][columns]);
        for (size_t i = 0; i < t->n; i++)
            if (length(t->cells[i][columns]) > width[columns])
                width[columns] = length(t->cells[i][columns]);
    }
    print_cells(t, out, t->heads, width, columns);
    for (size_t i = 0; i < t->n; i++)
        print_cells(t, out, (const char *const *)t->cells[i], width, columns);
}

void ch_table_release(struct ch_table *t) {
    for (size_t i = 0; i < t->n; i++)
        for (size_t c = 0; c < CH_TABLE_COLUMNS; c++)
            free(t->cells[i][c]);
    free(t->cells);
    *t = (struct ch_table){.heads = t->heads, .columns = t->columns};
}
