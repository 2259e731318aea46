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
#include "gateway/request/gateway.h"

struct ch_lookout;

struct ch_lookout *ch_lookout_new(chela_gateway *gw);
void ch_lookout_start(struct ch_lookout *s);
void ch_lookout_free(struct ch_lookout *s);

/* How long an item of the store has been there each time somebody looked, in
 * ms; 0: it is new. For what must not be taken from a gateway that is alive. */
int64_t ch_lookout_sighted(struct ch_lookout *s, const char *id);
/* The first look is under way: what is found may be of our own last life. */
bool ch_lookout_is_first(const struct ch_lookout *s);

/* Does a process that is not known to be dead have this session open? Any
 * thread; it may be ours. */
bool ch_session_is_held(const struct chela_store_session *s, int64_t now);

#endif
