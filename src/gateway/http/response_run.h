/* response_run.h -- a background response: a run in the log of a session.
 *
 * The store keeps where the run is: the session, the id of the event that began the run, the
 * request. The response itself is written from the records of the run whenever a client asks, so
 * any gateway of the store can answer, also after a crash.
 *
 *   kept --event stored--> queued --taken up--> in_progress --RUN_END--> completed, failed, ... */
#ifndef CH_GATEWAY_RESPONSE_RUN_H
#define CH_GATEWAY_RESPONSE_RUN_H
#include "chela/sys/store.h"
#include "gateway/request/request.h"

struct ch_response_run {
    const char *id, *agent;
    struct ch_sv session, event;
    struct ch_sv input; /* items of the input, JSON, comma separated */
    uint64_t after;     /* records of the run have higher numbers */
    int64_t created;    /* seconds since the epoch */
    const struct ch_json *request;
    bool cancelled;     /* before the session took the event up */
};

/* Keeps the run, before its event is stored. CHELA_ELIMIT: the request is too large. Loop
 * thread. */
int ch_response_run_keep(chela_gateway *gw, const struct ch_response_run *run,
                         struct chela_error *err);
/* Reads what was kept, as JSON. False: not a run. Any thread. */
bool ch_response_run_read(struct ch_arena *a, const char *id, struct ch_sv text,
                          struct ch_response_run *out);
/* The response as far as the records show it. object, items: as for ch_response_store_put. Returns
 * 1: it is complete. Blocks. */
int ch_response_run_write(chela_store *store, const struct ch_response_run *run,
                          struct ch_buf *object, struct ch_buf *items, struct chela_error *err);
/* Sends the response as a stream, without the first `skip` events. Takes req. */
void ch_response_run_stream(struct ch_request *req, const struct ch_response_run *run,
                            int64_t skip);

#endif
