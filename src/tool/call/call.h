/* call.h -- one tool call in progress, from the model's words to a result.
 *
 * A call has two sides. The tool's side (answer, made, the argument arena) is
 * touched only by whoever runs the tool, in a thread of its own perhaps, until
 * ch_call_worked hands it back. The loop's side (outcome, state) is touched
 * only on the loop thread. So a timeout can decide the result while the tool
 * still runs: it writes the outcome, and what the tool says later is dropped.
 * A call is reference counted for the same reason: work that cannot be stopped
 * keeps it until it returns. */
#ifndef CH_TOOL_CALL_H
#define CH_TOOL_CALL_H
#include <stdatomic.h>

#include "base/arena.h"
#include "io/gate.h"
#include "io/loop.h"
#include "io/worker.h"
#include "tool/call/approval.h"
#include "tool/call/batch.h"
#include "tool/registry/policy.h"
#include "tool/registry/registry.h"
#include "tool/result/result.h"
#include "tool/call/resource_locks.h"
#include "json/json.h"

struct ch_jobs;
struct ch_program;
struct ch_sandbox_policy;
struct ch_session_state;
struct chela_channel;

/* What a call needs from whoever runs it: the batch. */
struct ch_call_env {
    struct ch_loop *loop;
    struct ch_workers *workers;
    const struct ch_registry *registry;
    const char *workspace; /* absolute */
    const char *session, *run;
    unsigned turn;
    struct ch_shape shape;          /* of results; without tool and workspace */
    bool spill;                     /* what is cut is kept in a file */
    struct ch_session_state *state; /* never NULL */
    const struct chela_channel *channel; /* as in struct ch_batch_opts */
    struct ch_tool *finder;         /* as in struct ch_batch_opts */
    const struct ch_policy *policy;       /* NULL: everything is allowed */
    const struct ch_approvals *approvals; /* as in struct ch_batch_opts */
    enum ch_consent ask_means;
    struct ch_memory *memory;
    const struct ch_sandbox_policy *sandbox; /* as in struct ch_batch_opts */
    struct ch_jobs *jobs;
    /* Ask the host; as in struct ch_batch_ops. */
    enum ch_before (*before)(chela_call *call, char **arguments, char **feedback);
    enum ch_before (*invalid)(chela_call *call, const char *problem, char **name, char **arguments,
                              char **feedback);
    enum chela_decision (*ask)(chela_call *call, const struct ch_ask *ask, char **reason);
    void (*ended)(chela_call *call); /* the outcome is set; once */
    void (*rested)(chela_call *call); /* ch_call_rest; may be NULL */
    void (*progress)(chela_call *call, struct ch_sv text);
    void (*used)(chela_call *call, int64_t tokens); /* by an embedding model, for the tool */
};

enum ch_call_state {
    CH_CALL_NEW,    /* not looked at yet, or not to its end */
    CH_CALL_ASKING, /* a person has to agree: ch_call_ask, ch_call_consent */
    CH_CALL_READY,  /* checked, allowed: ch_call_run */
    CH_CALL_GATED,  /* the batch's owner holds it back: then READY again */
    CH_CALL_CLIENT, /* the host has to run it */
    CH_CALL_RUNNING,
    CH_CALL_RESTING, /* its work waits for people: ch_call_run goes on with it */
    CH_CALL_ENDED /* the outcome is set */
};

struct ch_progress_line; /* of progress, on its way to the loop */

struct chela_call {
    atomic_uint refs;
    atomic_bool cancelled; /* timed out or cancelled: the tool should stop */
    atomic_bool begun;     /* the tool's function was entered */

    /* fixed before the tool is started */
    struct ch_arena arena; /* the tool's side once it runs */
    const char *id, *name, *key, *workspace, *session;
    const char *const *protect; /* what tools must not write; see sandbox_policy.h */
    struct ch_sv arguments;     /* JSON text, NUL-terminated */
    unsigned flags;             /* CH_F_* of the model's arguments */
    const struct ch_json *args; /* an object */
    struct ch_tool *tool;       /* owned reference, or NULL */

    /* the loop's side */
    const struct ch_call_env *env; /* borrowed; NULL once abandoned */
    void *owner;                   /* the env's */
    const struct ch_block *block;  /* borrowed, while env is set */
    enum ch_call_state state;
    size_t stage;                   /* where ch_call_prepare goes on */
    bool hook_asked, invalid_asked; /* once each, so stages can run again */
    struct ch_bound *bound;         /* in the arena: what was agreed to; NULL: all is */
    bool edited;                    /* by a person, who agreed to it thereby */
    const char *approval_id;        /* in the arena; NULL: not asked yet */
    const char *known_id;           /* likewise: what it was in an earlier life; NULL */
    unsigned char known_digest[CH_SHA256_SIZE]; /* ...and of what */
    struct ch_uses uses;            /* what it works on */
    bool hand_over;                 /* a hook wants the host to run it */
    bool stop_run;                  /* a hook wants the run to end */
    bool ran;                       /* it was started, or the host answered */
    bool passed;                    /* the gate, once */
    bool settled;                   /* its result came from an earlier life */
    bool working;                   /* ops->start was called, ch_call_worked was not */
    bool suspended;                 /* its work has begun and waits for people: ops->start goes
                                       on with it, ops->abandon drops it */
    void (*on_cancel)(chela_call *call, void *user); /* function.c; may be NULL */
    void *on_cancel_user;
    unsigned attempts; /* begun */
    int64_t started_ms, duration_ms;
    struct ch_timer timer, again; /* its time is up; the next attempt */
    struct ch_outcome outcome;

    /* the tool's side */
    struct ch_answer answer;
    struct ch_outcome made; /* the answer, concluded */
    struct ch_work work;    /* function.c */
    bool deferred;
    atomic_bool finished;   /* chela_call_finish was called */
    struct ch_program *program; /* command.c */
    void *doing;                /* the work in progress, of ops that need more */
    size_t child_output[2]; /* bytes kept of stdout, stderr */

    /* from any thread */
    struct ch_gate gate;
    struct ch_post finish_post, progress_post;
    _Atomic(struct ch_progress_line *) lines; /* newest first */
    atomic_uint nlines;
};

/* index: of the call in its reply. Texts are copied. */
chela_call *ch_call_new(const struct ch_call_env *env, void *owner, const struct ch_block *block,
                        size_t index);
void ch_call_ref(chela_call *call);
void ch_call_unref(chela_call *call);

/* Take a NEW call through the stages before running: it is then READY, CLIENT,
 * ASKING or ENDED (env->ended was called). */
void ch_call_prepare(chela_call *call);

/* Start a READY call. env->ended may be called before this returns. */
void ch_call_run(chela_call *call);

/* Decide the result of a call that has none yet, and stop the work if it runs.
 * *outcome is taken. Nothing happens if the call ended before. */
void ch_call_end(chela_call *call, struct ch_outcome *outcome);

/* The same with an error of this type. */
void ch_call_end_error(chela_call *call, const char *type, const char *why);

/* The owner is going away: stop what can be stopped, call nobody any more, and
 * drop the owner's reference. */
void ch_call_abandon(chela_call *call);

/* For ch_tool_ops: the work is over and call->made holds the result. Loop
 * thread only; call may be gone afterwards. A long text is shaped on a worker
 * thread before the call ends. */
void ch_call_worked(chela_call *call);

/* For ch_tool_ops, in place of ch_call_worked: the work stands still until people
 * have answered. Then `start` is called again, or `cancel`. */
void ch_call_rest(chela_call *call);
/* For ch_tool_ops: the work that stood still goes on by itself. */
void ch_call_go_on(chela_call *call);

/* The call is to be cancelled. One whose tool winds down is told so, and gives its
 * result itself; any other ends now. */
void ch_call_cancel(chela_call *call, const char *why);

/* What tools remember of the session. Loop thread only. */
struct ch_session_state *ch_call_state(const chela_call *call);

#endif
