/* telegram_text.c -- converts Markdown to plain text and a list of "entities".
 *
 * With entities nothing needs escaping and no text can be misread. Elements without an
 * entity become characters: bullets, check boxes; a table is kept as code. Styles apply
 * within a line, as in chat messages; unpaired marks are literal. The text never becomes
 * longer, so a part that fits as Markdown fits.
 *
 * Positions count UTF-16 units. Pure. */
#include "channel/telegram_text.h"

#include "channel/parts.h"
#include "channel/telegram.h"

#define MOST_TOKENS 128 /* per line; the rest stays literal */
#define MOST_OPEN 8     /* nested marks */

size_t ch_telegram_units(struct ch_sv text) {
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        n += ((c & 0xc0) != 0x80) + (c >= 0xf0); /* code points beyond the BMP count twice */
    }
    return n;
}

/* --- writing */

struct style {
    const char *type;
    size_t from;
};

struct page {
    struct ch_buf *text;
    struct ch_jw *entities;
    size_t units, count;
    struct style open[MOST_OPEN + 1]; /* one more for a heading */
    size_t nopen;
    bool linked; /* inside a link that began at link_from */
    size_t link_from;
};

static void telegram_text_add(struct page *p, struct ch_sv s) {
    ch_buf_add_sv(p->text, s);
    p->units += ch_telegram_units(s);
}

/* value: of the entity's member `key`; key NULL: none. */
static void add_entity(struct page *p, const char *type, size_t from, const char *key,
                       struct ch_sv value) {
    if (from == p->units || p->count == CH_TELEGRAM_ENTITIES)
        return;
    p->count++;
    ch_jw_begin(p->entities, '{');
    ch_jw_kcstr(p->entities, "type", type);
    ch_jw_kint(p->entities, "offset", (int64_t)from);
    ch_jw_kint(p->entities, "length", (int64_t)(p->units - from));
    if (key && value.n)
        ch_jw_kstr(p->entities, key, value);
    ch_jw_end(p->entities, '}');
}

static void open_style(struct page *p, const char *type) {
    p->open[p->nopen++] = (struct style){type, p->units};
}

static void close_style(struct page *p) {
    const struct style *s = &p->open[--p->nopen];
    add_entity(p, s->type, s->from, NULL, CH_SV(""));
}

/* Code cannot be combined with other styles: open styles end before it and continue after
 * it. Inside a link, code is not possible. */
static void telegram_text_add_code(struct page *p, struct ch_sv code) {
    size_t at = p->units;
    if (p->linked) {
        telegram_text_add(p, code);
        return;
    }
    for (size_t i = p->nopen; i > 0; i--)
        add_entity(p, p->open[i - 1].type, p->open[i - 1].from, NULL, CH_SV(""));
    telegram_text_add(p, code);
    add_entity(p, "code", at, NULL, CH_SV(""));
    for (size_t i = 0; i < p->nopen; i++)
        p->open[i].from = p->units;
}

/* --- a line: tokenize, pair the marks, then write the text */

enum kind { MARK, CODE, ESCAPE, LINK, LINK_END };

struct token {
    enum kind kind;
    size_t at, n;     /* position in the line */
    struct ch_sv in;  /* CODE: its content; LINK_END: the URL */
    size_t partner;   /* MARK: 0: none, else index of the partner plus 1 */
    bool ends;        /* MARK: the closing one */
};

struct line {
    struct ch_sv text;
    struct token tokens[MOST_TOKENS];
    size_t n;
    size_t waiting[MOST_OPEN]; /* unpaired marks, innermost last */
    size_t nwaiting, floor;    /* marks below floor are outside of the current link */
    struct link {
        size_t words_end, end; /* 0: not inside a link */
        struct ch_sv url;
    } link;
};

static struct token *new_token(struct line *l, enum kind kind, size_t at, size_t n) {
    if (l->n == MOST_TOKENS)
        return NULL;
    l->tokens[l->n] = (struct token){.kind = kind, .at = at, .n = n};
    return &l->tokens[l->n++];
}

static bool telegram_text_is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_punct(char c) {
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
}

/* Sets whether a run of marks may open and close a style, as in CommonMark. */
static void telegram_text_look(const struct line *l, size_t at, size_t n, bool *opens,
                               bool *closes) {
    char before = at ? l->text.p[at - 1] : ' ';
    char behind = at + n < l->text.n ? l->text.p[at + n] : ' ';
    bool left = !telegram_text_is_space(behind) &&
                (!is_punct(behind) || telegram_text_is_space(before) || is_punct(before));
    bool right = !telegram_text_is_space(before) &&
                 (!is_punct(before) || telegram_text_is_space(behind) || is_punct(behind));
    bool inside = l->text.p[at] == '_'; /* snake_case is no style */
    *opens = left && (!inside || !right || is_punct(before));
    *closes = right && (!inside || !left || is_punct(behind));
}

/* Close the innermost mark of character c with at most n characters; returns its length. */
static size_t close_mark(struct line *l, char c, size_t at, size_t n) {
    for (size_t i = l->nwaiting; i > l->floor; i--) {
        size_t first = l->waiting[i - 1];
        struct token *t = &l->tokens[first];
        if (l->text.p[t->at] != c || t->n > n)
            continue;
        struct token *end = new_token(l, MARK, at, t->n);
        if (!end)
            return 0;
        end->partner = first + 1;
        end->ends = true;
        t->partner = l->n;
        l->nwaiting = i - 1;
        return t->n;
    }
    return 0;
}

static size_t open_mark(struct line *l, size_t at, size_t n) {
    if (l->nwaiting == MOST_OPEN || !new_token(l, MARK, at, n))
        return 0;
    l->waiting[l->nwaiting++] = l->n - 1;
    return n;
}

static size_t read_marks(struct line *l, size_t at) {
    char c = l->text.p[at];
    size_t n = 1, done = 0;
    bool opens, closes;
    while (at + n < l->text.n && l->text.p[at + n] == c)
        n++;
    telegram_text_look(l, at, n, &opens, &closes);
    if (n > 3 || (c == '~' && n != 2))
        return n;
    while (closes && done < n) {
        size_t closed = close_mark(l, c, at + done, n - done);
        if (!closed)
            break;
        done += closed;
    }
    while (opens && done < n) {
        size_t opened = open_mark(l, at + done, CH_MIN(n - done, 2));
        if (!opened)
            break;
        done += opened;
    }
    return n;
}

/* `code`, enclosed by equally many backticks. */
static size_t read_code(struct line *l, size_t at) {
    size_t n = 1, end;
    while (at + n < l->text.n && l->text.p[at + n] == '`')
        n++;
    for (end = at + n; end < l->text.n; end++) {
        size_t k = 0;
        while (end + k < l->text.n && l->text.p[end + k] == '`')
            k++;
        if (k == n)
            break;
        end += k;
    }
    if (end >= l->text.n)
        return n;
    struct token *t = new_token(l, CODE, at, end + n - at);
    if (t)
        t->in = ch_sv(l->text.p + at + n, end - at - n);
    return t ? t->n : n;
}

/* Position after the bracket that closes the one at `from`; 0: none. */
static size_t find_close(struct ch_sv text, size_t from, char open, char close) {
    size_t depth = 0;
    for (size_t i = from; i < text.n; i++) {
        depth += text.p[i] == open;
        depth -= text.p[i] == close;
        if (!depth)
            return i + 1;
    }
    return 0;
}

/* "[text](url)", or an image with "!"; 0: no link. */
static size_t read_link(struct line *l, size_t at) {
    size_t open = at + (l->text.p[at] == '!');
    bool room = !l->link.words_end && l->n + 2 <= MOST_TOKENS;
    if (!room || open >= l->text.n || l->text.p[open] != '[')
        return 0;
    size_t behind = find_close(l->text, open, '[', ']');
    size_t end = behind && behind < l->text.n && l->text.p[behind] == '('
                     ? find_close(l->text, behind, '(', ')')
                     : 0;
    if (!end)
        return 0;
    struct ch_sv rest = ch_sv_trim(ch_sv(l->text.p + behind + 1, end - behind - 2));
    l->link.url = rest.n ? ch_sv_split(&rest, ' ') : rest; /* a title follows */
    l->link.words_end = behind - 1;
    l->link.end = end;
    l->floor = l->nwaiting;
    return new_token(l, LINK, at, open + 1 - at)->n;
}

static size_t telegram_text_end_link(struct line *l) {
    struct link link = l->link;
    struct token *t = new_token(l, LINK_END, link.words_end, link.end - link.words_end);
    l->nwaiting = l->floor;
    l->floor = 0;
    l->link = (struct link){0};
    if (t)
        t->in = link.url;
    return link.end - link.words_end;
}

/* Length of the token at `at`. */
static size_t read_token(struct line *l, size_t at) {
    char c = l->text.p[at];
    size_t n = 0;
    if (l->link.words_end && at == l->link.words_end)
        return telegram_text_end_link(l);
    if (c == '\\' && at + 1 < l->text.n && is_punct(l->text.p[at + 1]))
        return new_token(l, ESCAPE, at, 1) ? 2 : 1;
    if (c == '`')
        n = read_code(l, at);
    else if (c == '*' || c == '_' || c == '~')
        n = read_marks(l, at);
    else if (c == '[' || c == '!')
        n = read_link(l, at);
    return n ? n : 1;
}

static const char *style_of(const struct line *l, const struct token *t) {
    char c = l->text.p[t->at];
    return c == '~' ? "strikethrough" : t->n == 2 ? "bold" : "italic";
}

static void finish_link(struct page *p, struct ch_sv url) {
    p->linked = false;
    if (p->units == p->link_from) { /* an image without words: a text must not be empty */
        telegram_text_add(p, url);
    } else if (ch_sv_starts(url, "https://") || ch_sv_starts(url, "http://")) {
        add_entity(p, "text_link", p->link_from, "url", url);
    } else if (url.n) { /* a relative URL is useless in a chat: show it as text */
        telegram_text_add(p, CH_SV(" ("));
        telegram_text_add(p, url);
        telegram_text_add(p, CH_SV(")"));
    }
}

static void telegram_text_add_token(struct page *p, const struct line *l, const struct token *t) {
    switch (t->kind) {
    case MARK:
        if (t->ends)
            close_style(p);
        else
            open_style(p, style_of(l, t));
        break;
    case CODE:
        telegram_text_add_code(p, t->in);
        break;
    case LINK:
        p->linked = true;
        p->link_from = p->units;
        break;
    case LINK_END:
        finish_link(p, t->in);
        break;
    case ESCAPE:
        break;
    }
}

static void telegram_text_add_words(struct page *p, struct ch_sv text) {
    struct line l = {.text = text};
    size_t at = 0;
    for (size_t i = 0; i < text.n;)
        i += read_token(&l, i);
    for (size_t i = 0; i < l.n; i++) {
        const struct token *t = &l.tokens[i];
        if (t->kind == MARK && !t->partner)
            continue;
        telegram_text_add(p, ch_sv(text.p + at, t->at - at));
        telegram_text_add_token(p, &l, t);
        at = t->at + t->n;
    }
    telegram_text_add(p, ch_sv(text.p + at, text.n - at));
}

/* --- lines and blocks */

static size_t telegram_text_indent(struct ch_sv line) {
    size_t n = 0;
    while (n < line.n && line.p[n] == ' ')
        n++;
    return n;
}

static struct ch_sv telegram_text_after(struct ch_sv text, size_t n) {
    return ch_sv(text.p + n, text.n - n);
}

static bool is_rule(struct ch_sv line) {
    size_t n = 0;
    for (size_t i = 0; i < line.n; i++) {
        if (telegram_text_is_space(line.p[i]))
            continue;
        if (!strchr("-*_", line.p[i]) || line.p[i] != ch_sv_trim(line).p[0])
            return false;
        n++;
    }
    return n >= 3;
}

static void telegram_text_add_item(struct page *p, struct ch_sv rest) {
    bool open = ch_sv_starts(rest, "[ ] ");
    bool done = ch_sv_starts(rest, "[x] ") || ch_sv_starts(rest, "[X] ");
    telegram_text_add(p, open ? CH_SV("☐ ") : done ? CH_SV("☑ ") : CH_SV("• "));
    telegram_text_add_words(p, open || done ? telegram_text_after(rest, 4) : rest);
}

static void telegram_text_add_line(struct page *p, struct ch_sv line) {
    size_t n = telegram_text_indent(line), level = 0;
    struct ch_sv body = telegram_text_after(line, n);
    while (level < body.n && body.p[level] == '#')
        level++;
    if (level >= 1 && level <= 6 && level < body.n && body.p[level] == ' ') {
        open_style(p, "bold");
        telegram_text_add_words(p, ch_sv_trim(telegram_text_after(body, level)));
        close_style(p);
    } else if (is_rule(body)) {
        telegram_text_add(p, CH_SV("———"));
    } else if (body.n > 2 && strchr("-*+", body.p[0]) && body.p[1] == ' ') {
        telegram_text_add(p, ch_sv(line.p, n));
        telegram_text_add_item(p, telegram_text_after(body, 2));
    } else {
        telegram_text_add_words(p, line);
    }
}

/* Take a line without its line end off *rest. */
static struct ch_sv telegram_text_next_line(struct ch_sv *rest) {
    struct ch_sv line = ch_line_first(*rest);
    *rest = telegram_text_after(*rest, line.n);
    while (line.n && telegram_text_is_space(line.p[line.n - 1]))
        line.n--;
    return line;
}

static void telegram_text_new_line(struct page *p) {
    if (p->text->n)
        telegram_text_add(p, CH_SV("\n"));
}

static void telegram_text_add_block(struct page *p, struct ch_sv *rest) {
    struct ch_sv fence = telegram_text_next_line(rest), m = ch_fence_marks(fence);
    struct ch_sv info = ch_sv_trim(telegram_text_after(fence, (size_t)(m.p - fence.p) + m.n));
    telegram_text_new_line(p);
    size_t at = p->units;
    for (bool first = true; rest->n; first = false) {
        struct ch_sv line = ch_line_first(*rest);
        *rest = telegram_text_after(*rest, line.n);
        if (ch_fence_closes(line, fence))
            break;
        if (!first)
            telegram_text_add(p, CH_SV("\n"));
        telegram_text_add(p, ch_sv(line.p, line.n - (line.p[line.n - 1] == '\n')));
    }
    add_entity(p, "pre", at, "language", info.n ? ch_sv_split(&info, ' ') : info);
}

static bool is_quote(struct ch_sv text) {
    return text.n && text.p[0] == '>';
}

static void add_quote(struct page *p, struct ch_sv *rest) {
    telegram_text_new_line(p);
    size_t at = p->units;
    for (bool first = true; is_quote(*rest); first = false) {
        struct ch_sv line = telegram_text_after(telegram_text_next_line(rest), 1);
        if (!first)
            telegram_text_add(p, CH_SV("\n"));
        telegram_text_add_line(p, line.n && line.p[0] == ' ' ? telegram_text_after(line, 1) : line);
    }
    add_entity(p, "blockquote", at, NULL, CH_SV(""));
}

static bool has_columns(struct ch_sv line) {
    return memchr(line.p, '|', line.n) != NULL;
}

/* True if a table begins here: a row followed by a delimiter line. */
static bool is_table(struct ch_sv text) {
    struct ch_sv head = telegram_text_next_line(&text),
                 line = text.n ? telegram_text_next_line(&text) : text;
    if (!head.n || !line.n || !has_columns(head) || !has_columns(line))
        return false;
    for (size_t i = 0; i < line.n; i++)
        if (!strchr("|-: ", line.p[i]))
            return false;
    return memchr(line.p, '-', line.n) != NULL;
}

static void add_table(struct page *p, struct ch_sv *rest) {
    telegram_text_new_line(p);
    size_t at = p->units;
    for (bool first = true; rest->n && has_columns(ch_line_first(*rest)); first = false) {
        if (!first)
            telegram_text_add(p, CH_SV("\n"));
        telegram_text_add(p, telegram_text_next_line(rest));
    }
    add_entity(p, "pre", at, NULL, CH_SV(""));
}

void ch_telegram_text(struct ch_sv markdown, struct ch_buf *text, struct ch_buf *entities) {
    struct ch_jw w = ch_jw(entities);
    struct page p = {.text = text, .entities = &w};
    while (markdown.n && telegram_text_is_space(markdown.p[markdown.n - 1]))
        markdown.n--;
    ch_jw_begin(&w, '[');
    while (markdown.n) {
        if (ch_fence_opens(markdown)) {
            telegram_text_add_block(&p, &markdown);
        } else if (is_quote(markdown)) {
            add_quote(&p, &markdown);
        } else if (is_table(markdown)) {
            add_table(&p, &markdown);
        } else {
            telegram_text_new_line(&p);
            telegram_text_add_line(&p, telegram_text_next_line(&markdown));
        }
    }
    ch_jw_end(&w, ']');
}
