/* session_open.h -- the lane of a session that may not be in memory: then the store is
 * asked which agent it has, and its journal is read. */
#ifndef CH_GATEWAY_SESSION_OPEN_H
#define CH_GATEWAY_SESSION_OPEN_H
#include "gateway/lane/lane.h"

/* Call found with the lane of the session that v->param names, ready to be used.
 * If there is no such session: found with NULL where it `may_lack`, else v is
 * answered with 404. Whatever else goes wrong v is answered with. */
void ch_seek(struct ch_visit *v, bool may_lack,
             void (*found)(struct ch_visit *v, struct ch_lane *l));

#endif
