/* gateway_state.h -- the state that all rooms of the gateway share.
 *
 * Each member has one owner, named beside it, which alone changes it. Parts with an opaque
 * type are reached through their owner's functions. Loop thread only, except where
 * stated. */
#ifndef CH_GATEWAY_GATEWAY_STATE_H
#define CH_GATEWAY_GATEWAY_STATE_H
#include <stdatomic.h>

#include "agent/handle/session.h"
#include "chela/gateway.h"
#include "gateway/request/attempts.h"
#include "gateway/request/auth.h"

struct ch_delivery_kind;
struct ch_http_route;
struct ch_lane;

/* The result of gw->restore_event. */
enum ch_restored {
    CH_RESTORED,       /* the event is being prepared, then waits for its turn */
    CH_RESTORED_ASIDE, /* the event may wait for long; later events pass it */
    CH_RESTORED_LATER, /* this gateway is storing the event itself: the lane is poked when the
                          store has answered */
};

/* Totals since the gateway was opened, for GET /metrics. */
struct ch_counters {
    uint64_t requests[6]; /* counts by the first digit of the status */
    uint64_t refused;     /* before the body was read, or by a signature */
    uint64_t runs, runs_failed, turns, tool_calls, tool_errors;
    uint64_t input_tokens, output_tokens;
    double cost_usd;
    uint64_t budget_refusals; /* messages */
};

struct chela_gateway {
    /* server/gateway.c */
    chela_runtime *rt;
    chela_store *store;            /* borrowed; may be NULL */
    struct ch_server *server;      /* NULL: headless */
    struct ch_auth auth;
    const struct ch_http_route *routes;
    chela_agent **agents;          /* owned array of borrowed agents, NULL-terminated */
    chela_event_fn *on_event;      /* receives the events of all lanes; may be NULL */
    void *user;
    char *config_file;             /* owned; may be NULL */
    int64_t started;               /* ms, monotonic */
    bool headless;                 /* accepts no requests: server/schedule_run.c */
    bool alone;                    /* works on one session only: server/work.c */
    bool draining;                 /* chela_gateway_stop was called */
    size_t workers, worker;        /* their count; the number of this one; 0: serves alone */
    unsigned char *board;          /* borrowed: memory of all workers; NULL: none; http/metrics.c */
    struct ch_post interrupt;      /* any thread may post it; see chela_gateway_interrupt */
    atomic_uint interrupts;
    struct ch_counters counters;   /* every room counts its own members */
    /* Directs the reply of a run that no message began to the chat of its session, and sets
     * *approve to the policy for calls that need consent. Does nothing if the session
     * belongs to no chat. chat/reply_target.c */
    int (*attach_chat)(struct ch_lane *l, const char **to, enum chela_approve *approve,
                       struct chela_error *err);
    /* Delivers an event of the inbox that was accepted elsewhere or earlier to the lane's
     * session, unless this gateway delivers it already. server/orphan_scan.c */
    enum ch_restored (*restore_event)(chela_gateway *gw, struct ch_lane *l, const char *id,
                                      struct ch_sv data);
    /* A run of a stored session began, paused or ended. http/notices.c */
    void (*session_changed)(chela_gateway *gw);
    const struct ch_delivery_kind *const *delivery_kinds; /* NULL-terminated: delivery.h */
    /* request/request.c */
    struct ch_attempts attempts; /* kept at a reload */
    struct ch_list requests;
    size_t nrequests;
    const char *challenge; /* WWW-Authenticate of routes with CH_ROUTE_BEARER; NULL: the
                              gateway's token alone is accepted; http/mcp_api.c */
    struct ch_list idempotents;  /* request/idempotency.c */
    struct ch_list lookups;      /* request/store_lookup.c */
    char *claimant;              /* owned: names this gateway in claims; idempotency.c */
    /* lane/ */
    struct ch_list lanes;          /* lane.c; the lane that is idle longest comes first */
    struct ch_list closed_lanes;   /* freed on the loop's next turn */
    size_t nlanes;
    struct ch_list deliveries;     /* delivery.c */
    struct ch_list tails;          /* tail.c */
    struct ch_budgets *budgets;
    struct ch_health_state *health_state;
    struct ch_orphans *orphans;
    /* chat/ */
    struct ch_list chats;          /* struct ch_chat_service: chat_lifecycle.c */
    struct ch_timer leave_timer;   /* checks which services can be closed: chat_lifecycle.c */
    struct ch_chat_recovery *chat_recovery; /* in progress; else NULL */
    bool wants_restart;            /* gateway_tool.c */
    bool patched;                  /* the tool changed the file; gateway_tool.c */
    /* schedule/ */
    struct ch_schedules *schedules;
    /* http/ */
    struct ch_webhooks *webhooks;
    struct ch_response_store *responses; /* NULL: none remembered */
    struct ch_kept_calls *kept_calls; /* NULL: none remembered */
    struct ch_list ui_streams;     /* ui_stream.c */
    struct ch_health *health;
    struct ch_notices *notices;
    struct ch_mcp_api *mcp;
    /* server/ */
    struct ch_orphan_scan *orphan_scan;
    struct ch_retention *retention;
    struct ch_presence *presence;
};

/* The agent with this id; an empty id means the first agent. NULL: unknown. */
chela_agent *ch_gateway_agent(const chela_gateway *gw, struct ch_sv id);
/* May other gateways use the store: those of other machines, or other workers? */
bool ch_gateway_is_shared(const chela_gateway *gw);
/* Keeps a text in the store for ms milliseconds, for other gateways (ch_store_kept). The id is
 * prefix and name. session: the text is emptied when this session is deleted; NULL: none. */
void ch_gateway_keep(chela_gateway *gw, const char *prefix, struct ch_sv name, const char *session,
                     struct ch_sv data, int64_t ms);

#endif
