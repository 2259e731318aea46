/* html_text.c -- see html_text.h.
 *
 * Converts parser events in one pass, without a tree. Output is delayed: an element only
 * records that a line break, a space, a style mark or a bullet is pending, and the next
 * visible character writes them (html_text_flush). Therefore empty elements leave no trace,
 * and blank lines do not accumulate.
 *
 * A table row is written cell by cell. When the row ends and no cell broke the line, the
 * row is rewritten as one line. So data tables become tables, and layout tables become
 * paragraphs.
 *
 * The stack of elements, the text and the cells of a row are all bounded. */
#include "tool/builtin/web/html_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "net/join.h"

#define MOST_MARKS 16     /* nested text styles */
#define MOST_ROWS 16      /* nested tables */
#define MOST_CELLS 64     /* cells of a row that becomes one line */
#define MOST_URL 1000     /* bytes of a link shown */
#define MOST_TITLE 500    /* bytes */
#define MAIN_ENOUGH 200   /* minimum size in bytes of a main part that is shown alone */
#define DEEPEST_INDENT 20 /* columns */

enum what {
    INLINE,
    BLOCK, /* starts and ends on its own lines */
    PARAGRAPH,
    HEADING,
    BULLETS,
    NUMBERS,
    ITEM,
    QUOTE,
    PREFORMATTED,
    CODE,
    STRONG,
    EMPHASIS,
    LINK,
    TABLE,
    ROW,
    CELL,
    MAIN,
    ARTICLE,
    TITLE,
    BASE,
    RULE,
    BREAK,
    IMAGE,
    NOTHING, /* has neither text nor end tag */
    DROPPED, /* omitted with all its content */
};

/* clang-format off */
/* Sorted by name. */
static const struct tag {
    const char *name;
    enum what what;
    int level; /* of a heading */
} tags[] = {
    {"a", LINK, 0}, {"address", BLOCK, 0}, {"area", NOTHING, 0}, {"article", ARTICLE, 0},
    {"aside", BLOCK, 0}, {"audio", DROPPED, 0}, {"b", STRONG, 0}, {"base", BASE, 0},
    {"blockquote", QUOTE, 0}, {"br", BREAK, 0}, {"button", DROPPED, 0}, {"canvas", DROPPED, 0},
    {"caption", BLOCK, 0}, {"center", BLOCK, 0}, {"code", CODE, 0}, {"col", NOTHING, 0},
    {"datalist", DROPPED, 0}, {"dd", ITEM, 0}, {"details", BLOCK, 0}, {"dialog", BLOCK, 0},
    {"dir", BULLETS, 0}, {"div", BLOCK, 0}, {"dl", BLOCK, 0}, {"dt", BLOCK, 0},
    {"em", EMPHASIS, 0}, {"embed", DROPPED, 0}, {"fieldset", BLOCK, 0}, {"figcaption", BLOCK, 0},
    {"figure", BLOCK, 0}, {"footer", BLOCK, 0}, {"form", BLOCK, 0}, {"frame", NOTHING, 0},
    {"h1", HEADING, 1}, {"h2", HEADING, 2}, {"h3", HEADING, 3}, {"h4", HEADING, 4},
    {"h5", HEADING, 5}, {"h6", HEADING, 6}, {"header", BLOCK, 0}, {"hr", RULE, 0},
    {"i", EMPHASIS, 0}, {"iframe", DROPPED, 0}, {"img", IMAGE, 0}, {"input", NOTHING, 0},
    {"kbd", CODE, 0}, {"legend", BLOCK, 0}, {"li", ITEM, 0}, {"link", NOTHING, 0},
    {"listing", PREFORMATTED, 0}, {"main", MAIN, 0}, {"map", DROPPED, 0}, {"math", INLINE, 0},
    {"menu", BULLETS, 0}, {"meta", NOTHING, 0}, {"nav", DROPPED, 0}, {"noframes", DROPPED, 0},
    {"noscript", DROPPED, 0}, {"object", DROPPED, 0}, {"ol", NUMBERS, 0},
    {"optgroup", DROPPED, 0}, {"option", DROPPED, 0}, {"p", PARAGRAPH, 0}, {"param", NOTHING, 0},
    {"picture", INLINE, 0}, {"pre", PREFORMATTED, 0}, {"samp", CODE, 0}, {"script", DROPPED, 0},
    {"search", BLOCK, 0}, {"section", BLOCK, 0}, {"select", DROPPED, 0}, {"source", NOTHING, 0},
    {"strong", STRONG, 0}, {"style", DROPPED, 0}, {"summary", BLOCK, 0}, {"svg", DROPPED, 0},
    {"table", TABLE, 0}, {"tbody", INLINE, 0}, {"td", CELL, 0}, {"template", DROPPED, 0},
    {"textarea", DROPPED, 0}, {"tfoot", INLINE, 0}, {"th", CELL, 0}, {"thead", INLINE, 0},
    {"title", TITLE, 0}, {"tr", ROW, 0}, {"track", NOTHING, 0}, {"tt", CODE, 0},
    {"ul", BULLETS, 0}, {"video", DROPPED, 0}, {"wbr", NOTHING, 0}, {"xmp", PREFORMATTED, 0},
};
/* clang-format on */

/* A text style: its opening mark is written before the first character, or not at all. */
struct mark {
    const char *open, *close; /* static */
    bool written;
    char *url; /* owned; target of a link, else NULL */
};

struct row {
    size_t start;             /* offset in the text */
    size_t cells[MOST_CELLS]; /* offset of each cell */
    size_t n;
    unsigned lines; /* line feeds pending before the row */
    bool begun;     /* the cell has text */
    bool broken;    /* a cell has more than one line */
};

struct element {
    const struct tag *tag; /* NULL: unknown tag */
    char name[12];         /* prefix of the tag name, enough to distinguish the tags of the table */
    bool hidden;           /* the outermost element of an omitted part */
    bool marked;           /* has a mark */
    bool main;             /* candidate for the page's main part */
    size_t start;          /* offset of its text */
    unsigned number;       /* number of a list's last item */
};

struct ch_html_reader {
    struct ch_html_opts opts;
    struct ch_html *page; /* borrowed */
    struct ch_buf base;   /* base URL of links */
    struct ch_buf *out;   /* page->text */

    struct element stack[CH_LIMIT_HTML_DEPTH];
    size_t depth;
    size_t beyond; /* open elements that did not fit on the stack */
    unsigned hidden, preformatted, titles;

    /* pending before the next character */
    unsigned lines; /* line feeds */
    bool space;
    char bullet[24]; /* "- ", "12. ", "## " */
    struct mark marks[MOST_MARKS];
    size_t nmarks, unwritten;
    unsigned quotes, lists;

    struct row rows[MOST_ROWS];
    size_t nrows;
    bool header_due; /* the next row is the first of its table */

    size_t main_start, main_n;       /* longest main part */
    size_t article_start, article_n; /* last article */
    unsigned articles;
};

static int html_text_by_name(const void *key, const void *row) {
    return strcmp(key, ((const struct tag *)row)->name);
}

static const struct tag *find_tag(const char *name) {
    return bsearch(name, tags, CH_LEN(tags), sizeof(tags[0]), html_text_by_name);
}

/* --- writing ---------------------------------------------------------------------- */

static bool at_start(const struct ch_html_reader *r) {
    return r->out->n == 0 || r->out->p[r->out->n - 1] == '\n';
}

static void break_lines(struct ch_html_reader *r, unsigned n) {
    r->space = false;
    r->lines = CH_MAX(r->lines, n);
}

static struct row *current_row(struct ch_html_reader *r) {
    return r->nrows ? &r->rows[r->nrows - 1] : NULL;
}

static void add_prefix(struct ch_html_reader *r) {
    size_t indent = r->lists > 1 ? CH_MIN(2 * (size_t)(r->lists - 1), DEEPEST_INDENT) : 0;

    for (unsigned i = 0; i < CH_MIN(r->quotes, 8); i++)
        ch_buf_add_str(r->out, "> ");
    if (r->lists && !r->bullet[0])
        indent += 2; /* continuation line of a list item */
    while (indent-- > 0)
        ch_buf_addc(r->out, ' ');
}

/* Write everything pending before text. */
static void html_text_flush(struct ch_html_reader *r) {
    struct row *row = current_row(r);
    bool fresh = at_start(r);

    if (row) {
        row->broken = row->broken || (r->lines && row->begun);
        row->begun = true;
    }
    if (r->lines && r->out->n) {
        for (unsigned i = fresh ? 1 : 0; i < r->lines; i++)
            ch_buf_addc(r->out, '\n');
        fresh = true;
    }
    if (fresh && (r->lines || r->out->n == 0))
        add_prefix(r);
    else if (r->space && !fresh)
        ch_buf_addc(r->out, ' ');
    r->lines = 0;
    r->space = false;
    ch_buf_add_str(r->out, r->bullet);
    r->bullet[0] = '\0';
    for (size_t i = 0; i < r->nmarks; i++) {
        if (!r->marks[i].written)
            ch_buf_add_str(r->out, r->marks[i].open);
        r->marks[i].written = true;
    }
    r->unwritten = 0;
}

static bool html_text_is_due(const struct ch_html_reader *r) {
    return r->lines || r->space || r->bullet[0] || r->unwritten || r->out->n == 0 ||
           (r->nrows && !r->rows[r->nrows - 1].begun);
}

/* Length of a character that is blank or invisible to a reader; 0 if s starts with another
 * one. */
static size_t blank(struct ch_sv s, bool *space) {
    static const struct {
        const char *bytes;
        bool space;
    } kinds[] = {
        {" ", true},
        {"\n", true},
        {"\t", true},
        {"\r", true},
        {"\f", true},
        {"\xc2\xa0", true},
        {"\xe2\x80\x8b", false},
        {"\xc2\xad", false},
        {"\xef\xbb\xbf", false},
    };
    for (size_t i = 0; i < CH_LEN(kinds); i++)
        if (ch_sv_starts(s, kinds[i].bytes)) {
            *space = kinds[i].space;
            return strlen(kinds[i].bytes);
        }
    return 0;
}

static void html_text_add_words(struct ch_html_reader *r, struct ch_sv s) {
    bool space = false;

    while (s.n) {
        size_t n =
            (unsigned char)s.p[0] > ' ' && (unsigned char)s.p[0] < 0x80 ? 0 : blank(s, &space);
        if (n) {
            r->space = r->space || space;
        } else {
            if (html_text_is_due(r))
                html_text_flush(r);
            n = CH_MAX(ch_utf8_next(s, NULL), 1u);
            ch_buf_add(r->out, s.p, n);
        }
        s = ch_sv(s.p + n, s.n - n);
    }
}

static void html_text_add_lines(struct ch_html_reader *r, struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\r')
            continue;
        if (s.p[i] == '\n' && r->lines)
            continue; /* skip the first line break of the element */
        if (html_text_is_due(r))
            html_text_flush(r);
        ch_buf_addc(r->out, s.p[i]);
        if (s.p[i] != '\n')
            continue;
        add_prefix(r);
        if (r->nrows)
            r->rows[r->nrows - 1].broken = true;
    }
}

static void add_title(struct ch_html_reader *r, struct ch_sv s) {
    if (r->titles == 1 && r->page->title.n + s.n < MOST_TITLE)
        ch_buf_add_sv(&r->page->title, s);
}

/* --- marks ------------------------------------------------------------------------ */

static bool push_mark(struct ch_html_reader *r, const char *open, const char *close, char *url) {
    bool room = r->opts.markdown && r->nmarks < MOST_MARKS && !r->preformatted;

    if (!room) {
        ch_free(url);
        return false;
    }
    r->marks[r->nmarks++] = (struct mark){open, close, false, url};
    r->unwritten++;
    return true;
}

static void pop_mark(struct ch_html_reader *r) {
    struct mark *m = &r->marks[--r->nmarks];

    if (m->written)
        ch_buf_add_str(r->out, m->close);
    else
        r->unwritten--;
    if (m->written && m->url)
        ch_buf_addf(r->out, "(%s)", m->url);
    ch_free(m->url);
}

/* The absolute URL of a link; NULL if the link has no usable target. */
static char *link_url(const struct ch_html_reader *r, const char *href) {
    CH_BUF_AUTO url = {0};

    if (!href || !*href || *href == '#' || strlen(href) > MOST_URL)
        return NULL;
    ch_url_join(&url, ch_buf_sv(&r->base), ch_sv_str(href));
    struct ch_sv s = ch_buf_sv(&url);
    bool shown =
        ch_sv_starts(s, "http://") || ch_sv_starts(s, "https://") || ch_sv_starts(s, "mailto:");
    /* Parentheses would end the Markdown link early. */
    if (!shown || memchr(s.p, '(', s.n) || memchr(s.p, ')', s.n))
        return NULL;
    return ch_buf_take(&url);
}

/* --- attributes -------------------------------------------------------------------- */

static const char *attribute(const char *const *list, const char *name) {
    for (; *list; list += 2)
        if (strcmp(list[0], name) == 0)
            return list[1] ? list[1] : "";
    return NULL;
}

static bool style_hides(const char *style) {
    CH_BUF_AUTO tight = {0};

    for (; style && *style && tight.n < 1000; style++)
        if (*style > ' ')
            ch_buf_addc(&tight, *style);
    return ch_sv_contains_nocase(ch_buf_sv(&tight), "display:none") ||
           ch_sv_contains_nocase(ch_buf_sv(&tight), "visibility:hidden");
}

static bool html_text_is_hidden(const struct tag *tag, const char *const *attributes) {
    const char *aria, *role;

    if (tag && tag->what == DROPPED)
        return true;
    if (!*attributes)
        return false;
    aria = attribute(attributes, "aria-hidden");
    role = attribute(attributes, "role");
    return attribute(attributes, "hidden") || (aria && strcasecmp(aria, "true") == 0) ||
           (role && strcasecmp(role, "navigation") == 0) ||
           style_hides(attribute(attributes, "style"));
}

/* --- tables ------------------------------------------------------------------------ */

static void begin_row(struct ch_html_reader *r) {
    if (r->nrows) /* a table inside a cell: the outer table is a layout table */
        r->rows[r->nrows - 1].broken = true;
    break_lines(r, 1);
    if (r->nrows == MOST_ROWS)
        return;
    struct row *row = &r->rows[r->nrows++];
    *row = (struct row){.start = r->out->n, .lines = r->lines};
}

static void begin_cell(struct ch_html_reader *r) {
    struct row *row = current_row(r);

    break_lines(r, 1); /* one line per cell, until the row is known to fit one line */
    if (!row)
        return;
    row->begun = false;
    if (row->n == MOST_CELLS)
        row->broken = true;
    else
        row->cells[row->n++] = r->out->n;
}

static void add_cell(struct ch_buf *line, struct ch_sv cell, bool markdown) {
    cell = ch_sv_trim(cell);
    for (size_t i = 0; i < cell.n; i++) {
        if (cell.p[i] == '|' && markdown)
            ch_buf_addc(line, '\\');
        ch_buf_addc(line, cell.p[i]);
    }
}

/* Join the row's cells to one line: "| a | b |", or "a | b" in plain text. */
static void join_cells(struct ch_html_reader *r, const struct row *row) {
    CH_BUF_AUTO line = {0};
    bool markdown = r->opts.markdown;

    for (size_t i = 0; i < row->n; i++) {
        size_t from = row->cells[i], to = i + 1 < row->n ? row->cells[i + 1] : r->out->n;
        ch_buf_add_str(&line, markdown ? "| " : i ? " | " : "");
        add_cell(&line, ch_sv(r->out->p + from, to - from), markdown);
        ch_buf_add_str(&line, markdown ? " " : "");
    }
    if (markdown)
        ch_buf_addc(&line, '|');
    if (markdown && r->header_due) {
        ch_buf_addc(&line, '\n');
        for (size_t i = 0; i < row->n; i++)
            ch_buf_add_str(&line, "| --- ");
        ch_buf_addc(&line, '|');
    }
    r->out->n = row->start;
    for (unsigned i = at_start(r) ? 1 : 0; row->start && i < row->lines; i++)
        ch_buf_addc(r->out, '\n');
    ch_buf_add_sv(r->out, ch_buf_sv(&line));
}

static bool row_is_line(const struct ch_html_reader *r, const struct row *row) {
    return !row->broken && row->n > 1 && r->out->n > row->start && r->quotes == 0 &&
           r->lists == 0 && !r->out->overflow;
}

static void end_row(struct ch_html_reader *r) {
    if (r->nrows == 0)
        return;
    struct row row = r->rows[--r->nrows];
    if (row_is_line(r, &row)) {
        join_cells(r, &row);
        r->header_due = false;
    }
    r->space = false;
    r->lines = 1;
}

/* --- elements ---------------------------------------------------------------------- */

static void open_list_item(struct ch_html_reader *r) {
    break_lines(r, 1);
    for (size_t i = r->depth; i-- > 0;) {
        struct element *list = &r->stack[i];
        if (!list->tag || (list->tag->what != BULLETS && list->tag->what != NUMBERS))
            continue;
        if (list->tag->what == NUMBERS && list->number < 100000)
            list->number++;
        if (list->tag->what == NUMBERS)
            snprintf(r->bullet, sizeof(r->bullet), "%u. ", list->number);
        else
            memcpy(r->bullet, "- ", 3);
        return;
    }
    memcpy(r->bullet, "- ", 3);
}

static void open_heading(struct ch_html_reader *r, int level) {
    break_lines(r, 2);
    if (r->opts.markdown) {
        memcpy(r->bullet, "######", (size_t)level);
        memcpy(r->bullet + level, " ", 2);
    }
}

static void open_preformatted(struct ch_html_reader *r) {
    break_lines(r, 2);
    if (r->opts.markdown && r->preformatted == 0) {
        html_text_flush(r);
        ch_buf_add_str(r->out, "```");
        r->lines = 1;
    }
    r->preformatted++;
}

static void close_preformatted(struct ch_html_reader *r) {
    if (--r->preformatted == 0 && r->opts.markdown) {
        r->lines = at_start(r) ? 0 : 1;
        html_text_flush(r);
        ch_buf_add_str(r->out, "```");
    }
    break_lines(r, 2);
}

static void html_text_show_image(struct ch_html_reader *r, const char *const *attributes) {
    const char *alt = attribute(attributes, "alt");
    CH_BUF_AUTO text = {0};

    if (!alt || !*alt)
        return;
    ch_buf_addf(&text, "[image: %s]", alt);
    html_text_add_words(r, ch_buf_sv(&text));
}

static void set_base(struct ch_html_reader *r, const char *href) {
    CH_BUF_AUTO url = {0};

    if (!href || strlen(href) > MOST_URL)
        return;
    ch_url_join(&url, r->opts.url, ch_sv_str(href));
    ch_buf_clear(&r->base);
    ch_buf_add_sv(&r->base, ch_buf_sv(&url));
}

static bool html_text_is_void(const struct tag *tag) {
    return tag && (tag->what == NOTHING || tag->what == BREAK || tag->what == IMAGE ||
                   tag->what == RULE || tag->what == BASE);
}

static void open_void(struct ch_html_reader *r, enum what what, const char *const *attributes) {
    switch (what) {
    case BASE:
        set_base(r, attribute(attributes, "href"));
        return;
    case RULE:
        break_lines(r, 2);
        if (r->opts.markdown)
            html_text_add_words(r, CH_SV("---"));
        break_lines(r, 2);
        return;
    case BREAK:
        if (current_row(r) && !current_row(r)->broken)
            r->space = true; /* inside a cell, a line break becomes a space */
        else
            break_lines(r, r->lines + 1 > 2 ? 2 : r->lines + 1);
        return;
    case IMAGE:
        html_text_show_image(r, attributes);
        return;
    default:
        return;
    }
}

static void html_text_enter(struct ch_html_reader *r, struct element *e,
                            const char *const *attributes) {
    const char *role = attribute(attributes, "role");

    e->main = role && strcasecmp(role, "main") == 0;
    switch (e->tag ? e->tag->what : INLINE) {
    case MAIN:
    case ARTICLE:
        e->main = true;
        break_lines(r, 2);
        break;
    case BLOCK:
        break_lines(r, 1);
        break;
    case PARAGRAPH:
        break_lines(r, 2);
        break;
    case HEADING:
        open_heading(r, e->tag->level);
        break;
    case BULLETS:
    case NUMBERS:
        break_lines(r, r->lists ? 1 : 2);
        r->lists++;
        break;
    case ITEM:
        open_list_item(r);
        break;
    case QUOTE:
        break_lines(r, 2);
        r->quotes++;
        break;
    case PREFORMATTED:
        open_preformatted(r);
        break;
    case CODE:
        e->marked = push_mark(r, "`", "`", NULL);
        break;
    case STRONG:
        e->marked = push_mark(r, "**", "**", NULL);
        break;
    case EMPHASIS:
        e->marked = push_mark(r, "*", "*", NULL);
        break;
    case LINK: {
        char *url = link_url(r, attribute(attributes, "href"));
        e->marked = url && push_mark(r, "[", "]", url);
        break;
    }
    case TABLE:
        break_lines(r, 2);
        r->header_due = true;
        break;
    case ROW:
        begin_row(r);
        break;
    case CELL:
        begin_cell(r);
        break;
    case TITLE:
        r->titles++;
        break;
    default:
        break;
    }
    e->start = r->out->n;
}

static void note_main(struct ch_html_reader *r, const struct element *e) {
    size_t n = r->out->n - CH_MIN(e->start, r->out->n);
    bool article = e->tag && e->tag->what == ARTICLE;

    if (article) {
        r->articles++;
        r->article_start = e->start;
        r->article_n = n;
    } else if (n > r->main_n) {
        r->main_start = e->start;
        r->main_n = n;
    }
}

static void html_text_leave(struct ch_html_reader *r, const struct element *e) {
    if (e->marked)
        pop_mark(r);
    switch (e->tag ? e->tag->what : INLINE) {
    case BLOCK:
        break_lines(r, 1);
        break;
    case MAIN:
    case ARTICLE:
    case PARAGRAPH:
    case TABLE:
        break_lines(r, 2);
        break;
    case HEADING:
        r->bullet[0] = '\0'; /* drop the bullet of an item without text */
        break_lines(r, 2);
        break;
    case ITEM:
        r->bullet[0] = '\0';
        break_lines(r, 1);
        break;
    case BULLETS:
    case NUMBERS:
        r->lists--;
        break_lines(r, r->lists ? 1 : 2);
        break;
    case QUOTE:
        r->quotes--;
        break_lines(r, 2);
        break;
    case PREFORMATTED:
        close_preformatted(r);
        break;
    case ROW:
        end_row(r);
        break;
    case TITLE:
        r->titles++; /* odd inside a title element, even outside */
        break;
    default:
        break;
    }
    if (e->main)
        note_main(r, e);
}

/* --- events ------------------------------------------------------------------------ */

static void html_text_on_open(const char *name, const char *const *attributes, void *user) {
    struct ch_html_reader *r = user;
    const struct tag *tag = find_tag(name);

    if (html_text_is_void(tag)) {
        if (!r->hidden)
            open_void(r, tag->what, attributes);
        return;
    }
    if (r->depth == CH_LIMIT_HTML_DEPTH) {
        r->beyond++;
        return;
    }
    struct element *e = &r->stack[r->depth++];
    *e = (struct element){.tag = tag};
    memcpy(e->name, name, CH_MIN(strlen(name), sizeof(e->name) - 1));
    if (r->hidden || html_text_is_hidden(tag, attributes)) {
        e->hidden = true;
        r->hidden++;
    } else {
        html_text_enter(r, e, attributes);
    }
}

static void html_text_pop(struct ch_html_reader *r) {
    struct element *e = &r->stack[--r->depth];

    if (e->hidden)
        r->hidden--;
    else
        html_text_leave(r, e);
}

static void html_text_on_close(const char *name, void *user) {
    struct ch_html_reader *r = user;
    size_t i = r->depth;

    if (html_text_is_void(find_tag(name)))
        return;
    if (r->beyond) {
        r->beyond--;
        return;
    }
    while (i > 0 && strncmp(r->stack[i - 1].name, name, sizeof(r->stack->name) - 1) != 0)
        i--;
    while (i > 0 && r->depth >= i)
        html_text_pop(r);
}

static void html_text_on_text(const char *text, size_t n, void *user) {
    struct ch_html_reader *r = user;

    if (r->hidden)
        return;
    if (r->titles % 2)
        add_title(r, ch_sv(text, n));
    else if (r->preformatted)
        html_text_add_lines(r, ch_sv(text, n));
    else
        html_text_add_words(r, ch_sv(text, n));
}

static int html_text_on_stop(void *user) {
    struct ch_html_reader *r = user;

    return r->out->overflow || (r->opts.stop && r->opts.stop(r->opts.user));
}

const struct chela_html_events ch_html_events = {html_text_on_open, html_text_on_close,
                                                 html_text_on_text, html_text_on_stop};

/* --- the reader --------------------------------------------------------------------- */

struct ch_html_reader *ch_html_reader_new(const struct ch_html_opts *opts, struct ch_html *out) {
    struct ch_html_reader *r = ch_alloc(sizeof(*r));

    *out = (struct ch_html){0};
    ch_buf_init(&out->text, CH_LIMIT_HTML_TEXT);
    r->opts = *opts;
    r->page = out;
    r->out = &out->text;
    ch_buf_add_sv(&r->base, opts->url);
    return r;
}

/* Keep only the page's marked main part, if it is longer than a line. */
static void keep_main(struct ch_html_reader *r) {
    size_t start = r->main_start, n = r->main_n;

    if (n < MAIN_ENOUGH && r->articles == 1) {
        start = r->article_start;
        n = r->article_n;
    }
    if (n < MAIN_ENOUGH || start + n > r->out->n || n == r->out->n)
        return;
    r->out->n = start + n;
    r->out->p[r->out->n] = '\0';
    ch_buf_consume(r->out, start);
    r->page->main_only = true;
}

static void html_text_trim(struct ch_buf *b) {
    struct ch_sv kept = ch_sv_trim(ch_buf_sv(b));

    if (b->n == 0)
        return;
    size_t from = (size_t)(kept.p - b->p);
    b->n = from + kept.n;
    b->p[b->n] = '\0';
    ch_buf_consume(b, from);
}

static void tidy_title(struct ch_buf *title) {
    CH_BUF_AUTO words = {0};
    struct ch_sv rest = ch_buf_sv(title);

    for (size_t i = 0; i < rest.n; i++) {
        bool space = (unsigned char)rest.p[i] <= ' ';
        if (!space)
            ch_buf_addc(&words, rest.p[i]);
        else if (words.n && words.p[words.n - 1] != ' ')
            ch_buf_addc(&words, ' ');
    }
    ch_buf_clear(title);
    ch_buf_add_sv(title, ch_sv_trim(ch_buf_sv(&words)));
}

void ch_html_reader_finish(struct ch_html_reader *r) {
    while (r->depth)
        html_text_pop(r);
    while (r->nmarks)
        pop_mark(r);
    r->page->cut = r->page->cut || r->out->overflow;
    keep_main(r);
    html_text_trim(r->out);
    tidy_title(&r->page->title);
    ch_buf_release(&r->base);
    ch_free(r);
}

int ch_html_read(const struct chela_html_ops *parser, struct ch_sv html,
                 const struct ch_html_opts *opts, struct ch_html *out, struct chela_error *err) {
    struct ch_html_reader *r = ch_html_reader_new(opts, out);
    int rc = parser->parse(html.p, html.n, &ch_html_events, r, err);

    out->cut = rc == CHELA_ECANCELED;
    ch_html_reader_finish(r);
    return rc == CHELA_ECANCELED ? 0 : rc;
}

void ch_html_release(struct ch_html *p) {
    ch_buf_release(&p->title);
    ch_buf_release(&p->text);
}
