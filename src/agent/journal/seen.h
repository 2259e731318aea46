/* seen.h -- ids of the newest inbox events that are in a session's journal. */
#ifndef CH_AGENT_SEEN_H
#define CH_AGENT_SEEN_H
#include "base/limits.h"
#include "base/sv.h"

/* A ring of ids. */
struct ch_seen {
    char *ids[CH_LIMIT_SEEN]; /* owned */
    size_t next;
};
void ch_seen_add(struct ch_seen *s, struct ch_sv id);
bool ch_seen_has(const struct ch_seen *s, struct ch_sv id);
void ch_seen_release(struct ch_seen *s);

#endif
