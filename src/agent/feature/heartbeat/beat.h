/* beat.h -- mode heartbeat: one turn of a companion in a chat.
 *
 *   view of the chat --> model --> tools ---- results: another beat, N at most
 *                          |  `--> actions -- said and done: the turn ends
 *                          `-----> nothing -- silence: that is a decision, too
 *
 * The machine, the journal, limits, policies and the path of calls are those of
 * any run. What differs is what a request holds (chat_view.h, made anew each time, so
 * no list grows), what becomes of a reply's words (they are thoughts: events
 * tell them, the chat never sees them), and that actions end the turn.
 *
 * Two protocols: calls, as the model's service has them, or text, a JSON object
 * that beat_reply.h reads. Either way the transcript holds calls and results. */
#ifndef CH_AGENT_BEAT_H
#define CH_AGENT_BEAT_H
#include "agent/run/feature.h"
#include "agent/feature/heartbeat/chat_view.h"

/* How an agent takes part; in its arena. */
struct ch_companion {
    uint64_t serial;                 /* of all that there ever were; from 1 */
    const char *name;
    bool text;                       /* the protocol; else calls */
    bool skips;                      /* what comes while it is busy begins no turn */
    unsigned history;                /* lines before the new ones */
    const char *const *memory;       /* files of the workspace; NULL-terminated */
    double typing;                   /* characters a second; 0: parts follow at once */
    int utc_offset;
    struct chela_heartbeat_opts opts; /* what has no member of its own here */
    struct chela_willing_opts group, direct;
    struct chela_willing_rules rules; /* its lists are copied */
};

/* mode "heartbeat" */
extern const struct ch_feature ch_heartbeat_feature;

/* NULL: the agent is no companion. */
static inline struct ch_companion *ch_companion_of(const chela_agent *a) {
    return ch_feature_of(a, &ch_heartbeat_feature);
}

#endif
