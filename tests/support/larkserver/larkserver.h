/* larkserver.h -- shared declarations of the fake open platform. */
#ifndef LARKSERVER_H
#define LARKSERVER_H
#include "../chat/chat.h"

/* --- cards.c: 0: the request is about something else */
int cards_take(int fd, const struct request *r);

/* --- stored.c: what a test laid down; 0: nothing of the kind */
int stored_give(int fd, const struct request *r);

/* --- line.c: the long connection */

/* Serve a long connection on fd until it ends; call without the lock. */
void line_serve(int fd, const struct request *r);
/* POST /test/push?parts=N: send the body as an event, in N frames, the last first; the
 * answer is the payload of the acknowledgement, 503 without a connection, 504 without an
 * acknowledgement. ?cut=1: hang up after the first of two frames. POST /test/hangup. */
void line_test(int fd, const struct request *r);

#endif
