/* log_ring.h -- the newest log lines, in memory.
 *
 * A ring takes at most CH_LIMIT_LOG_RING lines and CH_LIMIT_LOG_RING_BYTES bytes; the oldest
 * lines are dropped. The lines come from a log sink, which has redacted them. All functions but
 * ch_log_ring_free may be called from any thread. */
#ifndef CH_BASE_LOG_RING_H
#define CH_BASE_LOG_RING_H
#include <stdint.h>

#include "base/log.h"

struct ch_log_ring;

struct ch_log_line {
    uint64_t seq; /* from 1 */
    int64_t ts;   /* ms since 1970 */
    enum ch_log_level level;
    const char *area, *text; /* borrowed for the call */
};

struct ch_log_ring *ch_log_ring_new(void);
void ch_log_ring_free(struct ch_log_ring *r); /* NULL is allowed */

void ch_log_ring_add(struct ch_log_ring *r, int64_t ts, enum ch_log_level level, const char *area,
                     const char *text);

/* Call fn with the lines after number `after`, oldest first, while the ring is locked: fn must not
 * log. Returns the number of the newest line. */
uint64_t ch_log_ring_read(struct ch_log_ring *r, uint64_t after,
                          void (*fn)(const struct ch_log_line *line, void *user), void *user);

#endif
