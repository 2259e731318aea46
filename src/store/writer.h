/* writer.h -- a runtime's journal: one thread writes for all sessions. */
#ifndef CH_STORE_WRITER_H
#define CH_STORE_WRITER_H
#include "store/store.h"

#define CH_LEASE_MS 8000 /* another machine takes over a dead process's session within 10 s */
#define CH_LEASE_ENDED 1 /* end of a lease that its holder has given up, in place of a time */

struct ch_journal *ch_writer_new(struct ch_loop *loop, chela_store *store);

/* Whether a lease that ends at `until` may be valid now. One that ends later than any valid
 * lease was written before the clock was changed. */
static inline bool ch_lease_is_current(int64_t until, int64_t now) {
    return until > now && until - now <= 2 * CH_LEASE_MS;
}

#endif
