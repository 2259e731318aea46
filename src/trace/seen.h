/* seen.h -- a set of hashes: which runs and calls were read before, when sessions have copies. A
 * zeroed set is empty. */
#ifndef CH_TRACE_SEEN_H
#define CH_TRACE_SEEN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ch_seen {
    uint64_t *slots; /* owned; 0: a free place */
    size_t n, cap;   /* cap: a power of two */
};

/* True: the set did not have the hash. */
bool ch_seen_add(struct ch_seen *s, uint64_t hash);
void ch_seen_release(struct ch_seen *s);

#endif
