/* flow.c -- see flow.h. */
#include "cli/term/flow.h"

#include <string.h>

#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/term/term.h"

void ch_style_put(FILE *out, unsigned style) {
    static const struct {
        unsigned bit;
        const char *code;
    } codes[] = {
        {CH_STYLE_BOLD, ";1"},   {CH_STYLE_DIM, ";2"},   {CH_STYLE_ITALIC, ";3"},
        {CH_STYLE_UNDERLINE, ";4"}, {CH_STYLE_STRIKE, ";9"}, {CH_STYLE_CODE, ";36"},
        {CH_STYLE_HEAD, ";1;35"},
    };
    fputs("\033[0", out);
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (style & codes[i].bit)
            fputs(codes[i].code, out);
    fputc('m', out);
}

/* --- text ----------------------------------------------------------------------------- */

static void flow_append(struct ch_flow *f, unsigned style, const char *p, size_t n) {
    if (n > f->cap - f->n) {
        f->cap = (f->n + n) * 2;
        f->text = ch_must(realloc(f->text, f->cap));
        f->styles = ch_must(realloc(f->styles, f->cap));
    }
    memcpy(f->text + f->n, p, n);
    memset(f->styles + f->n, (int)style, n);
    f->n += n;
}

void ch_flow_add(struct ch_flow *f, unsigned style, const char *p, size_t n) {
    char *safe = ch_escape_whole(CH_ESCAPE_TEXT, p, n, &n);
    for (size_t i = 0; i < n; i++)
        if (safe[i] == '\t')
            safe[i] = ' ';
    if (n > 0)
        flow_append(f, style, safe, n);
    free(safe);
}

void ch_flow_clear(struct ch_flow *f) {
    f->n = 0;
}

void ch_flow_release(struct ch_flow *f) {
    free(f->text);
    free(f->styles);
    *f = (struct ch_flow){0};
}

/* --- lines ---------------------------------------------------------------------------- */

struct folder {
    const struct ch_flow *flow;
    bool color;
    unsigned style; /* current style */
    struct ch_draft line;
    unsigned used;
    struct ch_flow_line *lines;
    size_t n;
};

static void flow_begin(struct folder *f) {
    ch_draft_init(&f->line);
    f->used = 0;
    f->style = 0;
}

static void flow_end(struct folder *f) {
    if (f->color && f->style)
        fputs("\033[0m", f->line.f);
    ch_draft_finish(&f->line);
    f->lines = ch_must(realloc(f->lines, (f->n + 1) * sizeof(*f->lines)));
    f->lines[f->n++] = (struct ch_flow_line){f->line.p, f->used};
    flow_begin(f);
}

static void flow_put(struct folder *f, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        unsigned style = f->flow->styles[i];
        if (f->color && style != f->style)
            ch_style_put(f->line.f, style);
        f->style = style;
        putc_unlocked(f->flow->text[i], f->line.f);
    }
    f->used += ch_term_text_columns(f->flow->text + from, to - from);
}

static unsigned columns_at(const struct ch_flow *f, size_t at, size_t *len) {
    uint32_t cp = 0xFFFD;
    int n = ch_term_char(f->text + at, f->n - at, &cp);
    *len = n > 0 ? (size_t)n : 1;
    return ch_term_char_columns(cp);
}

/* End of the unit at `at`: a word, or one wide character, with its combining characters. */
static size_t unit_end(const struct ch_flow *f, size_t at) {
    size_t len;
    unsigned first = columns_at(f, at, &len);
    at += len;
    while (at < f->n && f->text[at] != ' ' && f->text[at] != '\n') {
        unsigned w = columns_at(f, at, &len);
        if ((first == 2 && w != 0) || w == 2)
            break;
        at += len;
    }
    return at;
}

/* Write a unit that is wider than the rest of the line, in pieces. */
static void put_cut(struct folder *f, unsigned columns, size_t from, size_t to) {
    while (from < to) {
        size_t fit = ch_term_fit(f->flow->text + from, to - from, columns - f->used);
        if (fit == 0 && f->used == 0)
            columns_at(f->flow, from, &fit); /* a character wider than the line is written anyway */
        flow_put(f, from, from + fit);
        from += fit;
        if (from < to)
            flow_end(f);
    }
}

static void put_unit(struct folder *f, unsigned columns, size_t from, size_t to, size_t spaces) {
    unsigned w = ch_term_text_columns(f->flow->text + from, to - from);
    if (f->used > 0 && f->used + spaces + w > columns) {
        flow_end(f);
        spaces = 0;
    }
    if (spaces >= columns) /* at the start of a line */
        spaces = columns - 1;
    flow_put(f, from - spaces, from);
    if (f->used + w > columns)
        put_cut(f, columns, from, to);
    else
        flow_put(f, from, to);
}

size_t ch_flow_lines(const struct ch_flow *flow, unsigned columns, bool color,
                     struct ch_flow_line **out) {
    struct folder f = {.flow = flow, .color = color};
    size_t spaces = 0;

    flow_begin(&f);
    for (size_t i = 0; i < flow->n;) {
        if (flow->text[i] == '\n') {
            flow_end(&f);
            spaces = 0;
            i++;
        } else if (flow->text[i] == ' ') {
            spaces++;
            i++;
        } else {
            size_t to = unit_end(flow, i);
            put_unit(&f, columns > 0 ? columns : 1, i, to, spaces);
            spaces = 0;
            i = to;
        }
    }
    flow_end(&f);
    ch_draft_finish(&f.line);
    free(f.line.p);
    *out = f.lines;
    return f.n;
}

void ch_flow_free_lines(struct ch_flow_line *lines, size_t n) {
    for (size_t i = 0; i < n; i++)
        free(lines[i].text);
    free(lines);
}
