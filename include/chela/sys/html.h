/* html.h -- the vtable of an HTML module: a parser that reports events.
 *
 * The module parses HTML with the errors of real pages; it does not know the meaning of
 * elements. It keeps no tree, so that memory does not grow with the document. The
 * functions are called on any thread, also on several at once. */
#ifndef CHELA_SYS_HTML_H
#define CHELA_SYS_HTML_H
#include <stddef.h>

#include "chela/error.h"
CHELA_BEGIN_DECLS

/* The events of a document. Names are in lower case, texts are UTF-8; all are borrowed until
 * the function returns. Every element that is opened is closed, in order, even if its end
 * tag is missing, unless `stop` ended the parse. */
struct chela_html_events {
    /* attributes: name, value, name, value, ..., NULL; a value may be NULL. */
    void (*open)(const char *tag, const char *const *attributes, void *user);
    void (*close)(const char *tag, void *user);
    void (*text)(const char *text, size_t n, void *user);
    /* Called at least once every few kilobytes: a result other than 0 ends the parse. */
    int (*stop)(void *user);
};

/* The functions of the module. */
struct chela_html_ops {
    const char *name; /* "libxml2" */

    /* Parse a document. html is UTF-8, even if the document declares another encoding.
     * CHELA_ECANCELED: `stop` ended the parse. */
    int (*parse)(const char *html, size_t n, const struct chela_html_events *events, void *user,
                 struct chela_error *err);
};

CHELA_END_DECLS
#endif
