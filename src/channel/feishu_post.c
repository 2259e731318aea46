/* feishu_post.c -- splits Markdown into posts that the service accepts.
 *
 * A post is at most 30 KB of JSON in JSON and is read on a phone: parts have at most
 * PART_CHARS characters (split by parts.h). The service shows headings very large and joins
 * lines, so headings are reduced, and lines end with two spaces. */
#include "channel/feishu_post.h"

#include "json/writer.h"

#define PART_CHARS 4000
#define PART_COST 26000 /* bytes, escaped twice; the rest is for the envelope */

struct size {
    size_t chars, cost;
};

/* Size of one byte in a string inside a string. */
static size_t feishu_post_cost(unsigned char c) {
    if (c == '"' || c == '\\')
        return 4;
    if (c == '\n' || c == '\r' || c == '\t')
        return 3;
    return c < ' ' ? 7 : 1;
}

static struct size feishu_post_measure(struct ch_sv text) {
    struct size s = {0};
    for (size_t i = 0; i < text.n; i++) {
        s.chars += ((unsigned char)text.p[i] & 0xc0) != 0x80;
        s.cost += feishu_post_cost((unsigned char)text.p[i]);
    }
    return s;
}

static bool feishu_post_fits(struct ch_sv part, struct ch_sv more) {
    struct size a = feishu_post_measure(part), b = feishu_post_measure(more);
    return a.chars + b.chars <= PART_CHARS && a.cost + b.cost <= PART_COST;
}

/* --- conversion of lines */

static size_t feishu_post_heading(struct ch_sv line) {
    size_t n = 0;
    while (n < line.n && line.p[n] == '#')
        n++;
    return n <= 6 && n < line.n && line.p[n] == ' ' ? n : 0;
}

static void feishu_post_add_line(struct ch_buf *part, struct ch_sv line, struct ch_sv rest) {
    size_t level = feishu_post_heading(line);
    bool ends = line.n && line.p[line.n - 1] == '\n';
    if (level && level < 4)
        ch_buf_add_str(part, level == 1 ? "####" : "#####");
    if (level && level < 4)
        line = ch_sv(line.p + level, line.n - level);
    ch_buf_add(part, line.p, line.n - ends);
    if (ends && !ch_line_is_blank(line) && rest.n &&
        !ch_line_is_blank(ch_line_first(rest)))
        ch_buf_add_str(part, "  ");
    ch_buf_add_str(part, ends ? "\n" : "");
}

bool ch_feishu_cut(struct ch_parts *rest, struct ch_buf *part) {
    static const struct ch_parts_ops ops = {
        .most = 4 * PART_CHARS, .fits = feishu_post_fits, .add_line = feishu_post_add_line};
    return ch_parts_next(rest, &ops, part);
}

bool ch_feishu_part(struct ch_parts *rest, struct ch_buf *content) {
    struct ch_jw w = ch_jw(content);
    CH_BUF_AUTO part = {0};
    if (!ch_feishu_cut(rest, &part))
        return false;
    ch_buf_add_str(content, "{\"zh_cn\":{\"title\":\"\",\"content\":[[{\"tag\":\"md\",\"text\":");
    ch_jw_str(&w, ch_buf_sv(&part));
    ch_buf_add_str(content, "}]]}}");
    return true;
}
