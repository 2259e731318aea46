/* html_text.h -- converts a web page to text for a model. */
#ifndef CH_TOOL_HTML_TEXT_H
#define CH_TOOL_HTML_TEXT_H
#include <stdbool.h>

#include "base/buf.h"
#include "chela/sys/html.h"

struct ch_html_opts {
    struct ch_sv url; /* base URL of relative links */
    bool markdown;    /* false: plain text without markup and link addresses */
    /* Optional; called often. True stops the conversion and keeps the text so far. */
    bool (*stop)(void *user);
    void *user;
};

/* Zeroed: empty. */
struct ch_html {
    struct ch_buf title, text;
    bool cut;       /* the page was not converted to its end */
    bool main_only; /* text holds only the page's main part */
};

/* Fill *out from a document. Scripts, styles, hidden elements and navigation are omitted. */
int ch_html_read(const struct chela_html_ops *parser, struct ch_sv html,
                 const struct ch_html_opts *opts, struct ch_html *out, struct chela_error *err);
void ch_html_release(struct ch_html *p);

/* The same, with events from the caller instead of a parser: open and close events need not
 * match. */
struct ch_html_reader;
struct ch_html_reader *ch_html_reader_new(const struct ch_html_opts *opts, struct ch_html *out);
extern const struct chela_html_events ch_html_events; /* user: the reader */
void ch_html_reader_finish(struct ch_html_reader *r); /* frees the reader */

#endif
