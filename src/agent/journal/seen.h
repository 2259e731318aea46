/* seen.h -- ids of events that a session has had. */
#ifndef CH_AGENT_SEEN_H
#define CH_AGENT_SEEN_H
#include "base/limits.h"
#include "base/sv.h"

/* The newest events from outside that are in the journal. */
struct ch_seen {
    char *ids[CH_LIMIT_SEEN]; /* owned */
    size_t next;
};
void ch_seen_add(struct ch_seen *s, struct ch_sv id);
bool ch_seen_has(const struct ch_seen *s, struct ch_sv id);
void ch_seen_release(struct ch_seen *s);

#endif
