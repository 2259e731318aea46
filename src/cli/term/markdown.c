/* markdown.c -- see markdown.h: finds the ends of blocks.
 *
 * A block ends at a blank line, except in a list, where the next line decides whether the
 * list continues. A list is passed on item by item, because it may be long. A heading is a
 * block of its own. Fenced code at the margin is passed on line by line, because it may be
 * long; inside a list it stays with the list. */
#include "cli/term/markdown.h"

#include <stdlib.h>
#include <string.h>

#include "cli/term/flow.h"
#include "cli/term/highlight.h"
#include "cli/term/markdown_block.h"
#include "cli/support/mem.h"
#include "cli/term/term.h"

enum { BLOCK_MAX = 1 << 18 }; /* bytes; a longer block is shown in parts */

struct ch_markdown {
    bool color;
    char *room; /* owned */
    char *text; /* in room: text from the first line not shown yet */
    size_t n, cap;
    size_t scanned; /* bytes of complete lines of the block */
    bool blank;     /* the last of them was blank */
    bool any;       /* something was shown: separate the next block by a blank line */
    bool joins;     /* the block is an item right after that of the same list: no blank line */
    unsigned number; /* the block is the item of that number; 0: as written */
    char fence;     /* fence character inside of code; 0: not in code */
    size_t fence_n;
    char inner; /* the same for code inside a list */
    struct ch_highlight code;
};

struct ch_markdown *ch_markdown_new(bool color) {
    struct ch_markdown *m = ch_must(calloc(1, sizeof(*m)));
    m->color = color;
    return m;
}

void ch_markdown_free(struct ch_markdown *m) {
    if (!m)
        return;
    free(m->room);
    free(m);
}

/* --- lines ---------------------------------------------------------------------------- */

static size_t indent_of(const char *p, size_t n) {
    size_t i = 0;
    while (i < n && p[i] == ' ')
        i++;
    return i;
}

static bool markdown_is_blank(const char *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (p[i] != ' ' && p[i] != '\t' && p[i] != '\r')
            return false;
    return true;
}

/* Number of ` or ~ at p; 0 for fewer than three. */
static size_t fence_of(const char *p, size_t n, char *made_of) {
    size_t at = indent_of(p, n), i = at;
    if (at == n || (p[at] != '`' && p[at] != '~'))
        return 0;
    while (i < n && p[i] == p[at])
        i++;
    *made_of = p[at];
    return i - at >= 3 ? i - at : 0;
}

static bool is_heading(const char *p, size_t n) {
    size_t i = 0;
    while (i < n && p[i] == '#')
        i++;
    return i > 0 && i <= 6 && i < n && p[i] == ' ';
}

static bool is_item(const char *p, size_t n) {
    size_t i = indent_of(p, n), digits = i;
    if (i + 1 < n && strchr("-*+", p[i]) && p[i + 1] == ' ')
        return true;
    while (digits < n && p[digits] >= '0' && p[digits] <= '9')
        digits++;
    return digits > i && digits + 1 < n && strchr(".)", p[digits]) && p[digits + 1] == ' ';
}

/* The character that items of one list have in common: the bullet, or that after the number. */
static char marker_of(const char *p, size_t n) {
    size_t i = indent_of(p, n);
    while (i < n && p[i] >= '0' && p[i] <= '9')
        i++;
    return i < n ? p[i] : '\0';
}

/* The line begins another item of the list that the block begins with. */
static bool is_next_item(const struct ch_markdown *m, const char *p, size_t n) {
    return is_item(p, n) && indent_of(p, n) <= indent_of(m->text, m->scanned) &&
           marker_of(p, n) == marker_of(m->text, m->scanned);
}

/* --- blocks --------------------------------------------------------------------------- */

static void write_plain(struct ch_markdown *m, FILE *out, size_t n) {
    ch_escape_write(out, CH_ESCAPE_TEXT, m->text, n);
    if (n > 0 && m->text[n - 1] != '\n')
        fputc('\n', out);
}

static void markdown_drop(struct ch_markdown *m, size_t n) {
    m->text += n;
    m->n -= n;
}

/* Moves the text to the beginning of its room, which gets space for n bytes behind the text. */
static void markdown_make_room(struct ch_markdown *m, size_t n) {
    if (m->n > 0)
        memmove(m->room, m->text, m->n);
    if (n > m->cap - m->n) {
        m->cap = (m->n + n) * 2;
        m->room = ch_must(realloc(m->room, m->cap));
    }
    m->text = m->room;
}

/* Write the first n bytes as a block; they may be blank. */
static void markdown_flush(struct ch_markdown *m, FILE *out, unsigned columns, size_t n) {
    size_t end = n;
    while (end > 0 && strchr("\n \t\r", m->text[end - 1]))
        end--;
    if (end > 0) {
        if (m->any && !m->joins)
            fputc('\n', out);
        m->any = true;
        if (!ch_markdown_block(out, m->color, columns, m->number, m->text, end))
            write_plain(m, out, end);
    }
    markdown_drop(m, n);
    m->scanned = 0;
    m->blank = m->joins = false;
    m->number = 0;
    m->inner = 0;
}

/* Write the items before the next one. */
static void markdown_flush_items(struct ch_markdown *m, FILE *out, unsigned columns) {
    unsigned number = m->number ? m->number : (unsigned)strtoul(m->text, NULL, 10);
    bool joins = !m->blank, numbered = !strchr("-*+", marker_of(m->text, m->scanned));
    markdown_flush(m, out, columns, m->scanned);
    m->joins = joins;
    m->number = numbered ? number + 1 : 0;
}

static void write_fence(struct ch_markdown *m, FILE *out, const char *p, size_t n) {
    struct ch_highlight none = {0};
    fputs(m->color ? "\033[2m" : "", out);
    ch_highlight_line(&none, out, false, p, n);
    fputs(m->color ? "\033[0m\n" : "\n", out);
}

static void open_fence(struct ch_markdown *m, FILE *out, const char *p, size_t n, size_t fence_n) {
    size_t at = indent_of(p, n) + fence_n;
    while (at < n && p[at] == ' ')
        at++;
    size_t word = at;
    while (word < n && !strchr(" \t\r{", p[word]))
        word++;
    m->code = ch_highlight_for(p + at, word - at);
    m->fence = p[indent_of(p, n)];
    m->fence_n = fence_n;
    if (m->any)
        fputc('\n', out);
    m->any = true;
    write_fence(m, out, p, n);
}

/* Write a line of code, which may be the closing fence. */
static void code_line(struct ch_markdown *m, FILE *out, const char *p, size_t n) {
    char made_of = 0;
    size_t fence_n = fence_of(p, n, &made_of);
    if (fence_n >= m->fence_n && made_of == m->fence &&
        markdown_is_blank(p + indent_of(p, n) + fence_n, n - indent_of(p, n) - fence_n)) {
        m->fence = 0;
        write_fence(m, out, p, n);
        return;
    }
    ch_highlight_line(&m->code, out, m->color, p, n);
    fputc('\n', out);
}

/* Process one complete line at `scanned`, n bytes without its line end. */
static void markdown_take_line(struct ch_markdown *m, FILE *out, unsigned columns, size_t n) {
    const char *p = m->text + m->scanned;
    char made_of = 0;
    bool list = m->scanned > 0 && is_item(m->text, m->scanned);
    size_t fence_n = fence_of(p, n, &made_of);

    if (m->inner || (list && fence_n && indent_of(p, n) > 1)) {
        if (fence_n)
            m->inner = m->inner ? 0 : made_of;
        m->scanned += n + 1;
        m->blank = false;
        return;
    }
    if (markdown_is_blank(p, n)) {
        m->scanned += n + 1;
        m->blank = true;
        if (!list)
            markdown_flush(m, out, columns, m->scanned);
        return;
    }
    if (list && is_next_item(m, p, n)) {
        markdown_flush_items(m, out, columns);
        p = m->text;
    }
    bool goes_on = !m->blank || (list && (indent_of(p, n) > 1 || is_item(p, n)));
    if (m->scanned > 0 && (!goes_on || fence_n || is_heading(p, n) || m->scanned > BLOCK_MAX)) {
        markdown_flush(m, out, columns, m->scanned);
        p = m->text;
    }
    if (fence_n) {
        open_fence(m, out, p, n, fence_n);
        markdown_drop(m, n + 1);
        return;
    }
    m->scanned += n + 1;
    m->blank = false;
    if (is_heading(p, n))
        markdown_flush(m, out, columns, m->scanned);
}

void ch_markdown_feed(struct ch_markdown *m, FILE *out, unsigned columns, const char *p,
                      size_t n) {
    if (n > m->cap - m->n - (size_t)(m->text - m->room))
        markdown_make_room(m, n);
    const char *from = m->text + m->n, *end; /* the text before has no complete line */
    memcpy(m->text + m->n, p, n);
    m->n += n;
    for (; (end = memchr(from, '\n', (size_t)(m->text + m->n - from))); from = end + 1) {
        size_t line = (size_t)(end - m->text) - m->scanned;
        if (m->fence) {
            code_line(m, out, m->text, line);
            markdown_drop(m, line + 1);
        } else {
            markdown_take_line(m, out, columns, line);
        }
    }
}

void ch_markdown_finish(struct ch_markdown *m, FILE *out, unsigned columns) {
    if (m->n > 0)
        ch_markdown_feed(m, out, columns, "\n", 1);
    if (!m->fence && m->n > 0)
        markdown_flush(m, out, columns, m->n);
    m->n = m->scanned = 0;
    m->fence = m->inner = 0;
    m->any = m->blank = m->joins = false;
    m->number = 0;
}

/* Where the last `rows` lines of the text begin, or a later place if they are longer than the
 * screen. That place moves rarely, so that a line does not break elsewhere at each piece. */
static size_t last_lines(const char *text, size_t end, size_t rows, unsigned columns) {
    size_t at = end, step = 4 * rows * (columns + 1); /* 4: bytes of a character */
    size_t first = end / step > 1 ? (end / step - 1) * step : 0;
    while (at > first && (text[at - 1] != '\n' || --rows > 0))
        at--;
    while (at > 0 && (text[at] & 0xC0) == 0x80) /* not inside a character */
        at++;
    return at;
}

size_t ch_markdown_rest(const struct ch_markdown *m, unsigned columns, size_t rows, char ***out) {
    struct ch_flow flow = {0};
    struct ch_flow_line *lines;
    size_t end = m->n;

    while (end > 0 && m->text[end - 1] == '\n')
        end--;
    if (end == 0)
        return 0;
    size_t begin = last_lines(m->text, end, rows > 0 ? rows : 1, columns);
    if (m->any && !m->joins && !m->fence && begin == 0)
        ch_flow_add(&flow, 0, "\n", 1);
    ch_flow_add(&flow, 0, m->text + begin, end - begin);
    size_t n = ch_flow_lines(&flow, columns, false, &lines);
    size_t first = n > rows ? n - rows : 0;
    *out = ch_must(calloc(n, sizeof(**out)));
    for (size_t i = 0; i < n; i++) {
        if (i >= first)
            (*out)[i - first] = lines[i].text;
        else
            free(lines[i].text);
    }
    free(lines);
    ch_flow_release(&flow);
    return n - first;
}
