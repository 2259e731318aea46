/* inbound.h -- the request that a client of ours is sending: head and body.
 *
 * A parser of HTTP/1.1 and nothing else: bytes go in as they come, the head is there once
 * all of it is, the body once all of that is. Everything a client controls is
 * bounded; what passes a bound, or could be read in two ways, is refused with
 * the status to answer with. Names of headers are in lower case. */
#ifndef CH_NET_INBOUND_H
#define CH_NET_INBOUND_H
#include <http_parser.h>
#include <stdbool.h>

#include "base/buf.h"

struct ch_inbound {
    struct http_parser parser;
    struct ch_buf text;  /* the target, names and values */
    struct ch_buf spans; /* where each header lies in it */
    struct ch_buf body;
    size_t target, target_n;
    size_t lines, line_n; /* of the head, that have come; bytes of the one that comes */
    bool in_value, after_cr, past_head, has_head, whole;
    bool open; /* a body follows, of a length that nobody told */
    int refused;     /* the status to answer with; 0: nothing is wrong */
    const char *why; /* static */
};

enum ch_inbound_state {
    CH_INBOUND_MORE,   /* wants more bytes */
    CH_INBOUND_HEAD,   /* the head is there: look at it, then feed on */
    CH_INBOUND_WHOLE,  /* so is the body; the bytes not taken are of the next one */
    CH_INBOUND_REFUSED /* answer with `refused` and close */
};

void ch_inbound_init(struct ch_inbound *in);
void ch_inbound_release(struct ch_inbound *in);

/* Takes some of the bytes, *taken of them, and stops at each state but MORE. */
enum ch_inbound_state ch_inbound_feed(struct ch_inbound *in, struct ch_sv bytes, size_t *taken);

/* For who reads the head elsewhere: a header, its name in lower case. Both return
 * a negative number once the request is refused. */
int ch_inbound_add(struct ch_inbound *in, struct ch_sv name, struct ch_sv value);
int ch_inbound_refuse(struct ch_inbound *in, int status, const char *why);

/* Once the head is there. */
const char *ch_inbound_method(const struct ch_inbound *in); /* "POST" */
struct ch_sv ch_inbound_target(const struct ch_inbound *in); /* "/path?query" */
/* A header that came once; of one that came several times the first. p is NULL
 * if there is none. */
struct ch_sv ch_inbound_header(const struct ch_inbound *in, const char *name);
/* How many headers have this name. */
size_t ch_inbound_count(const struct ch_inbound *in, const char *name);
bool ch_inbound_has_body(const struct ch_inbound *in); /* it says that one follows */
bool ch_inbound_keeps_alive(const struct ch_inbound *in);
bool ch_inbound_is_old(const struct ch_inbound *in); /* HTTP/1.0: no chunks */

#endif
