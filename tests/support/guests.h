/* guests.h -- a server on loopback, its clients, and a clock that the test controls. The
 * server answers /refuse with 401 after the head, leaves /hold to the test, and answers
 * everything else with "ok". Clients are trusted, except for paths that begin with /open;
 * /open/page is a large answer. */
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
    struct ch_exchange *held; /* a request that the test answers */
    struct ch_server_opts opts;
    struct ch_buf page;
};

/* modules: directory that is searched first for modules; may be NULL. */
void guests_begin(struct guests *w, const char *modules);
void guests_end(struct guests *w);

int guests_dial_from(struct guests *w, unsigned last); /* from the address 127.0.0.`last` */
int guests_dial(struct guests *w);
void guests_work(struct guests *w); /* runs the loop until nothing is left to do now */
void guests_later(struct guests *w, int64_t ms);

/* Reads the available data; *ended: no data will follow. */
void guests_hear(int fd, struct ch_buf *out, bool *ended);
bool guests_heard(int fd, const char *text);

#endif
