/* orphan_scan.h -- takes over work that other processes left in the store.
 *
 * At the start and then every few seconds, the gateway scans the store for abandoned work:
 * accepted events that did not reach their session, runs whose process is gone, unsent
 * messages. Of several gateways that share a store, the living ones thus take over from one
 * that died.
 *
 * The lease of a session decides which process may do the work: only one process holds the
 * lease. An event goes to the process that holds its session open, or can open it. A run is
 * resumed when the owner of the lease is dead or has not renewed it. A message is sent by
 * the holder of its session. Work that another gateway may be about to do is left alone for
 * a while (lane/orphans.h). */
#ifndef CH_GATEWAY_ORPHAN_SCAN_H
#define CH_GATEWAY_ORPHAN_SCAN_H
#include "gateway/request/gateway_state.h"

struct ch_orphan_scan;

struct ch_orphan_scan *ch_orphan_scan_new(chela_gateway *gw);
void ch_orphan_scan_start(struct ch_orphan_scan *s);
void ch_orphan_scan_free(struct ch_orphan_scan *s);

/* chela_gateway.restore_event */
enum ch_restored ch_orphan_scan_restore(chela_gateway *gw, struct ch_lane *l, const char *id,
                                        struct ch_sv data);

#endif
