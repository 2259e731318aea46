/* quotation.h -- scans plain text and decides whether it is a quotation.
 *
 * A model that reports the content of a page or a file may repeat a call that occurs in it.
 * Such a call must stay text. The text is read as Markdown with the marks that people use
 * for quotations: quotation marks, quoted blocks, comments of HTML and C, HTML elements that
 * show text as it is, and triple quotes. In doubt the text counts as quoted. */
#ifndef CH_MODEL_QUOTATION_H
#define CH_MODEL_QUOTATION_H
#include <stdbool.h>

#include "base/sv.h"

struct ch_quotation {
    char recent[12];   /* the last bytes in lower case, newest last */
    bool straight;     /* between "straight" quotation marks, until the paragraph ends */
    unsigned curved;   /* depth of other quotation marks, until the paragraph ends */
    bool html_comment, c_comment;
    char triple;       /* the character of open triple quotes; 0: none */
    unsigned elements; /* depth of <pre>, <code>, <blockquote> and the like */
    bool block;        /* a line of this paragraph began with '>' */
    bool text_on_line; /* this line has something besides white space */
    unsigned indent;   /* white space at the beginning of this line */
};

/* Read more text. A zeroed struct is the beginning of a text. */
void ch_quotation_read(struct ch_quotation *q, struct ch_sv text);

/* True if a line that begins here is the author's own: not indented and not quoted. */
bool ch_quotation_is_free(const struct ch_quotation *q);

#endif
