/* compacted.h -- a conversation that a service has condensed.
 *
 * A service returns its compaction as an opaque block of type "compaction" in a reply. It goes back
 * to that service unchanged, and stands there for all messages before it. The messages stay in the
 * transcript: a service that cannot read the block gets them, or the summary where the block has a
 * readable one. A block without content stands for nothing and is not sent. */
#ifndef CH_MODEL_COMPACTED_H
#define CH_MODEL_COMPACTED_H
#include "model/codec/codec.h"

/* The index of the last compaction with content; m->nblocks: there is none. */
uint32_t ch_compacted_at(const struct ch_msg *m);
static inline bool ch_compacted_in(const struct ch_msg *m) {
    return ch_compacted_at(m) < m->nblocks;
}
/* True if m holds a compaction without content, and none with. */
bool ch_compacted_empty(const struct ch_msg *m);

/* Sets the messages that the request leaves out because a compaction stands for them. */
void ch_compacted_settle(struct ch_model_request *req);

/* The summary of the compaction in m as a message for other services; NULL: it is not readable. */
struct ch_msg *ch_compacted_text(const struct ch_msg *m);
/* A copy of m without its compactions; NULL: nothing is left. */
struct ch_msg *ch_compacted_without(const struct ch_msg *m);

#endif
