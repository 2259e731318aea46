/* delivery.h -- an event of the inbox on its way to its session.
 *
 *   accepted --> lane ready --> no run in progress --> begins a run
 *
 * Webhooks and schedules accept events; each event begins a run of its own. An event leaves
 * the inbox when its session has stored it. A session remembers the ids of its events, so a
 * second delivery, by this process or another, has no effect. An event that cannot be
 * delivered now, because the session is open elsewhere or waits for a person, stays in the
 * inbox and is tried again. Loop thread only. */
#ifndef CH_GATEWAY_DELIVERY_H
#define CH_GATEWAY_DELIVERY_H
#include "gateway/lane/lane.h"

/* The reply of a wake that means: nothing needs attention. */
#define CH_WAKE_OK "HEARTBEAT_OK"

struct ch_delivery_opts {
    const char *id, *key, *agent; /* agent "": the first */
    const char *text;
    bool timer; /* from a schedule; else from a webhook */
    bool wake;  /* a run that replies CH_WAKE_OK alone is not kept in the history */
    struct ch_bounds bounds;
};

struct ch_delivery;

/* Texts are copied. */
struct ch_delivery *ch_delivery_new(chela_gateway *gw, const struct ch_delivery_opts *opts);
void ch_delivery_free(struct ch_delivery *d);
const char *ch_delivery_key(const struct ch_delivery *d);
/* The data of the item in the inbox. */
void ch_delivery_write(const struct ch_delivery *d, struct ch_buf *out);
/* The delivery of an item of the inbox; NULL: the data is malformed. */
struct ch_delivery *ch_delivery_restore(chela_gateway *gw, const char *id, const char *key,
                                        struct ch_sv data);
/* The inbox holds the event: deliver it. The gateway owns d from now on. */
void ch_delivery_start(struct ch_delivery *d);

/* Has the gateway a delivery of this event? */
bool ch_delivery_is_known(const chela_gateway *gw, const char *id);
/* Is a delivery in progress? Those that wait to be tried again do not count. */
bool ch_deliveries_busy(const chela_gateway *gw);
/* Tries postponed deliveries again, if their time has come. */
void ch_deliveries_retry(chela_gateway *gw);
void ch_deliveries_free(chela_gateway *gw);

#endif
