/* responses_held.h -- what a service holds of a conversation on a WebSocket: the last request and
 * its reply.
 *
 * A request that repeats both and adds to them may be sent as the addition alone, with the id of
 * the reply in `previous_response_id`. Every other request is sent whole: after an error, on a new
 * connection, with another head or tail, after an edit of the history, and if the reply stands in
 * the history in other words than the service wrote. */
#ifndef CH_MODEL_RESPONSES_HELD_H
#define CH_MODEL_RESPONSES_HELD_H
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* A zeroed struct: the service holds nothing. */
struct ch_responses_held {
    uint64_t history; /* of the last request; 0: unknown */
    size_t nitems;    /* bytes of its items */
    struct ch_buf head, tail;
    struct ch_buf reply; /* its events that have an item: "[{..},{..}]" */
    struct ch_buf calls; /* its items as a request usually has them, if `plain` */
    bool plain;          /* all of them are calls without special members */
    struct ch_buf id;    /* of the reply; empty: the service holds none */
};

void ch_responses_held_clear(struct ch_responses_held *h);

/* body: head, items and tail of a request. history: a number of the items; the items of an earlier
 * request with the same number are the begin of these. True: *rest are the items that the service
 * does not hold. */
bool ch_responses_held_rest(const struct ch_responses_held *h, uint64_t history,
                            const struct ch_sv body[3], struct ch_sv *rest);

/* This request is sent. */
void ch_responses_held_sent(struct ch_responses_held *h, uint64_t history,
                            const struct ch_sv body[3]);
/* An event of its reply. */
void ch_responses_held_event(struct ch_responses_held *h, struct ch_sv type, struct ch_sv event);

#endif
