/* orphan_scan.h -- what others left behind.
 *
 * At the start, and again every few seconds, a gateway looks through the store
 * for what nobody is at work on: events that were accepted and did not reach
 * their session, runs whose process is gone, answers that were not sent. Of
 * gateways that share a store, one that lives so takes over from one that died.
 *
 * Who may do it is settled by the session's lease: one process has it. So an
 * event goes to whoever has its session open, or can open it; a run is taken up
 * when the lease's owner is dead, or has not renewed it; a message is sent by
 * whoever has its session. What another gateway may be about to do is left alone
 * for a while first. */
#ifndef CH_GATEWAY_ORPHAN_SCAN_H
#define CH_GATEWAY_ORPHAN_SCAN_H
#include "gateway/request/gateway_state.h"

struct ch_orphan_scan;

struct ch_orphan_scan *ch_orphan_scan_new(chela_gateway *gw);
void ch_orphan_scan_start(struct ch_orphan_scan *s);
void ch_orphan_scan_free(struct ch_orphan_scan *s);

#endif
