/* mcp.h -- clients of the Model Context Protocol (docs/mcp.md).
 *
 * A client is the connection of a runtime to one server, which offers tools, resources and
 * prompts. The server is a program that chela starts in the sandbox, or a URL. A program starts
 * when one of its tools is first needed. Both kinds of protocol versions are supported:
 * 2026-07-28, and the versions with a handshake up to 2025-11-25.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call; texts are copied.
 *   Threads: loop
 *   Callbacks: yes
 *   Errors: none */
#ifndef CHELA_MCP_H
#define CHELA_MCP_H
#include "chela/sandbox.h"
#include "chela/session.h"
CHELA_BEGIN_DECLS

typedef struct chela_mcp chela_mcp;

/* Answers a request of the server for input: elicitation/create, sampling/createMessage or
 * roots/list. params is JSON and borrowed. Returns the result as JSON in memory of malloc,
 * which the library frees, or NULL to refuse. Called on the loop thread. */
typedef char *chela_mcp_input_fn(const char *method, const char *params, void *user);

/* A server. */
struct chela_mcp_opts {
    size_t size;      /* set by CHELA_MCP_OPTS */
    const char *name; /* 1 to 32 of a-z A-Z 0-9 _ -; without "__" */
    /* The server is a program: its words, NULL-terminated, and its environment variables,
     * "NAME=value". The program gets no other variables of this process than PATH, LANG,
     * LC_ALL and TZ. */
    const char *const *command, *const *env;
    /* The server is at a URL: the URL, and headers for every request, "Name: value". */
    const char *url;
    const char *const *headers;
    enum chela_mcp_era era;
    /* Absolute path of a directory for the accepted definitions of tools. The directory
     * contains a file NAME.json with the server's definitions, and a directory NAME for the
     * files of the program. Required for a program. NULL: nothing is stored, and all tools
     * are accepted. */
    const char *state_dir;
    /* The sandbox of the program. The directory NAME in state_dir replaces the workspace.
     * NULL: the program may use the network and write its own directory. */
    const struct chela_sandbox_opts *sandbox;
    enum chela_effect effect;         /* effect of the server's tools: by default ONCE */
    enum chela_permission permission; /* permission of the server's tools: by default ADMIN */
    int no_confirm;                   /* nonzero: calls need no person's consent */
    const char *allow, *deny;         /* names of tools, with * and ?, comma-separated; NULL: all */
    int64_t timeout_ms;               /* timeout of a call; 0: 60 s; -1: none */
    /* Optional: answers requests for input. Without it the server gets the answer that input
     * is not available. */
    chela_mcp_input_fn *input;
    void *user; /* borrowed until the client is closed */
    /* Log-in by OAuth. client_id and client_secret: of a client that was registered with the
     * authorization server; NULL: the client registers itself. client_metadata_url: an https
     * URL at which this program's own metadata document is served; NULL: none. */
    const char *client_id, *client_secret, *client_metadata_url;
    /* Optional: shows a URL to a person, who logs in there. Called on the loop thread. Without
     * it a request that needs a log-in fails with CHELA_EAUTH. */
    void (*open_url)(const char *url, void *user);
    /* Directories that are listed to the server on its request (roots): absolute paths,
     * NULL-terminated. NULL: `input` answers the request, if it is set. The list gives a
     * program no access to the directories; `sandbox` does. */
    const char *const *roots;
    /* Least severe log messages that the server shall send: debug, info, notice, warning, error,
     * critical, alert or emergency. NULL: the server decides. */
    const char *log_level;
    /* Nonzero: agents get the tools NAME__list_resources and NAME__read_resource. */
    int resources;
    /* The retry policy of the server's tools, as in struct chela_tool_opts. A call that exceeds
     * timeout_ms is not repeated. */
    int max_retries;
    int64_t retry_backoff_ms, retry_max_backoff_ms, retry_deadline_ms;
    /* sampling nonzero: during a call of its tools the server may ask the model of the run
     * for answers (sampling). A person must agree to each answer, unless sampling_no_confirm
     * is nonzero. sampling_requests and sampling_tokens are limits for one session; 0: 10
     * requests, 20000 tokens. */
    int sampling, sampling_no_confirm;
    int64_t sampling_requests, sampling_tokens;
    /* The authorization server to log in to. NULL: the one that the MCP server names; with
     * client_id, the one of the first log-in from then on. A server that names another one is
     * refused, so that the secret is not sent there. */
    const char *issuer;
    /* What the server's tools do: CHELA_TOOL_FLOW with CHELA_TOOL_READS, INGESTS and SENDS; 0: all
     * three. Data may go back to the server that it came from. */
    unsigned flow;
    /* Hosts that the metadata of a log-in may name although they are inside (allow), or may not
     * name (deny): comma-separated patterns as for `egress` (docs/policy.md); NULL: none. */
    const char *egress_allow, *egress_deny;
};
#define CHELA_MCP_OPTS(...) {.size = sizeof(struct chela_mcp_opts), __VA_ARGS__}

/* Create a client. The server is not started yet.
 * Ownership: the runtime owns *out; chela_mcp_close and chela_runtime_close free it.
 * Errors: CHELA_EINVAL: an option is wrong. CHELA_EEXIST: the runtime has a client of this
 * name. CHELA_ELIMIT: the runtime has too many clients. */
CHELA_API int chela_mcp_new(chela_runtime *rt, const struct chela_mcp_opts *opts, chela_mcp **out,
                            struct chela_error *err);

/* Close a client: its requests fail. A program gets the end of its input, a second later SIGTERM,
 * and then SIGKILL; a session of an HTTP server is ended. Waits for that, at most 3 s; called
 * from a callback, or with the loop of a host, the function kills the program at once. Tools of
 * the server remain in their agents, and their calls fail. NULL is allowed.
 * Ownership: mcp becomes invalid. */
CHELA_API void chela_mcp_close(chela_mcp *mcp);

/* The client with this name; NULL: none.
 * Ownership: the result is borrowed from the runtime. */
CHELA_API chela_mcp *chela_mcp_find(chela_runtime *rt, const char *name);

/* Offer the tools of the server to an agent, as NAME__TOOL. The tools that were accepted
 * before are added at once, and the server starts when one of them is called. If no tools
 * were accepted before, the server starts now, and its tools are added when it has listed
 * them; chela_mcp_wait waits for that.
 * Errors: CHELA_EINVAL: the runtimes differ. */
CHELA_API int chela_agent_mcp(chela_agent *agent, chela_mcp *mcp, struct chela_error *err);

/* Wait until every server that was started by chela_agent_mcp has listed its tools or failed,
 * at most timeout_ms (0: 60 s). A failure is logged.
 * Callbacks: no: CHELA_EBUSY.
 * Errors: CHELA_ESTATE: the loop belongs to a host. CHELA_EBUSY: called from a callback.
 * CHELA_ETIMEOUT: a server is not ready yet. */
CHELA_API int chela_mcp_wait(chela_runtime *rt, int64_t timeout_ms, struct chela_error *err);

/* Send a request, such as "tools/list" or "resources/read", and wait for its result, which is
 * JSON. params: a JSON object; NULL: none. Protocol versions, headers, and requests of the
 * server for input are handled by the client.
 * Ownership: the caller frees the result with chela_free. NULL: err has the reason.
 * Callbacks: no: NULL with CHELA_EBUSY.
 * Errors: CHELA_EINVAL: params is no JSON object. CHELA_ESTATE: the loop belongs to a host.
 * CHELA_EBUSY: called from a callback. CHELA_EPROTO: the server answered with an error or
 * not according to the protocol. CHELA_ENET, CHELA_ENOENT, CHELA_ETIMEOUT: the server cannot
 * be reached, does not start, or does not answer. CHELA_EAUTH: the server wants a log-in.
 * CHELA_EPERM: the server refuses the request. */
CHELA_API char *chela_mcp_request(chela_mcp *mcp, const char *method, const char *params,
                                  struct chela_error *err);

/* The end of a request: result is JSON, or NULL with err. Both are borrowed. Called on the loop
 * thread, once, never inside chela_mcp_send. */
typedef void chela_mcp_done_fn(const char *result, const struct chela_error *err, void *user);

/* Send a request as chela_mcp_request does, without waiting.
 * Ownership: user is borrowed until done is called.
 * Errors: CHELA_EINVAL: params is no JSON object. Other errors go to done. */
CHELA_API int chela_mcp_send(chela_mcp *mcp, const char *method, const char *params,
                             chela_mcp_done_fn *done, void *user, struct chela_error *err);

/* Connect, list the server's tools, and compare them with those that were accepted before.
 * Waits. With accept, the tools are accepted as they are now.
 * Callbacks: no: CHELA_EBUSY.
 * Errors: CHELA_ESTATE, CHELA_EBUSY, CHELA_EPROTO, CHELA_ENET, CHELA_ENOENT, CHELA_ETIMEOUT,
 * CHELA_EAUTH, CHELA_EPERM: as for chela_mcp_request. CHELA_ELIMIT: the list of tools is too
 * long. */
CHELA_API int chela_mcp_refresh(chela_mcp *mcp, int accept, struct chela_error *err);

/* List the skills of a server (docs/mcp.md): a JSON array of {name, description, uri, files, bytes,
 * state}. state: "accepted"; "new" or "changed": not offered to a model until it is accepted;
 * "gone": accepted, and no longer listed. Waits. With accept, the skills are accepted as they are
 * now; agents that are connected with chela_agent_mcp afterwards can read them. No file of a skill
 * is read.
 * Ownership: the caller frees the result with chela_free. NULL: err has the reason.
 * Callbacks: no: NULL with CHELA_EBUSY.
 * Errors: CHELA_EBUSY, CHELA_ESTATE, CHELA_EPROTO, CHELA_ENET, CHELA_ENOENT, CHELA_ETIMEOUT,
 * CHELA_EAUTH, CHELA_EPERM: as for chela_mcp_request. CHELA_EIO: the accepted list cannot be
 * stored. CHELA_ELIMIT: the list is too long. */
CHELA_API char *chela_mcp_skills_json(chela_mcp *mcp, int accept, struct chela_error *err);

/* Read a text file of a skill that was listed or accepted, and compare the file with the list.
 * path: below the skill's folder; NULL: its SKILL.md. Waits.
 * Ownership: the caller frees the result with chela_free. NULL: err has the reason.
 * Callbacks: no: NULL with CHELA_EBUSY.
 * Errors: CHELA_ENOENT: there is no such file. CHELA_EPROTO: the server's file has another size,
 * digest or front matter than the list, or is not text. Others as for chela_mcp_request. */
CHELA_API char *chela_mcp_skill_read(chela_mcp *mcp, const char *skill, const char *path,
                                     struct chela_error *err);

/* Log in to a server that is reached over HTTP, if the server wants a log-in, and list its
 * tools. open_url shows a URL to a person, who logs in there; it is called on the loop thread.
 * Waits for the person, at most 10 minutes. The token is stored in state_dir.
 * Ownership: user is borrowed for the call.
 * Callbacks: no: CHELA_EBUSY.
 * Errors: CHELA_EINVAL: the server is a program, or open_url is NULL. CHELA_EAUTH: the log-in
 * failed. CHELA_ESTATE, CHELA_EBUSY, CHELA_EPROTO, CHELA_ENET, CHELA_ETIMEOUT, CHELA_ELIMIT: as
 * for chela_mcp_refresh. */
CHELA_API int chela_mcp_login(chela_mcp *mcp, void (*open_url)(const char *url, void *user),
                              void *user, struct chela_error *err);

/* The state of the client as a JSON object: name, transport, state, era, version, server,
 * error, login (the server wants a log-in), tools. Each tool has name, alias, description,
 * schema, accepted and, if its definition changed, `was` with the accepted definition.
 * Ownership: the caller frees the result with chela_free. */
CHELA_API char *chela_mcp_state_json(chela_mcp *mcp);

CHELA_END_DECLS
#endif
