/* mcp_server.h -- the server half of the Model Context Protocol.
 *
 *   mcp_server.c             server, adding and removing items, notices of changes
 *   mcp_server_item.c        finding items, counting references
 *   mcp_server_connection.c  a client: messages in and out, era of a request, handshake
 *   mcp_server_methods.c     the table of methods; lists, subscriptions
 *   mcp_server_call.c        a request that a function works on: questions, log, progress
 *   mcp_server_result.c      the result that the function sets
 *   mcp_server_state.c       the signed state of a request that waits for input
 *   mcp_server_skills.c      skills for clients, an extension
 *   mcp_server_http.c        Streamable HTTP: sessions, streams, headers
 *   mcp_server_listen.c      a listener without a gateway
 *   mcp_server_agent.c       an agent behind a server
 *
 * A connection is a pipe, a session of the versions with a handshake, or one HTTP request of
 * 2026-07-28. Each has a JSON-RPC peer, which matches ids and cancels.
 *
 * A call has one owner, its request, and is freed when the request is answered and no thread
 * works on the call. Loop thread only, unless a function states otherwise. */
#ifndef CH_MCP_SERVER_H
#define CH_MCP_SERVER_H
#include <pthread.h>
#include <stdatomic.h>

#include "agent/handle/runtime.h"
#include "base/limits.h"
#include "base/sha256.h"
#include "chela/mcp_server.h"
#include "mcp/mcp_protocol.h"
#include "rpc/rpc_lines.h"
#include "rpc/rpc_peer.h"
#include "schema/schema.h"

struct ch_mcp_stream;
struct ch_server;

enum ch_mcp_kind { CH_MCP_TOOL, CH_MCP_RESOURCE, CH_MCP_TEMPLATE, CH_MCP_PROMPT, CH_MCP_KINDS };

/* A tool, resource, template or prompt. */
struct ch_mcp_item {
    struct ch_link link; /* in server->items[kind]; unlinked: removed */
    chela_mcp_server *server;
    enum ch_mcp_kind kind;
    char *key;    /* owned: name or URI */
    char *listed; /* owned: the entry of a list, a JSON object */
    char *older;  /* owned: the entry for clients with a handshake; NULL: `listed` */
    char *mime;   /* owned; NULL: none */
    struct ch_schema *schema;     /* owned: of a tool's arguments; NULL: none */
    struct ch_schema *output;     /* owned: of a tool's structured result; NULL: none */
    struct ch_arena arena;        /* holds `input` */
    const struct ch_json *input;  /* a tool's schema; NULL: no argument is a header */
    chela_mcp_fn *fn, *complete, *list;
    void *user;
    unsigned flags;
    void (*release)(void *user);
    unsigned refs; /* 1, and one for each call */
};

struct chela_mcp_server {
    struct ch_extension extension;
    chela_runtime *rt;
    struct ch_arena arena; /* texts of the options */
    const char *name, *version, *title, *instructions;
    const char *const *hosts, *const *origins;
    int64_t ttl_ms;
    bool has_token;
    unsigned char token[CH_SHA256_SIZE]; /* digest of the token over HTTP */
    unsigned char secret[CH_SHA256_SIZE];
    struct ch_list items[CH_MCP_KINDS];
    size_t nitems;
    struct ch_mcp_item *task, *task_cancel; /* owned; NULL: no tasks */
    struct ch_mcp_item *skills, *skill;     /* owned; NULL: no skills */
    struct ch_list connections; /* struct chela_mcp_connection */
    struct ch_list sessions;    /* struct ch_mcp_session */
    size_t nsessions, kept; /* kept: bytes of events for clients that return */
    unsigned worker; /* number that begins the ids of sessions; 0: none */
    struct ch_list listeners; /* struct ch_mcp_listener */
    size_t nlisteners;
    struct ch_list streams; /* struct ch_mcp_stream with a client */
    struct ch_list buried;  /* struct ch_mcp_stream that ended */
    struct ch_task notify;  /* notifies clients about changed lists */
    unsigned changed;       /* bits by enum ch_mcp_kind */
    struct ch_timer pulse;
    struct ch_server *http; /* owned; NULL: does not listen */
    struct ch_post stop;
    atomic_bool stopping; /* `stop` is posted */
    bool stopped;
    bool closed;
    unsigned refs; /* 1, and one for each call */
};

/* The operations of a connection's transport. */
struct ch_mcp_connection_ops {
    /* Send a message. to: stream of the call; NULL: none. status: HTTP status if the message
     * is the only one of its response. last: the response to the stream's request. */
    int (*send)(chela_mcp_connection *c, struct ch_sv message, struct ch_mcp_stream *to,
                int status, bool last);
    /* The request of the stream ended without a response. Optional. */
    void (*drop)(chela_mcp_connection *c, struct ch_mcp_stream *to);
    void (*hang_up)(chela_mcp_connection *c, struct ch_mcp_stream *to, int64_t retry_ms);
};

struct chela_mcp_connection {
    struct ch_link link;      /* in server->connections */
    chela_mcp_server *server; /* NULL: closed */
    const struct ch_mcp_connection_ops *ops;
    struct ch_rpc_peer *peer;
    char *principal; /* owned */
    /* Agreed by `initialize`. */
    struct ch_arena arena;
    const char *agreed; /* version; NULL: no handshake */
    const struct ch_json *capabilities;
    int level; /* least severity of log lines; -1: none */
    char *watched[CH_LIMIT_MCP_WATCHED]; /* owned: URIs */
    size_t nwatched;
    struct ch_list calls; /* chela_mcp_call */
    /* While a message is received or answered. */
    struct ch_mcp_stream *stream; /* stream of the request */
    int status;                   /* HTTP status of the response */
    bool modern;                  /* every request is of 2026-07-28 */
    bool last;                    /* the message answers the stream's request */
    /* Of a pipe. */
    void (*write)(const char *p, size_t n, void *user);
    void *user;
    struct ch_rpc_lines lines;
    struct ch_buf unsent;
    struct ch_task flush;
    bool writing; /* `write` is in progress */
};

/* A request before its processing starts. */
struct ch_mcp_incoming {
    chela_mcp_connection *c;
    struct ch_rpc_request *r;
    struct ch_sv method;
    const struct ch_json *params, *meta;
    const struct ch_json *capabilities; /* of the client */
    bool modern;
    int level; /* least severity of log lines; -1: none */
};

enum ch_mcp_verb { CH_MCP_CALL, CH_MCP_READ, CH_MCP_GET, CH_MCP_COMPLETE, CH_MCP_LIST,
                   CH_MCP_TASK_GET, CH_MCP_TASK_RESULT, CH_MCP_TASK_UPDATE, CH_MCP_TASK_CANCEL,
                   CH_MCP_SKILL_LIST, CH_MCP_SKILL_GET };

/* The state of a task: a call that continues after its request was answered. */
struct ch_mcp_task {
    const char *id;      /* NULL: the call is not a task */
    const char *status;  /* "working", "completed", "failed" or "cancelled" */
    const char *message; /* for people; NULL: none */
    int64_t created, updated; /* ms since the epoch */
};

struct chela_mcp_call {
    struct ch_link link;      /* in connection->calls; unlinked: the client is gone */
    chela_mcp_server *server; /* counted */
    chela_mcp_connection *c;  /* NULL: the client is gone */
    struct ch_mcp_item *item; /* counted */
    struct ch_rpc_request *r; /* NULL: answered */
    struct ch_mcp_stream *stream;
    enum ch_mcp_verb verb;
    bool modern;
    char *principal; /* owned */
    struct ch_arena arena; /* the request, and the answers */
    const char *name;
    const char *arguments_text;
    const struct ch_json *arguments, *capabilities, *token;
    const char *key;         /* the client's idempotency key; NULL: none */
    const char *traceparent; /* trace context of the client; NULL: none */
    bool wants_task;         /* the client takes a task for an answer */
    struct ch_mcp_task task; /* texts are in the arena */
    struct ch_timer poll_timer; /* looks at the task again */
    struct ch_sv digest;     /* of method and parameters */
    int level;
    double reported; /* last progress */
    /* Answers of the client: of earlier rounds, and of this one. */
    const struct ch_json *before, *responses;
    const struct ch_json *kept;
    unsigned rounds;
    unsigned open;      /* questions that the client has not answered, in legacy versions */
    struct ch_mcp_question {
        chela_mcp_call *call;
        const char *key;
        int64_t id; /* id of the request to the client; 0: answered */
    } questions[CH_LIMIT_MCP_QUESTIONS];
    struct ch_buf answers; /* answers so far: members of an object */
    struct ch_buf keep;  /* data that the function keeps: members of an object */
    struct ch_buf asked; /* questions of this round: members of an object */
    size_t nasked;
    const char *missing; /* capability that the client lacks; NULL: none */
    /* Result. */
    struct ch_buf blocks, structured, error;
    size_t nblocks;
    bool failed, not_found, classed; /* classed: an error keeps its structured content */
    bool overflow; /* the result is too large */
    const char *role;
    /* Execution. */
    struct ch_work work;
    struct ch_task start, cancel;
    struct ch_post flush;
    pthread_mutex_t lock;
    struct ch_buf notices; /* under lock: JSON-RPC notifications to send, one a line */
    int64_t retry_ms;      /* under lock: hang up; -1: do not */
    atomic_bool cancelled;
    bool running;  /* a thread works on the call, or the program finishes it later */
    bool deferred;
    bool inside; /* the function is on the stack of the loop thread */
    int rc; /* result of the function */
    void (*on_cancel)(chela_mcp_call *call, void *user);
    void *on_cancel_user;
};

/* --- mcp_server.c */
/* Take over the items of `from`, which is closed; the clients of s stay connected and are
 * notified. */
void ch_mcp_server_adopt(chela_mcp_server *s, chela_mcp_server *from);
/* Is a request in progress? Subscriptions do not count. */
bool ch_mcp_server_busy(const chela_mcp_server *s);

enum {
    CH_MCP_TASKABLE = 1 << 16,   /* a tool that can be called as a task */
    CH_MCP_LISTS_APART = 1 << 17 /* `list` of a template runs on its own thread; only one template
                                    of a server may have this flag */
};
/* Offer tasks. get is called with the argument taskId: it sets the state of the task and, of a
 * completed one, the result. cancel asks the task to end. */
void ch_mcp_server_tasks(chela_mcp_server *s, chela_mcp_fn *get, chela_mcp_fn *cancel, void *user);
/* Offer skills. Both functions set a JSON object, whose members become those of the result: list
 * the entries of all skills, get that of the argument uri. release is called for each. */
void ch_mcp_server_skill_items(chela_mcp_server *s, chela_mcp_fn *list, chela_mcp_fn *get,
                               void *user, void (*release)(void *user));

/* Inside a function: state that the call is a task, or the state of the task. Texts are copied. */
void ch_mcp_call_task(chela_mcp_call *call, const struct ch_mcp_task *task);

#endif
