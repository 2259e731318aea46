/* delivery.h -- passes an event of the inbox to its session.
 *
 *   new --> accepted by the store --> lane ready --> its turn (lane_inbox.h) --> taken up
 *
 * Every request to a session is stored as an event first: webhooks, schedules, messages and
 * decisions of HTTP clients, messages of other sessions. The sender gets an answer when the
 * store has the event, never before. The event stays in the inbox until the session's
 * journal takes it up, so a delivery may be freed at any time: the gateway that holds the
 * session restores it from the store.
 *
 * The kind of an event defines its meaning. Loop thread only. */
#ifndef CH_GATEWAY_DELIVERY_H
#define CH_GATEWAY_DELIVERY_H
#include "gateway/lane/lane.h"
#include "gateway/lane/lane_inbox.h"
#include "io/worker.h"
#include "json/json.h"

struct ch_delivery;

struct ch_delivery_kind {
    const char *name; /* value of "kind" in the event's data; the first kind of the table: no
                       * such member */
    enum ch_turn_kind turn;
    bool retried;      /* an event that cannot be delivered stays in the inbox and is retried */
    bool sender_waits; /* the sender waits for the turn of the event, however long that takes */
    /* unless its sender waits, the event has no effect on a session that is not open here */
    bool needs_open_lane;
    /* The turn of the event has come. 0: the event's id was given to the session (event_id, or
     * ch_inbox_take). CH_TURN_WAITS: not now. Otherwise the event is refused. */
    int (*apply)(struct ch_delivery *d, struct ch_lane *l, struct chela_error *err);
    /* Opens the lane of a session that is not open. NULL: with the event's agent and bounds. An
     * event that controls a run creates no session. */
    int (*open)(struct ch_delivery *d, struct ch_lane **out, struct chela_error *err);
};

enum ch_delivery_stage {
    CH_DELIVERY_ACCEPTED,  /* stored; a later stage follows */
    CH_DELIVERY_TAKEN,     /* taken up by the session */
    CH_DELIVERY_QUEUED,    /* waits in the inbox, or another gateway holds the session */
    CH_DELIVERY_DUPLICATE, /* the store already had an event with this id */
    CH_DELIVERY_REFUSED,   /* removed from the inbox; err has the reason */
    CH_DELIVERY_FAILED,    /* the store failed */
};

/* l is given with TAKEN alone, err with REFUSED and FAILED. */
typedef void ch_delivery_fn(struct ch_delivery *d, enum ch_delivery_stage stage, struct ch_lane *l,
                            const struct chela_error *err, void *user);

struct ch_delivery {
    struct ch_link link; /* in the gateway's deliveries */
    struct ch_lane_wait wait;
    struct ch_budget_wait budget;
    struct ch_turn turn;
    chela_gateway *gw;
    struct ch_arena arena; /* memory of the members below */
    const char *id, *key, *agent; /* agent "": the first */
    const struct ch_delivery_kind *kind;
    const struct ch_json *data;
    struct ch_bounds bounds;
    /* set by apply, for the client's response: what the session does with the event, "run" or
     * "steer"; NULL or "": nothing */
    const char *action;
    const char *run; /* of an event that another gateway took up: id of the run that the event
                      * controls; NULL: unknown */
    struct ch_buf text; /* the event's data, until it is stored */
    struct ch_timer retry; /* retries > 0: the session was held elsewhere, and may be free soon;
                            * else: the event has not had its turn yet, or is refused soon */
    unsigned retries;
    struct ch_work lookup; /* before a retry, or if the store has the event already: reads whether
                            * the event still waits, and whether the session refused the event */
    chela_store *store;    /* for lookup: the gateway may be freed meanwhile */
    bool still_waits;      /* the result of lookup: the event is in the inbox */
    bool refusable;        /* the event waits, and the session may refuse it: its sender waited */
    struct chela_error *refusal; /* the other result; code 0: none. Also why the event is refused,
                                  * while the store removes it */
    ch_delivery_fn *on_stage; /* called at each stage; NULL: no caller waits for the outcome */
    void *user;
    /* options for the event's lane, valid while on_stage is set; NULL: use the lane unchanged */
    const struct ch_lane_opts *lane_opts;
    bool awaited;   /* a client of another gateway waits for the outcome */
    bool accepting; /* the store has not answered yet: the event is being stored, looked for or
                     * removed */
    bool closed;    /* the gateway was closed: the next process delivers the event */
};

/* Makes a delivery. data: the members of a JSON object, without braces, in the form of the
 * kind. NULL: the kind is unknown, or the data is malformed. */
struct ch_delivery *ch_delivery_new(chela_gateway *gw, const char *kind, const char *id,
                                    const char *key, const char *agent, struct ch_sv data);
/* Stores the event, then delivers it. Takes d and frees it after the last call of on_stage. */
void ch_delivery_accept(struct ch_delivery *d, ch_delivery_fn *on_stage, void *user);
/* Like ch_delivery_accept, but if a budget is used up, on_stage gets CH_DELIVERY_REFUSED. For
 * messages that begin runs and whose senders are waiting. */
void ch_delivery_admit(struct ch_delivery *d, ch_delivery_fn *on_stage, void *user);
/* True: a message that arrived here is being delivered to the session, and its sender waits. The
 * run that the message begins must get the options that the lane has. */
bool ch_delivery_joins(const chela_gateway *gw, struct ch_sv key);
/* The caller no longer waits for the outcome: on_stage is not called after this. */
void ch_delivery_leave(struct ch_delivery *d);

/* Why the session refused the event of another gateway. Code 0: if there is a message, the
 * session took up the event, which controls a run. The message is the id of the run, or "none",
 * followed by " running" if the run is in progress. No message: the outcome is unknown. Blocks. */
void ch_delivery_read_outcome(chela_store *store, const char *id, struct chela_error *out);

#define CH_API_EVENT "api/" /* prefix of the ids of events from HTTP clients */
#define CH_SEND_EVENT "send/" /* prefix of the ids of messages from other sessions */
#define CH_PRESS_EVENT "press/" /* prefix of the ids of decisions in chats */
#define CH_DELIVERY_TIMER "timer" /* name of the kind: the time of a paused run has come */
/* True if a delivery has this id, false if a chat service's event has it. */
bool ch_delivery_owns(const char *id);
/* Delivers an event that the store has, unless the gateway does already. */
enum ch_restored ch_delivery_restore(chela_gateway *gw, const char *id, const char *key,
                                     struct ch_sv data);

/* A message of an event: begins a run when the session is idle. The first kind. */
extern const struct ch_delivery_kind ch_delivery_event;

/* True if a delivery is in progress. Deliveries whose session waits for a person do not
 * count. */
bool ch_deliveries_busy(const chela_gateway *gw);
/* The gateway is closed: no caller is told. Callers may call ch_delivery_leave until
 * ch_deliveries_free. */
void ch_deliveries_stop(chela_gateway *gw);
void ch_deliveries_free(chela_gateway *gw);

#endif
