/* highlight.h -- a line of code with a little colour.
 *
 * Comments, strings, numbers and the words that most languages reserve; no more
 * than helps the eye. The text is never changed, only made safe. */
#ifndef CH_CLI_HIGHLIGHT_H
#define CH_CLI_HIGHLIGHT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct ch_highlight { /* zero: no language is known */
    const char *line_comment; /* what begins one; NULL: nothing does */
    bool blocks;              /* comments as in C */
    bool known;
    bool in_comment; /* the line before left one open */
};

/* By the first word after the fence: "python". */
struct ch_highlight ch_highlight_for(const char *language, size_t n);
/* One line, without its end. color false: made safe and no more. */
void ch_highlight_line(struct ch_highlight *h, FILE *out, bool color, const char *p, size_t n);

#endif
