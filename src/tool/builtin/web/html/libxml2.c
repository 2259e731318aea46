/* libxml2.c -- the module libchela-html.so: HTML parsing by libxml2.
 *
 * The parser pulls its input in small chunks through libxml2_feed, which calls `stop`: some
 * operations of libxml2 take time quadratic in the size of a tag or the stack, and a
 * hostile page may consist of one tag. No external resource is loaded: HTML has no external
 * entities, and network access is disabled. */
#include <libxml/HTMLparser.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "chela/sys/html.h"
#include "chela/sys/module.h"

struct run {
    const struct chela_html_events *events;
    void *user;
    const char *at;
    size_t left;
    bool stopped;
};

static bool libxml2_stop(struct run *r) {
    r->stopped = r->stopped || r->events->stop(r->user);
    return r->stopped;
}

static void libxml2_on_open(void *ctx, const xmlChar *name, const xmlChar **attributes) {
    static const char *const none[] = {NULL};
    struct run *r = ctx;

    if (!libxml2_stop(r))
        r->events->open((const char *)name, attributes ? (const char *const *)attributes : none,
                        r->user);
}

static void libxml2_on_close(void *ctx, const xmlChar *name) {
    struct run *r = ctx;

    if (!r->stopped)
        r->events->close((const char *)name, r->user);
}

static void libxml2_on_text(void *ctx, const xmlChar *text, int n) {
    struct run *r = ctx;

    if (!libxml2_stop(r))
        r->events->text((const char *)text, (size_t)n, r->user);
}

/* Returns 0 at the end of the input. */
static int libxml2_feed(void *ctx, char *to, int max) {
    struct run *r = ctx;
    size_t n = libxml2_stop(r) ? 0 : CH_MIN(r->left, (size_t)max);

    memcpy(to, r->at, n);
    r->at += n;
    r->left -= n;
    return (int)n;
}

static int libxml2_parse(const char *html, size_t n, const struct chela_html_events *events,
                         void *user, struct chela_error *err) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct run r = {.events = events, .user = user, .at = html, .left = n};
    htmlSAXHandler sax = {.startElement = libxml2_on_open,
                          .endElement = libxml2_on_close,
                          .characters = libxml2_on_text,
                          .ignorableWhitespace = libxml2_on_text,
                          .cdataBlock = libxml2_on_text};

    pthread_once(&once, xmlInitParser);
    htmlParserCtxtPtr ctxt = htmlNewParserCtxt();
    if (!ctxt)
        return ch_fail(err, CHELA_ELIMIT, "no memory to read HTML");
    *ctxt->sax = sax;
    ctxt->userData = &r;
    xmlFreeDoc(htmlCtxtReadIO(ctxt, libxml2_feed, NULL, &r, NULL, "UTF-8",
                              HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING |
                                  HTML_PARSE_NONET | HTML_PARSE_NODEFDTD | HTML_PARSE_IGNORE_ENC));
    htmlFreeParserCtxt(ctxt);
    return r.stopped ? ch_fail(err, CHELA_ECANCELED, "stopped") : 0;
}

static const struct chela_html_ops ops = {.name = "libxml2", .parse = libxml2_parse};

CHELA_API const struct chela_module chela_module;
const struct chela_module chela_module = {CHELA_MODULE_ABI, "html", "html", &ops};
