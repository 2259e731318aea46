/* mcp_client.h -- the connection to one MCP server: start, era, requests, restart.
 *
 *     DOWN --first request--> STARTING --link opened--> PROBING --discover answered--> READY
 *       ^                        |                         |--not known--> INITIALIZING --^
 *       |                        |                         |                  |
 *       '----- link down, refused, too slow; next start after a delay --------'
 *
 * Requests that are made before READY wait. A request ends with exactly one `done`, unless it
 * is cancelled or the client is closed, and never inside ch_mcp_start. Loop thread only. */
#ifndef CH_MCP_CLIENT_H
#define CH_MCP_CLIENT_H
#include "agent/handle/runtime.h"
#include "chela/mcp.h"
#include "mcp/mcp_cache.h"
#include "mcp/mcp_link.h"
#include "mcp/mcp_server_connection.h"
#include "rpc/rpc_peer.h"
#include "tool/process/pinned.h"
#include "tool/process/sandbox_policy.h"

enum ch_mcp_state { CH_MCP_DOWN, CH_MCP_STARTING, CH_MCP_PROBING, CH_MCP_INITIALIZING,
                    CH_MCP_READY };

struct ch_mcp_auth;
struct ch_mcp_tools;
struct ch_mcp_skills;

struct chela_mcp {
    struct ch_extension extension; /* to the runtime */
    chela_runtime *rt;
    struct ch_arena arena;      /* the options */
    struct chela_mcp_opts opts; /* in the arena */
    struct ch_egress *egress; /* owned */
    struct ch_sandbox_policy *policy;
    const struct ch_pins *pins; /* in the arena; NULL: any content of the program will do */
    char *dir; /* in the arena: the program's own directory; NULL: not a program */
    enum ch_mcp_state state;
    bool modern;
    char version[16];
    struct ch_mcp_link *link;
    struct ch_rpc_peer *peer;
    struct ch_timer start_timer;
    struct ch_list ops;
    size_t nwaiting; /* requests for the connection, without those for a later time */
    bool closed;
    bool *freed;       /* set when the client is freed; NULL: nobody asks */
    bool probe_died;   /* the server did not survive the probe: use the older versions */
    unsigned failures; /* consecutive failed connections */
    int64_t retry_at;  /* monotonic time before which no connection is tried */
    struct chela_error last; /* reason of the last failure; code 0: none */
    struct ch_mcp_auth *auth; /* owned; NULL: a program */
    bool logging_in;
    unsigned logins; /* since the connection was ready */
    unsigned tokens; /* log-ins that ended */
    struct ch_mcp_failure failure; /* failure of the last message, without the challenge */
    char *server, *server_version; /* owned: name and version of the server; may be NULL */
    bool tools_change;             /* the server announces changes of its tools */
    bool tasks;                    /* calls may be tasks, in versions with a handshake */
    bool awaited;                  /* a function waits, and will return a failure */
    bool leaving;                  /* the connection ends by itself soon */
    bool asks;                     /* tools are in agents, which can ask a person */
    struct ch_mcp_tools *tools;    /* owned by mcp_tools.c */
    struct ch_mcp_skills *skills;  /* owned by mcp_skills.c */
    struct ch_mcp_cache cache;     /* results that the server allowed to be used again */
    struct ch_list sampled, samples; /* used by mcp_sampling.c: counts by session; open requests */
    /* Hooks of mcp_tools.c: the connection is ready; the server's tools changed. */
    void (*on_ready)(chela_mcp *m);
    void (*on_changed)(chela_mcp *m);
};

/* The end of a request. Borrowed for the call. */
struct ch_mcp_reply {
    const struct ch_json *result; /* NULL: failed */
    const struct ch_json *input;  /* the result asks for input (takes_input); NULL: it does not */
    struct chela_error err;
    int64_t code;                 /* code of a JSON-RPC error; 0: another failure */
};
typedef void ch_mcp_done_fn(const struct ch_mcp_reply *r, void *user);

struct ch_mcp_request {
    const char *method;
    struct ch_sv members; /* the members of params, without braces and without _meta; copied */
    struct ch_sv meta;    /* further members of _meta; copied */
    struct ch_sv name;    /* value of Mcp-Name; copied */
    struct ch_sv headers; /* as in struct ch_mcp_send; copied */
    int64_t timeout_ms;   /* without progress; 0: none */
    int64_t after_ms;     /* wait before the request is sent; 0: do not */
    /* A result that asks for input ends the request, unless the client answers itself. */
    bool takes_input;
    bool takes_task; /* the result may be a task (2026-07-28) */
    bool asks_task;  /* the result should be a task, if the server has them (older versions) */
    void (*progress)(struct ch_sv text, void *user); /* optional */
    /* Optional. The server asks a person (elicitation/create) or a model
     * (sampling/createMessage). True: r is answered now or later. May cancel the request. */
    bool (*elicit)(struct ch_rpc_request *r, const struct ch_rpc_message *msg, void *user);
    ch_mcp_done_fn *done;
    void *user;
};

struct ch_mcp_op;

/* Begin a request. Never NULL. */
struct ch_mcp_op *ch_mcp_start(chela_mcp *m, const struct ch_mcp_request *r);
/* Cancel a request: the server is notified, and `done` is not called. */
void ch_mcp_cancel(struct ch_mcp_op *op);

/* Say goodbye to the server; m->leaving is set until the server has ended. */
void ch_mcp_leave(chela_mcp *m);

/* Close the connection for good; requests fail before the function returns. */
void ch_mcp_close_now(chela_mcp *m, const struct chela_error *why);

/* The program does not start if its files are not as pinned (tool/process/pinned.h). pins: copied;
 * NULL: nothing happens. */
void ch_mcp_pin(chela_mcp *m, const struct ch_pins *pins);

const char *ch_mcp_state_name(const chela_mcp *m);

/* The client of the runtime after m; m NULL: the first. NULL: no more. */
chela_mcp *ch_mcp_next(chela_runtime *rt, const chela_mcp *m);

#endif
