/* replace.h -- several replacements in one text; the pure half of `edit`.
 *
 * Each old text must occur exactly once. It is searched exactly first and, if not found,
 * tolerantly: trailing white space, CRLF against LF, and typographic against plain quotes,
 * dashes and spaces are ignored; blanks that end the old text match only at the end of a line.
 * Only the matched bytes are replaced. New lines get the line ends of the replaced text, or of
 * the file if the replaced text is a part of one line. */
#ifndef CH_TOOL_REPLACE_H
#define CH_TOOL_REPLACE_H
#include "base/buf.h"
#include "base/limits.h"

struct ch_replacement {
    struct ch_sv old_text, new_text; /* borrowed */
    bool placed;        /* old_text is empty, and new_text is put after line `line` (0: first) */
    unsigned line;      /* line of the range, counted from 1; filled by ch_replace */
    /* filled by ch_replace */
    size_t from, to;    /* replaced byte range of the old file */
    bool tolerant;      /* matched only tolerantly */
    struct ch_buf with; /* the replacement; ch_edits_release */
};

/* Append the new text to out. edits are returned sorted by position. CHELA_EINVAL: nothing
 * was appended; err names the failing edit and the reason. */
int ch_replace(struct ch_sv text, struct ch_replacement *edits, size_t n, struct ch_buf *out,
               struct chela_error *err);
void ch_edits_release(struct ch_replacement *edits, size_t n);

/* Append the normalized form that tolerant matching compares: no trailing blanks, LF line
 * ends, typographic characters replaced by ASCII ones. */
void ch_plain(struct ch_buf *out, struct ch_sv text);

/* Append a short diff of the replacements of ch_replace: whole lines, "-" and "+". */
void ch_replace_diff(struct ch_sv text, const struct ch_replacement *edits, size_t n,
                     struct ch_buf *out);

#endif
