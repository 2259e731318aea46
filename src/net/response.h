/* response.h -- parse one HTTP/1.x response.
 *
 * Bytes in, events out, without a socket or a clock. The same bytes give the
 * same events however they are split. Reads chunked, counted and
 * close-delimited bodies, skips 1xx responses and trailers, and stops at the
 * last byte of the response; following bytes are reported as unused. limits.h
 * bounds all parts. http1.h is the grammar, as strict as for requests. */
#ifndef CH_NET_RESPONSE_H
#define CH_NET_RESPONSE_H
#include "net/http1.h"
#include "net/transport.h"

/* Return false to stop for good (the owner was cancelled). */
struct ch_response_events {
    bool (*head)(const struct ch_http_head *head, void *user);
    bool (*data)(struct ch_sv data, void *user);
};

enum ch_response_result { CH_RESPONSE_MORE, CH_RESPONSE_DONE, CH_RESPONSE_STOPPED };

struct ch_response {
    struct ch_http1 message;
    const struct ch_response_events *events;
    void *user;
    const char *peer;        /* borrowed; for messages */
    uint64_t max_body, body; /* allowed, seen */
    unsigned interim;        /* 1xx responses so far */
    int refused;             /* why reading was refused; 0: not refused */
    bool skip_body;          /* set for the answer to HEAD or CONNECT */
    bool any;                /* at least one byte was fed */
    bool head_out, done, stopped, keep_alive;
};

void ch_response_init(struct ch_response *r, const char *peer,
                      const struct ch_response_events *events, void *user);
void ch_response_release(struct ch_response *r);

/* Feed n bytes; *used is the number that belong to this response. The used bytes are
 * overwritten. Returns a ch_response_result or CHELA_EPROTO, CHELA_ELIMIT. The object must
 * stay valid during the call even if an event frees its owner. */
int ch_response_feed(struct ch_response *r, char *bytes, size_t n, size_t *used,
                     struct chela_error *err);

/* The peer closed the connection: CH_RESPONSE_DONE if this ends the body, else
 * CHELA_ENET. */
int ch_response_eof(struct ch_response *r, struct chela_error *err);

/* Whether a status line was read. Before that it is unknown whether the bytes
 * are a response. */
bool ch_response_answered(const struct ch_response *r);

#endif
