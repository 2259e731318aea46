/* gateway.h -- agents over HTTP.
 *
 * A gateway serves the agents of a runtime: with OpenAI's protocols, with the AI SDK's
 * protocol for pages, and as sessions with their events. docs/gateway.md describes the
 * routes. A gateway lives in the runtime's loop.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call; texts and options are copied.
 *   Threads: loop
 *   Callbacks: yes
 *   Errors: none */
#ifndef CHELA_GATEWAY_H
#define CHELA_GATEWAY_H
#include "chela/schedule.h"
#include "chela/session.h"
#include "chela/store.h"
CHELA_BEGIN_DECLS

typedef struct chela_gateway chela_gateway;

/* A webhook: another program sends events to an agent with POST /hooks/NAME, signed with
 * the secret (docs/gateway.md). */
struct chela_gateway_hook {
    size_t size;         /* set by CHELA_GATEWAY_HOOK */
    const char *name;    /* required */
    const char *secret;  /* required; at least 16 bytes */
    const char *agent;   /* id of the agent; NULL: the first */
    const char *session; /* key of the session; NULL: a new session for each event */
};
#define CHELA_GATEWAY_HOOK(...) {.size = sizeof(struct chela_gateway_hook), __VA_ARGS__}

/* A chat service through which people talk to an agent. The service sends its events to
 * POST /channels/NAME/events (docs/feishu.md), or the gateway fetches them. */
struct chela_channel_opts {
    size_t size;             /* set by CHELA_CHANNEL_OPTS */
    const char *name;        /* "feishu", "telegram", or the name of a module */
    const char *agent;       /* id of the agent; NULL: the first */
    const char *account;     /* id of the app */
    const char *secret;      /* authenticates the gateway to the service */
    const char *token;       /* authenticates the service to the gateway */
    const char *encrypt_key; /* encrypts and signs events; NULL: no encryption */
    const char *domain;      /* "feishu", "lark" or a URL; NULL: "feishu" */
    enum chela_access dm_policy, group_policy; /* for direct chats, for group chats */
    const char *const *allow_from; /* ids of people, "*": all; NULL-terminated, may be NULL */
    const char *const *groups;     /* ids of group chats, in the same form */
    int unasked;               /* in groups: also answer messages that do not mention the app */
    enum chela_group_session group_session;
    /* Ids of people who may approve calls and change the agent's settings;
     * NULL-terminated. NULL: nobody; calls that need consent are refused. */
    const char *const *owners;
    enum chela_transport mode;
    int streaming;             /* show answers while they are written, if the service can */
    /* Options of the channel's own (chela/sys/channel.h): name, value, ..., NULL; may be
     * NULL. */
    const char *const *settings;
    enum chela_language language; /* of sentences for people; AUTO: that of the runtime */
    /* Lines of a group that were not addressed to the agent, and that the model gets with the next
     * message that is: how many, and how old. 0: the default; -1: none. */
    int64_t group_lines;
    int64_t group_minutes;
};
#define CHELA_CHANNEL_OPTS(...) {.size = sizeof(struct chela_channel_opts), __VA_ARGS__}

/* The agents as a server of the Model Context Protocol, at /mcp (docs/mcp.md). Callers show the
 * gateway's token. With `issuer` tokens of an OAuth 2.1 authorization server are accepted, too:
 * the gateway asks the server about each (RFC 7662), or checks JSON Web Tokens with the server's
 * keys (RFC 9068). */
struct chela_gateway_mcp {
    size_t size;               /* set by CHELA_GATEWAY_MCP */
    const char *agent;         /* agent whose tools, files and skills are offered; NULL: the
                                * first */
    const char *issuer;        /* URL of the authorization server; NULL: none */
    const char *resource;      /* URL of /mcp as clients reach it: the audience of tokens */
    const char *introspection; /* URL of the server's introspection endpoint; NULL: tokens are
                                * JSON Web Tokens */
    const char *client_id;     /* authenticates the gateway there; NULL: it does not */
    const char *client_secret_env; /* environment variable with its secret; NULL: none */
    const char *scope;         /* scope that tokens need; NULL: none */
};
#define CHELA_GATEWAY_MCP(...) {.size = sizeof(struct chela_gateway_mcp), __VA_ARGS__}

/* A limit on what runs may spend in a day, in UTC (docs/budgets.md). A run counts if it
 * matches agent, channel and sender. A pattern with "*" or "?" gives each matching agent,
 * channel or sender a separate budget. */
struct chela_budget {
    size_t size;          /* set by CHELA_BUDGET */
    const char *name;     /* required; unique */
    const char *agent;    /* id or pattern; NULL: any */
    const char *channel;  /* name or pattern; NULL: any. Runs that no chat began have the channel
                             "http" */
    const char *sender;   /* id or pattern; NULL: any, and runs without a sender */
    double cost_usd;      /* 0: no limit on the cost */
    int64_t tokens;       /* input and output; 0: no limit on tokens */
};
#define CHELA_BUDGET(...) {.size = sizeof(struct chela_budget), __VA_ARGS__}

/* A gateway. Texts are copied. */
struct chela_gateway_opts {
    size_t size; /* set by CHELA_GATEWAY_OPTS */
    const char *listen;         /* NULL: "127.0.0.1:8787"; port 0: any free port;
                                   "fd:3": a bound socket that the process inherited;
                                   "pipe:3", "pipe:3+4": for a worker, see below */
    const char *token;          /* authenticates callers, also on loopback; at least 16
                                   bytes; required */
    const char *const *hosts;   /* allowed host names besides localhost and IP addresses;
                                   NULL-terminated, may be NULL */
    const char *const *origins; /* pages that may call the gateway, "https://app.example.com";
                                   NULL-terminated, may be NULL */
    chela_agent *const *agents; /* NULL-terminated, at least one. The first is used if a
                                   caller names none. Borrowed: an agent that is closed
                                   (chela_agent_close) is served until a reload without the
                                   agent or until chela_gateway_close */
    chela_store *store;         /* the store of the runtime; borrowed until the gateway is
                                   closed; NULL: sessions are not stored */
    const struct chela_gateway_hook *const *hooks; /* NULL-terminated; may be NULL */
    const struct chela_channel_opts *const *channels; /* NULL-terminated; may be NULL */
    const char *tls_cert, *tls_key; /* PEM files; both NULL: no TLS */
    int64_t retention_days; /* delete idle sessions that were not used for this long, at most
                               36500; 0: keep all */
    /* Scheduled runs; NULL-terminated, may be NULL. Schedules in the store are always
     * run. */
    const struct chela_schedule *const *schedules;
    /* chela.yaml, for agents with gateway_tool. When the tool has changed the file,
     * chela_gateway_run returns 1, and the program reloads the file. NULL: the tool is not
     * offered. */
    const char *config_file;
    const struct chela_gateway_mcp *mcp; /* serve /mcp; NULL: do not */
    const struct chela_budget *const *budgets; /* NULL-terminated; may be NULL */
    /* Worker processes behind one address: each is a gateway, and they share the store. One
     * process listens (chela_gateway_listen) and sends each connection that it accepts to a
     * worker, as SCM_RIGHTS with a byte of value 0, over a Unix socket that the worker
     * inherited (`listen`). Or the workers also inherit the listening socket ("pipe:3+4") and
     * accept connections in turn: the process begins the turn of a worker with a byte of value
     * 2, and the worker ends its turn with the byte 't'. A worker sends a socket back, with a
     * byte that is the number of another worker, to reach an MCP session there. The process
     * sends the socket to that worker with a byte of value 1, or closes it if the worker does
     * not serve. */
    size_t workers; /* number of workers */
    size_t worker;  /* number of this worker, from 1; 0: this process serves alone */
    /* Memory that the workers share: workers * CHELA_WORKER_BOARD bytes, zero at the start,
     * aligned for uint64_t; borrowed until the gateway is closed; may be NULL. A worker writes
     * to the part of its number. The first uint64_t of the part counts the connections that
     * the worker has received; the rest is for GET /metrics. */
    void *board;
};
#define CHELA_WORKER_BOARD 512
#define CHELA_GATEWAY_OPTS(...) {.size = sizeof(struct chela_gateway_opts), __VA_ARGS__}

/* Start the due runs of the schedules in opts and in the store, and wait until they have
 * ended: for programs with their own clock, such as cron. name: start only this schedule,
 * now; NULL: all due schedules. *n becomes the number of runs that were started. on_event
 * (may be NULL) gets the events of the runs. Of opts, agents, store and schedules are used;
 * nothing is served.
 * Ownership: arguments are borrowed for the call.
 * Callbacks: no: CHELA_EBUSY.
 * Errors: CHELA_ESTATE: the loop belongs to a host. CHELA_EBUSY: called from a callback, or
 * an earlier run of the schedule still waits. CHELA_ECONFIG: there is no store, or a schedule is
 * wrong. CHELA_EINVAL: an option is wrong. CHELA_ENOENT: there is no schedule `name`.
 * CHELA_EIO, CHELA_ENET: the database failed. */
CHELA_API int chela_schedule_run(chela_runtime *rt, const struct chela_gateway_opts *opts,
                                 const char *name, chela_event_fn *on_event, void *user, size_t *n,
                                 struct chela_error *err);

/* Open a gateway: listen and serve from now on.
 * Ownership: the caller owns *out and closes it with chela_gateway_close, before the
 * runtime. opts is copied; agents and store are borrowed.
 * Errors: CHELA_ECONFIG: the token is missing or too short, or a hook, schedule or channel
 * is wrong, or workers cannot share the store or what is served. CHELA_EINVAL: there is no agent,
 * or the address or an option is wrong. CHELA_EIO: the address cannot be used. CHELA_ETLS,
 * CHELA_EMODULE: the certificate cannot be used. CHELA_ELIMIT: an agent has too many tools for
 * `sessions_send`. */
CHELA_API int chela_gateway_new(chela_runtime *rt, const struct chela_gateway_opts *opts,
                                chela_gateway **out, struct chela_error *err);

/* Listen at an address for workers (struct chela_gateway_opts). listen: as in the options,
 * without "pipe:". *fd becomes a listening socket that does not block, and *address its address
 * with the port.
 * Ownership: the caller closes *fd, and frees *address with chela_free.
 * Threads: any
 * Errors: CHELA_EINVAL: listen is no address. CHELA_EIO: the address cannot be used. */
CHELA_API int chela_gateway_listen(const char *listen, int *fd, char **address,
                                   struct chela_error *err);

/* Close a gateway at once. NULL is allowed. Runs in progress stop; with a store they can be
 * resumed.
 * Ownership: gw becomes invalid. */
CHELA_API void chela_gateway_close(chela_gateway *gw);

/* The address of the gateway, with its port.
 * Ownership: the result is borrowed from the gateway. */
CHELA_API const char *chela_gateway_address(const chela_gateway *gw);

/* Serve until chela_gateway_stop or a callback closes the gateway (returns 0), or until
 * chela_gateway_interrupt (returns 1; the program may call the function again). In a host's
 * loop the function is not needed: the gateway serves while the loop runs.
 * Callbacks: no: CHELA_EBUSY.
 * Errors: CHELA_ESTATE: the loop belongs to a host. CHELA_EBUSY: called from a callback. */
CHELA_API int chela_gateway_run(chela_gateway *gw);

/* Let chela_gateway_run return 1.
 * Ownership: the gateway must be open during the call.
 * Threads: any */
CHELA_API void chela_gateway_interrupt(chela_gateway *gw);

/* After chela_gateway_run returned 1: nonzero if an owner asked for a restart with the tool
 * `gateway`. The program then stops and closes the gateway and opens another. */
CHELA_API int chela_gateway_wants_restart(const chela_gateway *gw);

/* Add the tools that a gateway would add to the agent (sessions_send, if the agent has
 * send_to), so that the agent has the same instructions and tools without one. Their calls
 * are refused. For chela_replay.
 * Threads: loop
 * Errors: CHELA_ELIMIT: the agent has too many tools. */
CHELA_API int chela_gateway_tools(chela_agent *agent, struct chela_error *err);

/* After chela_gateway_run returned 1: nonzero if an owner changed the configuration file with
 * the tool `gateway` since the last call. */
CHELA_API int chela_gateway_patched(chela_gateway *gw);

/* Replace agents, token, hosts, origins, certificate, hooks, schedules, channels, retention and
 * what /mcp offers. Runs in progress keep their agent; an idle session gets the new agent with its
 * next message. If the token changes, connections with the old token are closed. A channel
 * with changed options is replaced at once; the old one finishes the messages that it is
 * sending. A channel that was removed accepts no messages and ends after its last answer.
 * On failure nothing changes.
 * Ownership: opts is copied; agents and store are borrowed.
 * Errors: CHELA_ECONFIG, CHELA_EINVAL, CHELA_ETLS, CHELA_EMODULE, CHELA_ELIMIT: as for
 * chela_gateway_new. */
CHELA_API int chela_gateway_reload(chela_gateway *gw, const struct chela_gateway_opts *opts,
                                   struct chela_error *err);

/* Set the problem of the configuration that GET /readyz reports, for instance why a new
 * configuration was refused. why NULL: no problem. */
CHELA_API void chela_gateway_trouble(chela_gateway *gw, const char *why);

/* Accept no new requests and let the requests in progress end within drain_ms. After that,
 * or at a second call, the rest is cut off and can be resumed from the store. Then
 * chela_gateway_run returns 0.
 * Ownership: the gateway must be open during the call.
 * Threads: any */
CHELA_API void chela_gateway_stop(chela_gateway *gw, int64_t drain_ms);

/* Examine the gateway at a URL as a caller would: a JSON array of findings in the form of
 * chela_runtime_survey (chela/survey.h). token may be NULL. Waits some seconds at most.
 * Failures are findings. From a callback or in a host's loop no gateway can be examined,
 * and a finding states so.
 * Ownership: the caller frees the result with chela_free. */
CHELA_API char *chela_gateway_survey(chela_runtime *rt, const char *url, const char *token);

/* Examine whether the account of a chat service is set up for these options: a JSON array of
 * findings in the form of chela_runtime_survey. The service is asked, and nothing is
 * changed. From a callback or in a host's loop no service can be asked, and a finding
 * states so.
 * Ownership: the caller frees the result with chela_free.
 * Errors: CHELA_EINVAL: opts is NULL, or its size is wrong. */
CHELA_API char *chela_channel_survey(chela_runtime *rt, const struct chela_channel_opts *opts,
                                     struct chela_error *err);

/* Describe a channel, for programs that help to set it up: a JSON object {"name","title","docs",
 * "setup","options":[{"name","kind","enables","needed","mode","words","default","help"}]}. kind:
 * "text", "secret", "choice", "bool" or "url". needed: the channel does not work without the
 * option, if the option `mode` is absent or has this value. setup: the steps in the console of the
 * service. name NULL: a JSON array of the names of the channels that are installed.
 * Ownership: the caller frees the result with chela_free.
 * Errors: CHELA_ENOENT: there is no such channel. CHELA_EMODULE: its module cannot be loaded. */
CHELA_API char *chela_channel_describe(chela_runtime *rt, const char *name,
                                       struct chela_error *err);

/* Test a channel: connect and, unless `to` is NULL, send a message to the chat `to`. If the
 * service delivers a bot's own messages, wait for the message. A gateway at url that accepts the
 * token does both over its own connection. Without a gateway (url NULL, or nothing answers) the
 * function connects to the service itself; messages that arrive meanwhile are not acknowledged.
 * The result is a JSON array of findings in the form of chela_runtime_survey; failures are
 * findings. Waits up to half a minute. The runtime needs a store; "memory:" is enough.
 * Ownership: the caller frees the result with chela_free.
 * Errors: CHELA_EINVAL: opts is NULL, or its size is wrong. CHELA_ENOENT: there is no such
 * channel. CHELA_EMODULE: its module cannot be loaded. */
CHELA_API char *chela_channel_test(chela_runtime *rt, const struct chela_channel_opts *opts,
                                   const char *to, const char *url, const char *token,
                                   struct chela_error *err);

/* --- runs in the background, and following them */

/* Send a message to a session as a gateway without a server, and wait until the session is
 * idle and its inbox is empty. Other processes can follow and control the session meanwhile
 * (chela_follow_new). While a run waits for people, the function waits, too. text NULL: the
 * unfinished run of the session is resumed. Of opts, agents and store are used; of run,
 * media, approve, on_event and user.
 * Ownership: arguments are borrowed for the call.
 * Callbacks: no: CHELA_EBUSY.
 * Errors: CHELA_ESTATE: the loop belongs to a host, or the session waits for an answer.
 * CHELA_EBUSY: called from a callback, or another process has the session. CHELA_ECONFIG:
 * there is no store. CHELA_EINVAL: an option or the key is wrong. CHELA_EIO, CHELA_ENET: the
 * database failed. */
CHELA_API int chela_gateway_work(chela_runtime *rt, const struct chela_gateway_opts *opts,
                                 const char *key, const char *text, size_t n,
                                 const struct chela_run_opts *run, struct chela_error *err);

/* The runs of a stored session, whichever process carries them out. */
typedef struct chela_follow chela_follow;

/* Who carries out the runs of a session. */
enum chela_holder {
    CHELA_HOLDER_NONE = 0,   /* no process has the session */
    CHELA_HOLDER_OTHER = 1,  /* a process that takes no messages of others: a chat, a run */
    CHELA_HOLDER_SERVES = 2  /* a gateway, or a run in the background: takes messages */
};

/* Follow a session from the beginning of its run in progress or paused run. Without such a
 * run, follow it from the next run on.
 * Ownership: the caller owns *out and closes it with chela_follow_close; it keeps the store
 * open. One thread at a time may use *out.
 * Threads: any
 * Errors: CHELA_ENOENT: there is no such session. Others: as chela_store_records. */
CHELA_API int chela_follow_new(chela_store *store, const char *key, chela_follow **out,
                               struct chela_error *err);

/* Call fn with the events that the holder has stored since the last call. A reply of the model
 * is one TEXT_DELTA; requests, progress of tools and runs of other agents are not stored.
 * Ownership: as chela_follow_new.
 * Threads: any
 * Errors: CHELA_ENOENT: the session was deleted. Others: as chela_store_records. */
CHELA_API int chela_follow_read(chela_follow *f, chela_event_fn *fn, void *user,
                                struct chela_error *err);

/* Find out who carries out the runs of the session now.
 * Threads: any
 * Errors: CHELA_ENOENT: the session was deleted. CHELA_EIO, CHELA_ENET: the database failed. */
CHELA_API int chela_follow_holder(chela_follow *f, enum chela_holder *out,
                                  struct chela_error *err);

/* Send a request to the process that holds the session: the event waits in the store's inbox
 * until that process takes it up. A message joins the run in progress, or begins one; a
 * decision and an answer are for a paused run, as for chela_session_approve and
 * chela_session_answer.
 * Threads: any
 * Errors: CHELA_EINVAL: the text is not UTF-8, or there is no such decision. CHELA_ELIMIT: the
 * text is too long. CHELA_EIO, CHELA_ENET: the database failed. */
CHELA_API int chela_follow_say(chela_follow *f, const char *text, size_t n,
                               struct chela_error *err);
CHELA_API int chela_follow_cancel(chela_follow *f, struct chela_error *err);
CHELA_API int chela_follow_decide(chela_follow *f, const char *approval_id,
                                  enum chela_decision decision, const char *reason,
                                  struct chela_error *err);
CHELA_API int chela_follow_answer(chela_follow *f, const char *call_id, const char *text, size_t n,
                                  struct chela_error *err);

/* NULL is allowed.
 * Ownership: f becomes invalid.
 * Threads: any */
CHELA_API void chela_follow_close(chela_follow *f);

CHELA_END_DECLS
#endif
