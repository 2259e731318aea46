/* parts.c -- see parts.h. */
#include "channel/parts.h"

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

/* The whole code block at the start of text, or its first line. */
static struct ch_sv first_block(struct ch_sv text) {
    struct ch_sv fence = ch_line_first(text), rest = parts_after(text, fence.n);
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

/* The longest prefix of an overlong line that fits, up to the last space if it lies in the
 * second half. */
static struct ch_sv cut_line(const struct ch_parts_ops *ops, struct ch_sv line) {
    struct ch_sv most = ch_utf8_cut(line, ops->most);
    CH_BUF_AUTO none = {0};
    while (!parts_fits(ops, &none, most))
        most = ch_utf8_cut(most, most.n * 9 / 10);
    for (size_t n = most.n; n > most.n / 2; n--)
        if (most.p[n - 1] == ' ')
            return ch_sv(most.p, n);
    return most;
}

/* Add lines of an overlong code block and close it. */
static void parts_add_code(struct ch_parts *rest, const struct ch_parts_ops *ops,
                           struct ch_buf *part) {
    struct ch_sv fence = rest->fence;
    CH_BUF_AUTO end = {0};
    ch_buf_addf(&end, "%.*s\n", CH_SV_FMT(ch_fence_marks(fence)));
    ch_buf_add_sv(part, fence);
    bool some = false;
    while (rest->text.n) {
        struct ch_sv line = ch_line_first(rest->text);
        if (ch_fence_closes(line, fence)) {
            ch_buf_add_sv(part, line);
            rest->text = parts_after(rest->text, line.n);
            rest->fence = ch_sv(NULL, 0);
            return;
        }
        CH_BUF_AUTO would = {0};
        ch_buf_add_sv(&would, line);
        ch_buf_add_sv(&would, ch_buf_sv(&end));
        if (!parts_fits(ops, part, ch_buf_sv(&would))) {
            if (some)
                break;
            line = cut_line(ops, ch_utf8_cut(line, line.n / 2));
        }
        some = true;
        ch_buf_add_sv(part, line);
        rest->text = parts_after(rest->text, line.n);
    }
    if (part->n && part->p[part->n - 1] != '\n')
        ch_buf_addc(part, '\n');
    ch_buf_add_sv(part, ch_buf_sv(&end));
}

static void take_block(struct ch_parts *rest, const struct ch_parts_ops *ops, struct ch_sv block,
                       struct ch_buf *part) {
    rest->text = parts_after(rest->text, block.n);
    if (ch_fence_opens(block) || !ops->add_line)
        ch_buf_add_sv(part, block);
    else
        ops->add_line(part, block, rest->text);
}

static void parts_fill(struct ch_parts *rest, const struct ch_parts_ops *ops, struct ch_buf *part) {
    if (rest->fence.n) {
        parts_add_code(rest, ops, part);
        return;
    }
    while (rest->text.n) {
        struct ch_sv block = first_block(rest->text);
        if (parts_fits(ops, part, block)) {
            take_block(rest, ops, block, part);
            continue;
        }
        if (part->n)
            return;
        if (ch_fence_opens(block)) {
            rest->fence = ch_line_first(block);
            rest->text = parts_after(rest->text, rest->fence.n);
            parts_add_code(rest, ops, part);
        } else {
            take_block(rest, ops, cut_line(ops, block), part);
        }
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
