/* tool.h -- giving the model something to do.
 *
 * A tool has a name, a description and a JSON Schema for its arguments (these
 * three are the interface the model sees), and a C function. The function
 * reads its arguments, does the work and sets one result; whatever goes wrong
 * becomes a result the model can act on, never an exception of the run. */
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

/* The tool's function. Runs on a thread of its own, so it may block; with
 * CHELA_TOOL_ON_LOOP it runs on the loop thread and must return at once.
 * Returns 0 once a result is set (none set: the result is empty text), or a
 * negative CHELA_E* code, which becomes an error result unless one is set.
 * Arguments and call are valid until it returns. */
typedef int chela_tool_fn(chela_call *call, void *user);

enum chela_tool_flags {
    CHELA_TOOL_ON_LOOP = 1,    /* quick, or finishes later: see chela_call_defer */
    CHELA_TOOL_SEQUENTIAL = 2, /* never beside another call of the same reply */
    CHELA_TOOL_CLIENT = 4,     /* the host runs it: the run pauses with
                                  client_tool_required; fn is NULL */
    CHELA_TOOL_HUMAN = 128,    /* with CLIENT: only a person can answer, and the run
                                  pauses with human_required */
    CHELA_TOOL_TERMINATES = 8, /* the run is done once it succeeded */
    CHELA_TOOL_RISKY = 16,     /* runs code from elsewhere: asked about and in the sandbox, as
                                  exec is. For programs (chela_agent_add_command) alone: a C
                                  function that is flagged so is refused */
    CHELA_TOOL_CONFIRM = 32,   /* a person must agree to each call, unless the
                                  agent's rules say otherwise */
    CHELA_TOOL_FORGIVING = 64  /* takes more than its schema shows: arguments that do
                                  not fit it are good if `check` finds nothing wrong
                                  with them; others are held to the schema */
};

/* How a call uses something that others may use too. */
enum chela_use {
    CHELA_USE_SHARED = 0, /* beside others that do the same */
    CHELA_USE_ALONE = 1       /* it changes it: nobody else meanwhile */
};

struct chela_tool_opts {
    size_t size; /* set by CHELA_TOOL_OPTS */
    const char *name;        /* [a-zA-Z0-9_-]{1,64}, unique per agent; copied */
    const char *description; /* what it does, limits, how it fails; copied */
    const char *schema;      /* JSON Schema of an object; NULL: no arguments; copied */
    chela_tool_fn *fn;
    void *user;
    enum chela_effect effect;
    enum chela_permission permission;
    unsigned flags;          /* enum chela_tool_flags */
    int64_t timeout_ms;      /* 0: 30 s; -1: none */
    /* Optional: the tool's own rules, beyond what a schema can say. Called on
     * the loop thread before anybody is asked to approve the call, so it must
     * return at once. Refuse by setting an error result. */
    chela_tool_fn *check;
    /* Optional: the tool is gone and no call of it runs any more, so user is
     * not needed; any thread. Not called for a tool that was refused. */
    void (*release)(void *user);
    /* A call that failed for a passing reason (timeout, rate_limited, network,
     * unavailable) is made again, within timeout_ms, if its effect is keyed or
     * read; the model sees one result. 0: at most 2 times; -1: never. */
    int max_retries;
    /* Optional: what a call works on, named by chela_call_uses. Called on the
     * loop thread once the arguments are settled. Calls of one reply that use
     * the same thing, one of them alone, run in the order of the reply. */
    void (*resources)(chela_call *call, void *user);
};
#define CHELA_TOOL_OPTS(...) {.size = sizeof(struct chela_tool_opts), __VA_ARGS__}

/* Add a tool with the defaults above. A name already taken is refused
 * (CHELA_EEXIST), a schema that is no JSON object too (CHELA_EINVAL). The reason
 * for a failure is in chela_agent_last_error, and the next chela_ask fails with
 * that reason, so that a program which ignores the code here finds out. */
CHELA_API int chela_agent_tool(chela_agent *agent, const char *name, const char *description,
                               const char *schema, chela_tool_fn *fn, void *user);
CHELA_API int chela_agent_add_tool(chela_agent *agent, const struct chela_tool_opts *opts,
                                   struct chela_error *err);
/* Why chela_agent_tool failed for this agent the last time; code 0: it never did.
 * Borrowed, valid until the next call of chela_agent_tool or until the agent is
 * freed. */
CHELA_API const struct chela_error *chela_agent_last_error(const chela_agent *agent);

/* Calls in progress end normally. CHELA_ENOENT if there is none. */
CHELA_API int chela_agent_remove_tool(chela_agent *agent, const char *name,
                                      struct chela_error *err);

/* --- inside a tool ------------------------------------------------------- */

CHELA_API const char *chela_call_id(const chela_call *call);
CHELA_API const char *chela_call_name(const chela_call *call);
CHELA_API const char *chela_call_arguments(const chela_call *call); /* JSON text */
/* Stable over retries and restarts: pass it on as an idempotency key. */
CHELA_API const char *chela_call_key(const chela_call *call);
CHELA_API const char *chela_call_workspace(const chela_call *call); /* absolute path */

/* Only inside `resources`: this call uses key, a path of names ("files/src"),
 * and all that is below it. Paths of the workspace are below "files". */
CHELA_API void chela_call_uses(chela_call *call, const char *key, enum chela_use use);

/* Typed arguments. Return 0, or CHELA_EINVAL after setting an error result
 * that names the argument, so that a tool can `return` it straight on. The
 * _opt forms leave *out alone when the argument is absent or null. Strings are
 * NUL-terminated and borrowed from the call. */
CHELA_API int chela_arg_int(chela_call *call, const char *name, int64_t *out);
CHELA_API int chela_arg_double(chela_call *call, const char *name, double *out);
CHELA_API int chela_arg_bool(chela_call *call, const char *name, bool *out);
CHELA_API int chela_arg_string(chela_call *call, const char *name, const char **out);
CHELA_API int chela_arg_int_opt(chela_call *call, const char *name, int64_t *out);
CHELA_API int chela_arg_double_opt(chela_call *call, const char *name, double *out);
CHELA_API int chela_arg_bool_opt(chela_call *call, const char *name, bool *out);
CHELA_API int chela_arg_string_opt(chela_call *call, const char *name, const char **out);
/* Any argument as JSON text; NULL when absent. */
CHELA_API const char *chela_arg_json(chela_call *call, const char *name);

/* The result. Text is appended, so several calls build one result. */
CHELA_API void chela_result_text(chela_call *call, const char *text, size_t len);
CHELA_API void chela_result_printf(chela_call *call, const char *fmt, ...) CHELA_PRINTF(2, 3);
/* An image, audio or document beside the text; data is base64-encoded here. */
CHELA_API void chela_result_media(chela_call *call, const char *media_type, const void *data,
                                  size_t len);
/* For programs, not for the model: a JSON value delivered with the event. */
CHELA_API void chela_result_details(chela_call *call, const char *json);
/* Replace the result by an error. type: one of timeout rate_limited network
 * invalid_arguments not_found permission_denied unavailable cancelled
 * internal. Returns CHELA_OK: the tool has answered. */
CHELA_API int chela_result_error(chela_call *call, const char *type, const char *fmt, ...)
    CHELA_PRINTF(3, 4);
/* With such an error: how long the other side asked to be left alone. */
CHELA_API void chela_result_retry_after(chela_call *call, int64_t ms);

/* True once the run was cancelled or the call timed out: stop early. */
CHELA_API bool chela_call_cancelled(const chela_call *call);
/* One line of progress for people watching; any thread. Lines that come faster
 * than they can be shown are dropped. */
CHELA_API void chela_call_progress(chela_call *call, const char *text);

/* Only with CHELA_TOOL_ON_LOOP: keep the call open after fn returns; finish it
 * later with chela_call_finish, from any thread, exactly once. */
CHELA_API void chela_call_defer(chela_call *call);
/* What to do when a deferred call is cancelled or its time is up: fn is called
 * on the loop thread, once, and should see to it that chela_call_finish is
 * called soon, if it does not do so itself. Not called once the call is
 * finished. Set it on the loop thread; NULL takes it back. */
CHELA_API void chela_call_on_cancel(chela_call *call, void (*fn)(chela_call *call, void *user),
                                    void *user);
CHELA_API void chela_call_finish(chela_call *call);

CHELA_END_DECLS
#endif
