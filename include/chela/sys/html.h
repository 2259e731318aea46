/* html.h -- the vtable of an HTML module: a document becomes events.
 *
 * The module knows how HTML is written, with all that real pages get wrong;
 * what the elements mean is up to whoever listens. It keeps no tree, so memory
 * does not grow with the document. Any thread, several at once. */
#ifndef CHELA_SYS_HTML_H
#define CHELA_SYS_HTML_H
#include <stddef.h>

#include "chela/error.h"
CHELA_BEGIN_DECLS

/* Names are in lower case, texts UTF-8; all are borrowed until the function
 * returns. Every element that is opened is closed, in order, also those whose
 * end tag is missing or that have none; except after a stop. */
struct chela_html_events {
    /* attributes: name, value, name, value, ..., NULL; a value may be NULL. */
    void (*open)(const char *tag, const char *const *attributes, void *user);
    void (*close)(const char *tag, void *user);
    void (*text)(const char *text, size_t n, void *user);
    /* Asked often, at least once every few kilobytes: non-zero ends the parse. */
    int (*stop)(void *user);
};

struct chela_html_ops {
    const char *name; /* "libxml2" */

    /* html is UTF-8, whatever it says about itself. 0 when it was read to its
     * end, CHELA_ECANCELED when `stop` ended it. */
    int (*parse)(const char *html, size_t n, const struct chela_html_events *events, void *user,
                 struct chela_error *err);
};

CHELA_END_DECLS
#endif
