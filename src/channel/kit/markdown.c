/* markdown.c -- see markdown.h. */
#include "channel/kit/markdown.h"

static struct ch_kit_fence kit_fence(struct ch_sv line) {
    struct ch_sv s = ch_sv_trim(line);
    struct ch_kit_fence f = {.mark = s.n ? s.p[0] : 0};
    while ((f.mark == '`' || f.mark == '~') && f.n < s.n && s.p[f.n] == f.mark)
        f.n++;
    f.n = f.n >= 3 ? f.n : 0;
    return f;
}

struct ch_sv ch_kit_info(struct ch_sv line) {
    struct ch_sv s = ch_sv_trim(line);
    size_t n = kit_fence(line).n;
    return ch_sv_trim(ch_sv(s.p + n, s.n - n));
}

enum ch_kit_line ch_kit_line(struct ch_kit_fence *open, struct ch_sv line) {
    struct ch_kit_fence f = kit_fence(line);
    struct ch_sv info = ch_kit_info(line);
    if (open->n && (f.mark != open->mark || f.n < open->n || info.n))
        return CH_KIT_CODE;
    if (open->n) {
        open->n = 0;
        return CH_KIT_CLOSES;
    }
    if (!f.n || (f.mark == '`' && memchr(info.p, '`', info.n)))
        return CH_KIT_TEXT;
    *open = f;
    return CH_KIT_OPENS;
}

void ch_kit_add_code(struct ch_buf *out, struct ch_sv text) {
    size_t ticks = 0;
    for (size_t i = 0; i < text.n; i++) {
        ticks = text.p[i] == '`' ? ticks + 1 : 0;
        if (ticks == 3) {
            ch_buf_add_str(out, "\xe2\x80\x8b");
            ticks = 1;
        }
        ch_buf_addc(out, text.p[i]);
    }
}

size_t ch_kit_code_span(struct ch_sv s, struct ch_sv *code) {
    size_t n = 0, run = 0;
    while (n < s.n && s.p[n] == '`')
        n++;
    for (size_t i = n; n && i < s.n; i++) {
        run = s.p[i] == '`' ? run + 1 : 0;
        if (run == n && (i + 1 == s.n || s.p[i + 1] != '`')) {
            *code = ch_sv(s.p + n, i + 1 - 2 * n);
            return i + 1;
        }
    }
    return 0;
}

/* The bytes of a mark at the start of s that makes an image; 0: none. */
static size_t kit_image_mark(struct ch_sv s) {
    if (s.n > 1 && s.p[0] == '!' && s.p[1] == '[')
        return 1;
    return s.n > 3 && s.p[0] == '<' && ch_sv_eq_nocase(ch_sv(s.p + 1, 3), CH_SV("img")) ? 1 : 0;
}

/* `exact` is for code: an index after an exclamation mark, such as vec![1], is no image. */
static void kit_add_unimaged(struct ch_buf *out, struct ch_sv line, bool exact) {
    bool link = memmem(line.p, line.n, "](", 2) || memmem(line.p, line.n, "][", 2);
    for (size_t i = 0; i < line.n; i++) {
        struct ch_sv rest = ch_sv(line.p + i, line.n - i), inside;
        size_t code = exact ? 0 : ch_kit_code_span(rest, &inside);
        bool image = kit_image_mark(rest) > 0, bang = image && rest.p[0] == '!';
        if (code) {
            kit_add_unimaged(out, ch_sv(rest.p, code), true);
            i += code - 1;
        } else if (!image || (exact && bang && !link)) {
            ch_buf_addc(out, rest.p[0]);
        } else if (exact || !bang) {
            ch_buf_addc(out, rest.p[0]);
            ch_buf_add_str(out, "\xe2\x80\x8b");
        } else if (rest.n > 2 && rest.p[2] == ']') { /* a link needs words */
            ch_buf_add_str(out, "[image");
            i++;
        }
    }
}

void ch_kit_images_as_links(struct ch_buf *out, struct ch_sv text, bool exact) {
    struct ch_kit_fence code = {0};
    while (text.p && text.n) {
        struct ch_sv line = ch_sv_split(&text, '\n');
        kit_add_unimaged(out, line, ch_kit_line(&code, line) != CH_KIT_TEXT || exact);
        if (text.p)
            ch_buf_addc(out, '\n');
    }
}

bool ch_kit_is_row(struct ch_sv line) {
    struct ch_sv s = ch_sv_trim(line);
    return s.n > 1 && s.p[0] == '|' && s.p[s.n - 1] == '|';
}

/* Whether `next` continues the paragraph of `line`: neither is empty, and `next` begins no
 * block. */
static bool kit_folds(struct ch_sv line, struct ch_sv next) {
    struct ch_sv s = ch_sv_trim(next);
    struct ch_kit_fence none = {0};
    return ch_sv_trim(line).n && s.n && line.p[0] != '#' && s.p[0] != '#' &&
           ch_kit_line(&none, next) == CH_KIT_TEXT && !ch_kit_is_row(next);
}

void ch_kit_format(struct ch_buf *out, struct ch_sv text) {
    struct ch_kit_fence code = {0};
    bool table = false;
    while (text.p && text.n) {
        struct ch_sv line = ch_sv_split(&text, '\n'), rest = text;
        struct ch_sv next = rest.p ? ch_sv_split(&rest, '\n') : ch_sv("", 0);
        bool words = ch_kit_line(&code, line) == CH_KIT_TEXT, row = words && ch_kit_is_row(line);
        if (row != table)
            ch_buf_add_str(out, "```\n");
        table = row;
        ch_buf_add_sv(out, line);
        if (words && !row && kit_folds(line, next))
            ch_buf_add_str(out, "  ");
        if (text.p || code.n || table)
            ch_buf_addc(out, '\n');
    }
    if (table)
        ch_buf_add_str(out, "```");
    for (size_t i = 0; i < code.n; i++)
        ch_buf_addc(out, code.mark);
}
