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
#include "agent/handle/driver.h"
#include "agent/feature/heartbeat/chat_view.h"

/* How an agent takes part; in its arena. */
struct ch_companion {
    uint64_t serial;                 /* of all that a runtime ever had; from 1 */
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

static inline bool ch_beat_is(const chela_run *run) {
    return run->session->agent->companion != NULL && run->mode == CH_MODE_HEARTBEAT;
}

/* Copies what o->heartbeat says; bounds the agent's limits. */
int ch_beat_configure(chela_agent *a, const struct ch_agent_opts *o, struct chela_error *err);
/* beat_tools.c: the actions. */
int ch_beat_tools(chela_agent *a, struct chela_error *err);
#define CH_BEAT_ACTIONS CH_SEND_ACTION "," CH_REACT_ACTION "," CH_SILENT_ACTION

/* A model call is due. True: somebody else is asked first, or the run is gone;
 * else the beat is told of, and it is the model's. */
bool ch_beat_turn(chela_run *run);
/* Put the view in the place of the history. */
int ch_beat_request(chela_run *run, struct ch_model_request *req, struct chela_error *err);
/* A reply came: its words become calls, where that is the protocol. False: it is
 * of no use; run->complaint says why. */
bool ch_beat_reply(chela_run *run, struct ch_reply *r);
/* The last reply was of actions alone and asked for no other beat. */
bool ch_beat_ends(const chela_run *run);
/* Nothing was said. */
bool ch_beat_silent(const chela_run *run);

#endif
