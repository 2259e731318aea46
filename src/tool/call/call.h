/* call.h -- one tool call, from the model's arguments to a result.
 *
 * The members of a call belong to two sides. The tool's side (answer, made, the argument
 * arena) is used only by the code that runs the tool, possibly on another thread, until
 * ch_call_worked returns it to the loop. The loop's side (outcome, state) is used only on
 * the loop thread. Thus a timeout can set the outcome while the tool still runs; the tool's
 * later answer is dropped. A call is reference counted, because work that cannot be stopped
 * holds the call until it returns. */
#ifndef CH_TOOL_CALL_H
#define CH_TOOL_CALL_H
#include <stdatomic.h>

#include "base/arena.h"
#include "egress/labels.h"
#include "io/gate.h"
#include "io/loop.h"
#include "io/worker.h"
#include "tool/call/approval.h"
#include "tool/call/batch.h"
#include "tool/registry/policy.h"
#include "tool/process/path.h"
#include "tool/registry/registry.h"
#include "tool/result/result.h"
#include "tool/call/resource_locks.h"
#include "json/json.h"

struct ch_aftermath;
struct ch_call_listener;
struct ch_buffers;
struct ch_egress;
struct ch_jobs;
struct ch_layer_mount;
struct ch_program;
struct ch_question;
struct ch_sandbox_policy;
struct ch_session_state;
struct chela_channel;

/* Services that the owner of a call (the batch) provides. */
struct ch_call_env {
    struct ch_loop *loop;
    struct ch_workers *workers;
    const struct ch_registry *registry;
    const char *workspace; /* absolute */
    const struct ch_layer_mount *layer; /* as in struct ch_batch_opts */
    const char *session, *run;
    unsigned turn;
    enum chela_language language; /* as in struct ch_batch_opts */
    struct ch_shape shape;          /* how results are shaped; without tool and workspace */
    bool spill;                     /* save truncated text to a file */
    struct ch_session_state *state; /* never NULL */
    const struct chela_channel *channel; /* as in struct ch_batch_opts */
    const struct ch_registry *own;  /* as in struct ch_batch_opts */
    const struct ch_policy *policy;       /* NULL: everything is allowed */
    const struct ch_approvals *approvals; /* as in struct ch_batch_opts */
    const struct ch_approvals *granted;   /* as in struct ch_batch_opts */
    enum ch_consent ask_means;
    struct ch_memory *memory;
    const struct ch_sandbox_policy *sandbox; /* as in struct ch_batch_opts */
    const struct ch_egress *egress; /* as in struct ch_batch_opts */
    const struct ch_flow_rules *flow; /* as in struct ch_batch_opts */
    const struct ch_labels *labels;   /* as in struct ch_batch_opts */
    struct ch_jobs *jobs;
    struct ch_call_listener *const *listener; /* as in struct ch_batch_opts */
    struct ch_buffers *buffers; /* as in struct ch_batch_opts */
    /* Ask the host; as in struct ch_batch_ops. */
    enum ch_before (*before)(chela_call *call, char **arguments, char **feedback);
    enum ch_before (*invalid)(chela_call *call, const char *problem, char **name, char **arguments,
                              char **feedback);
    enum chela_decision (*ask)(chela_call *call, const struct ch_ask *ask, char **reason);
    bool (*said)(const chela_call *call, struct ch_sv url); /* as in struct ch_batch_ops */
    void (*ended)(chela_call *call); /* the outcome is set; called once */
    void (*rested)(chela_call *call); /* ch_call_rest; may be NULL */
    bool puts_questions;              /* a person can be asked questions of a call (question.h) */
    void (*progress)(chela_call *call, struct ch_sv text);
    /* tokens that an embedding model consumed for the tool */
    void (*used)(chela_call *call, int64_t tokens);
    /* The work continues elsewhere, and can be resumed from the state; may be NULL. */
    void (*checkpoint)(chela_call *call, const char *state);
    /* As in struct ch_batch_ops; NULL: the call waits in this process. */
    bool (*timer)(const chela_call *call, int64_t ms);
};

enum ch_call_state {
    CH_CALL_NEW,    /* not prepared, or preparation not finished */
    CH_CALL_HELD,   /* `before` has not decided yet: ch_call_unhold */
    CH_CALL_ASKING, /* waits for approval: ch_call_ask, ch_call_consent */
    CH_CALL_READY,  /* checked and allowed: ch_call_run */
    CH_CALL_GATED,  /* held back by the batch's owner; READY again afterwards */
    CH_CALL_CLIENT, /* the host has to run the call */
    CH_CALL_RUNNING,
    CH_CALL_RESTING, /* work waits for people; ch_call_run continues it */
    CH_CALL_ENDED /* the outcome is set */
};

struct ch_progress_line; /* lines of progress on their way to the loop */

struct chela_call {
    atomic_uint refs;
    atomic_bool cancelled; /* timed out or cancelled: the tool should stop */
    atomic_bool begun;     /* the tool's function was entered */

    /* set before the tool is started */
    struct ch_arena arena; /* owned by the tool's side once the tool runs */
    const char *id, *name, *key, *workspace, *session;
    struct ch_path_guard guard; /* files that tools must not read or write; see path.h */
    struct ch_sv arguments;     /* JSON text, NUL-terminated */
    unsigned flags;             /* CH_F_* of the model's arguments */
    const struct ch_json *args; /* an object */
    struct ch_tool *tool;       /* owned reference, or NULL */
    struct ch_buffers *buffers; /* a counted reference; NULL: no editor */

    /* the loop's side */
    const struct ch_call_env *env; /* borrowed; NULL once abandoned */
    void *owner;                   /* owner's value, for env */
    const struct ch_block *block;  /* borrowed while env is set; in the arena: a call by name */
    struct ch_sv written;          /* borrowed like block: name of the tool in the reply */
    enum ch_call_state state;
    size_t stage;                   /* next stage of ch_call_prepare */
    bool hook_asked, invalid_asked; /* set when asked, because stages can run again */
    /* in the arena: what the approval covers; NULL: no approval needed */
    struct ch_bound *bound;
    /* in the arena: a question after the work (aftermath.h); NULL: none */
    struct ch_aftermath *aftermath;
    struct ch_question *question; /* in the arena: the last one (question.h); NULL: none */
    unsigned questions;           /* asked so far */
    const char *left; /* in the arena: state that an earlier process left behind
                         (ch_call_checkpoint); NULL: none */
    bool by_rule;      /* an allow rule approved the call */
    bool full_box;     /* run the program in the full sandbox without a network, or not at all */
    const char *lacks; /* in the arena: the layer without which full_box is impossible, or NULL */
    /* a person edited the arguments, and thereby approved the call */
    bool edited;
    bool edit_told;                 /* the result mentions that */
    const char *approval_id;        /* in the arena; NULL: no approval requested yet */
    const char *known_id;           /* in the arena; approval id from before a restart, or NULL */
    unsigned char known_digest[CH_SHA256_SIZE]; /* the digest that known_id was asked for */
    struct ch_uses uses;            /* resources that the call works on */
    bool hand_over;                 /* a hook wants the host to run it */
    bool stop_run;                  /* a hook wants the run to end */
    bool ran;                       /* the call was started, or the host answered it */
    bool passed;                    /* the gate let the call pass */
    bool settled;                   /* the result is known from before a restart */
    bool working;                   /* between ops->start and ch_call_worked */
    /* the work began and waits for people: ops->start continues it, ops->abandon drops it */
    bool suspended;
    void (*on_cancel)(chela_call *call, void *user); /* function.c; may be NULL */
    void *on_cancel_user;
    unsigned attempts; /* attempts begun */
    int64_t started_ms, duration_ms;
    struct ch_timer timer, again; /* timeout of the call; delay before the next attempt */
    struct {           /* wait.h; times of the wall clock, in ms */
        int64_t due;   /* end of the wait; 0: none */
        int64_t since; /* with a retry policy: the first attempt began; 0: none has */
        bool sleeps;   /* the wait is the work of the call */
        bool over;     /* the call has waited */
    } wait;
    bool announced; /* the batch has called `started` for the call */
    struct ch_outcome outcome;
    struct ch_labels labels; /* sources of the result */

    /* the tool's side */
    struct ch_answer answer;
    struct ch_outcome made; /* the concluded answer */
    struct ch_work work;    /* function.c */
    bool deferred;
    atomic_bool finished;   /* chela_call_finish was called */
    struct ch_program *program; /* command.c */
    void *doing;                /* current work, for ops that keep more state */
    size_t child_output[2]; /* bytes kept of stdout, stderr */

    /* used from any thread */
    struct ch_gate gate;
    struct ch_post finish_post, progress_post;
    _Atomic(struct ch_progress_line *) lines; /* newest first */
    atomic_uint nlines;
};

/* The values of the options, without callbacks. */
struct ch_call_env ch_call_env_of(const struct ch_batch_opts *opts);

/* index: position of the call in its reply. Texts are copied. */
chela_call *ch_call_new(const struct ch_call_env *env, void *owner, const struct ch_block *block,
                        size_t index);
void ch_call_ref(chela_call *call);
void ch_call_unref(chela_call *call);

/* Run the stages before execution. Afterwards the call is READY, CLIENT, ASKING or ENDED
 * (env->ended was called). */
void ch_call_prepare(chela_call *call);

/* Ask `before` again, by another ch_call_prepare. */
void ch_call_unhold(chela_call *call);

/* Start a READY call. env->ended may be called before this returns. */
void ch_call_run(chela_call *call);

/* For a listener that held the call: start the call, unless it has ended or was cancelled
 * meanwhile. The call may be freed on return. */
void ch_call_start(chela_call *call);

/* Set the result of a call that has none yet, and stop the work if it runs. *outcome is
 * moved. No-op if the call has ended. */
void ch_call_end(chela_call *call, struct ch_outcome *outcome);

/* The same with an error of this type. */
void ch_call_end_error(chela_call *call, const char *type, const char *why);

/* The owner is going away: stop the work if possible, make no more callbacks, and drop the
 * owner's reference. */
void ch_call_abandon(chela_call *call);

/* For ch_tool_ops: the work is over and call->made holds the result. Loop thread only; the
 * call may be freed on return. A long text is shaped on a worker thread before the call
 * ends. */
void ch_call_worked(chela_call *call);

/* For ch_tool_ops, instead of ch_call_worked: the work pauses until people have answered.
 * Then `start` or `cancel` is called. */
void ch_call_rest(chela_call *call);
/* For ch_tool_ops: paused work continues by itself. */
void ch_call_go_on(chela_call *call);

/* For a deferred function on the loop thread: the work continues elsewhere. If this process
 * ends, the next one calls the function again with `state` in call->left, also if the call
 * has an effect. The time limit of the call no longer holds. */
void ch_call_checkpoint(chela_call *call, const char *state);

/* For a deferred function on the loop thread, instead of chela_call_finish: wait until the wall
 * clock shows `due`. Then the function is called again, possibly by another process, with
 * call->wait.over set. A message that steers the run ends the wait and the call. */
void ch_call_sleep(chela_call *call, int64_t due);

/* Cancel the call. A tool with winds_down is notified and sets the result itself; any other
 * call ends now. */
void ch_call_cancel(chela_call *call, const char *why);

/* State that tools keep per session. Loop thread only. */
struct ch_session_state *ch_call_state(const chela_call *call);

#endif
