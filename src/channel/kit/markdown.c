/* markdown.c -- see markdown.h. */
#include "channel/kit/markdown.h"

bool ch_kit_is_fence(struct ch_sv line) {
    struct ch_sv s = ch_sv_trim(line);
    return ch_sv_starts(s, "```") || ch_sv_starts(s, "~~~");
}

bool ch_kit_is_row(struct ch_sv line) {
    struct ch_sv s = ch_sv_trim(line);
    return s.n > 1 && s.p[0] == '|' && s.p[s.n - 1] == '|';
}

/* Whether `next` continues the paragraph of `line`: neither is empty, and `next` begins no
 * block. */
static bool kit_folds(struct ch_sv line, struct ch_sv next) {
    struct ch_sv s = ch_sv_trim(next);
    return ch_sv_trim(line).n && s.n && line.p[0] != '#' && s.p[0] != '#' &&
           !ch_kit_is_fence(next) && !ch_kit_is_row(next);
}

void ch_kit_format(struct ch_buf *out, struct ch_sv text) {
    bool code = false, table = false;
    while (text.p && text.n) {
        struct ch_sv line = ch_sv_split(&text, '\n'), rest = text;
        struct ch_sv next = rest.p ? ch_sv_split(&rest, '\n') : ch_sv("", 0);
        bool fence = ch_kit_is_fence(line), row = !code && !fence && ch_kit_is_row(line);
        if (row != table)
            ch_buf_add_str(out, "```\n");
        table = row;
        ch_buf_add_sv(out, line);
        if (!fence && !code && !row && kit_folds(line, next))
            ch_buf_add_str(out, "  ");
        code ^= fence;
        if (text.p || code || table)
            ch_buf_addc(out, '\n');
    }
    if (table || code)
        ch_buf_add_str(out, "```");
}
