/* parts.c -- see parts.h. */
#include "channel/parts.h"

#include "base/cluster.h"
#include "base/utf8.h"

#define MOST_FENCE 200 /* maximum bytes of a fence line */

static struct ch_sv parts_after(struct ch_sv text, size_t n) {
    return ch_sv(text.p + n, text.n - n);
}

struct ch_sv ch_line_first(struct ch_sv text) {
    const char *end = text.n ? memchr(text.p, '\n', text.n) : NULL;
    return ch_sv(text.p, end ? (size_t)(end - text.p) + 1 : text.n);
}

bool ch_line_is_blank(struct ch_sv line) {
    return ch_sv_trim(line).n == 0;
}

/* "```" or "~~~" at the start of a line, indented by at most three. */
struct ch_sv ch_fence_marks(struct ch_sv text) {
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

bool ch_fence_opens(struct ch_sv text) {
    struct ch_sv line = ch_line_first(text), m = ch_fence_marks(line);
    size_t before = m.n ? (size_t)(m.p - line.p) + m.n : 0;
    return m.n && line.n <= MOST_FENCE && !memchr(line.p + before, '`', line.n - before);
}

bool ch_fence_closes(struct ch_sv line, struct ch_sv fence) {
    struct ch_sv a = ch_fence_marks(line), b = ch_fence_marks(fence);
    return a.n >= b.n && a.p[0] == b.p[0] && ch_sv_trim(line).n == a.n;
}

static bool parts_is_row(struct ch_sv line) {
    return memchr(line.p, '|', line.n) && !ch_fence_opens(line);
}

/* "|---|:-:|" */
static bool parts_is_rule(struct ch_sv line) {
    for (size_t i = 0; i < line.n; i++)
        if (!strchr("|-: \t\r\n", line.p[i]))
            return false;
    return parts_is_row(line) && memchr(line.p, '-', line.n);
}

/* The head of the table at the start of text: a row and the delimiter line; n 0: no table. */
static struct ch_sv table_head(struct ch_sv text) {
    struct ch_sv row = ch_line_first(text), rule = ch_line_first(parts_after(text, row.n));
    bool table = rule.n && parts_is_row(row) && parts_is_rule(rule);
    return ch_sv(text.p, table ? row.n + rule.n : 0);
}

/* The whole code block or table at the start of text, or its first line. */
static struct ch_sv first_block(struct ch_sv text) {
    struct ch_sv fence = ch_line_first(text), rest = parts_after(text, fence.n);
    struct ch_sv head = table_head(text);
    if (head.n)
        rest = parts_after(text, head.n);
    while (head.n && rest.n && parts_is_row(ch_line_first(rest)))
        rest = parts_after(rest, ch_line_first(rest).n);
    if (head.n)
        return ch_sv(text.p, text.n - rest.n);
    if (!ch_fence_opens(fence))
        return fence;
    while (rest.n) {
        struct ch_sv line = ch_line_first(rest);
        rest = parts_after(rest, line.n);
        if (ch_fence_closes(line, fence))
            break;
    }
    return ch_sv(text.p, text.n - rest.n);
}

/* --- splitting */

static bool parts_fits(const struct ch_parts_ops *ops, const struct ch_buf *part,
                       struct ch_sv more) {
    if (more.n > ops->most)
        return false;
    return ops->fits ? ops->fits(ch_buf_sv(part), more)
                     : ops->measure(ch_buf_sv(part)) + ops->measure(more) <= ops->units;
}

static bool parts_fits_with(const struct ch_parts_ops *ops, const struct ch_buf *part,
                            struct ch_sv more, struct ch_sv end) {
    CH_BUF_AUTO would = {0};
    ch_buf_add_sv(&would, more);
    ch_buf_add_sv(&would, end);
    return parts_fits(ops, part, ch_buf_sv(&would));
}

/* True if a reader would break a line here: after a space, or after the punctuation of Chinese
 * and Japanese. */
static bool breaks_after(struct ch_sv s) {
    static const char *const marks[] = {" ",  "\t", "。", "，", "、", "；",
                                        "：", "！", "？", "）", "」", "”"};
    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
        if (s.n && ch_sv_ends(s, marks[i]))
            return true;
    return false;
}

/* The longest prefix of an overlong line that fits into the part together with end, up to the
 * last place for a break if it lies in the second half. At least one character. */
static struct ch_sv cut_line(const struct ch_parts_ops *ops, const struct ch_buf *part,
                             struct ch_sv line, struct ch_sv end) {
    struct ch_sv most = ch_utf8_cut(line, ops->most);
    while (most.n && !parts_fits_with(ops, part, most, end))
        most = ch_utf8_cut(most, most.n * 9 / 10);
    for (size_t n = most.n; n > most.n / 2; n--)
        if (breaks_after(ch_sv(most.p, n)))
            return ch_sv(most.p, n);
    return ch_cluster_cut(line, most.n);
}

/* Add lines of an overlong code block and close it. */
static void parts_add_code(struct ch_parts *rest, const struct ch_parts_ops *ops,
                           struct ch_buf *part) {
    struct ch_sv fence = rest->fence;
    CH_BUF_AUTO end = {0};
    ch_buf_addf(&end, "\n%.*s\n", CH_SV_FMT(ch_fence_marks(fence)));
    ch_buf_add_sv(part, fence);
    bool some = false;
    while (rest->text.n) {
        struct ch_sv line = ch_line_first(rest->text);
        if (ch_fence_closes(line, fence)) {
            rest->text = parts_after(rest->text, line.n);
            rest->fence = ch_sv(NULL, 0);
            break;
        }
        if (!parts_fits_with(ops, part, line, ch_buf_sv(&end))) {
            if (some)
                break;
            line = cut_line(ops, part, line, ch_buf_sv(&end));
        }
        some = true;
        ch_buf_add_sv(part, line);
        rest->text = parts_after(rest->text, line.n);
    }
    size_t ended = part->n && part->p[part->n - 1] == '\n';
    ch_buf_add_sv(part, parts_after(ch_buf_sv(&end), ended));
}

/* Begin a part with the rows of an overlong table, after its head. A head that leaves no space
 * for the next row is not added, and the rows become lines. */
static void parts_add_rows(struct ch_parts *rest, const struct ch_parts_ops *ops,
                           struct ch_buf *part) {
    struct ch_sv row = ch_line_first(rest->text);
    if (!parts_fits_with(ops, part, rest->head, row)) {
        rest->head = ch_sv(NULL, 0);
        return;
    }
    ch_buf_add_sv(part, rest->head);
    for (; row.n && parts_is_row(row); row = ch_line_first(rest->text)) {
        if (!parts_fits(ops, part, row))
            return;
        ch_buf_add_sv(part, row);
        rest->text = parts_after(rest->text, row.n);
    }
    rest->head = ch_sv(NULL, 0);
}

static void take_block(struct ch_parts *rest, const struct ch_parts_ops *ops, struct ch_sv block,
                       struct ch_buf *part) {
    rest->text = parts_after(rest->text, block.n);
    if (ch_fence_opens(block) || table_head(block).n || !ops->add_line)
        ch_buf_add_sv(part, block);
    else
        ops->add_line(part, block, rest->text);
}

/* Begin a part with an overlong block. A fence that fills half of a part is not repeated. */
static void parts_split(struct ch_parts *rest, const struct ch_parts_ops *ops, struct ch_sv block,
                        struct ch_buf *part) {
    struct ch_sv head = table_head(block), line = ch_line_first(block);
    if (ch_fence_opens(block) && parts_fits_with(ops, part, line, line)) {
        rest->fence = line;
        rest->text = parts_after(rest->text, rest->fence.n);
        parts_add_code(rest, ops, part);
        return;
    }
    if (head.n) {
        struct ch_parts table = {.text = parts_after(rest->text, head.n), .head = head};
        parts_add_rows(&table, ops, part);
        if (part->n) {
            *rest = table;
            return;
        }
        line = parts_fits(ops, part, head) ? head : line;
    }
    take_block(rest, ops, parts_fits(ops, part, line) ? line : cut_line(ops, part, line, CH_SV("")),
               part);
}

static void parts_fill(struct ch_parts *rest, const struct ch_parts_ops *ops, struct ch_buf *part) {
    if (rest->fence.n) {
        parts_add_code(rest, ops, part);
        return;
    }
    if (rest->head.n)
        parts_add_rows(rest, ops, part);
    while (rest->text.n && !rest->head.n) {
        struct ch_sv block = first_block(rest->text);
        if (parts_fits(ops, part, block)) {
            take_block(rest, ops, block, part);
            continue;
        }
        if (!part->n)
            parts_split(rest, ops, block, part);
        return;
    }
}

bool ch_parts_next(struct ch_parts *rest, const struct ch_parts_ops *ops, struct ch_buf *part) {
    CH_BUF_AUTO next = {0};
    while (!rest->fence.n && rest->text.n && ch_line_is_blank(ch_line_first(rest->text)))
        rest->text = parts_after(rest->text, ch_line_first(rest->text).n);
    if (!rest->text.n)
        return false;
    parts_fill(rest, ops, &next);
    ch_buf_add_sv(part, ch_buf_sv(&next));
    return true;
}
