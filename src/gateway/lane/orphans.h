/* orphans.h -- measures how long an item of the store has been waiting.
 *
 * Gateways that share a store take over from each other (server/orphan_scan.h). An item
 * that another gateway may be about to process is left alone at first: its age is
 * measured from the scan that saw it first. Loop thread only, except where stated. */
#ifndef CH_GATEWAY_ORPHANS_H
#define CH_GATEWAY_ORPHANS_H
#include "gateway/request/gateway_state.h"

struct ch_orphans;

struct ch_orphans *ch_orphans_new(chela_gateway *gw);
void ch_orphans_free(struct ch_orphans *o);

void ch_orphans_begin_scan(struct ch_orphans *o);
/* Forgets the items that no scan has seen for a while. */
void ch_orphans_end_scan(struct ch_orphans *o);
/* True during the first scan: its items may be left over from this gateway's own
 * previous process. */
bool ch_orphans_is_first_scan(const struct ch_orphans *o);
/* Milliseconds since a scan first saw the item; 0: it is new. */
int64_t ch_orphans_age(struct ch_orphans *o, const char *id);

/* Does a process that is not known to be dead hold the session's lease? It may be
 * this process. Any thread. */
bool ch_orphans_lease_is_held(const struct chela_store_session *s, int64_t now);

#endif
