/* tool.h -- tools: C functions that the model can call.
 *
 * A tool has a name, a description and a JSON Schema of its arguments, which the model
 * sees, and a C function. The function reads its arguments, works, and sets one result.
 * A failure becomes a result that the model can react to; it does not end the run.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call; texts are copied.
 *   Threads: loop
 *   Callbacks: yes
 *   Errors: none */
#ifndef CHELA_TOOL_H
#define CHELA_TOOL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chela/choice.h"
#include "chela/error.h"
CHELA_BEGIN_DECLS

typedef struct chela_agent chela_agent;
typedef struct chela_call chela_call; /* one call in progress */

/* The function of a tool. It runs on a thread of its own and may block. With
 * CHELA_TOOL_ON_LOOP it runs on the loop thread and must return at once. The function
 * returns 0 after it has set a result; without a result the model gets an empty text. It
 * may also return a negative CHELA_E* code, which becomes an error result unless a result
 * is set, and which ends the call even after chela_call_defer. `call` and the texts of its
 * arguments are valid until the function returns or, after chela_call_defer, until
 * chela_call_finish. */
typedef int chela_tool_fn(chela_call *call, void *user);

/* Properties of a tool. */
enum chela_tool_flags {
    CHELA_TOOL_ON_LOOP = 1,    /* fn runs on the loop thread; see chela_call_defer */
    CHELA_TOOL_SEQUENTIAL = 2, /* fn does not run while another call of the reply runs */
    CHELA_TOOL_CLIENT = 4,     /* the host runs the call: the run pauses with the reason
                                  CLIENT_TOOL, and fn must be NULL */
    CHELA_TOOL_HUMAN = 128,    /* with CLIENT: only a person can answer; the run pauses
                                  with the reason HUMAN */
    CHELA_TOOL_TERMINATES = 8, /* the run ends after a call that succeeded */
    CHELA_TOOL_RISKY = 16,     /* runs code of unknown origin: needs consent and runs in the
                                  sandbox, as `exec` does. Only for programs
                                  (chela_agent_add_command) */
    CHELA_TOOL_CONFIRM = 32,   /* every call needs a person's consent, unless a rule of
                                  the agent states otherwise */
    CHELA_TOOL_FORGIVING = 64, /* accepts more than its schema describes: arguments that do
                                  not match the schema are valid if `check` accepts them */
    CHELA_TOOL_ACTION = 256,   /* an action without a result for the model: in mode heartbeat the
                                * turn ends after a reply whose calls are all actions */
    CHELA_TOOL_SENDS = 512,    /* sends its arguments to another machine or to people: a call
                                * whose arguments hold a known secret is refused */
    CHELA_TOOL_READS = 1024,   /* its result is private data */
    CHELA_TOOL_INGESTS = 2048, /* its result holds text that other people may have written */
    /* READS, INGESTS and SENDS are all that the tool does. Without this flag a program or an MCP
     * server is taken to do all three, and a C function to do what its flags say. */
    CHELA_TOOL_FLOW = 4096
};

/* How a call uses a resource (chela_call_uses). */
enum chela_use {
    CHELA_USE_SHARED = 0, /* other calls may use the resource, shared, at the same time */
    CHELA_USE_ALONE = 1   /* no other call may use the resource at the same time */
};

/* A tool. */
struct chela_tool_opts {
    size_t size; /* set by CHELA_TOOL_OPTS */
    const char *name;        /* 1 to 64 of a-z A-Z 0-9 _ -; unique in the agent; copied */
    const char *description; /* for the model: purpose, limits, failures; copied */
    /* JSON Schema of an object; NULL: no arguments; copied. A call with a parameter that
     * `properties` does not name is refused, unless the schema says which others it permits. */
    const char *schema;
    chela_tool_fn *fn;
    void *user;              /* for the functions; borrowed until `release` is called */
    enum chela_effect effect;
    enum chela_permission permission;
    unsigned flags;          /* enum chela_tool_flags */
    int64_t timeout_ms;      /* 0: 30 s; -1: none */
    /* Optional: rules that a schema cannot express. Called on the loop thread, before a
     * person is asked for consent; must return at once. Refuses the call by setting an
     * error result. */
    chela_tool_fn *check;
    /* Optional: called once when the tool is removed and its last call has ended; `user`
     * is not used afterwards. Called on any thread. Not called if adding the tool
     * failed. */
    void (*release)(void *user);
    /* Repetitions of a call that failed with timeout, rate_limited, network or
     * unavailable, within timeout_ms, if the effect is KEYED or READ. The model gets one
     * result. 0: at most 2 repetitions; -1: none. */
    int max_retries;
    /* Optional: names the resources that a call uses, by chela_call_uses. Called on the
     * loop thread before the call runs. Calls of one reply that use the same resource run
     * in order if one of them uses it alone. */
    void (*resources)(chela_call *call, void *user);
    /* A retry policy, if retry_backoff_ms is not 0: the delay before the first repetition, in
     * ms, doubled before each further one up to retry_max_backoff_ms (0: one minute). No
     * attempt begins later than retry_deadline_ms after the first one (0: no deadline). The
     * policy survives a restart of the program, timeout_ms holds for each attempt, and
     * max_retries is at most 999. A call with effect ONCE is repeated only after an error with
     * chela_result_no_effect. */
    int64_t retry_backoff_ms, retry_max_backoff_ms, retry_deadline_ms;
};
#define CHELA_TOOL_OPTS(...) {.size = sizeof(struct chela_tool_opts), __VA_ARGS__}

/* Add a tool that is a C function, with the defaults of struct chela_tool_opts. If the
 * call fails, the reason is in chela_agent_last_error, and the next chela_ask fails with
 * the same reason: a program that ignores the code finds out there.
 * Ownership: texts are copied; user is borrowed while the tool is in use.
 * Errors: CHELA_EINVAL: agent or fn is NULL, or the name or schema is wrong. CHELA_EEXIST:
 * the agent has a tool of this name. CHELA_ELIMIT: the agent has too many tools. */
CHELA_API int chela_agent_tool(chela_agent *agent, const char *name, const char *description,
                               const char *schema, chela_tool_fn *fn, void *user);

/* Add a tool with options.
 * Ownership: texts are copied; opts->user is borrowed until opts->release is called.
 * Errors: CHELA_EINVAL: an option is wrong. CHELA_EEXIST: the agent has a tool of this
 * name. CHELA_ELIMIT: the agent has too many tools. */
CHELA_API int chela_agent_add_tool(chela_agent *agent, const struct chela_tool_opts *opts,
                                   struct chela_error *err);

/* The reason for the last failure of chela_agent_tool; code 0: no call has failed.
 * Ownership: the result is borrowed from the agent, until the next call of
 * chela_agent_tool. */
CHELA_API const struct chela_error *chela_agent_last_error(const chela_agent *agent);

/* Remove a tool. Calls in progress end normally.
 * Errors: CHELA_ENOENT: the agent has no tool of this name. */
CHELA_API int chela_agent_remove_tool(chela_agent *agent, const char *name,
                                      struct chela_error *err);

/* --- inside a tool -------------------------------------------------------
 *
 * The functions below work on a call in progress. The thread that runs the function of
 * the tool calls them. After chela_call_defer, any thread may call them until
 * chela_call_finish, one thread at a time.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call; texts are copied.
 *   Threads: any, one at a time
 *   Callbacks: yes
 *   Errors: none */

/* The id, name and arguments of the call, as the model wrote them. Arguments are JSON.
 * Ownership: the result is borrowed from the call. */
CHELA_API const char *chela_call_id(const chela_call *call);
CHELA_API const char *chela_call_name(const chela_call *call);
CHELA_API const char *chela_call_arguments(const chela_call *call);

/* The idempotency key of the call: the same for every repetition of the call, also after a
 * restart, and different for every other call.
 * Ownership: the result is borrowed from the call. */
CHELA_API const char *chela_call_key(const chela_call *call);

/* The absolute path of the agent's workspace.
 * Ownership: the result is borrowed from the call. */
CHELA_API const char *chela_call_workspace(const chela_call *call);

/* State that the call uses a resource. key is a path of names ("files/src") and includes
 * everything below it. Paths of the workspace are below "files".
 * Threads: loop
 * Callbacks: only inside `resources` of the tool. */
CHELA_API void chela_call_uses(chela_call *call, const char *key, enum chela_use use);

/* Read an argument of a given type. On failure the function sets an error result that
 * names the argument; the tool can return the code. null counts as a missing argument.
 * The _opt functions leave *out unchanged and return 0 if the argument is missing. Strings
 * end with NUL; a string that contains a NUL byte is refused.
 * Ownership: strings are borrowed from the call.
 * Errors: CHELA_EINVAL: the argument is missing or has another type. */
CHELA_API int chela_arg_int(chela_call *call, const char *name, int64_t *out);
CHELA_API int chela_arg_double(chela_call *call, const char *name, double *out);
CHELA_API int chela_arg_bool(chela_call *call, const char *name, bool *out);
CHELA_API int chela_arg_string(chela_call *call, const char *name, const char **out);
CHELA_API int chela_arg_int_opt(chela_call *call, const char *name, int64_t *out);
CHELA_API int chela_arg_double_opt(chela_call *call, const char *name, double *out);
CHELA_API int chela_arg_bool_opt(chela_call *call, const char *name, bool *out);
CHELA_API int chela_arg_string_opt(chela_call *call, const char *name, const char **out);

/* An argument of any type as JSON; NULL if the argument is missing.
 * Ownership: the result is borrowed from the call. */
CHELA_API const char *chela_arg_json(chela_call *call, const char *name);

/* Append text to the result. Several calls build one result. */
CHELA_API void chela_result_text(chela_call *call, const char *text, size_t len);
CHELA_API void chela_result_printf(chela_call *call, const char *fmt, ...) CHELA_PRINTF(2, 3);

/* Add an image, audio or a document to the result. data is the plain bytes; the library
 * encodes them. A note takes the place of media of 0 bytes and of media beyond the limit. */
CHELA_API void chela_result_media(chela_call *call, const char *media_type, const void *data,
                                  size_t len);

/* Add a JSON value for programs, which the model does not see: `details` of the event
 * TOOL_RESULT. */
CHELA_API void chela_result_details(chela_call *call, const char *json);

/* Replace the result by an error. type is one of timeout, rate_limited, network,
 * invalid_arguments, not_found, permission_denied, unavailable, cancelled, internal.
 * Returns CHELA_OK, so that a tool can return the result of this function. */
CHELA_API int chela_result_error(chela_call *call, const char *type, const char *fmt, ...)
    CHELA_PRINTF(3, 4);

/* With an error that permits a repetition: the delay before the repetition that
 * the other side asked for. */
CHELA_API void chela_result_retry_after(chela_call *call, int64_t ms);

/* With an error that permits a repetition: state that the call took no effect. A retry policy
 * may then repeat the call even if its effect is ONCE. */
CHELA_API void chela_result_no_effect(chela_call *call);

/* True after the run was cancelled or the call timed out: the function should return
 * soon. Its result is dropped.
 * Threads: any */
CHELA_API bool chela_call_cancelled(const chela_call *call);

/* Send a line of progress to people who watch (event TOOL_PROGRESS). Lines that arrive
 * faster than they can be shown are dropped.
 * Threads: any */
CHELA_API void chela_call_progress(chela_call *call, const char *text);

/* With CHELA_TOOL_ON_LOOP: keep the call open after the function returns. The program
 * calls chela_call_finish later, exactly once. Without the flag the function does nothing.
 * Threads: loop
 * Callbacks: only inside the function of the tool. */
CHELA_API void chela_call_defer(chela_call *call);

/* Set the function that is called when a deferred call is cancelled or times out: on the
 * loop thread, at most once, and not after chela_call_finish. fn must ensure that
 * chela_call_finish is called soon. fn may be NULL: none.
 * Ownership: user is borrowed until the call is finished.
 * Threads: loop */
CHELA_API void chela_call_on_cancel(chela_call *call, void (*fn)(chela_call *call, void *user),
                                    void *user);

/* Finish a deferred call with the result that is set. The call must not be used
 * afterwards.
 * Threads: any */
CHELA_API void chela_call_finish(chela_call *call);

CHELA_END_DECLS
#endif
