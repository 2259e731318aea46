/* discord_text.c -- see discord_text.h. */
#include "channel/discord/discord_text.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "channel/kit/markdown.h"

#define COLUMNS 16
#define WIDEST 60 /* characters of a column that is aligned */

static struct ch_sv text_after(struct ch_sv s, size_t n) {
    return ch_sv(s.p + n, s.n - n);
}

static size_t text_count(struct ch_sv s, unsigned beyond_bmp) {
    size_t n = 0;
    while (s.n) {
        uint32_t cp = 0;
        unsigned used = ch_utf8_next(s, &cp);
        n += used && cp > 0xffff ? beyond_bmp : 1;
        s = text_after(s, used ? used : 1);
    }
    return n;
}

size_t ch_discord_length(struct ch_sv s) {
    return text_count(s, 2);
}

/* --- tables */

static size_t text_cells(struct ch_sv row, struct ch_sv out[COLUMNS]) {
    struct ch_sv in = ch_sv_trim(row);
    size_t n = 0;
    in = ch_sv(in.p + 1, in.n - 2);
    while (in.p && n < COLUMNS) {
        struct ch_sv cell = n + 1 == COLUMNS ? in : ch_sv_split(&in, '|');
        out[n++] = ch_sv_trim(cell);
        if (n == COLUMNS)
            break;
    }
    return n;
}

/* The line between the head of a table and its rows. */
static bool text_is_rule(struct ch_sv cell) {
    bool dash = false;
    for (size_t i = 0; i < cell.n; i++) {
        if (cell.p[i] != '-' && cell.p[i] != ':')
            return false;
        dash |= cell.p[i] == '-';
    }
    return dash;
}

static void text_widths(struct ch_sv rows, size_t width[COLUMNS]) {
    struct ch_sv cells[COLUMNS];
    while (rows.p && rows.n) {
        size_t n = text_cells(ch_sv_split(&rows, '\n'), cells);
        for (size_t i = 0; i < n; i++) {
            size_t have = text_is_rule(cells[i]) ? 3 : text_count(cells[i], 1);
            width[i] = CH_MAX(width[i], CH_MIN(have, (size_t)WIDEST));
        }
    }
}

static void text_add_row(struct ch_buf *out, struct ch_sv row, const size_t width[COLUMNS]) {
    struct ch_sv cells[COLUMNS];
    size_t n = text_cells(row, cells);
    for (size_t i = 0; i < n; i++) {
        bool rule = text_is_rule(cells[i]);
        size_t have = rule ? 0 : text_count(cells[i], 1);
        ch_buf_add_str(out, i ? " | " : "");
        if (!rule)
            ch_buf_add_sv(out, cells[i]);
        for (; have < width[i] && (rule || i + 1 < n); have++)
            ch_buf_addc(out, rule ? '-' : ' ');
    }
    ch_buf_addc(out, '\n');
}

/* The rows at the start of text. */
static struct ch_sv text_table(struct ch_sv text) {
    struct ch_sv rest = text;
    while (rest.p && rest.n) {
        struct ch_sv after = rest;
        if (!ch_kit_is_row(ch_sv_split(&after, '\n')))
            break;
        rest = after.p ? after : ch_sv(text.p + text.n, 0);
    }
    return ch_sv(text.p, text.n - rest.n);
}

static void text_add_table(struct ch_buf *out, struct ch_sv rows, bool aligned) {
    size_t width[COLUMNS] = {0};
    ch_buf_add_str(out, "```\n");
    if (aligned)
        text_widths(rows, width);
    while (rows.p && rows.n) {
        struct ch_sv row = ch_sv_split(&rows, '\n');
        if (aligned) {
            text_add_row(out, row, width);
        } else {
            ch_buf_add_sv(out, row);
            ch_buf_addc(out, '\n');
        }
    }
    ch_buf_add_str(out, "```");
}

/* --- lines */

/* True if two bars begin here that no backslash precedes. */
static bool text_is_bars(struct ch_sv line, size_t i) {
    return i + 1 < line.n && line.p[i + 1] == '|' && (!i || line.p[i - 1] != '\\');
}

/* ![text](url) becomes [text](url). Two bars, which would hide the text between them, are
 * escaped. */
static void text_add_line(struct ch_buf *out, struct ch_sv line) {
    size_t marks = 0;
    while (marks < line.n && line.p[marks] == '#')
        marks++;
    if (marks > 3 && marks < line.n && line.p[marks] == ' ') {
        ch_buf_add_str(out, "**");
        ch_buf_add_sv(out, ch_sv_trim(text_after(line, marks)));
        ch_buf_add_str(out, "**");
        return;
    }
    for (size_t i = 0; i < line.n; i++) {
        struct ch_sv inside;
        size_t code = ch_kit_code_span(text_after(line, i), &inside);
        bool image = line.p[i] == '!' && i + 1 < line.n && line.p[i + 1] == '[' &&
                     memmem(line.p + i, line.n - i, "](", 2) && (!i || line.p[i - 1] != '\\');
        if (!code && line.p[i] == '|' && ((i && line.p[i - 1] == '|') || text_is_bars(line, i)))
            ch_buf_addc(out, '\\');
        if (!image)
            ch_buf_add(out, line.p + i, code ? code : 1);
        i += code ? code - 1 : 0;
    }
}

/* Discord knows fences of three backticks alone. */
static void text_add_fenced(struct ch_buf *out, enum ch_kit_line what, struct ch_sv line) {
    if (what == CH_KIT_CODE) {
        ch_kit_add_code(out, line);
        return;
    }
    ch_buf_add_str(out, "```");
    if (what == CH_KIT_OPENS)
        ch_kit_add_code(out, ch_kit_info(line));
}

static void text_format(struct ch_buf *out, struct ch_sv text, bool aligned) {
    struct ch_kit_fence code = {0};
    while (text.p && text.n) {
        struct ch_sv table = code.n ? ch_sv(text.p, 0) : text_table(text);
        if (table.n) {
            text_add_table(out, table, aligned);
            text = text_after(text, table.n);
            if (text.n)
                ch_buf_addc(out, '\n');
            continue;
        }
        struct ch_sv line = ch_sv_split(&text, '\n');
        enum ch_kit_line what = ch_kit_line(&code, line);
        if (what == CH_KIT_TEXT)
            text_add_line(out, line);
        else
            text_add_fenced(out, what, line);
        if (text.p)
            ch_buf_addc(out, '\n');
    }
    if (code.n)
        ch_buf_add_str(out, "\n```");
}

void ch_discord_format(struct ch_buf *out, struct ch_sv markdown) {
    for (int aligned = 1; aligned >= 0; aligned--) {
        CH_BUF_AUTO made = {0};
        text_format(&made, markdown, aligned);
        if (ch_discord_length(ch_buf_sv(&made)) <= CH_DISCORD_TEXT) {
            ch_buf_add_sv(out, ch_buf_sv(&made));
            return;
        }
    }
    ch_buf_add_sv(out, markdown);
}

void ch_discord_exact(struct ch_buf *out, struct ch_sv text) {
    ch_buf_add_str(out, "```\n");
    ch_kit_add_code(out, text);
    ch_buf_add_str(out, "\n```");
}

/* --- messages of people */

/* Append the name of a person whom the message mentions. */
static void text_add_name(struct ch_buf *out, struct ch_sv id, const struct ch_json *mentions) {
    ch_buf_addc(out, '@');
    for (CH_JSON_EACH(u, mentions)) {
        if (!ch_sv_eq(ch_json_get_str(u, "id"), id))
            continue;
        struct ch_sv name = ch_json_get_str(u, "global_name");
        name = name.n ? name : ch_json_get_str(u, "username");
        if (name.n) {
            ch_buf_add_sv(out, name);
            return;
        }
    }
    ch_buf_add_sv(out, id);
}

static bool text_is_number(struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return s.n && s.n <= 20;
}

/* The inside of <...>: @1, @!1, @&1, #1, :name:1, a:name:1. False: not such a token. */
static bool text_token(struct ch_buf *out, struct ch_sv in, const struct ch_json *mentions,
                       const char *me) {
    size_t kind = in.n > 1 && in.p[0] == '@' && strchr("!&", in.p[1]) ? 2 : 1;
    struct ch_sv id = in.n > kind ? text_after(in, kind) : ch_sv("", 0);
    if (in.n && in.p[0] == '@' && text_is_number(id)) {
        if (in.p[1] == '&') {
            ch_buf_add_str(out, "@role ");
            ch_buf_add_sv(out, id);
        } else if (!me || !ch_sv_is(id, me)) {
            text_add_name(out, id, mentions);
        }
        return true;
    }
    if (in.n && in.p[0] == '#' && text_is_number(id)) {
        ch_buf_add_sv(out, in);
        return true;
    }
    in = ch_sv_starts(in, "a:") ? text_after(in, 1) : in;
    struct ch_sv name = in.n && in.p[0] == ':' ? text_after(in, 1) : ch_sv("", 0);
    struct ch_sv shown = name.n ? ch_sv_split(&name, ':') : name;
    if (!shown.n || !name.p || !text_is_number(name))
        return false;
    ch_buf_addc(out, ':');
    ch_buf_add_sv(out, shown);
    ch_buf_addc(out, ':');
    return true;
}

void ch_discord_read(struct ch_buf *out, struct ch_sv s, const struct ch_json *mentions,
                     const char *me) {
    CH_BUF_AUTO text = {0};
    while (s.n) {
        const char *end = s.p[0] == '<' ? memchr(s.p, '>', CH_MIN(s.n, (size_t)64)) : NULL;
        size_t n = end ? (size_t)(end - s.p) + 1 : 1;
        if (!end || !text_token(&text, ch_sv(s.p + 1, n - 2), mentions, me)) {
            ch_buf_addc(&text, s.p[0]);
            n = 1;
        }
        s = text_after(s, n);
    }
    ch_buf_add_sv(out, ch_sv_trim(ch_buf_sv(&text)));
}
