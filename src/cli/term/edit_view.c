/* edit_view.c -- the view of an editor: its text wrapped to the terminal's width, and the
 * cursor position. See edit.h. */
#include "cli/term/edit.h"

#include <stdio.h>
#include <string.h>

#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/term/edit.h"
#include "cli/term/flow.h"
#include "cli/term/term.h"

struct sheet {
    struct ch_edit_view *view;
    struct ch_draft line;
    unsigned columns, used, indent;
};

static void edit_view_end_line(struct sheet *s) {
    struct ch_edit_view *v = s->view;
    ch_draft_finish(&s->line);
    v->lines = ch_must(realloc(v->lines, (v->n + 1) * sizeof(*v->lines)));
    v->lines[v->n++] = s->line.p;
}

static void begin_line(struct sheet *s, const char *lead) {
    ch_draft_init(&s->line);
    s->used = s->indent;
    if (lead)
        fputs(lead, s->line.f);
    else
        fprintf(s->line.f, "%*s", (int)s->indent, "");
}

static void edit_view_put(struct sheet *s, const char *p, size_t n, unsigned columns) {
    if (s->used + columns > s->columns) {
        edit_view_end_line(s);
        begin_line(s, NULL);
    }
    fwrite(p, 1, n, s->line.f);
    s->used += columns;
}

/* Write one character in a safe form. */
static void edit_view_put_char(struct sheet *s, const char *p, size_t n, uint32_t cp) {
    if (cp == '\t') {
        edit_view_put(s, "    ", 4, 4);
        return;
    }
    if (cp >= 0x20 && cp < 0x7F) {
        edit_view_put(s, p, n, 1);
        return;
    }
    char *safe = ch_escape_whole(CH_ESCAPE_LINE, p, n, &n);
    edit_view_put(s, safe, n, ch_term_text_columns(safe, n));
    free(safe);
}

static void edit_view_mark(struct sheet *s) {
    if (s->used >= s->columns) { /* the cursor needs a column of its own */
        edit_view_end_line(s);
        begin_line(s, NULL);
    }
    s->view->row = s->view->n;
    s->view->column = s->used;
}

static void edit_view_put_text(struct sheet *s, const char *text, size_t n, size_t cursor) {
    for (size_t i = 0; i < n;) {
        uint32_t cp = 0xFFFD;
        int len = ch_term_char(text + i, n - i, &cp);
        if (i == cursor)
            edit_view_mark(s);
        if (text[i] == '\n') {
            edit_view_end_line(s);
            begin_line(s, NULL);
        } else {
            edit_view_put_char(s, text + i, len > 0 ? (size_t)len : 1, cp);
        }
        i += len > 0 ? (size_t)len : 1;
    }
    if (cursor == n)
        edit_view_mark(s);
}

/* Keep `rows` lines, including the cursor's. */
static void edit_view_cut(struct ch_edit_view *v, size_t rows) {
    if (v->n <= rows)
        return;
    size_t first = v->row < rows ? 0 : v->row - rows + 1;
    for (size_t i = 0; i < v->n; i++)
        if (i < first || i >= first + rows)
            free(v->lines[i]);
    memmove(v->lines, v->lines + first, rows * sizeof(*v->lines));
    v->n = rows;
    v->row -= first;
}

/* Show the completions on a few lines. */
static void put_hint(struct sheet *s, const char *hint, size_t rows) {
    enum { MOST = 4 };
    struct ch_flow flow = {0};
    struct ch_flow_line *lines;
    unsigned room = s->columns > s->indent ? s->columns - s->indent : 1;

    ch_flow_add(&flow, 0, hint, strlen(hint));
    size_t n = ch_flow_lines(&flow, room, false, &lines);
    for (size_t i = 0; i < n && i < rows && i < MOST; i++) {
        begin_line(s, NULL);
        fputs(lines[i].text, s->line.f);
        edit_view_end_line(s);
    }
    ch_flow_free_lines(lines, n);
    ch_flow_release(&flow);
}

/* Begin the line of the text behind the prompt. A prompt that leaves little room for the text
 * is wrapped; the text follows its last line. */
static void put_prompt(struct sheet *s, const char *prompt) {
    enum { ROOM = 12 };
    unsigned width = s->columns > 2 * ROOM ? s->columns - ROOM : s->columns / 2;
    struct ch_flow flow = {0};
    struct ch_flow_line *lines;

    s->indent = ch_term_text_columns(prompt, strlen(prompt));
    if (s->indent + ROOM <= s->columns) {
        begin_line(s, prompt);
        return;
    }
    ch_flow_add(&flow, 0, prompt, strlen(prompt));
    size_t n = ch_flow_lines(&flow, width, false, &lines);
    for (size_t i = 0; i < n; i++) {
        char *lead = ch_format("%s ", lines[i].text);
        s->indent = ch_term_text_columns(lead, strlen(lead));
        begin_line(s, lead);
        free(lead);
        if (i + 1 < n)
            edit_view_end_line(s);
    }
    if (n == 0)
        begin_line(s, "");
    ch_flow_free_lines(lines, n);
    ch_flow_release(&flow);
}

void ch_edit_view(const struct ch_edit *e, const char *prompt, unsigned columns, size_t rows,
                  struct ch_edit_view *out) {
    *out = (struct ch_edit_view){0};
    char *search = e->searching
                       ? ch_format("(%s '%s') ", e->missing ? "not found" : "search", e->query)
                       : NULL;
    const char *lead = search ? search : prompt;
    struct sheet s = {.view = out, .columns = columns > 8 ? columns : 8};

    put_prompt(&s, lead);
    edit_view_put_text(&s, e->text, e->n, e->at);
    edit_view_end_line(&s);
    edit_view_cut(out, rows > 0 ? rows : 1);
    if (e->hint && out->n < rows)
        put_hint(&s, e->hint, rows - out->n);
    free(search);
}
