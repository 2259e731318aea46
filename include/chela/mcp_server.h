/* mcp_server.h -- a server of the Model Context Protocol (docs/mcp.md).
 *
 * A server offers tools, resources and prompts to programs of others. It speaks 2026-07-28,
 * where every request stands alone, and the versions with a handshake up to 2025-11-25, at
 * the same address. Clients connect over HTTP (chela_mcp_server_listen), or the program
 * moves the bytes of a pipe (chela_mcp_server_open).
 *
 * Input from the client's user: a function asks with chela_mcp_call_ask. If the answer is not
 * there yet, the function returns, and the library calls the function again, from its
 * beginning, once the client has answered. Work that must not be repeated is stored with
 * chela_mcp_call_keep.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call; texts are copied.
 *   Threads: loop
 *   Callbacks: yes
 *   Errors: none */
#ifndef CHELA_MCP_SERVER_H
#define CHELA_MCP_SERVER_H
#include "chela/session.h"
CHELA_BEGIN_DECLS

typedef struct chela_mcp_server chela_mcp_server;
typedef struct chela_mcp_connection chela_mcp_connection; /* a client at the end of a pipe */
typedef struct chela_mcp_call chela_mcp_call;             /* one request in progress */

/* Works on a request: calls a tool, reads a resource, writes a prompt, completes an argument.
 * The function runs on a thread of its own and may block. With CHELA_MCP_ON_LOOP it runs on
 * the loop thread and must return at once. The function returns 0 after it has set a result,
 * or a negative CHELA_E* code, which becomes an error unless an error is set, and which ends
 * the call even after chela_mcp_call_defer. `call` is valid until the function returns or,
 * after chela_mcp_call_defer, until chela_mcp_call_finish. */
typedef int chela_mcp_fn(chela_mcp_call *call, void *user);

/* Properties of a tool, a resource or a prompt. */
enum chela_mcp_flags {
    CHELA_MCP_ON_LOOP = 1, /* the function runs on the loop thread; see chela_mcp_call_defer */
};

/* A server. */
struct chela_mcp_server_opts {
    size_t size;               /* set by CHELA_MCP_SERVER_OPTS */
    const char *name, *version; /* name and version of the program; required */
    const char *title;         /* for people; NULL: none */
    const char *instructions;  /* for the model of the client; NULL: none */
    /* Over HTTP: names of this machine besides localhost and IP addresses, and origins of web
     * pages that may send requests, such as http://localhost:6274; NULL-terminated; NULL: none. */
    const char *const *hosts, *const *origins;
    int64_t ttl_ms; /* how long a client may use a list without asking again; 0: 60 s */
    /* A text of at least 16 bytes that only this program knows. It protects the state of
     * requests that wait for input. Several processes that serve one address need the same
     * text. NULL: random. */
    const char *secret;
    /* Over HTTP: a text of at least 16 bytes that each request must show, as
     * "Authorization: Bearer TOKEN". Every program of this machine can reach a port of the
     * loopback, whatever its user. NULL: none. */
    const char *token;
};
#define CHELA_MCP_SERVER_OPTS(...) {.size = sizeof(struct chela_mcp_server_opts), __VA_ARGS__}

/* Create a server.
 * Ownership: the runtime owns *out; chela_mcp_server_close and chela_runtime_close free it.
 * Errors: CHELA_EINVAL: an option is wrong. */
CHELA_API int chela_mcp_server_new(chela_runtime *rt, const struct chela_mcp_server_opts *opts,
                                   chela_mcp_server **out, struct chela_error *err);

/* Close a server and its connections. Functions in progress see chela_mcp_call_cancelled.
 * NULL is allowed.
 * Ownership: server becomes invalid. */
CHELA_API void chela_mcp_server_close(chela_mcp_server *server);

/* --- what is offered ----------------------------------------------------- */

/* A tool. The arguments of a call are valid against the schema before fn is called. */
struct chela_mcp_tool_opts {
    size_t size;      /* set by CHELA_MCP_TOOL_OPTS */
    const char *name; /* 1 to 128 of a-z A-Z 0-9 _ - . */
    const char *title, *description; /* NULL: none */
    const char *schema;        /* JSON Schema of an object; NULL: no arguments */
    /* Schema of the structured result (chela_mcp_result_json), which a call must set unless it
     * fails; NULL: none. A client of 2025-11-25 or older gets a value that is no object as text
     * only. */
    const char *output_schema;
    const char *annotations;   /* JSON object, such as {"readOnlyHint":true}; NULL: none */
    chela_mcp_fn *fn;
    void *user;     /* borrowed until `release` is called */
    unsigned flags; /* enum chela_mcp_flags */
    /* Optional: called once when the tool is removed and its last call has ended. */
    void (*release)(void *user);
};
#define CHELA_MCP_TOOL_OPTS(...) {.size = sizeof(struct chela_mcp_tool_opts), __VA_ARGS__}

/* A resource, or a family of resources: a URI with {names} is a template; {name} matches one
 * segment, {+name} any number of segments. fn reads the resource. */
struct chela_mcp_resource_opts {
    size_t size;      /* set by CHELA_MCP_RESOURCE_OPTS */
    const char *uri;
    const char *name; /* NULL: the URI */
    const char *title, *description, *mime_type; /* NULL: none */
    chela_mcp_fn *fn;
    /* Of a template, optional: completes a variable. The arguments of the call are `name`,
     * `value` and `context`. Each chela_mcp_result_text adds one suggestion. */
    chela_mcp_fn *complete;
    /* Of a template, optional: lists the existing resources, each by chela_mcp_result_link.
     * Called on the loop thread, while the library works: the function returns at once, and
     * calls no functions except those of the call. */
    chela_mcp_fn *list;
    void *user;
    unsigned flags;
    void (*release)(void *user);
};
#define CHELA_MCP_RESOURCE_OPTS(...) {.size = sizeof(struct chela_mcp_resource_opts), __VA_ARGS__}

/* A prompt. fn writes its messages. */
struct chela_mcp_prompt_opts {
    size_t size;      /* set by CHELA_MCP_PROMPT_OPTS */
    const char *name; /* 1 to 128 characters */
    const char *title, *description; /* NULL: none */
    /* JSON array of {"name","description","required"}; NULL: none. */
    const char *arguments;
    chela_mcp_fn *fn;
    chela_mcp_fn *complete; /* completes an argument, as for a template */
    void *user;
    unsigned flags;
    void (*release)(void *user);
};
#define CHELA_MCP_PROMPT_OPTS(...) {.size = sizeof(struct chela_mcp_prompt_opts), __VA_ARGS__}

/* Offer a tool, a resource or a prompt. Clients that subscribed to changes are notified.
 * Ownership: texts are copied; user is borrowed until `release` is called.
 * Errors: CHELA_EINVAL: an option is wrong. CHELA_EEXIST: the server has an item with this
 * name or URI. CHELA_ELIMIT: the server has too many items. */
CHELA_API int chela_mcp_server_tool(chela_mcp_server *server,
                                    const struct chela_mcp_tool_opts *opts,
                                    struct chela_error *err);
CHELA_API int chela_mcp_server_resource(chela_mcp_server *server,
                                        const struct chela_mcp_resource_opts *opts,
                                        struct chela_error *err);
CHELA_API int chela_mcp_server_prompt(chela_mcp_server *server,
                                      const struct chela_mcp_prompt_opts *opts,
                                      struct chela_error *err);

/* Withdraw a tool, a resource or a prompt. Calls in progress end normally.
 * Errors: CHELA_ENOENT: the server has no item with this name or URI. */
CHELA_API int chela_mcp_server_remove_tool(chela_mcp_server *server, const char *name);
CHELA_API int chela_mcp_server_remove_resource(chela_mcp_server *server, const char *uri);
CHELA_API int chela_mcp_server_remove_prompt(chela_mcp_server *server, const char *name);

/* The parts of an agent that a server offers. */
enum chela_mcp_offer {
    CHELA_MCP_OFFER_AGENT = 1,  /* the agent as a tool ask_ID */
    CHELA_MCP_OFFER_TOOLS = 2,  /* its tools */
    CHELA_MCP_OFFER_FILES = 4,  /* the files of its workspace, as resources workspace:///PATH */
    CHELA_MCP_OFFER_SKILLS = 8, /* its skills and the files of chela_prompts_load, as prompts */
};

/* Offer an agent. what: enum chela_mcp_offer; 0: all parts. Tools that the agent gets later are
 * not offered. A call takes the path of every tool call, with the agent's schema, policy and
 * sandbox; a call that needs a person's consent is refused. ask_ID {message, session?} starts a
 * run in a session of the runtime's store, and returns its id for later calls.
 * Ownership: the server keeps the agent open until the server is closed.
 * Errors: CHELA_EINVAL: the runtimes differ. CHELA_EEXIST: the server has an item of the same
 * name. CHELA_ELIMIT: the agent has too many tools. */
CHELA_API int chela_mcp_server_agent(chela_mcp_server *server, chela_agent *agent,
                                     unsigned what, struct chela_error *err);

/* State that the content of a resource has changed. Clients that watch the resource are
 * notified. */
CHELA_API void chela_mcp_server_updated(chela_mcp_server *server, const char *uri);

/* --- clients -------------------------------------------------------------- */

/* Serve over HTTP at the path /mcp of an address such as "127.0.0.1:0", until the server is
 * closed.
 * Errors: CHELA_EINVAL: the address is wrong. CHELA_EIO: the address cannot be used.
 * CHELA_ESTATE: the server listens already. */
CHELA_API int chela_mcp_server_listen(chela_mcp_server *server, const char *address,
                                      struct chela_error *err);

/* The address with its port; NULL: the server does not listen.
 * Ownership: the result is borrowed from the server. */
CHELA_API const char *chela_mcp_server_address(const chela_mcp_server *server);

/* Serve until chela_mcp_server_stop, or until a callback closes the server. In a host's loop
 * the function is not needed.
 * Callbacks: no: CHELA_EBUSY.
 * Errors: CHELA_ESTATE: the loop belongs to a host. CHELA_EBUSY: called from a callback. */
CHELA_API int chela_mcp_server_run(chela_mcp_server *server);

/* Let chela_mcp_server_run return.
 * Ownership: the server must be open during the call.
 * Threads: any */
CHELA_API void chela_mcp_server_stop(chela_mcp_server *server);

/* Begin to serve a client at the end of a pipe. The program passes the bytes of the client
 * to chela_mcp_connection_feed; messages to the client, one per line, come through write,
 * which is called on the loop thread. principal: who the client is, for
 * chela_mcp_call_principal; may be NULL.
 * Ownership: the server owns *out; chela_mcp_connection_close frees it; user is borrowed
 * until then.
 * Errors: CHELA_EINVAL: write is NULL. */
CHELA_API int chela_mcp_server_open(chela_mcp_server *server,
                                    void (*write)(const char *p, size_t n, void *user), void *user,
                                    const char *principal, chela_mcp_connection **out,
                                    struct chela_error *err);

/* Pass on bytes of the client.
 * Errors: CHELA_ELIMIT: a message is too long, or the client asks for more than can be sent;
 * the connection cannot continue. */
CHELA_API int chela_mcp_connection_feed(chela_mcp_connection *connection, const char *p, size_t n,
                                        struct chela_error *err);

/* Nonzero while a request of the client is not answered, or its answer not written. */
CHELA_API int chela_mcp_connection_busy(const chela_mcp_connection *connection);

/* End the connection; requests in progress are cancelled. NULL is allowed.
 * Ownership: connection becomes invalid. */
CHELA_API void chela_mcp_connection_close(chela_mcp_connection *connection);

/* --- inside a function ----------------------------------------------------
 *
 * The functions below work on a request in progress. The thread that runs the function calls
 * them; after chela_mcp_call_defer, the loop thread.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call; texts are copied.
 *   Threads: any, one at a time
 *   Callbacks: yes
 *   Errors: none */

/* The name of the tool or prompt, or the URI of the resource.
 * Ownership: the result is borrowed from the call. */
CHELA_API const char *chela_mcp_call_name(const chela_mcp_call *call);

/* All arguments, as a JSON object.
 * Ownership: the result is borrowed from the call. */
CHELA_API const char *chela_mcp_call_arguments(const chela_mcp_call *call);

/* One argument, or a variable of the template: a string as plain text, any other value as
 * JSON; NULL: absent.
 * Ownership: the result is borrowed from the call. */
CHELA_API const char *chela_mcp_call_argument(chela_mcp_call *call, const char *name);

/* Who the client is; "": unknown.
 * Ownership: the result is borrowed from the call. */
CHELA_API const char *chela_mcp_call_principal(const chela_mcp_call *call);

/* Whether the client can answer a request: "elicitation/create", "sampling/createMessage" or
 * "roots/list". */
CHELA_API bool chela_mcp_call_can_ask(const chela_mcp_call *call, const char *method);

/* Ask the client: for input of its user (elicitation/create), for a text of its model
 * (sampling/createMessage), or for its folders (roots/list). key names the question among
 * those of this call; params is a JSON object. Returns the answer as JSON. NULL: the client
 * has not answered yet. The function then asks its other questions and returns; it is called
 * again when the client has answered. An answer to elicitation/create is valid against
 * requestedSchema. If the client cannot answer such requests, the call fails.
 * Ownership: the result is borrowed from the call. */
CHELA_API const char *chela_mcp_call_ask(chela_mcp_call *call, const char *key,
                                         const char *method, const char *params);

/* Keep a JSON value until the function is called again for the same request. The value
 * travels to the client and back, signed, and is not secret. */
CHELA_API void chela_mcp_call_keep(chela_mcp_call *call, const char *name, const char *json);

/* The value that was kept; NULL: none.
 * Ownership: the result is borrowed from the call. */
CHELA_API const char *chela_mcp_call_kept(chela_mcp_call *call, const char *name);

/* Send a log line to the client, if the client wants lines of this level. */
CHELA_API void chela_mcp_call_log(chela_mcp_call *call, enum chela_mcp_level level,
                                  const char *text);

/* Report progress, if the client wants to know: a number that grows with each report. total
 * 0: unknown; text NULL: none. */
CHELA_API void chela_mcp_call_progress(chela_mcp_call *call, double progress, double total,
                                       const char *text);

/* Over HTTP, with a client of 2025-11-25: end the connection on which the client waits. The
 * client connects again after retry_ms and gets the result then. For calls that take
 * minutes. Other clients keep waiting. */
CHELA_API void chela_mcp_call_hang_up(chela_mcp_call *call, int64_t retry_ms);

/* True after the client has cancelled the request or left. The result is dropped. */
CHELA_API bool chela_mcp_call_cancelled(const chela_mcp_call *call);

/* With CHELA_MCP_ON_LOOP: keep the call open after the function returns. The program calls
 * chela_mcp_call_finish later, exactly once. Without the flag the function does nothing.
 * Threads: loop
 * Callbacks: only inside the function. */
CHELA_API void chela_mcp_call_defer(chela_mcp_call *call);

/* Set the function that is called when a deferred call is cancelled: on the loop thread, at
 * most once, and not after chela_mcp_call_finish, which must still be called. fn may be NULL:
 * none.
 * Ownership: user is borrowed until the call is finished.
 * Threads: loop */
CHELA_API void chela_mcp_call_on_cancel(chela_mcp_call *call,
                                        void (*fn)(chela_mcp_call *call, void *user), void *user);

/* Finish a deferred call with the result that is set. The call must not be used afterwards.
 * Threads: loop */
CHELA_API void chela_mcp_call_finish(chela_mcp_call *call);

/* --- the result: each function adds one block. A block of a prompt is a message. */

/* Text. Of a resource: its content. */
CHELA_API void chela_mcp_result_text(chela_mcp_call *call, const char *text, size_t len);
CHELA_API void chela_mcp_result_printf(chela_mcp_call *call, const char *fmt, ...)
    CHELA_PRINTF(2, 3);
/* Bytes: an image, audio, or another content of a resource. The library encodes them.
 * mime_type NULL: the type of the resource. */
CHELA_API void chela_mcp_result_media(chela_mcp_call *call, const char *mime_type,
                                      const void *data, size_t len);
/* The content of a resource, as text, within the result of a tool or a prompt. */
CHELA_API void chela_mcp_result_resource(chela_mcp_call *call, const char *uri,
                                         const char *mime_type, const char *text, size_t len);
/* A link to a resource. mime_type and description may be NULL. */
CHELA_API void chela_mcp_result_link(chela_mcp_call *call, const char *uri, const char *name,
                                     const char *mime_type, const char *description);
/* The structured result of a tool, as JSON. If the result has no text, the library adds the
 * JSON as text. */
CHELA_API void chela_mcp_result_json(chela_mcp_call *call, const char *json);
/* Of a prompt: the role of the messages that follow, "user" (at first) or "assistant". */
CHELA_API void chela_mcp_result_role(chela_mcp_call *call, const char *role);

/* Replace the result by an error. The model of the client sees the error of a tool. Returns
 * CHELA_OK, so that a function can return the result of this function. */
CHELA_API int chela_mcp_result_error(chela_mcp_call *call, const char *fmt, ...)
    CHELA_PRINTF(2, 3);
/* Replace the result by the error that there is no such resource or prompt. */
CHELA_API int chela_mcp_result_not_found(chela_mcp_call *call);

CHELA_END_DECLS
#endif
