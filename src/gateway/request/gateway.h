/* gateway.h -- what the files of the gateway share.
 *
 * A visit is one request on its way through: checked at the gate (auth.c),
 * led by the table of routes (route.c) to one function, answered once. A lane
 * (lane.h) is a live session that visits talk to. */
#ifndef CH_GATEWAY_GATEWAY_H
#define CH_GATEWAY_GATEWAY_H
#include "agent/handle/agent.h"
#include "base/sha256.h"
#include "chela/gateway.h"
#include "json/json.h"
#include "json/writer.h"
#include "net/server.h"

/* Who may come in. */
struct ch_door {
    unsigned char token[CH_SHA256_SIZE]; /* digest: compared in constant time */
    char **hosts, **origins;             /* owned, NULL-terminated */
};

struct ch_hook {
    char *name, *secret, *agent, *session; /* owned; the last two may be NULL */
};

struct ch_hooks {
    struct ch_hook *list; /* owned */
    size_t n;
};

struct ch_counters { /* since the start */
    uint64_t requests[6]; /* by the first digit of the status */
    uint64_t refused;     /* at the gate */
    uint64_t runs, runs_failed, turns, tool_calls, tool_errors;
    uint64_t input_tokens, output_tokens;
    double cost_usd;
};

struct chela_gateway {
    chela_runtime *rt;
    chela_store *store; /* borrowed; may be NULL */
    struct ch_server *server;
    struct ch_door door;
    chela_agent **agents; /* owned array of borrowed agents, NULL-terminated */
    chela_agent **retired; /* owned array: to be freed once nobody uses them */
    size_t nretired;
    struct ch_list lanes, visits, talks, deliveries, knocks;
    struct ch_hooks hooks;
    struct ch_lookout *lookout;     /* owned */
    struct ch_schedules *schedules; /* owned */
    bool headless;                  /* it serves nobody: schedule_run.c */
    chela_event_fn *on_event;       /* of all lanes; NULL: nobody listens */
    void *user;
    char *config_file;    /* owned; NULL: none */
    struct ch_list chats; /* chats.c */
    struct ch_timer farewell; /* ... look for those that can go */
    struct ch_recovery *channel_recovery; /* ... what was left is being read; NULL */
    size_t nlanes, nvisits;
    size_t ninvocations; /* of single tools, which use their agent directly */
    struct ch_counters counters;
    struct ch_health *health; /* owned */
    int64_t began; /* ms, monotonic */
    struct ch_timer pulse;
    struct ch_timer drain;
    struct ch_timer retention;
    int64_t retention_ms;
    struct ch_sweep *sweep; /* retention.c: under way; NULL */
    struct ch_post stop, stop_now;
    atomic_uint stops; /* how often it was told to */
    atomic_uint interrupts;
    atomic_llong drain_ms;
    struct ch_post interrupt;
    bool draining, over;
    bool interrupted;
    bool leave; /* chela_gateway_run: over or interrupted */
    bool wants_restart;
};

struct ch_visit;
struct ch_lane;
struct ch_ws_peer;
typedef void ch_route_fn(struct ch_visit *v);

enum ch_route_flags {
    CH_ROUTE_OPEN = 1, /* no token: says nothing that matters, or checks by itself */
    CH_ROUTE_SMALL = 2, /* a body of at most CH_LIMIT_CALLBACK bytes, its size said before */
    CH_ROUTE_SOCKET = 4, /* a WebSocket: its token may be among the subprotocols */
};

struct ch_route {
    const char *method;
    const char *path; /* "/api/sessions/{}/events": {} stands for one segment */
    unsigned flags;
    ch_route_fn *run;
};

struct ch_visit {
    struct ch_link link;
    chela_gateway *gw;
    struct ch_exchange *x;
    const struct ch_route *route;
    struct ch_arena arena;  /* of all that is read from the request */
    struct ch_sv param;     /* what {} stood for, decoded */
    struct ch_sv query;     /* after the question mark */
    struct ch_sv session;   /* X-Chela-Session */
    struct ch_sv last_id;   /* Last-Event-ID */
    struct ch_sv body;
    const struct ch_json *json; /* NULL: there is none */
    int64_t began;
    int status;
    bool streams;
    /* For who answers later: the client left. The visit is freed afterwards. */
    void (*left)(struct ch_visit *v);
    void *user;
    void (*found)(struct ch_visit *v, struct ch_lane *l); /* session_open.c */
    struct ch_ws_peer *peer; /* it became a WebSocket, which is socket.c's; else NULL */
    /* One that came inside another, on a WebSocket: x is NULL, and its answer goes
     * here. asker NULL: nobody hears it any more. */
    void (*answer)(struct ch_visit *v, int status, struct ch_sv json);
    void *asker;
    const struct ch_json *ref; /* what its sender calls it; NULL: nothing */
};

/* --- retention.c */
void ch_retention_set(chela_gateway *gw, int64_t days); /* 0: all are kept */
void ch_retention_stop(chela_gateway *gw);

/* --- auth.c */
int ch_door_init(struct ch_door *g, const struct chela_gateway_opts *opts,
                 struct chela_error *err);
void ch_door_release(struct ch_door *g);
struct ch_refusal {
    int status; /* 0: come in */
    const char *why;
};
/* Everything about a request but its token. */
struct ch_refusal ch_door_check(const struct ch_door *g, const struct ch_inbound *in);
bool ch_door_knows(const struct ch_door *g, const struct ch_inbound *in); /* its token is right */
/* The same for a WebSocket of a page, which can set no header: the subprotocols
 * that it offers are CH_SOCKET_PROTOCOL and "bearer.TOKEN". */
bool ch_door_knows_socket(const struct ch_door *g, const struct ch_inbound *in);
#define CH_SOCKET_PROTOCOL "chela.v1"
/* An origin of the list, to be named in the answer; NULL: none. */
const char *ch_door_origin(const struct ch_door *g, const struct ch_inbound *in);

/* --- hooks.c */
int ch_hooks_init(chela_gateway *gw, const struct chela_gateway_opts *o, struct ch_hooks *out,
                  struct chela_error *err);
#define CH_HOOK_EVENT "hook/"   /* ids of events begin so... */
#define CH_HOOK_SESSION "hook:" /* ...and keys of sessions that are not named */
bool ch_hooks_own(const chela_gateway *gw, const char *session); /* it is for events of one */
void ch_hooks_release(struct ch_hooks *hooks);
void ch_knocks_forget(chela_gateway *gw); /* whom nobody answers any more */

/* --- chats.c */
struct ch_chats_plan; /* the channels that a configuration asks for, made but not in use */
int ch_chats_plan(chela_gateway *gw, const struct chela_gateway_opts *o,
                  struct ch_chats_plan **out, struct chela_error *err);
void ch_chats_use(chela_gateway *gw, struct ch_chats_plan *plan); /* which is taken */
void ch_chats_drop(struct ch_chats_plan *plan);
void ch_chats_close(chela_gateway *gw);

/* --- channels.c */
void ch_channels_recover(chela_gateway *gw); /* take up what other processes left */
struct ch_chat;
struct ch_chat *ch_chat_of(const chela_gateway *gw, const char *session); /* NULL: of none */
bool ch_channels_own(const chela_gateway *gw, const char *session); /* it is of a chat */
/* For a run that begins by itself: in the session of a chat its answer goes where
 * the last one went, and who may agree to its calls is asked there. */
int ch_channels_furnish(struct ch_lane *l, const char **to, const char **approve,
                        struct chela_error *err);
void ch_channels_forget_recovery(chela_gateway *gw); /* the gateway is closed */

/* --- route.c */
/* The path, decoded once, in the arena; p NULL: it is no proper path. */
struct ch_sv ch_path_decode(struct ch_arena *a, struct ch_sv target, struct ch_sv *query);
/* A value of a query; control characters become spaces. */
struct ch_sv ch_query_decode(struct ch_arena *a, struct ch_sv text);
/* *other: some other method would do. */
const struct ch_route *ch_route_find(const char *method, struct ch_sv path, struct ch_sv *param,
                                     bool *other);
extern const struct ch_route ch_routes[]; /* ended by a NULL method */

/* --- request.c: answers. Each of the first three ends the visit: it is freed. */
void ch_visit_json(struct ch_visit *v, int status, struct ch_buf *json);
void ch_visit_text(struct ch_visit *v, int status, const char *type, struct ch_sv text);
/* {"error":{"message","type","param":null,"code"}}, the shape that OpenAI's
 * clients know. */
void ch_visit_fail(struct ch_visit *v, int status, const char *code, const char *fmt, ...)
    CHELA_PRINTF(4, 5);
void ch_visit_error(struct ch_visit *v, const struct chela_error *err);
int ch_error_status(int code); /* HTTP's for CHELA_E* */
/* Server-sent events: begin, then data or an event with a name and an id, which
 * may be NULL; end. CHELA_ELIMIT: the client is too slow, `left` follows. */
void ch_visit_stream(struct ch_visit *v);
int ch_visit_data(struct ch_visit *v, const char *name, const char *id, struct ch_sv data);
void ch_visit_end(struct ch_visit *v);
void ch_visit_header(struct ch_visit *v, const char *name, const char *value);
/* A value of the query, as it is in the address; p NULL: there is none. */
struct ch_sv ch_visit_query(struct ch_visit *v, const char *name);
/* A number of the query, "limit=20", from 1 to max. */
int64_t ch_visit_number(struct ch_visit *v, const char *name, int64_t otherwise, int64_t max);
/* A visit within another: see struct ch_visit. */
struct ch_visit *ch_visit_within(const struct ch_visit *outer,
                                 void (*answer)(struct ch_visit *v, int status, struct ch_sv json),
                                 void *asker);
/* The callbacks of the server. */
void ch_visit_head(struct ch_exchange *x, void *gateway);
void ch_visit_request(struct ch_exchange *x, void *gateway);
void ch_visits_pulse(chela_gateway *gw); /* say something on every stream */
void ch_visits_expel(chela_gateway *gw); /* end every stream that needed the token */

/* --- socket.c */
/* Say goodbye on WebSockets because the gateway stops; not all: those whose session
 * is at work hear its end first. */
void ch_sockets_close(chela_gateway *gw, bool all);

/* --- gateway.c */
/* By id; an empty one is the first agent. NULL: there is none. */
chela_agent *ch_gateway_agent(const chela_gateway *gw, struct ch_sv id);
/* Other gateways may use its store, on other machines. */
bool ch_gateway_is_shared(const chela_gateway *gw);
/* One that serves nobody, for what it does by itself. */
int ch_gateway_headless(chela_runtime *rt, const struct chela_gateway_opts *opts,
                        chela_gateway **out, struct chela_error *err);
/* An answer that means: nothing needs attention. */
#define CH_WAKE_OK "HEARTBEAT_OK"

#endif
