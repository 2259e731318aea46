/* larkserver.h -- what the files of the fake open platform share. */
#ifndef LARKSERVER_H
#define LARKSERVER_H
#include <pthread.h>
#include <stddef.h>

struct request {
    char method[16], path[1024], auth[512], key[64]; /* key: of a WebSocket */
    char *body; /* owned */
    size_t nbody;
};

extern pthread_mutex_t lock; /* held whenever a request is dealt with */
void note(const char *file, const char *text);
void answer(int fd, int status, const char *json);

/* --- stored.c: what a test laid down in dir; 0: nothing of the kind */
int stored_give(int fd, const struct request *r, const char *dir);

/* --- line.c: the long connection */

/* Serve it on fd until it ends; without the lock. */
void line_serve(int fd, const struct request *r);
/* POST /test/push?parts=N: send the body as an event, in N frames, the last
 * first; answers what it was acknowledged with, 503 without a connection, 504
 * without an acknowledgement. ?cut=1: hang up after the first of two frames.
 * POST /test/hangup. */
void line_test(int fd, const struct request *r);

#endif
