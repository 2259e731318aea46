/* slack_text.c -- see slack_text.h. */
#include "channel/slack/slack_text.h"

#include "base/chars.h"
#include "base/mem.h"
#include "channel/kit/markdown.h"

static struct ch_sv slack_after(struct ch_sv s, size_t n) {
    return ch_sv(s.p + n, s.n - n);
}

void ch_slack_escape(struct ch_buf *out, struct ch_sv text) {
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '&')
            ch_buf_add_str(out, "&amp;");
        else if (c == '<')
            ch_buf_add_str(out, "&lt;");
        else if (c == '>')
            ch_buf_add_str(out, "&gt;");
        else
            ch_buf_addc(out, c);
    }
}

/* --- Markdown to mrkdwn */

/* The content of MARKS...MARKS at the start of s; p NULL: none. */
static struct ch_sv slack_between(struct ch_sv s, const char *marks) {
    size_t n = strlen(marks);
    if (s.n < 2 * n + 1 || memcmp(s.p, marks, n) != 0 || s.p[n] == ' ' || s.p[n] == marks[0])
        return ch_sv(NULL, 0);
    const char *end = memmem(s.p + n, s.n - n, marks, n);
    if (!end || end == s.p + n || end[-1] == ' ' || memchr(s.p, '\n', (size_t)(end - s.p)))
        return ch_sv(NULL, 0);
    return ch_sv(s.p + n, (size_t)(end - s.p) - n);
}

/* The inside of a line. */
struct slack_words {
    unsigned depth; /* of marks and headings */
    bool bold;      /* marks for bold text are omitted */
    char before;    /* the byte before the text; 0: none */
};

static void slack_inline(struct ch_buf *out, struct ch_sv s, struct slack_words w);

/* The position after the bracket that closes the one at the start of s; 0: none. */
static size_t slack_close(struct ch_sv s, char open, char close) {
    size_t depth = 0;
    for (size_t i = 0; i < s.n; i++) {
        depth += s.p[i] == open;
        depth -= s.p[i] == close;
        if (!depth)
            return i + 1;
    }
    return 0;
}

/* [text](url "title"); the bytes that were read, 0: no link. */
static size_t slack_link(struct ch_buf *out, struct ch_sv s) {
    size_t image = s.n && s.p[0] == '!';
    struct ch_sv in = slack_after(s, image);
    size_t words = in.n && in.p[0] == '[' ? slack_close(in, '[', ']') : 0;
    struct ch_sv to = slack_after(in, words);
    size_t n = words && to.n && to.p[0] == '(' ? slack_close(to, '(', ')') : 0;
    if (!n)
        return 0;
    struct ch_sv text = ch_sv(in.p + 1, words - 2), title = ch_sv_trim(ch_sv(to.p + 1, n - 2));
    struct ch_sv url = ch_sv_split(&title, ' ');
    title = title.p ? ch_sv_trim(title) : ch_sv("\"", 1);
    if (memchr(text.p, '\n', text.n) || !ch_sv_starts(url, "http") || memchr(url.p, '|', url.n) ||
        memchr(url.p, '>', url.n) || !title.n || !strchr("\"'(", title.p[0]))
        return 0;
    ch_buf_addc(out, '<');
    ch_slack_escape(out, url);
    if (text.n && !memchr(text.p, '|', text.n)) {
        ch_buf_addc(out, '|');
        ch_slack_escape(out, text);
    }
    ch_buf_addc(out, '>');
    return image + words + n;
}

/* Slack reads marks only at the borders of words, and no spaces separate the words of Chinese:
 * a zero-width space is put where the byte beside a mark is part of a character. */
static void slack_border(struct ch_buf *out, char beside) {
    if (ch_char_is(beside, CH_CHAR_ALNUM) || (unsigned char)beside >= 0x80)
        ch_buf_add_str(out, "\xe2\x80\x8b");
}

/* Emphasis at the start of s; the bytes that were read, 0: none. */
static size_t slack_emphasis(struct ch_buf *out, struct ch_sv s, bool at_word,
                             struct slack_words w) {
    static const struct {
        const char *marks;
        char as;
        bool word; /* only at the start of a word */
    } kinds[] = {{"**", '*', false},
                 {"__", '*', true},
                 {"~~", '~', false},
                 {"*", '_', false},
                 {"_", '_', true}};
    for (size_t i = 0; i < CH_LEN(kinds); i++) {
        struct ch_sv in = slack_between(s, kinds[i].marks);
        if (!in.p || (kinds[i].word && !at_word))
            continue;
        size_t n = in.n + 2 * strlen(kinds[i].marks);
        bool bold = kinds[i].as == '*', shown = !bold || !w.bold;
        if (shown)
            slack_border(out, w.before);
        if (shown)
            ch_buf_addc(out, kinds[i].as);
        slack_inline(out, in, (struct slack_words){w.depth + 1, w.bold || bold, 0});
        if (shown)
            ch_buf_addc(out, kinds[i].as);
        if (shown)
            slack_border(out, n < s.n ? s.p[n] : 0);
        return n;
    }
    return 0;
}

/* Code at the start of s; the bytes that were read, 0: none. */
static size_t slack_code(struct ch_buf *out, struct ch_sv s) {
    struct ch_sv code;
    size_t end = ch_kit_code_span(s, &code);
    if (!end)
        return 0;
    const char *marks = end - code.n > 4 || memchr(code.p, '`', code.n) ? "```" : "`";
    ch_buf_add_str(out, marks);
    ch_slack_escape(out, code);
    ch_buf_add_str(out, marks);
    return end;
}

/* A punctuation character after a backslash stands for itself. */
static size_t slack_literal(struct ch_buf *out, struct ch_sv s) {
    size_t n = s.n > 1 && s.p[0] == '\\' && ch_char_is(s.p[1], CH_CHAR_VISIBLE) &&
                       !ch_char_is(s.p[1], CH_CHAR_ALNUM)
                   ? 2
                   : 1;
    ch_slack_escape(out, ch_sv(s.p + n - 1, 1));
    return n;
}

static void slack_inline(struct ch_buf *out, struct ch_sv s, struct slack_words w) {
    while (s.n) {
        bool at_word = strchr(" \t\n([{\"'", w.before) != NULL;
        size_t n = slack_code(out, s);
        if (!n && w.depth < 4)
            n = slack_link(out, s);
        if (!n && w.depth < 4)
            n = slack_emphasis(out, s, at_word, w);
        if (!n)
            n = slack_literal(out, s);
        w.before = s.p[n - 1];
        s = slack_after(s, n);
    }
}

static void slack_line(struct ch_buf *out, struct ch_sv line) {
    size_t indent = 0, marks = 0;
    while (indent < line.n && line.p[indent] == ' ')
        indent++;
    struct ch_sv rest = slack_after(line, indent);
    while (marks < rest.n && rest.p[marks] == '#')
        marks++;
    if (marks && marks <= 6 && marks < rest.n && rest.p[marks] == ' ') {
        ch_buf_addc(out, '*');
        slack_inline(out, ch_sv_trim(slack_after(rest, marks)), (struct slack_words){.bold = true});
        ch_buf_addc(out, '*');
        return;
    }
    ch_buf_add(out, line.p, indent);
    if (rest.n > 1 && strchr("-*+", rest.p[0]) && rest.p[1] == ' ') {
        ch_buf_add_str(out, "\xe2\x80\xa2 ");
        rest = slack_after(rest, 2);
    } else if (ch_sv_starts(rest, "> ")) {
        ch_buf_add_str(out, "> ");
        rest = slack_after(rest, 2);
    }
    slack_inline(out, rest, (struct slack_words){0});
}

/* A line of a block of code, or a row of a table. */
static void slack_exact(struct ch_buf *out, struct ch_sv line) {
    CH_BUF_AUTO safe = {0};
    ch_slack_escape(&safe, line);
    ch_kit_add_code(out, ch_buf_sv(&safe));
}

void ch_slack_format(struct ch_buf *out, struct ch_sv text) {
    struct ch_kit_fence code = {0};
    bool table = false;
    while (text.p && text.n) {
        struct ch_sv line = ch_sv_split(&text, '\n');
        enum ch_kit_line what = ch_kit_line(&code, line);
        bool row = what == CH_KIT_TEXT && ch_kit_is_row(line);
        if (row != table)
            ch_buf_add_str(out, "```\n");
        table = row;
        if (what == CH_KIT_OPENS || what == CH_KIT_CLOSES)
            ch_buf_add_str(out, "```"); /* a language after the fence would be shown as text */
        else if (what == CH_KIT_CODE || row)
            slack_exact(out, line);
        else
            slack_line(out, line);
        if (text.p || code.n || table)
            ch_buf_addc(out, '\n');
    }
    if (table || code.n)
        ch_buf_add_str(out, "```");
}

/* --- messages of people */

static size_t slack_entity(struct ch_buf *out, struct ch_sv s) {
    static const struct {
        const char *name;
        char is;
    } known[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}};
    for (size_t i = 0; i < CH_LEN(known); i++)
        if (ch_sv_starts(s, known[i].name)) {
            ch_buf_addc(out, known[i].is);
            return strlen(known[i].name);
        }
    return 0;
}

static void slack_plain(struct ch_buf *out, struct ch_sv s) {
    while (s.n) {
        size_t n = slack_entity(out, s);
        if (!n)
            ch_buf_addc(out, s.p[0]);
        s = slack_after(s, n ? n : 1);
    }
}

/* The inside of <...>: @U1, #C1|name, !here, or a link. */
static bool slack_token(struct ch_buf *out, struct ch_sv in, const char *me) {
    struct ch_sv name = in, id = ch_sv_split(&name, '|');
    char kind = id.n ? id.p[0] : 0;
    if (kind == '@' && me && ch_sv_is(slack_after(id, 1), me))
        return true;
    if (kind == '@' || kind == '#' || kind == '!') {
        ch_buf_addc(out, kind == '#' ? '#' : '@');
        slack_plain(out, name.n ? name : slack_after(id, 1));
    } else {
        slack_plain(out, name.n ? name : id);
        if (name.n && !ch_sv_eq(name, id)) {
            ch_buf_add_str(out, " (");
            slack_plain(out, id);
            ch_buf_addc(out, ')');
        }
    }
    return false;
}

bool ch_slack_read(struct ch_buf *out, struct ch_sv s, const char *me) {
    bool mentioned = false;
    CH_BUF_AUTO text = {0};
    while (s.n) {
        const char *end = s.p[0] == '<' ? memchr(s.p, '>', s.n) : NULL;
        size_t n = end ? (size_t)(end - s.p) + 1 : slack_entity(&text, s);
        if (end)
            mentioned |= slack_token(&text, ch_sv(s.p + 1, n - 2), me);
        else if (!n)
            ch_buf_addc(&text, s.p[0]);
        s = slack_after(s, n ? n : 1);
    }
    ch_buf_add_sv(out, ch_sv_trim(ch_buf_sv(&text)));
    return mentioned;
}
