/* replace.h -- several replacements in one text; the pure half of `edit`.
 *
 * Each old text must be found exactly once. It is looked for as it is and, if
 * it is nowhere, once more tolerantly: white space at the end of lines, CRLF
 * against LF, and typographic quotes, dashes and spaces against plain ones do
 * not count. Only the bytes that matched are replaced; what is around them is
 * untouched, and a text with CRLF line ends gets new lines that have them. */
#ifndef CH_TOOL_REPLACE_H
#define CH_TOOL_REPLACE_H
#include "base/buf.h"
#include "base/limits.h"

struct ch_replacement {
    struct ch_sv old_text, new_text; /* borrowed */
    /* filled by ch_replace */
    size_t from, to;    /* the bytes of the old file that go */
    unsigned line;      /* where they are, counted from 1 */
    bool tolerant;      /* found only that way */
    struct ch_buf with; /* what goes there; ch_edits_release */
};

/* Append the new text to out. edits come back sorted by place. CHELA_EINVAL:
 * nothing was appended and err says which edit cannot be made, and why. */
int ch_replace(struct ch_sv text, struct ch_replacement *edits, size_t n, struct ch_buf *out,
               struct chela_error *err);
void ch_edits_release(struct ch_replacement *edits, size_t n);

/* Append the plain form that tolerant matching compares: no blanks at line
 * ends, LF, typographic characters as a keyboard has them. */
void ch_plain(struct ch_buf *out, struct ch_sv text);

/* Append a short diff of what ch_replace did: whole lines, "-" and "+". */
void ch_replace_diff(struct ch_sv text, const struct ch_replacement *edits, size_t n,
                     struct ch_buf *out);

#endif
