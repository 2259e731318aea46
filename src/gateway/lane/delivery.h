/* delivery.h -- an event of the inbox on its way into its session.
 *
 *   accepted --> lane ready --> its run, if any, over --> begins a run
 *
 * Hooks and schedules accept events; each begins a run of its own. The event
 * leaves the inbox once the session has it in the store, and a session knows the
 * ids it has had: whoever delivers it once more, in this process or another,
 * changes nothing. One that cannot be delivered now (the session is open
 * elsewhere, or waits for a person) stays in the inbox and is tried again. */
#ifndef CH_GATEWAY_DELIVERY_H
#define CH_GATEWAY_DELIVERY_H
#include "gateway/lane/lane.h"

struct ch_delivery_opts {
    const char *id, *key, *agent; /* agent "": the first */
    const char *text;
    bool timer;   /* a schedule's; else a webhook's */
    bool wake;    /* an answer of CH_WAKE_OK alone leaves nothing behind */
    struct ch_bounds bounds;
};

struct ch_delivery;

struct ch_delivery *ch_delivery_new(chela_gateway *gw, const struct ch_delivery_opts *opts);
void ch_delivery_free(struct ch_delivery *d);
const char *ch_delivery_key(const struct ch_delivery *d);
/* What the inbox is to hold. */
void ch_delivery_write(const struct ch_delivery *d, struct ch_buf *out);
/* The same again, of an item of the inbox; NULL: it makes no sense. */
struct ch_delivery *ch_delivery_recall(chela_gateway *gw, const char *id, const char *key,
                                       struct ch_sv data);
/* It was accepted: d is the gateway's from now on. */
void ch_delivery_start(struct ch_delivery *d);

/* Is it on its way? */
bool ch_delivery_knows(const chela_gateway *gw, const char *id);
/* Is one under way, and not just waiting for better times? */
bool ch_deliveries_busy(const chela_gateway *gw);
/* Try those again that could not be delivered. */
void ch_deliveries_retry(chela_gateway *gw);
void ch_deliveries_free(chela_gateway *gw);

#endif
