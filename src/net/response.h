/* response.h -- reads one HTTP/1.x response from bytes.
 *
 * A pure object: bytes in, events out; it knows no socket and no clock, so it
 * is tested and fuzzed alone and gives the same events however the bytes are
 * split. It reads chunked, counted and close-delimited bodies, skips 1xx
 * responses and trailers, and stops at the response's last byte: what follows
 * is not its business, only reported as unused. All of it is bounded by
 * limits.h. The grammar itself is http-parser's. */
#ifndef CH_NET_RESPONSE_H
#define CH_NET_RESPONSE_H
#include <http_parser.h>

#include "base/buf.h"
#include "net/transport.h"

/* Return false to stop for good (the owner was cancelled). */
struct ch_response_events {
    bool (*head)(const struct ch_http_head *head, void *user);
    bool (*data)(struct ch_sv data, void *user);
};

enum ch_response_result { CH_RESPONSE_MORE, CH_RESPONSE_DONE, CH_RESPONSE_STOPPED };

struct ch_response {
    http_parser parser;
    const struct ch_response_events *events;
    void *user;
    const char *peer;        /* borrowed; for messages */
    struct ch_buf text;      /* header names and values until the head is out */
    struct ch_buf spans;     /* where each of them lies in text */
    uint64_t max_body, body; /* allowed, seen */
    unsigned interim;        /* 1xx responses so far */
    int refused;             /* why reading was given up, if it was */
    bool skip_body;          /* set for the answer to HEAD or CONNECT */
    bool any;                /* a byte was fed */
    bool in_value, head_out, done, stopped, keep_alive;
};

void ch_response_init(struct ch_response *r, const char *peer,
                      const struct ch_response_events *events, void *user);
void ch_response_release(struct ch_response *r);

/* Feed bytes; *used is how many belong to this response. Returns a
 * ch_response_result or CHELA_EPROTO, CHELA_ELIMIT. The object must outlive
 * the call even if an event makes its owner go away. */
int ch_response_feed(struct ch_response *r, struct ch_sv bytes, size_t *used,
                     struct chela_error *err);

/* The peer closed: CH_RESPONSE_DONE if that ends the body, else CHELA_ENET. */
int ch_response_eof(struct ch_response *r, struct chela_error *err);

/* A status line was read. Until then it is unknown whether the bytes are an
 * answer at all. */
bool ch_response_answered(const struct ch_response *r);

#endif
