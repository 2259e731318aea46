/* fetch.h -- one HTTP call and its outcome, for tests. */
#ifndef SUPPORT_FETCH_H
#define SUPPORT_FETCH_H
#include "base/buf.h"
#include "io/loop.h"
#include "net/transport.h"

enum fetch_stop { FETCH_GO_ON, FETCH_CANCEL_AT_HEAD, FETCH_CANCEL_AT_DATA };

struct fetch {
    struct ch_http_request req; /* set before fetch_start; method defaults to GET */
    enum fetch_stop stop;
    void (*then)(struct fetch *f);    /* called in on_done; optional */
    void (*at_head)(struct fetch *f); /* called in on_head; optional */
    void *user;

    struct ch_transport *transport;
    struct ch_http_call *call; /* NULL after the call has ended */
    bool started;              /* start has returned */
    bool headed;               /* a response head has arrived */
    bool done;                 /* the call has ended or was cancelled */
    int heads, dones;
    int status;
    struct ch_buf headers; /* "name=value\n" each */
    struct ch_buf body;
    struct chela_error err; /* code 0: success */
};

void fetch_start(struct fetch *f, struct ch_transport *t);
void fetch_release(struct fetch *f);

/* Start the call and run the loop until it has ended. */
void fetch_run(struct fetch *f, struct ch_transport *t, struct ch_loop *loop);

/* Let the loop run for a while. */
void run_for(struct ch_loop *loop, int64_t ms);

#endif
