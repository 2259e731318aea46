/* summary.c -- see summary.h. */
#include "prompt/summary.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "prompt/tokens.h"

#define RESULT_BYTES 2000 /* maximum bytes of a result, if there is room */
#define TEXT_BYTES 8000   /* maximum bytes of any other text */
#define LEAST_BYTES 60
#define KEY_NAMES 12      /* identifiers that a summary must contain */

/* --- telling -------------------------------------------------------------------------- */

static void summary_add_cut(struct ch_buf *out, struct ch_sv text, size_t max) {
    struct ch_sv head = ch_utf8_cut(text, max);
    ch_buf_add_sv(out, head);
    if (head.n < text.n)
        ch_buf_addf(out, " [... %zu bytes more]", text.n - head.n);
    ch_buf_addc(out, '\n');
}

static void summary_add_block(const struct ch_msg *m, const struct ch_block *b, size_t share,
                              struct ch_buf *out) {
    size_t texts = CH_MAX(TEXT_BYTES / share, (size_t)LEAST_BYTES);
    size_t results = CH_MAX(RESULT_BYTES / share, (size_t)LEAST_BYTES);
    switch (b->type) {
    case CH_BLOCK_TEXT:
        ch_buf_addf(out, "[%s] ", ch_msg_kind_name(m->kind));
        summary_add_cut(out, b->text, m->kind == CH_MSG_USER ? texts * 2 : texts);
        break;
    case CH_BLOCK_TOOL_CALL:
        ch_buf_addf(out, "[call of %.*s] ", CH_SV_FMT(b->name));
        summary_add_cut(out, b->text, results);
        break;
    case CH_BLOCK_TOOL_RESULT:
        ch_buf_addf(out, "[%s of %.*s] ", b->flags & CH_F_ERROR ? "error" : "result",
                    CH_SV_FMT(b->name));
        summary_add_cut(out, b->text, results);
        break;
    case CH_BLOCK_IMAGE:
    case CH_BLOCK_AUDIO:
    case CH_BLOCK_DOCUMENT:
        ch_buf_addf(out, "[%s: %.*s]\n", ch_block_type_name(b->type), CH_SV_FMT(b->name));
        break;
    default: /* reasoning is omitted */
        break;
    }
}

void ch_summary_tell(const struct ch_msg *const *msgs, size_t n, size_t room, struct ch_buf *out) {
    CH_BUF_AUTO text = {0};
    for (size_t share = 1; share <= RESULT_BYTES / LEAST_BYTES; share *= 2) {
        ch_buf_clear(&text);
        for (size_t i = 0; i < n; i++)
            for (uint32_t b = 0; !ch_carry_is(msgs[i]) && b < msgs[i]->nblocks; b++)
                summary_add_block(msgs[i], &msgs[i]->blocks[b], share, &text);
        if (!room || ch_tokens(ch_buf_sv(&text)) <= room)
            break;
    }
    ch_buf_add_sv(out, ch_buf_sv(&text));
}

/* --- judging -------------------------------------------------------------------------- */

static bool has_heading(struct ch_sv text, const char *heading) {
    size_t n = strlen(heading);
    while (text.n) {
        struct ch_sv line = ch_sv_trim(ch_sv_split(&text, '\n'));
        if (line.n >= n && ch_sv_eq_nocase(ch_sv(line.p, n), ch_sv(heading, n)))
            return true;
    }
    return false;
}

static bool lacks_headings(struct ch_sv summary, const char *const *headings, struct ch_buf *why) {
    bool any = false;
    for (; headings && *headings; headings++) {
        if (has_heading(summary, *headings))
            continue;
        ch_buf_addf(why, "%s%s", any ? ", " : "These headings are missing: ", *headings);
        any = true;
    }
    if (any)
        ch_buf_add_str(why, ".\n");
    return any;
}

/* One invented identifier may be a slip; several make the summary bad. */
static bool invents(struct ch_sv summary, const struct ch_summary_measure *by,
                    struct ch_buf *why) {
    struct ch_identifiers own = {0};
    size_t made_up = 0;
    ch_identifiers_read(&own, summary, 0);
    for (size_t i = 0; i < own.n; i++) {
        struct ch_sv word = own.list[i].text;
        if (ch_identifiers_have(by->names, word) || ch_identifier_stands_in(by->told, word))
            continue;
        if (made_up++ < KEY_NAMES)
            ch_buf_addf(why, "%s%.*s", made_up > 1 ? ", " : "Not in the conversation: ",
                        CH_SV_FMT(word));
    }
    if (made_up)
        ch_buf_add_str(why, ".\n");
    bool bad = made_up > CH_MAX(2u, own.n / 8);
    ch_identifiers_release(&own);
    return bad;
}

/* More than half of the most important identifiers that the model was told must be present.
 * The model is told neither the ends of long results nor the carried sentences. */
static bool misses(struct ch_sv summary, const struct ch_summary_measure *by,
                   struct ch_buf *why) {
    const struct ch_identifiers *names = by->names;
    CH_AUTOFREE uint32_t *order = ch_malloc((names->n + 1) * sizeof(*order));
    struct ch_identifiers told = {0};
    size_t keys = 0, missing = 0;
    ch_identifiers_read(&told, by->told, 0);
    ch_identifiers_rank(names, order);
    for (size_t i = 0; i < names->n && keys < KEY_NAMES; i++) {
        struct ch_sv word = names->list[order[i]].text;
        if (!ch_identifiers_have(&told, word))
            continue;
        keys++;
        if (!ch_identifier_stands_in(summary, word))
            ch_buf_addf(why, "%s%.*s", missing++ ? ", " : "Missing: ", CH_SV_FMT(word));
    }
    if (missing)
        ch_buf_add_str(why, ".\n");
    ch_identifiers_release(&told);
    return missing * 2 > keys;
}

enum ch_summary_verdict ch_summary_judge(struct ch_sv summary, const struct ch_summary_measure *by,
                                         struct ch_buf *why) {
    summary = ch_sv_trim(summary);
    if (!summary.n) {
        ch_buf_add_str(why, "There is no summary.\n");
        return CH_SUMMARY_BAD;
    }
    bool bad = lacks_headings(summary, by->headings, why);
    if (ch_tokens(summary) > by->room + by->room / 2) {
        ch_buf_add_str(why, "It is too long.\n");
        bad = true;
    }
    bad |= invents(summary, by, why);
    bool poor = misses(summary, by, why);
    return bad ? CH_SUMMARY_BAD : poor ? CH_SUMMARY_POOR : CH_SUMMARY_GOOD;
}
