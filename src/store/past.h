/* past.h -- what a store remembers of a key whose session was deleted: the number that the deletion
 * took (chela/sys/store.h). It is kept under a digest of the key, among the texts of
 * CHELA_STORE_KEEP. The name CH_PAST itself holds the largest number of all keys that were
 * forgotten since. */
#ifndef CH_STORE_PAST_H
#define CH_STORE_PAST_H
#include <string.h>

#include "base/clock.h"
#include "base/sha256.h"

#define CH_PAST "past/"
#define CH_PAST_END "past0" /* the first name after those of keys */
#define CH_PAST_NAME (sizeof(CH_PAST) + 2 * CH_SHA256_SIZE)

static inline void ch_past_name(const char *key, char out[CH_PAST_NAME]) {
    unsigned char digest[CH_SHA256_SIZE];

    ch_sha256_of(ch_sv_str(key), digest);
    memcpy(out, CH_PAST, sizeof(CH_PAST));
    ch_sha256_hex(digest, out + sizeof(CH_PAST) - 1);
}

/* The end of the time of a name: far away. It orders the names by age. */
static inline int64_t ch_past_until(void) {
    return ch_now_ms(&ch_clock_system) + (int64_t)1000 * 365 * 24 * 3600 * 1000;
}

#endif
