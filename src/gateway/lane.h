/* lane.h -- a live session: one run at a time, any number of watchers.
 *
 * A lane has an agent of its own, made from one that the gateway serves, so
 * that a conversation can bring its own tools. A passing lane belongs to one
 * request, whose history came with it, and is not stored. A kept one has a key
 * and a journal; it goes on when its watchers leave, and is put away when
 * nothing happened for a while: the store has all of it.
 *
 *   open --journal read--> READY --start, resume--> RUNNING --end, pause--> READY
 */
#ifndef CH_GATEWAY_LANE_H
#define CH_GATEWAY_LANE_H
#include "gateway/gateway.h"

struct ch_lane;

/* Embedded in whoever wants to know. */
struct ch_watcher {
    struct ch_link link;
    /* May end the watch it is called for, and no other. */
    void (*event)(struct ch_watcher *w, const struct chela_event *ev);
};

/* What a request wants of its agent. */
struct ch_lane_opts {
    chela_agent *agent;
    const char *key;    /* NULL: passing */
    struct ch_agent_patch patch;
    const struct chela_tool_opts *tools; /* that its sender runs */
    size_t ntools;
};

struct ch_lane {
    struct ch_link link;
    chela_gateway *gw;
    chela_agent *agent;     /* owned */
    chela_session *session; /* owned by the agent */
    chela_run *run;         /* owned handle of the last run; NULL: none yet */
    struct ch_list watchers;
    bool kept;
    bool running;
    int64_t rested; /* since when nothing happens, monotonic */
    struct ch_task bury;
};

/* A fresh lane. CHELA_EEXIST: one with that key is open. */
int ch_lane_open(chela_gateway *gw, const struct ch_lane_opts *opts, struct ch_lane **out,
                 struct chela_error *err);
/* End it; from inside an event too. What runs is cut off. */
void ch_lane_close(struct ch_lane *l);

void ch_lane_watch(struct ch_lane *l, struct ch_watcher *w);
void ch_lane_unwatch(struct ch_watcher *w);

/* What was said before; of a passing lane, before its first run. Takes m. */
int ch_lane_recall(struct ch_lane *l, struct ch_msg *m, struct chela_error *err);
/* Begin a run with input, which is taken. approve: as in chela_run_opts. */
int ch_lane_start(struct ch_lane *l, struct ch_msg *input, const char *approve,
                  struct chela_error *err);

/* All of a gateway's. */
bool ch_lanes_busy(const chela_gateway *gw);
void ch_lanes_tidy(chela_gateway *gw);
void ch_lanes_close(chela_gateway *gw);

#endif
