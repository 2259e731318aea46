/* highlight.h -- simple syntax highlighting of a line of code.
 *
 * Comments, strings, numbers and common reserved words are colored. The text is never
 * changed, only made safe. */
#ifndef CH_CLI_HIGHLIGHT_H
#define CH_CLI_HIGHLIGHT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct ch_highlight { /* zeroed: unknown language */
    const char *line_comment; /* start of a line comment; NULL: none */
    bool blocks;              /* comments as in C */
    bool known;
    bool in_comment; /* a comment is open from the previous line */
};

/* By the first word after the fence: "python". */
struct ch_highlight ch_highlight_for(const char *language, size_t n);
/* Write one line, without its line end. color false: only made safe. */
void ch_highlight_line(struct ch_highlight *h, FILE *out, bool color, const char *p, size_t n);

#endif
