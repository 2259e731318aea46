/* delivery.h -- an event of the inbox on its way to its session.
 *
 *   new --> accepted by the store --> lane ready --> its turn (lane_inbox.h) --> taken up
 *
 * Everything that asks something of a session is an event first: webhooks, schedules,
 * messages and decisions of HTTP clients, messages of other sessions. Whoever asked is
 * answered when the store has the event, never before. The event stays in the inbox until
 * the session's journal takes it up, so a delivery may be freed at any time: the gateway that
 * holds the session restores it from the store.
 *
 * What an event means is defined by its kind. Loop thread only. */
#ifndef CH_GATEWAY_DELIVERY_H
#define CH_GATEWAY_DELIVERY_H
#include "gateway/lane/lane.h"
#include "gateway/lane/lane_inbox.h"
#include "json/json.h"

/* The reply of a wake that means: nothing needs attention. */
#define CH_WAKE_OK "HEARTBEAT_OK"

struct ch_delivery;

struct ch_delivery_kind {
    const char *name; /* of "kind" in the event's data; the first kind of the table: absent */
    enum ch_turn_kind turn;
    bool keeps; /* an event that cannot be delivered stays in the inbox, and is tried again */
    /* The turn of the event has come. 0: the event's id was given to the session (event_id, or
     * ch_inbox_take). CH_TURN_WAITS: not now. Otherwise the event is refused. */
    int (*apply)(struct ch_delivery *d, struct ch_lane *l, struct chela_error *err);
};

enum ch_delivery_stage {
    CH_DELIVERY_ACCEPTED,  /* the store has it; a later stage follows */
    CH_DELIVERY_TAKEN,     /* the session has it */
    CH_DELIVERY_QUEUED,    /* it waits, or another gateway has the session */
    CH_DELIVERY_DUPLICATE, /* the store had an event with this id before */
    CH_DELIVERY_REFUSED,   /* err says why; it is not in the inbox any more */
    CH_DELIVERY_FAILED,    /* it could not be stored */
};

/* l is given with TAKEN alone, err with REFUSED and FAILED. */
typedef void ch_delivery_fn(struct ch_delivery *d, enum ch_delivery_stage stage, struct ch_lane *l,
                            const struct chela_error *err, void *user);

struct ch_delivery {
    struct ch_link link; /* in the gateway's deliveries */
    struct ch_lane_wait wait;
    struct ch_turn turn;
    chela_gateway *gw;
    struct ch_arena arena; /* holds all that follows */
    const char *id, *key, *agent; /* agent "": the first */
    const struct ch_delivery_kind *kind;
    const struct ch_json *data;
    struct ch_bounds bounds;
    const char *how; /* set by apply: how the session took it, for the answer */
    struct ch_buf text; /* the event's data, until it is stored */
    struct ch_timer retry; /* the session was held elsewhere, and may be free soon */
    unsigned retries;
    ch_delivery_fn *told; /* NULL: nobody wants to know */
    void *user;
    bool accepting; /* the store has not answered yet */
    bool closed;    /* the gateway was closed: the next one delivers it */
};

/* data: the members of a JSON object, without braces, as the kind wants them. NULL: there is
 * no such kind, or the data is malformed. */
struct ch_delivery *ch_delivery_new(chela_gateway *gw, const char *kind, const char *id,
                                    const char *key, const char *agent, struct ch_sv data);
/* Stores the event, then delivers it. d belongs to the gateway from now on, and is freed after
 * the last stage was told. */
void ch_delivery_accept(struct ch_delivery *d, ch_delivery_fn *told, void *user);
/* Nobody waits for the outcome any more. */
void ch_delivery_leave(struct ch_delivery *d);

#define CH_API_EVENT "api/" /* prefix of the ids of what HTTP clients ask */
#define CH_SEND_EVENT "send/" /* and of messages of other sessions */
/* Is the id that of an event for this file, and not for a chat service? */
bool ch_delivery_owns(const char *id);
/* Delivers an event that the store has, unless the gateway does already. */
void ch_delivery_restore(chela_gateway *gw, const char *id, const char *key, struct ch_sv data);

/* A message of an event: begins a run when the session is idle. The first kind. */
extern const struct ch_delivery_kind ch_delivery_event;

/* Is a delivery in progress? Those whose session waits for a person do not count. */
bool ch_deliveries_busy(const chela_gateway *gw);
void ch_deliveries_free(chela_gateway *gw);

#endif
