/* markdown_block.c -- see markdown_block.h: md4c parses a block, this file renders it.
 *
 * md4c is loaded on first use, so that commands without Markdown do not load it. Inline
 * text is collected in a flow and wrapped when its block ends; quotes and lists are
 * containers that prefix each line. Nesting beyond DEPTH is shown flat. */
#include "cli/term/markdown_block.h"

#if __has_include(<md4c.h>)
#include <dlfcn.h>
#include <md4c.h>
#include <stdlib.h>
#include <string.h>

#include "cli/support/draft.h"
#include "cli/term/flow.h"
#include "cli/term/highlight.h"
#include "cli/support/mem.h"
#include "cli/term/term.h"

enum { DEPTH = 16, LINKS = 8, LEAST = 8 };

struct container {
    MD_BLOCKTYPE type; /* MD_BLOCK_QUOTE, MD_BLOCK_UL, MD_BLOCK_OL, MD_BLOCK_LI */
    bool tight;
    unsigned next;    /* MD_BLOCK_OL: number of the next item */
    char marker[16];  /* MD_BLOCK_LI: prefix of its first line */
    unsigned columns; /* width of the marker */
    bool marked;      /* the marker was written */
};

struct cell {
    struct ch_flow flow;
    MD_ALIGN align;
};

struct page {
    FILE *out;
    bool color;
    unsigned columns;
    unsigned number; /* of the first item of the next list with numbers; 0: as written */
    unsigned style; /* style of the current text */
    struct ch_flow flow;
    struct container stack[DEPTH];
    size_t depth, deeper; /* deeper: number of containers beyond DEPTH */
    bool loose; /* a blank line is due before the next block */
    bool wrote; /* something was written above */
    char *links[LINKS]; /* owned: URLs of the open links */
    size_t nlinks, link_at[LINKS];
    struct ch_highlight code;
    struct ch_draft listing; /* text of a code block */
    bool in_code;
    struct cell *cells; /* owned: cells of the table, row by row */
    size_t ncells, ncolumns, heads;
};

/* --- lines ---------------------------------------------------------------------------- */

static unsigned margin(const struct page *p) {
    unsigned columns = 0;
    for (size_t i = 0; i < p->depth; i++)
        columns += p->stack[i].columns;
    return columns;
}

static void put_style(const struct page *p, unsigned style) {
    if (p->color)
        ch_style_put(p->out, style);
}

static void put_margin(struct page *p) {
    for (size_t i = 0; i < p->depth; i++) {
        struct container *k = &p->stack[i];
        if (k->type == MD_BLOCK_QUOTE) {
            put_style(p, CH_STYLE_DIM);
            fputs(p->color ? "│ " : "> ", p->out);
            put_style(p, 0);
        } else if (k->marked) {
            fprintf(p->out, "%*s", (int)k->columns, "");
        } else {
            fputs(k->marker, p->out);
            k->marked = true;
        }
    }
}

/* Begin a block: separated by a blank line, except in a tight list. */
static void set_off(struct page *p) {
    if (p->wrote && p->loose) {
        size_t quotes = 0;
        while (quotes < p->depth && p->stack[quotes].type == MD_BLOCK_QUOTE)
            quotes++;
        for (size_t i = 0; i < quotes; i++)
            fputs(p->color ? "│ " : "> ", p->out);
        fputc('\n', p->out);
    }
    p->loose = false;
    p->wrote = true;
}

static unsigned markdown_block_room(const struct page *p) {
    unsigned taken = margin(p);
    return p->columns > taken + LEAST ? p->columns - taken : LEAST;
}

static void end_text(struct page *p) {
    struct ch_flow_line *lines;
    if (p->flow.n == 0)
        return;
    set_off(p);
    size_t n = ch_flow_lines(&p->flow, markdown_block_room(p), p->color, &lines);
    for (size_t i = 0; i < n; i++) {
        put_margin(p);
        fprintf(p->out, "%s\n", lines[i].text);
    }
    ch_flow_free_lines(lines, n);
    ch_flow_clear(&p->flow);
}

static bool in_tight_list(const struct page *p) {
    for (size_t i = p->depth; i > 0; i--)
        if (p->stack[i - 1].type == MD_BLOCK_UL || p->stack[i - 1].type == MD_BLOCK_OL)
            return p->stack[i - 1].tight;
    return false;
}

/* --- code ----------------------------------------------------------------------------- */

static void end_code(struct page *p) {
    ch_draft_finish(&p->listing);
    set_off(p);
    for (const char *at = p->listing.p; *at;) {
        size_t n = strcspn(at, "\n");
        if (n > 0 || at == p->listing.p) { /* no trailing spaces */
            put_margin(p);
            fputs("  ", p->out);
        }
        ch_highlight_line(&p->code, p->out, p->color, at, n);
        fputc('\n', p->out);
        at += n + (at[n] != '\0');
    }
    free(p->listing.p);
    p->in_code = false;
}

/* --- tables --------------------------------------------------------------------------- */

static unsigned natural(const struct ch_flow *f) {
    return ch_term_text_columns(f->text ? f->text : "", f->n);
}

/* Shrink the widest column until all fit. */
static void fit_widths(unsigned *widths, size_t n, unsigned columns) {
    for (;;) {
        unsigned sum = 3 * (unsigned)(n - 1);
        size_t widest = 0;
        for (size_t i = 0; i < n; i++) {
            sum += widths[i];
            if (widths[i] > widths[widest])
                widest = i;
        }
        if (sum <= columns || widths[widest] <= 4)
            return;
        unsigned over = sum - columns, most = widths[widest] - 4;
        widths[widest] -= over < most ? (over + 1) / 2 : (most + 1) / 2;
    }
}

static void markdown_block_put_cell(struct page *p, const struct ch_flow_line *line, unsigned w,
                                    MD_ALIGN align, bool last) {
    unsigned gap = line && line->columns < w ? w - line->columns : line ? 0 : w;
    unsigned left = align == MD_ALIGN_RIGHT ? gap : align == MD_ALIGN_CENTER ? gap / 2 : 0;
    fprintf(p->out, "%*s%s", (int)left, "", line ? line->text : "");
    if (!last)
        fprintf(p->out, "%*s", (int)(gap - left), "");
}

static void put_row(struct page *p, const struct cell *cells, const unsigned *widths) {
    size_t n = p->ncolumns, rows = 0;
    struct ch_flow_line **lines = ch_must(calloc(n, sizeof(*lines)));
    size_t *counts = ch_must(calloc(n, sizeof(*counts)));

    for (size_t i = 0; i < n; i++) {
        counts[i] = ch_flow_lines(&cells[i].flow, widths[i], p->color, &lines[i]);
        rows = counts[i] > rows ? counts[i] : rows;
    }
    for (size_t row = 0; row < rows; row++) {
        put_margin(p);
        for (size_t i = 0; i < n; i++) {
            if (i > 0)
                fputs(" │ ", p->out);
            markdown_block_put_cell(p, row < counts[i] ? &lines[i][row] : NULL, widths[i],
                                    cells[i].align, i + 1 == n);
        }
        fputc('\n', p->out);
    }
    for (size_t i = 0; i < n; i++)
        ch_flow_free_lines(lines[i], counts[i]);
    free(lines);
    free(counts);
}

static void put_rule(struct page *p, const unsigned *widths) {
    put_margin(p);
    for (size_t i = 0; i < p->ncolumns; i++) {
        fputs(i > 0 ? "─┼─" : "", p->out);
        for (unsigned k = 0; k < widths[i]; k++)
            fputs("─", p->out);
    }
    fputc('\n', p->out);
}

static void end_table(struct page *p) {
    size_t n = p->ncolumns;
    unsigned *widths = ch_must(calloc(n ? n : 1, sizeof(*widths)));

    for (size_t i = 0; n && i < p->ncells; i++) {
        unsigned w = natural(&p->cells[i].flow);
        widths[i % n] = w > widths[i % n] ? w : widths[i % n];
    }
    if (n > 0)
        fit_widths(widths, n, markdown_block_room(p));
    set_off(p);
    for (size_t i = 0; n && i + n <= p->ncells; i += n) {
        put_row(p, p->cells + i, widths);
        if (i / n + 1 == p->heads)
            put_rule(p, widths);
    }
    for (size_t i = 0; i < p->ncells; i++)
        ch_flow_release(&p->cells[i].flow);
    free(p->cells);
    free(widths);
    p->cells = NULL;
    p->ncells = p->ncolumns = p->heads = 0;
    p->loose = true;
}

static void end_cell(struct page *p, const MD_BLOCK_TD_DETAIL *detail) {
    p->cells = ch_must(realloc(p->cells, (p->ncells + 1) * sizeof(*p->cells)));
    p->cells[p->ncells++] = (struct cell){.flow = p->flow, .align = detail->align};
    p->flow = (struct ch_flow){0};
}

/* --- blocks --------------------------------------------------------------------------- */

static struct container *markdown_block_push(struct page *p, MD_BLOCKTYPE type) {
    if (p->depth == DEPTH) {
        p->deeper++;
        return NULL;
    }
    struct container *k = &p->stack[p->depth++];
    *k = (struct container){.type = type};
    return k;
}

static void markdown_block_pop(struct page *p) {
    if (p->deeper > 0)
        p->deeper--;
    else
        p->depth--;
}

static void markdown_block_begin_item(struct page *p, const MD_BLOCK_LI_DETAIL *detail) {
    struct container *list = p->depth ? &p->stack[p->depth - 1] : NULL;
    struct container *item = markdown_block_push(p, MD_BLOCK_LI);
    if (!item || !list)
        return;
    if (list->type == MD_BLOCK_OL)
        snprintf(item->marker, sizeof(item->marker), "%u. ", list->next++);
    else
        snprintf(item->marker, sizeof(item->marker), "%s ", p->color ? "•" : "-");
    item->columns = ch_term_text_columns(item->marker, strlen(item->marker));
    if (detail->is_task)
        ch_flow_add(&p->flow, 0, detail->task_mark == ' ' ? "[ ] " : "[x] ", 4);
}

static void begin_list(struct page *p, MD_BLOCKTYPE type, void *detail) {
    end_text(p); /* text of the item that contains the list */
    bool tight = type == MD_BLOCK_UL ? ((MD_BLOCK_UL_DETAIL *)detail)->is_tight
                                     : ((MD_BLOCK_OL_DETAIL *)detail)->is_tight;
    bool inner = p->depth > 0 && p->stack[p->depth - 1].type == MD_BLOCK_LI;
    p->loose = p->loose && !(inner && tight);
    struct container *k = markdown_block_push(p, type);
    if (!k)
        return;
    k->tight = tight;
    if (type == MD_BLOCK_OL) {
        k->next = p->number ? p->number : ((MD_BLOCK_OL_DETAIL *)detail)->start;
        p->number = 0;
    }
}

static void begin_heading(struct page *p, const MD_BLOCK_H_DETAIL *detail) {
    static const char marks[] = "###### ";
    if (p->color)
        p->style |= detail->level <= 2 ? CH_STYLE_HEAD : CH_STYLE_BOLD;
    else
        ch_flow_add(&p->flow, 0, &marks[6 - detail->level], detail->level + 1);
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *user) {
    struct page *p = user;
    switch (type) {
    case MD_BLOCK_QUOTE: {
        end_text(p);
        struct container *k = markdown_block_push(p, type);
        if (k)
            k->columns = 2;
        break;
    }
    case MD_BLOCK_UL:
    case MD_BLOCK_OL:
        begin_list(p, type, detail);
        break;
    case MD_BLOCK_LI:
        markdown_block_begin_item(p, detail);
        break;
    case MD_BLOCK_H:
        begin_heading(p, detail);
        break;
    case MD_BLOCK_CODE: {
        const MD_BLOCK_CODE_DETAIL *d = detail;
        end_text(p);
        p->code = ch_highlight_for(d->lang.text ? d->lang.text : "", d->lang.size);
        p->in_code = true;
        ch_draft_init(&p->listing);
        break;
    }
    case MD_BLOCK_TABLE:
        p->ncolumns = ((MD_BLOCK_TABLE_DETAIL *)detail)->col_count;
        p->heads = ((MD_BLOCK_TABLE_DETAIL *)detail)->head_row_count;
        break;
    case MD_BLOCK_TH:
        p->style |= CH_STYLE_BOLD;
        break;
    default:
        break;
    }
    return 0;
}

static void put_line(struct page *p) {
    set_off(p);
    put_margin(p);
    put_style(p, CH_STYLE_DIM);
    for (unsigned i = 0; i < markdown_block_room(p) && i < 40; i++)
        fputs(p->color ? "─" : "-", p->out);
    put_style(p, 0);
    fputc('\n', p->out);
    p->loose = true;
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *user) {
    struct page *p = user;
    switch (type) {
    case MD_BLOCK_LI:
        end_text(p);
        if (p->depth && p->deeper == 0 && !p->stack[p->depth - 1].marked) {
            put_margin(p); /* an item without text */
            fputc('\n', p->out);
        }
        markdown_block_pop(p);
        p->loose = !in_tight_list(p);
        break;
    case MD_BLOCK_QUOTE:
    case MD_BLOCK_UL:
    case MD_BLOCK_OL:
        markdown_block_pop(p);
        p->loose = !in_tight_list(p);
        break;
    case MD_BLOCK_H:
    case MD_BLOCK_P:
        end_text(p);
        p->style = 0;
        p->loose = true;
        break;
    case MD_BLOCK_HR:
        put_line(p);
        break;
    case MD_BLOCK_CODE:
        end_code(p);
        p->loose = true;
        break;
    case MD_BLOCK_TH:
    case MD_BLOCK_TD:
        end_cell(p, detail);
        p->style = 0;
        break;
    case MD_BLOCK_TABLE:
        end_table(p);
        break;
    default:
        break;
    }
    return 0;
}

/* --- spans ---------------------------------------------------------------------------- */

static const struct {
    MD_SPANTYPE type;
    unsigned style;
    const char *mark; /* mark that is kept without style */
} spans[] = {
    {MD_SPAN_EM, CH_STYLE_ITALIC, "*"},      {MD_SPAN_STRONG, CH_STYLE_BOLD, "**"},
    {MD_SPAN_CODE, CH_STYLE_CODE, "`"},      {MD_SPAN_DEL, CH_STYLE_STRIKE, "~~"},
    {MD_SPAN_U, CH_STYLE_UNDERLINE, "_"},    {MD_SPAN_A, CH_STYLE_UNDERLINE, ""},
    {MD_SPAN_IMG, CH_STYLE_UNDERLINE, ""},
};

static void markdown_block_mark(struct page *p, MD_SPANTYPE type, bool begins) {
    for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
        if (spans[i].type != type)
            continue;
        if (!p->color)
            ch_flow_add(&p->flow, 0, spans[i].mark, strlen(spans[i].mark));
        p->style = begins ? p->style | spans[i].style : p->style & ~spans[i].style;
    }
}

static int enter_span(MD_SPANTYPE type, void *detail, void *user) {
    struct page *p = user;
    bool link = type == MD_SPAN_A || type == MD_SPAN_IMG;
    if (link && p->nlinks < LINKS) {
        const MD_ATTRIBUTE *to = type == MD_SPAN_A ? &((MD_SPAN_A_DETAIL *)detail)->href
                                                   : &((MD_SPAN_IMG_DETAIL *)detail)->src;
        p->link_at[p->nlinks] = p->flow.n;
        p->links[p->nlinks++] = ch_format("%.*s", (int)to->size, to->text ? to->text : "");
    }
    markdown_block_mark(p, type, true);
    return 0;
}

/* Print the URL of a link beside it, unless the URL is its text. */
static void markdown_block_end_link(struct page *p) {
    char *to = p->links[--p->nlinks];
    size_t from = p->link_at[p->nlinks];
    const char *shown = p->flow.text ? p->flow.text + from : "";
    size_t n = p->flow.n - from;
    const char *bare = strncmp(to, "mailto:", 7) == 0 ? to + 7 : to;
    if (*to && (strlen(bare) != n || memcmp(bare, shown, n) != 0)) {
        ch_flow_add(&p->flow, CH_STYLE_DIM, " (", 2);
        ch_flow_add(&p->flow, CH_STYLE_DIM, to, strlen(to));
        ch_flow_add(&p->flow, CH_STYLE_DIM, ")", 1);
    }
    free(to);
}

static int leave_span(MD_SPANTYPE type, void *detail, void *user) {
    struct page *p = user;
    (void)detail;
    markdown_block_mark(p, type, false);
    if ((type == MD_SPAN_A || type == MD_SPAN_IMG) && p->nlinks > 0)
        markdown_block_end_link(p);
    return 0;
}

/* Decode common entities; others stay unchanged. */
static void put_entity(struct page *p, const char *text, size_t n) {
    static const struct {
        const char *name, *means;
    } entities[] = {{"&amp;", "&"},   {"&lt;", "<"},      {"&gt;", ">"},
                    {"&quot;", "\""}, {"&nbsp;", " "}, {"&#39;", "'"}};
    for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++) {
        if (strlen(entities[i].name) == n && memcmp(entities[i].name, text, n) == 0) {
            ch_flow_add(&p->flow, p->style, entities[i].means, 1);
            return;
        }
    }
    ch_flow_add(&p->flow, p->style, text, n);
}

static int markdown_block_on_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE n, void *user) {
    struct page *p = user;
    if (p->in_code) {
        fwrite(text, 1, n, p->listing.f);
        return 0;
    }
    switch (type) {
    case MD_TEXT_BR:
        ch_flow_add(&p->flow, p->style, "\n", 1);
        break;
    case MD_TEXT_SOFTBR:
        ch_flow_add(&p->flow, p->style, " ", 1);
        break;
    case MD_TEXT_NULLCHAR:
        ch_flow_add(&p->flow, p->style, "\xEF\xBF\xBD", 3);
        break;
    case MD_TEXT_ENTITY:
        put_entity(p, text, n);
        break;
    default:
        ch_flow_add(&p->flow, p->style, text, n);
    }
    return 0;
}

/* --- the block ------------------------------------------------------------------------ */

typedef int parse_fn(const MD_CHAR *text, MD_SIZE size, const MD_PARSER *parser, void *user);

static parse_fn *find_parser(void) {
    void *lib = dlopen("libmd4c.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    parse_fn *parse = NULL;
    void *symbol = lib ? dlsym(lib, "md_parse") : NULL;
    memcpy(&parse, &symbol, sizeof(parse)); /* ISO C has no cast from object to function pointer */
    if (lib)
        dlclose(lib); /* md4c stays loaded; this drops only the extra reference */
    return parse;
}

bool ch_markdown_block(FILE *out, bool color, unsigned columns, unsigned number, const char *text,
                       size_t n) {
    static const MD_PARSER parser = {
        .flags = MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS | MD_FLAG_NOHTML |
                 MD_FLAG_PERMISSIVEURLAUTOLINKS,
        .enter_block = enter_block,
        .leave_block = leave_block,
        .enter_span = enter_span,
        .leave_span = leave_span,
        .text = markdown_block_on_text,
    };
    parse_fn *parse = find_parser();
    struct page p = {.out = out, .color = color, .columns = columns, .number = number};

    if (!parse)
        return false;
    int rc = parse(text, (MD_SIZE)n, &parser, &p);
    ch_flow_release(&p.flow);
    return rc == 0;
}

#else

bool ch_markdown_block(FILE *out, bool color, unsigned columns, unsigned number, const char *text,
                       size_t n) {
    (void)out, (void)color, (void)columns, (void)number, (void)text, (void)n;
    return false;
}

#endif
