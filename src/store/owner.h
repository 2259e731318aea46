/* owner.h -- the owner of a lease: an identifier of the process that holds it. */
#ifndef CH_STORE_OWNER_H
#define CH_STORE_OWNER_H
#include "store/store.h"

void ch_owner_make(struct ch_buf *out);

bool ch_owner_is_dead(const char *owner); /* true only if certain */

bool ch_owner_is_same(const char *a, const char *b); /* texts of one process */
bool ch_owner_is_held(const char *owner); /* no process: a person releases the session */
bool ch_owner_serves(const char *owner);  /* the owner is a gateway */
bool ch_owner_lives(const char *owner);   /* runs on this machine; true only if certain */
bool ch_owner_is_stopped(const char *owner); /* lives, and is stopped by a signal */
void ch_owner_show(const char *owner, struct ch_buf *out); /* "process 12 on host" */

#endif
