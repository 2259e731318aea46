/* owner.h -- who holds a lease. */
#ifndef CH_STORE_OWNER_H
#define CH_STORE_OWNER_H
#include "store/store.h"

void ch_owner_make(struct ch_buf *out);

bool ch_owner_is_dead(const char *owner); /* known to be; false when in doubt */

bool ch_owner_serves(const char *owner);  /* it is a gateway's */
bool ch_owner_lives(const char *owner);   /* likewise: a process on this machine */
void ch_owner_show(const char *owner, struct ch_buf *out); /* "process 12 on host" */

#endif
