/* slack_text.c -- see slack_text.h. */
#include "channel/slack/slack_text.h"

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

static void slack_inline(struct ch_buf *out, struct ch_sv s, unsigned depth);

/* [text](url); the bytes that were read, 0: no link. */
static size_t slack_link(struct ch_buf *out, struct ch_sv s) {
    size_t image = s.n && s.p[0] == '!';
    struct ch_sv in = slack_after(s, image);
    const char *close = in.n && in.p[0] == '[' ? memmem(in.p, in.n, "](", 2) : NULL;
    const char *end = close ? memchr(close, ')', in.n - (size_t)(close - in.p)) : NULL;
    if (!end)
        return 0;
    struct ch_sv text = ch_sv(in.p + 1, (size_t)(close - in.p) - 1);
    struct ch_sv url = ch_sv(close + 2, (size_t)(end - close) - 2);
    if (memchr(text.p, '\n', text.n) || !ch_sv_starts(url, "http") || memchr(url.p, '|', url.n) ||
        memchr(url.p, '>', url.n) || memchr(url.p, ' ', url.n))
        return 0;
    ch_buf_addc(out, '<');
    ch_slack_escape(out, url);
    if (text.n && !memchr(text.p, '|', text.n)) {
        ch_buf_addc(out, '|');
        ch_slack_escape(out, text);
    }
    ch_buf_addc(out, '>');
    return (size_t)(end - s.p) + 1;
}

/* Emphasis at the start of s; the bytes that were read, 0: none. */
static size_t slack_emphasis(struct ch_buf *out, struct ch_sv s, bool at_word, unsigned depth) {
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
        ch_buf_addc(out, kinds[i].as);
        slack_inline(out, in, depth + 1);
        ch_buf_addc(out, kinds[i].as);
        return in.n + 2 * strlen(kinds[i].marks);
    }
    return 0;
}

static void slack_inline(struct ch_buf *out, struct ch_sv s, unsigned depth) {
    bool at_word = true;
    while (s.n) {
        size_t n = 0;
        struct ch_sv code = slack_between(s, "`");
        if (code.p) {
            ch_buf_addc(out, '`');
            ch_slack_escape(out, code);
            ch_buf_addc(out, '`');
            n = code.n + 2;
        } else if (depth < 4) {
            n = slack_link(out, s);
            n = n ? n : slack_emphasis(out, s, at_word, depth);
        }
        if (!n) {
            ch_slack_escape(out, ch_sv(s.p, 1));
            n = 1;
        }
        at_word = strchr(" \t\n([{\"'", s.p[n - 1]) != NULL;
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
        struct ch_sv title = ch_sv_trim(slack_after(rest, marks));
        ch_buf_addc(out, '*');
        ch_slack_escape(out, title);
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
    slack_inline(out, rest, 0);
}

void ch_slack_format(struct ch_buf *out, struct ch_sv text) {
    bool code = false, table = false;
    while (text.p && text.n) {
        struct ch_sv line = ch_sv_split(&text, '\n');
        bool fence = ch_kit_is_fence(line), row = !code && !fence && ch_kit_is_row(line);
        if (row != table)
            ch_buf_add_str(out, "```\n");
        table = row;
        if (fence)
            ch_buf_add_str(out, "```"); /* a language after the fence would be shown as text */
        else if (code || row)
            ch_slack_escape(out, line);
        else
            slack_line(out, line);
        code ^= fence;
        if (text.p || code || table)
            ch_buf_addc(out, '\n');
    }
    if (table || code)
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
