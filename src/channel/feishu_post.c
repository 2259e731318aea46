/* feishu_post.c -- Markdown as posts, in parts that the service takes.
 *
 * A post is at most 30 KB as JSON in JSON, and is read on a telephone: parts
 * have at most PART_CHARS characters. A text is cut between lines; a block of
 * code that would fit into a part is not cut, and one that would not is closed
 * at the cut and opened again behind it. The service shows headings very large
 * and joins lines: headings are made smaller, and lines end with two spaces. */
#include "base/utf8.h"
#include "channel/feishu.h"
#include "json/writer.h"

#define PART_CHARS 4000
#define MOST_FENCE 200 /* a longer line is none */
#define PART_COST 26000 /* bytes, escaped twice; the rest is for the envelope */

struct size {
    size_t chars, cost;
};

/* What one byte costs in a string in a string. */
static size_t cost(unsigned char c) {
    if (c == '"' || c == '\\')
        return 4;
    if (c == '\n' || c == '\r' || c == '\t')
        return 3;
    return c < ' ' ? 7 : 1;
}

static struct size measure(struct ch_sv text) {
    struct size s = {0};
    for (size_t i = 0; i < text.n; i++) {
        s.chars += ((unsigned char)text.p[i] & 0xc0) != 0x80;
        s.cost += cost((unsigned char)text.p[i]);
    }
    return s;
}

static bool fits(const struct ch_buf *part, struct ch_sv more) {
    if (more.n > 4 * PART_CHARS)
        return false;
    struct size a = measure(ch_buf_sv(part)), b = measure(more);
    return a.chars + b.chars <= PART_CHARS && a.cost + b.cost <= PART_COST;
}

static struct ch_sv first_line(struct ch_sv text) {
    const char *end = text.n ? memchr(text.p, '\n', text.n) : NULL;
    return ch_sv(text.p, end ? (size_t)(end - text.p) + 1 : text.n);
}

static struct ch_sv after(struct ch_sv text, size_t n) {
    return ch_sv(text.p + n, text.n - n);
}

/* "```" or "~~~" that text begins with, indented by at most three; n 0: none. */
static struct ch_sv marks(struct ch_sv text) {
    size_t i = 0, n = 0;
    while (i < text.n && i < 3 && text.p[i] == ' ')
        i++;
    char mark = i < text.n ? text.p[i] : 0;
    if (mark != '`' && mark != '~')
        return ch_sv("", 0);
    while (i + n < text.n && text.p[i + n] == mark)
        n++;
    return ch_sv(text.p + i, n >= 3 ? n : 0);
}

/* Does text begin with the line that opens a block of code? */
static bool is_fence(struct ch_sv text) {
    struct ch_sv line = first_line(text), m = marks(line);
    size_t before = m.n ? (size_t)(m.p - line.p) + m.n : 0;
    return m.n && line.n <= MOST_FENCE && !memchr(line.p + before, '`', line.n - before);
}

static bool closes(struct ch_sv line, struct ch_sv fence) {
    struct ch_sv a = marks(line), b = marks(fence);
    return a.n >= b.n && a.p[0] == b.p[0] && ch_sv_trim(line).n == a.n;
}

/* The whole block of code that text begins with, or its first line. */
static struct ch_sv first_block(struct ch_sv text) {
    struct ch_sv fence = first_line(text), rest = after(text, fence.n);
    if (!is_fence(fence))
        return fence;
    while (rest.n) {
        struct ch_sv line = first_line(rest);
        rest = after(rest, line.n);
        if (closes(line, fence))
            break;
    }
    return ch_sv(text.p, text.n - rest.n);
}

/* --- lines as the service shows them best */

static size_t heading(struct ch_sv line) {
    size_t n = 0;
    while (n < line.n && line.p[n] == '#')
        n++;
    return n <= 6 && n < line.n && line.p[n] == ' ' ? n : 0;
}

static bool is_blank(struct ch_sv line) {
    return ch_sv_trim(line).n == 0;
}

static void add_line(struct ch_buf *part, struct ch_sv line, struct ch_sv rest) {
    size_t level = heading(line);
    bool ends = line.n && line.p[line.n - 1] == '\n';
    if (level && level < 4)
        ch_buf_add_str(part, level == 1 ? "####" : "#####");
    line = level && level < 4 ? after(line, level) : line;
    ch_buf_add(part, line.p, line.n - ends);
    if (ends && !is_blank(line) && rest.n && !is_blank(first_line(rest)))
        ch_buf_add_str(part, "  ");
    ch_buf_add_str(part, ends ? "\n" : "");
}

/* --- cutting */

/* A line that is longer than a part: as much of it as fits, to the last space
 * if there is one in its second half. */
static struct ch_sv cut_line(struct ch_sv line) {
    struct ch_sv most = ch_utf8_cut(line, 4 * PART_CHARS);
    CH_BUF_AUTO none = {0};
    while (!fits(&none, most))
        most = ch_utf8_cut(most, most.n * 9 / 10);
    for (size_t n = most.n; n > most.n / 2; n--)
        if (most.p[n - 1] == ' ')
            return ch_sv(most.p, n);
    return most;
}

/* Lines of a block of code that is too long for one part, closed behind them. */
static void add_code(struct ch_feishu_rest *rest, struct ch_buf *part) {
    struct ch_sv fence = rest->fence;
    CH_BUF_AUTO end = {0};
    ch_buf_addf(&end, "%.*s\n", CH_SV_FMT(marks(fence)));
    ch_buf_add_sv(part, fence);
    bool some = false;
    while (rest->text.n) {
        struct ch_sv line = first_line(rest->text);
        if (closes(line, fence)) {
            ch_buf_add_sv(part, line);
            rest->text = after(rest->text, line.n);
            rest->fence = ch_sv(NULL, 0);
            return;
        }
        CH_BUF_AUTO would = {0};
        ch_buf_add_sv(&would, line);
        ch_buf_add_sv(&would, ch_buf_sv(&end));
        if (!fits(part, ch_buf_sv(&would))) {
            if (some)
                break;
            line = cut_line(ch_sv(line.p, line.n / 2));
        }
        some = true;
        ch_buf_add_sv(part, line);
        rest->text = after(rest->text, line.n);
    }
    if (part->n && part->p[part->n - 1] != '\n')
        ch_buf_addc(part, '\n');
    ch_buf_add_sv(part, ch_buf_sv(&end));
}

static void take_block(struct ch_feishu_rest *rest, struct ch_sv block, struct ch_buf *part) {
    rest->text = after(rest->text, block.n);
    if (is_fence(block))
        ch_buf_add_sv(part, block);
    else
        add_line(part, block, rest->text);
}

static void fill(struct ch_feishu_rest *rest, struct ch_buf *part) {
    if (rest->fence.n) {
        add_code(rest, part);
        return;
    }
    while (rest->text.n) {
        struct ch_sv block = first_block(rest->text);
        if (fits(part, block)) {
            take_block(rest, block, part);
            continue;
        }
        if (part->n)
            return;
        if (is_fence(block)) {
            rest->fence = first_line(block);
            rest->text = after(rest->text, rest->fence.n);
            add_code(rest, part);
        } else {
            take_block(rest, cut_line(block), part);
        }
        return;
    }
}

static void skip_blank(struct ch_feishu_rest *rest) {
    while (!rest->fence.n && rest->text.n && is_blank(first_line(rest->text)))
        rest->text = after(rest->text, first_line(rest->text).n);
}

bool ch_feishu_part(struct ch_feishu_rest *rest, struct ch_buf *content) {
    struct ch_jw w = ch_jw(content);
    CH_BUF_AUTO part = {0};
    skip_blank(rest);
    if (!rest->text.n)
        return false;
    fill(rest, &part);
    ch_buf_add_str(content, "{\"zh_cn\":{\"title\":\"\",\"content\":[[{\"tag\":\"md\",\"text\":");
    ch_jw_str(&w, ch_buf_sv(&part));
    ch_buf_add_str(content, "}]]}}");
    return true;
}
