/* html_text.h -- a web page as text that a model can read. */
#ifndef CH_TOOL_HTML_TEXT_H
#define CH_TOOL_HTML_TEXT_H
#include <stdbool.h>

#include "base/buf.h"
#include "chela/sys/html.h"

struct ch_html_opts {
    struct ch_sv url; /* what links are relative to */
    bool markdown;    /* else plain text: no marks, no addresses */
    /* Optional; asked often: true ends the work with what there is. */
    bool (*stop)(void *user);
    void *user;
};

/* Zeroed: empty. */
struct ch_html {
    struct ch_buf title, text;
    bool cut;       /* the page was not read to its end */
    bool main_only; /* text is what the page calls its main part */
};

/* Fill *out from a document. Scripts, styles and what the page hides are left
 * out, and so is navigation. */
int ch_html_read(const struct chela_html_ops *parser, struct ch_sv html,
                 const struct ch_html_opts *opts, struct ch_html *out, struct chela_error *err);
void ch_html_release(struct ch_html *p);

/* The same with events of the caller's instead of a parser's: open and close
 * need not match. */
struct ch_html_reader;
struct ch_html_reader *ch_html_reader_new(const struct ch_html_opts *opts, struct ch_html *out);
extern const struct chela_html_events ch_html_events; /* user: the reader */
void ch_html_reader_finish(struct ch_html_reader *r); /* frees it */

#endif
