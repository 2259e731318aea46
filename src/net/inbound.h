/* inbound.h -- a request to the server: head and body.
 *
 * Reads HTTP/1.1 (http1.h). Bytes are fed as they arrive; the parser reports when the
 * head and when the body is complete. Everything that a client controls is
 * bounded. Requests that exceed a bound or are ambiguous are refused, with the
 * status to answer. Header names are in lower case. */
#ifndef CH_NET_INBOUND_H
#define CH_NET_INBOUND_H
#include <stdbool.h>

#include "base/buf.h"
#include "net/http1.h"

struct ch_inbound {
    struct ch_http1 message; /* the head, also of an HTTP/2 request */
    struct ch_buf body;
    bool has_head, whole;
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
/* Have bytes of a head come? */
bool ch_inbound_has_begun(const struct ch_inbound *in);

/* For a head that another parser reads (HTTP/2): add a header, with its name in
 * lower case; set the target or the method. The functions return a negative number
 * once the request is refused. */
int ch_inbound_add(struct ch_inbound *in, struct ch_sv name, struct ch_sv value);
int ch_inbound_set_method(struct ch_inbound *in, struct ch_sv method);
int ch_inbound_set_target(struct ch_inbound *in, struct ch_sv target);
int ch_inbound_refuse(struct ch_inbound *in, int status, const char *why);

/* Available once the head is complete. */
const char *ch_inbound_method(const struct ch_inbound *in); /* "POST" */
struct ch_sv ch_inbound_target(const struct ch_inbound *in); /* "/path?query" */
/* The value of a header; the first one if there are several. p is NULL if the header is
 * missing. */
struct ch_sv ch_inbound_header(const struct ch_inbound *in, const char *name);
/* The number of headers with this name. */
size_t ch_inbound_count(const struct ch_inbound *in, const char *name);
bool ch_inbound_has_body(const struct ch_inbound *in); /* the head announces a body */
bool ch_inbound_keeps_alive(const struct ch_inbound *in);
bool ch_inbound_is_old(const struct ch_inbound *in); /* HTTP/1.0: no chunks */

#endif
