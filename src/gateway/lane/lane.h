/* lane.h -- a session in memory: one run at a time, any number of watchers.
 *
 * A lane owns an agent derived from one that the gateway serves, so that a conversation can
 * bring its own tools. A temporary lane belongs to one request, which brings the history;
 * it is not stored. A stored lane has a key and a journal; it continues when its watchers
 * leave, and is closed when it has been idle for a while, because the store holds all of it.
 *
 *   open --journal read--> READY --start, resume--> RUNNING --end, pause--> READY
 *
 * Loop thread only. */
#ifndef CH_GATEWAY_LANE_H
#define CH_GATEWAY_LANE_H
#include "agent/session/agent_override.h"
#include "gateway/lane/budgets.h"
#include "gateway/request/gateway_state.h"

struct ch_client_history;
struct ch_lane;
struct ch_lane_inbox;
struct ch_request;
struct ch_tail;

/* Receives the events of a lane's runs; embedded in the struct of its owner. */
struct ch_lane_watcher {
    struct ch_link link;
    /* May remove this watcher, but no other. */
    void (*event)(struct ch_lane_watcher *w, const struct chela_event *ev);
    /* The lane was closed, or (watchers of a tail) the session was deleted, after its last event; w
     * is not watching any more and may be freed. NULL: w watches until the end of a run. */
    void (*deleted)(struct ch_lane_watcher *w);
    /* Of a lane: records were committed; may be NULL. */
    void (*committed)(struct ch_lane_watcher *w);
    /* Of a tail: an event that is not stored, as JSON; NULL: not wanted. */
    void (*piece)(struct ch_lane_watcher *w, const char *cursor, struct ch_sv json);
    struct ch_tail *tail; /* the events come from the journal: tail.h; else NULL */
    uint64_t record;      /* of a tail: the record of the current event */
    unsigned nth;         /* which event of the record that is, from 1; 0: the only one */
};

/* Waits until a lane's journal has been read; embedded in the struct of its owner. */
struct ch_lane_wait {
    struct ch_link link;
    /* err NULL: the lane is ready. Otherwise the lane is gone when this returns. */
    void (*ready)(struct ch_lane_wait *w, struct ch_lane *l, const struct chela_error *err);
};

struct ch_lane_opts {
    chela_agent *agent; /* to derive the lane's agent from */
    bool own_agent;   /* a stored session keeps the agent that it has; no patch, no tools */
    const char *key;  /* NULL: temporary */
    bool exists;      /* a session that the store does not have is not created: CHELA_ENOENT */
    struct ch_agent_override patch;
    const struct chela_tool_opts *tools; /* run by the client */
    size_t ntools;
    /* Adds the tools of the session's chat; NULL: none. Must add the same tools whenever the
     * key is the same. */
    int (*add_tools)(chela_gateway *gw, chela_agent *agent, const char *key,
                     struct chela_error *err);
};

struct ch_lane {
    struct ch_link link; /* in the gateway's lanes */
    chela_gateway *gw;
    chela_agent *agent;     /* owned */
    chela_session *session; /* owned by the agent */
    chela_run *run;         /* owned handle of the last run; NULL: none yet */
    struct ch_list watchers, waits;
    struct ch_lane_inbox *inbox; /* owned: events that wait for the session; NULL: temporary */
    /* Receives APPROVAL_REQUIRED; may be NULL. Unlike a watcher it does not keep the lane
     * open. */
    void (*on_approval)(const struct chela_event *ev, void *user);
    void *on_approval_user;
    bool stored;
    struct ch_buf event_json; /* see ch_lane_event_json; empty: not written yet */
    struct ch_buf taking; /* ids of events, each NUL-terminated: see ch_lane_take_later */
    bool ready; /* the journal and the inbox have been read */
    bool lost;  /* another process has the session: closed when the run has ended */
    bool running;
    bool own_agent; /* see struct ch_lane_opts */
    bool has_chat_tools; /* for runs that begin in the chat only */
    bool unfinished;     /* when it was closed: a run was running or paused */
    unsigned hops;        /* messages between sessions that led to the run; send_tool.c */
    unsigned queued_hops; /* the largest such count of the queued messages */
    unsigned sends;       /* messages that the run has sent to other sessions */
    struct ch_lane_spending spending; /* budgets.c */
    unsigned char agent_digest[CH_SHA256_SIZE]; /* digest of the options that the agent was made
                                                 * from */
    int64_t idle_since;                         /* monotonic */
    struct ch_link closed; /* in the gateway's closed lanes */
    struct ch_task free_task;
};

/* Opens a new lane. CHELA_EEXIST: the session is already open. CHELA_EOVERLOAD: all of
 * CH_LIMIT_LANES are in use; otherwise a lane at rest makes room. */
int ch_lane_open(chela_gateway *gw, const struct ch_lane_opts *opts, struct ch_lane **out,
                 struct chela_error *err);
/* Closes a lane; allowed inside an event. A run in progress is interrupted. Watchers then
 * receive a RUN_END and waiters an error, from the loop. */
void ch_lane_close(struct ch_lane *l);

/* CHELA_EINVAL: not a valid key of a client. */
int ch_lane_key_check(struct ch_sv key, struct chela_error *err);
/* The open lane with this key; NULL: none. */
struct ch_lane *ch_lane_find(const chela_gateway *gw, struct ch_sv key);
/* The open lane with this key, or a new one. An idle lane whose agent was made from other
 * options gets a new agent. */
int ch_lane_use(chela_gateway *gw, const struct ch_lane_opts *opts, struct ch_lane **out,
                struct chela_error *err);
/* Can a lane get its agent from these options? Opens no session. */
int ch_lane_check_opts(chela_gateway *gw, const struct ch_lane_opts *opts,
                       struct chela_error *err);
/* The lane for a request: the lane of the session that the request names, else a temporary
 * lane. */
int ch_lane_for_request(struct ch_request *req, struct ch_lane_opts *opts, struct ch_lane **out,
                        struct chela_error *err);
/* Calls w->ready when the lane is ready, at once if it is. ch_list_del(&w->link) cancels. */
void ch_lane_when_ready(struct ch_lane *l, struct ch_lane_wait *w);

void ch_lane_watch(struct ch_lane *l, struct ch_lane_watcher *w);
void ch_lane_unwatch(struct ch_lane_watcher *w);
/* The JSON of the event that the lane's watchers receive now, with the position of the newest
 * record, as an event that is not stored. All watchers share the text. */
struct ch_sv ch_lane_event_json(struct ch_lane *l, const struct chela_event *ev);
/* The position of the newest record, committed or not. */
uint64_t ch_lane_position(const struct ch_lane *l);
/* The position up to which records are committed. */
uint64_t ch_lane_committed(const struct ch_lane *l);
/* True: the session's journal has failed, so that events of the run have no records. */
bool ch_lane_is_unrecorded(const struct ch_lane *l);

/* The functions below begin or continue runs. opts->on_event and opts->user are set by the
 * lane. */

/* Begins a run with input, which is taken. */
int ch_lane_begin(struct ch_lane *l, struct ch_msg *input, struct chela_run_opts *opts,
                  struct chela_error *err);
/* Like ch_lane_begin, but the input may be queued, depending on the session's queue mode. */
int ch_lane_queue(struct ch_lane *l, struct ch_msg *input, struct chela_run_opts *opts,
                  struct chela_error *err);
/* Begins a run of a temporary lane with a posted history, the last message as input.
 * traceparent: as in struct chela_run_opts. */
int ch_lane_converse(struct ch_lane *l, struct ch_client_history *h, const char *traceparent,
                     struct chela_error *err);
/* chela_session_send: text begins a run, or joins or follows the run in progress. p NULL:
 * queued messages begin a run. */
int ch_lane_send(struct ch_lane *l, struct ch_sv text, struct chela_run_opts *opts,
                 struct chela_error *err);
/* Begins a run with the messages that wait in the session, soon. An interrupted run is resumed
 * instead, and the messages follow. False: none waits, or a run is in progress or paused. */
bool ch_lane_start_waiting(struct ch_lane *l);
/* Continues a paused run, or a run that an earlier process left; a run that began with
 * CHELA_APPROVE_DENY keeps that. CHELA_ESTATE: none, or its calls still wait. */
int ch_lane_resume(struct ch_lane *l, enum chela_approve approve, struct chela_error *err);
/* The same for a run whose calls may still wait: to cancel the run, or to ask again. The tools of a
 * client are unknown here unless the client sends them again. */
int ch_lane_recall(struct ch_lane *l, enum chela_approve approve, struct chela_error *err);
/* Resumes an interrupted run before an event is delivered. Returns false if there is none.
 * If the run cannot be resumed, the reason is logged, and the event is delivered
 * nevertheless. */
bool ch_lane_resume_first(struct ch_lane *l, enum chela_approve approve);
/* Call before a message joins the run: a run that waits for a time is resumed, and the
 * message ends the wait. */
void ch_lane_wake(struct ch_lane *l, enum chela_approve approve);
/* chela_session_compact: begins a run that summarizes the conversation. */
int ch_lane_compact(struct ch_lane *l, const char *focus, struct chela_error *err);
/* The event was applied to the run in memory. The event is settled when the run reaches its
 * next model call or ends, because the journal then holds the effect of the event. */
void ch_lane_take_later(struct ch_lane *l, const char *event);
/* Is a run in progress, or do messages wait in the session for the next one? */
bool ch_lane_is_busy(const struct ch_lane *l);
/* Did an earlier process leave a run that this process has not resumed? */
bool ch_lane_was_interrupted(const struct ch_lane *l);
/* Denies the tools of the lane's chat in opts, for a run on behalf of a person who does not
 * write in that chat; deny is storage for the list. ch_lane_send and ch_lane_begin call it
 * for runs without a channel; the caller must call it for a run that comes from another
 * chat. */
void ch_lane_deny_chat_tools(const struct ch_lane *l, struct chela_run_opts *opts,
                             struct ch_buf *deny);

/* All lanes of a gateway. */
bool ch_lanes_busy(const chela_gateway *gw);
void ch_lanes_close_idle(chela_gateway *gw);
/* The gateway is closed: watchers and waiters are not told. */
void ch_lanes_close(chela_gateway *gw);

#endif
