/* shared_head.h -- the URL and the headers that requests to a target have in common.
 *
 * The requests of many runs differ in their bodies only. They share one copy of the rest, which
 * lives until its last owner releases it. The owners of a copy are used on one thread. */
#ifndef CH_MODEL_SHARED_HEAD_H
#define CH_MODEL_SHARED_HEAD_H
#include "net/transport.h"

struct ch_shared_head;

/* Lets req borrow URL and headers from a copy: from *last if it has the same ones, otherwise from
 * a new copy, which takes the place of *last. *own becomes a reference to the copy and loses the
 * one that it was. Both own a reference; NULL: none. */
void ch_shared_head(struct ch_shared_head **own, struct ch_shared_head **last,
                    struct ch_http_request *req);
void ch_shared_head_release(struct ch_shared_head *h); /* NULL: does nothing */

#endif
