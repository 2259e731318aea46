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
#include "gateway/request/gateway.h"

struct ch_lane;

/* Embedded in whoever wants to know. */
struct ch_watcher {
    struct ch_link link;
    /* May end the watch it is called for, and no other. */
    void (*event)(struct ch_watcher *w, const struct chela_event *ev);
};

/* Who waits for a lane's journal to be read; embedded likewise. */
struct ch_lane_wait {
    struct ch_link link;
    /* err NULL: it can be used. Otherwise the lane is gone when this returns. */
    void (*ready)(struct ch_lane_wait *w, struct ch_lane *l, const struct chela_error *err);
};

/* An event that was told, for those who come back. */
struct ch_told {
    char *id;   /* owned: "run:seq" */
    char *json; /* owned */
};

/* What a request wants of its agent. */
struct ch_lane_opts {
    chela_agent *agent;
    const char *key;    /* NULL: passing */
    struct ch_agent_patch patch;
    const struct chela_tool_opts *tools; /* that its sender runs */
    size_t ntools;
    /* Gives its agent tools that belong to where the conversation takes place; NULL:
     * there are none. The same function gives the same ones for a key. */
    int (*equip)(chela_gateway *gw, chela_agent *agent, const char *key, struct chela_error *err);
};

struct ch_lane {
    struct ch_link link;
    chela_gateway *gw;
    chela_agent *agent;     /* owned */
    chela_session *session; /* owned by the agent */
    chela_run *run;         /* owned handle of the last run; NULL: none yet */
    struct ch_list watchers, waits;
    /* Told of calls that need a person's consent; NULL: nobody is. Unlike a
     * watcher it does not keep the lane. */
    void (*asked)(const struct chela_event *ev, void *user);
    void *asked_user;
    struct ch_told *told; /* owned: a ring of the newest */
    size_t told_first, told_n, told_bytes;
    bool kept;
    bool ready; /* its journal was read */
    bool running;
    bool equipped; /* its agent has tools of a chat: for runs that come from there */
    bool unfinished; /* when it was closed: a run was */
    unsigned hops;  /* messages between sessions that led to its run; send.c */
    unsigned due;   /* the same of those that wait for a run: the most of any */
    unsigned sends; /* and those that the run has sent */
    unsigned char wants[CH_SHA256_SIZE]; /* digest of what its agent was made from */
    int64_t rested; /* since when nothing happens, monotonic */
    struct ch_task bury;
};

/* A fresh lane. CHELA_EEXIST: one with that key is open. */
int ch_lane_open(chela_gateway *gw, const struct ch_lane_opts *opts, struct ch_lane **out,
                 struct chela_error *err);
/* End it; from inside an event too. What runs is cut off: its watchers get a
 * RUN_END, and who waits for the lane an error, once the stack is clear. */
void ch_lane_close(struct ch_lane *l);

/* CHELA_EINVAL: no session can have that key. */
int ch_lane_key_check(struct ch_sv key, struct chela_error *err);
/* The live lane of a key; NULL: there is none. */
struct ch_lane *ch_lane_find(const chela_gateway *gw, struct ch_sv key);
/* The same, or a new one. If it is at rest and its agent was made from other
 * wishes, it gets another agent. */
int ch_lane_use(chela_gateway *gw, const struct ch_lane_opts *opts, struct ch_lane **out,
                struct chela_error *err);
/* Call w->ready once it can be used: now, if it can. ch_list_del(&w->link)
 * takes it back. */
void ch_lane_when_ready(struct ch_lane *l, struct ch_lane_wait *w);

void ch_lane_watch(struct ch_lane *l, struct ch_watcher *w);
void ch_lane_unwatch(struct ch_watcher *w);

/* Begin a run with input, which is taken. approve: as in chela_run_opts. */
int ch_lane_start(struct ch_lane *l, struct ch_msg *input, const char *approve,
                  struct chela_error *err);

/* The same with all that a run may be told; but for on_event. */
int ch_lane_begin(struct ch_lane *l, struct ch_msg *input, struct chela_run_opts *opts,
                  struct chela_error *err);
/* Its run was left in the middle by an earlier process. */
bool ch_lane_was_cut_off(const struct ch_lane *l);

struct ch_history;
/* The lane of a request: that of its session if it names one, else a passing
 * one. */
int ch_lane_for(struct ch_visit *v, struct ch_lane_opts *opts, struct ch_lane **out,
                struct chela_error *err);
/* Begin with what h holds. Of a passing lane all but the last is history; a kept
 * one has its own, and only what stands after the last reply is new: results for
 * the calls it waits for, or words. */
int ch_lane_converse(struct ch_lane *l, struct ch_history *h, struct chela_error *err);
/* Go on with a paused run, or one that an earlier process left. */
int ch_lane_resume(struct ch_lane *l, const char *approve, struct chela_error *err);
/* chela_session_compact: begin a run that condenses the conversation. */
int ch_lane_compact(struct ch_lane *l, const char *focus, struct chela_error *err);
/* chela_session_send: begin a run with text, or have it join or follow the one
 * that is in progress. p NULL: what waits begins. opts but for on_event. */
int ch_lane_send(struct ch_lane *l, struct ch_sv text, struct chela_run_opts *opts,
                 struct chela_error *err);
/* A run for who does not write in the lane's chat does not act there either: add
 * that to opts' deny, with deny for room. ch_lane_send and ch_lane_begin do so
 * without a channel; somebody who writes in another chat has one, too. */
void ch_lane_deny_acts(const struct ch_lane *l, struct chela_run_opts *opts, struct ch_buf *deny);

/* All of a gateway's. */
bool ch_lanes_busy(const chela_gateway *gw);
void ch_lanes_tidy(chela_gateway *gw);
void ch_lanes_close(chela_gateway *gw); /* with the gateway: tells nobody */

#endif
