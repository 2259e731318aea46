/* guests.h -- a server on loopback, those who come to it, and time in the test's
 * hand. What it is asked: /refuse is answered with 401 at the head, /hold is left
 * to the test, everything else is "ok". Clients are trusted, except for what begins with
 * /open; /open/page is a large answer. */
#ifndef TEST_SUPPORT_GUESTS_H
#define TEST_SUPPORT_GUESTS_H
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "io/loop.h"
#include "net/server.h"

#define GUESTS_PAGE ((size_t)128 * 1024)

struct guests {
    struct ch_loop *loop;
    struct ch_server *server;
    struct ch_clock clock;
    int64_t ms;
    unsigned heads, requests, gone;
    struct ch_exchange *held; /* a request that is answered by the test */
    struct ch_server_opts opts;
    struct ch_buf page;
};

/* modules: where to look for them first; may be NULL. */
void guests_begin(struct guests *w, const char *modules);
void guests_end(struct guests *w);

int guests_dial_from(struct guests *w, unsigned last); /* of 127.0.0.`last` */
int guests_dial(struct guests *w);
void guests_work(struct guests *w); /* all that there is to do now */
void guests_later(struct guests *w, int64_t ms);

/* What there is to read; *ended: and nothing will follow. */
void guests_hear(int fd, struct ch_buf *out, bool *ended);
bool guests_heard(int fd, const char *text);

#endif
