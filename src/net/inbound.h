/* inbound.h -- parser for a request to the server: head and body.
 *
 * Parses HTTP/1.1. Bytes are fed as they arrive; the parser reports when the
 * head and when the body is complete. Everything that a client controls is
 * bounded. Requests that exceed a bound or are ambiguous are refused, with the
 * status to answer. Header names are in lower case. */
#ifndef CH_NET_INBOUND_H
#define CH_NET_INBOUND_H
#include <http_parser.h>
#include <stdbool.h>

#include "base/buf.h"

struct ch_inbound {
    struct http_parser parser;
    struct ch_buf text;  /* the target, names and values */
    struct ch_buf spans; /* offsets of each header in text */
    struct ch_buf body;
    size_t target, target_n;
    size_t lines, line_n; /* lines of the head so far; bytes of the current line */
    bool in_value, after_cr, past_head, has_head, whole;
    bool open; /* a body of unknown length follows */
    int refused;     /* status to answer with; 0: not refused */
    const char *why; /* static */
};

enum ch_inbound_state {
    CH_INBOUND_MORE,   /* needs more bytes */
    CH_INBOUND_HEAD,   /* the head is complete: inspect it, then continue feeding */
    CH_INBOUND_WHOLE,  /* the body is complete; bytes not taken belong to the next one */
    CH_INBOUND_REFUSED /* answer with `refused` and close */
};

void ch_inbound_init(struct ch_inbound *in);
void ch_inbound_release(struct ch_inbound *in);

/* Consume some of the bytes, *taken of them, and stop at each state except
 * MORE. */
enum ch_inbound_state ch_inbound_feed(struct ch_inbound *in, struct ch_sv bytes, size_t *taken);

/* For a head that another parser reads (HTTP/2): add a header, with its name in
 * lower case. Both functions return a negative number once the request is
 * refused. */
int ch_inbound_add(struct ch_inbound *in, struct ch_sv name, struct ch_sv value);
int ch_inbound_refuse(struct ch_inbound *in, int status, const char *why);

/* Available once the head is complete. */
const char *ch_inbound_method(const struct ch_inbound *in); /* "POST" */
struct ch_sv ch_inbound_target(const struct ch_inbound *in); /* "/path?query" */
/* The value of a header; the first one if there are several. p is NULL if there
 * is none. */
struct ch_sv ch_inbound_header(const struct ch_inbound *in, const char *name);
/* The number of headers with this name. */
size_t ch_inbound_count(const struct ch_inbound *in, const char *name);
bool ch_inbound_has_body(const struct ch_inbound *in); /* the head announces a body */
bool ch_inbound_keeps_alive(const struct ch_inbound *in);
bool ch_inbound_is_old(const struct ch_inbound *in); /* HTTP/1.0: no chunks */

#endif
