/* beat.h -- mode heartbeat: one turn of a companion in a chat.
 *
 *   view of the chat --> model --> tools ---- results: another beat, N at most
 *                          |  `--> actions -- performed: the turn ends
 *                          `-----> nothing -- silence, which is also a decision
 *
 * Machine, journal, limits, policies and tool calls work as in any run, with three
 * differences. A request holds a view of the chat (chat_view.h) that is made for each
 * request instead of a growing list of messages. The text of a reply is thought: events
 * report it, the chat never shows it. Actions end the turn.
 *
 * There are two protocols: tool calls of the model's service, or a JSON object in the
 * text (beat_reply.h). In both cases the transcript holds calls and results. */
#ifndef CH_AGENT_BEAT_H
#define CH_AGENT_BEAT_H
#include "agent/run/feature.h"
#include "agent/feature/heartbeat/chat_view.h"

/* Settings of a companion, in the agent's arena. */
struct ch_companion {
    uint64_t serial; /* unique number of these settings, from 1 */
    const char *name;
    bool text;                 /* replies are JSON text; otherwise tool calls */
    bool skips;                /* lines that arrive during a turn start no other turn */
    unsigned history;          /* earlier lines that a view shows */
    const char *const *memory; /* files of the workspace; NULL-terminated */
    double typing;             /* typing speed in characters per second; 0: no pauses */
    int utc_offset;
    struct chela_heartbeat_opts opts; /* the other options */
    struct chela_willing_opts group, direct;
    struct chela_willing_rules rules; /* lists are copied */
};

/* The mode "heartbeat". */
extern const struct ch_feature ch_heartbeat_feature;

/* The settings of a companion; NULL: the agent is not a companion. */
static inline struct ch_companion *ch_companion_of(const chela_agent *a) {
    return ch_feature_of(a, &ch_heartbeat_feature);
}

#endif
