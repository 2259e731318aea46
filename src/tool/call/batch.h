/* batch.h -- all tool calls of one reply: run in parallel, answered in order.
 *
 * Every call takes the one path of call.c and gets exactly one result,
 * whatever happens: unknown tool, bad arguments, timeout, cancel, skip. The
 * batch is over when every call has a result, or when only calls that the
 * host must run are left. */
#ifndef CH_TOOL_BATCH_H
#define CH_TOOL_BATCH_H
#include "io/loop.h"
#include "io/worker.h"
#include "model/message/message.h"
#include "tool/call/approval.h"
#include "tool/registry/registry.h"

struct ch_batch;
struct ch_jobs;
struct ch_sandbox_policy;
struct ch_session_state;

struct ch_result { /* of one call; texts borrowed from the batch */
    struct ch_sv id, name;
    struct ch_sv content; /* what the model sees */
    struct ch_sv details; /* JSON for programs, may be empty */
    bool is_error, truncated;
    bool denied;            /* a human, a hook or the policy said no */
    const char *error_type; /* NULL, or static */
    bool retryable;
    unsigned attempts; /* 0: it was not run */
    int64_t duration_ms;
};

/* A call that a person has to agree to; texts borrowed for the callback. */
struct ch_ask {
    const char *approval_id;
    struct ch_sv arguments; /* JSON, as they would be used */
    struct ch_sv summary;   /* for people, safe to print */
    const char *obstacle;   /* NULL, or why it cannot be allowed always: it uses ... */
    const unsigned char *digest; /* CH_SHA256_SIZE bytes: the call agreed to (approval_binding.h) */
};

/* What a hook decided before a call runs. */
enum ch_before {
    CH_BEFORE_RUN,   /* as it is, or with *arguments replaced */
    CH_BEFORE_SKIP,  /* do not run; *feedback is the result, no error */
    CH_BEFORE_STOP,  /* do not run, nor any call after it, and end the run */
    CH_BEFORE_CLIENT /* hand it to the host */
};

/* Callbacks, all on the loop thread, never from inside a ch_batch_* call. */
struct ch_batch_ops {
    /* Optional. arguments: in: the call's, out: replaced (heap, ch_free'd by
     * the batch) or left alone; feedback: NULL or replaced likewise. Replaced
     * arguments are checked as the model's own are. */
    enum ch_before (*before)(const struct ch_block *call, char **arguments, char **feedback,
                             void *user);
    /* Optional. The call cannot run (no such tool, unusable arguments); problem
     * says why. RUN with *name or *arguments replaced tries again, RUN without
     * gives the error to the model, SKIP makes *feedback the error's text.
     * Asked once a call. */
    enum ch_before (*invalid)(const struct ch_block *call, const char *problem, char **name,
                              char **arguments, char **feedback, void *user);
    /* Optional. A person has to agree. Called when no other call can run, so it
     * may take its time. UNDECIDED: ch_batch_approve follows, now or later.
     * reason: NULL or replaced (heap), for a denial. */
    enum chela_decision (*ask)(const struct ch_block *call, const struct ch_ask *ask,
                               char **reason, void *user);
    /* Optional. The call is about to begin and may change something (its effect
     * is keyed or once). key: its idempotency key. False: not yet, and
     * ch_batch_pass follows. */
    bool (*gate)(const struct ch_block *call, enum chela_effect effect, const char *key,
                 void *user);
    void (*started)(const struct ch_block *call, void *user);
    void (*progress)(const struct ch_block *call, struct ch_sv text, void *user);
    /* Optional. An embedding model has read so many tokens for a tool. */
    void (*used)(int64_t tokens, void *user);
    /* Optional. The model would see *content; replace it (heap) to change it. */
    void (*after)(const struct ch_result *r, char **content, void *user);
    /* A call ended. In order of ending; the message is in call order. */
    void (*finished)(const struct ch_block *call, const struct ch_result *r, void *user);
    /* A call must be run by the host. */
    void (*client)(const struct ch_block *call, void *user);
    /* Nothing is running any more. waiting: calls left to the host, those that
     * nobody has agreed to or denied, and those whose own work waits for people; if
     * there are any, the batch stands still until ch_batch_resume or
     * ch_batch_cancel, and `over` comes again. */
    void (*over)(size_t waiting, void *user);
};

struct ch_batch_opts {
    struct ch_loop *loop;
    struct ch_workers *workers;
    const struct ch_registry *registry;
    const char *workspace; /* absolute; copied */
    const char *session;   /* for idempotency keys */
    const char *run;
    unsigned turn;
    unsigned parallel; /* at once; 0: CH_DEFAULT_PARALLEL; 1: in order */
    size_t max_calls;  /* calls beyond this many are answered, not run;
                          0: none is run; SIZE_MAX: no bound */
    const struct ch_policy *policy;       /* borrowed; NULL: all tools are allowed */
    const struct ch_approvals *approvals; /* borrowed; NULL: no rules */
    enum ch_consent ask_means;            /* what asking comes to; AUTO: nobody is asked */
    struct ch_memory *memory;             /* borrowed; NULL: nothing is remembered */
    const struct ch_sandbox_policy *sandbox; /* borrowed; NULL: the default one */
    struct ch_jobs *jobs; /* borrowed; of the session; NULL: nothing runs in the background */
    int64_t window;   /* the model's context in tokens, for cutting results; 0: unknown */
    unsigned records; /* shown of a JSON array that is cut; 0: CH_DEFAULT_RECORDS */
    bool no_spill;    /* what is cut from a result is not kept in a file */
    struct ch_tool *finder; /* borrowed; a tool beside the registry's that policy says nothing
                               about (select.h); NULL: none */
    const struct chela_channel *channel; /* borrowed; of `message`; NULL: none */
    struct ch_session_state *state; /* borrowed; what tools remember (state.h);
                                       NULL: no longer than the batch */
    const struct ch_batch_ops *ops;
    void *user;
};

struct ch_batch_totals {       /* of the calls that ended so far, but for `calls` */
    size_t calls;              /* in the reply */
    size_t ok, errors, denied; /* each ended call is one of the three */
    size_t ran;                /* started, or answered by the host */
    size_t refused;            /* not run because of max_calls; also in errors */
    size_t trailing_errors;    /* after the last that is ok, in call order */
    bool terminated;           /* a CHELA_TOOL_TERMINATES tool succeeded */
    bool stop;                 /* a hook asked to end the run */
};

/* reply: an assistant message with at least one TOOL_CALL; borrowed, must
 * outlive the batch. */
struct ch_batch *ch_batch_start(const struct ch_msg *reply, const struct ch_batch_opts *opts);

/* Right after ch_batch_start: a call whose result is known from an earlier life
 * of the batch. result: a CH_MSG_RESULTS message with this call's blocks alone.
 * It counts, and is not announced again. */
void ch_batch_settle(struct ch_batch *b, size_t index, const struct ch_msg *result, bool ran);

/* Likewise: a call that began in an earlier life, and nobody knows how it ended.
 * It is not run; its result says so, and counts as little as a denial. */
void ch_batch_interrupt(struct ch_batch *b, size_t index);

/* Likewise: a person was asked about the call under this id, when it would have
 * run exactly this. If it would run something else by now, the question is a
 * new one, with an id of its own. */
void ch_batch_recall(struct ch_batch *b, size_t index, const char *approval_id,
                     const unsigned char digest[CH_SHA256_SIZE]);

/* The call with this number that `gate` held back may begin. */
void ch_batch_pass(struct ch_batch *b, size_t index);

/* The result of a call that has ended, as a message of its own. */
struct ch_msg *ch_batch_result(struct ch_batch *b, size_t index, int64_t ts);

/* Calls not yet started get a result that says why (denied, not an error of
 * theirs); running ones go on, calls left to the host still wait. */
void ch_batch_skip(struct ch_batch *b, const char *why);

/* Everything not finished is answered with a "cancelled" result and stopped,
 * calls left to the host too; `over` follows. */
void ch_batch_cancel(struct ch_batch *b, const char *why);

/* Answer a call that was left to the host. CHELA_ENOENT: no such call waits.
 * CHELA_EEXIST: it was answered before. */
int ch_batch_answer(struct ch_batch *b, struct ch_sv id, struct ch_sv content, bool is_error,
                    struct chela_error *err);

/* Decide about a call that `ask` was called for. CHELA_ENOENT: no call has that
 * id. CHELA_EEXIST: it was decided before. CHELA_EPERM: it cannot be allowed
 * always. */
int ch_batch_approve(struct ch_batch *b, struct ch_sv approval_id, enum chela_decision decision,
                     const char *reason, struct chela_error *err);

/* What the batch waits for: the host's answers, people's decisions. */
struct ch_batch_waits {
    size_t answers, approvals;
    size_t questions; /* of the answers, those that only a person can give */
};
struct ch_batch_waits ch_batch_waits(const struct ch_batch *b);

/* Go on after `over` was called with some waiting. Those that still do go on
 * waiting. */
void ch_batch_resume(struct ch_batch *b);

struct ch_batch_totals ch_batch_totals(const struct ch_batch *b);

/* All results as one CH_MSG_RESULTS message, in call order. Only when over
 * with nothing waiting. */
struct ch_msg *ch_batch_message(struct ch_batch *b, int64_t ts);

/* No callback after this. Work that cannot be stopped finishes unseen. */
void ch_batch_close(struct ch_batch *b);

#endif
