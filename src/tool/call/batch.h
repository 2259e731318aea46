/* batch.h -- all tool calls of one reply: run in parallel, results in call order.
 *
 * Every call takes the same path through call.c and gets exactly one result in all cases:
 * unknown tool, bad arguments, timeout, cancel, skip. The batch is over when every call has
 * a result, or when only calls that the host must run are left. */
#ifndef CH_TOOL_BATCH_H
#define CH_TOOL_BATCH_H
#include "io/loop.h"
#include "io/worker.h"
#include "model/message/message.h"
#include "tool/call/approval.h"
#include "tool/registry/registry.h"

struct ch_batch;
struct ch_call_listener;
struct ch_early_reads;
struct ch_egress;
struct ch_jobs;
struct ch_jw;
struct ch_flow_rules;
struct ch_labels;
struct ch_layer_mount;
struct ch_sandbox_policy;
struct ch_session_state;

struct ch_result { /* result of one call; texts borrowed from the batch */
    struct ch_sv id, name;
    struct ch_sv content; /* shown to the model */
    struct ch_sv details; /* JSON for programs, may be empty */
    bool is_error, truncated;
    bool denied;            /* denied by a person, a hook or the policy */
    bool failed;            /* no error, but the work did not succeed (CH_F_FAILED) */
    const char *error_type; /* NULL, or static */
    bool retryable;
    unsigned attempts; /* 0: the call was not run */
    const struct ch_labels *labels; /* sources of the content */
    int64_t duration_ms;
};

/* Write the members of a result, except "id", into the open object. */
void ch_result_write(const struct ch_result *r, struct ch_jw *w);

/* A call that needs a person's approval; texts borrowed for the callback. */
struct ch_ask {
    const char *approval_id;
    struct ch_sv arguments; /* JSON, with corrections applied */
    struct ch_sv summary;   /* for the person; safe to print */
    const char *obstacle;   /* why "always" is not possible: "it uses ..."; NULL: it is possible */
    /* CH_SHA256_SIZE bytes: the digest to be approved (approval_binding.h) */
    const unsigned char *digest;
};

/* A hook's decision before a call runs. */
enum ch_before {
    CH_BEFORE_RUN,   /* run unchanged, or with *arguments replaced */
    CH_BEFORE_SKIP,  /* do not run; *feedback is the result, not an error */
    CH_BEFORE_STOP,  /* run neither this call nor later ones, and end the run */
    CH_BEFORE_CLIENT, /* the host runs the call */
    CH_BEFORE_REFUSE, /* do not run; *feedback is the reason, the result is an error */
    CH_BEFORE_WAIT    /* ask again after ch_batch_unhold; later calls wait, too */
};

/* Callbacks, all on the loop thread, never from inside a ch_batch_* call. */
struct ch_batch_ops {
    /* Optional. arguments: in: the call's arguments; out: unchanged, or replaced by a heap
     * text that the batch frees with ch_free. feedback: NULL, or set likewise. Replaced
     * arguments are validated like the model's own. */
    enum ch_before (*before)(const struct ch_block *call, char **arguments, char **feedback,
                             void *user);
    /* Optional. The call cannot run (unknown tool, unusable arguments); problem gives the
     * reason. RUN with *name or *arguments replaced retries the call; RUN without a
     * replacement reports the error to the model; SKIP makes *feedback the text of the
     * error. Called at most once per call. */
    enum ch_before (*invalid)(const struct ch_block *call, const char *problem, char **name,
                              char **arguments, char **feedback, void *user);
    /* Optional. The call needs a person's approval. Called only when no other call can run,
     * so the callback may block. UNDECIDED: the owner calls ch_batch_approve, now or later.
     * reason: NULL, or set to a heap text for a denial. */
    enum chela_decision (*ask)(const struct ch_block *call, const struct ch_ask *ask,
                               char **reason, void *user);
    /* Optional. True if the address stands word for word in what a person said, so that a request
     * for it carries nothing that the model composed. NULL: no address does. */
    bool (*said)(struct ch_sv url, void *user);
    /* Optional. A call with effect keyed or once is about to start. key: its idempotency
     * key. state: NULL, or the state that replaces the last one of `checkpoint`; "": none, the
     * call cannot be continued. False: the call waits until ch_batch_pass. */
    bool (*gate)(const struct ch_block *call, enum chela_effect effect, const char *key,
                 const char *state, void *user);
    void (*started)(const struct ch_block *call, void *user);
    void (*progress)(const struct ch_block *call, struct ch_sv text, void *user);
    /* Optional. An embedding model consumed this many tokens for a tool. */
    void (*used)(int64_t tokens, void *user);
    /* Optional. *content is the text for the model; replace it by a heap text to change it.
     * False: ask again after ch_batch_unhold; no further call starts before. */
    bool (*after)(const struct ch_block *call, const struct ch_result *r, char **content,
                  void *user);
    /* A call ended. Called in order of completion; the message is in call order. */
    void (*finished)(const struct ch_block *call, const struct ch_result *r, void *user);
    /* The host must run this call. */
    void (*client)(const struct ch_block *call, void *user);
    /* Optional. The call asks a person (question.h). question: a call of the tool for
     * questions, which ch_batch_answer answers. state: the state from which another process
     * continues the call, or NULL. */
    void (*question)(const struct ch_block *call, const struct ch_block *question,
                     const char *state, void *user);
    /* Optional. The work of the call continues elsewhere: another process can continue the
     * call from the state (ch_batch_restore). */
    void (*checkpoint)(const struct ch_block *call, enum chela_effect effect, const char *key,
                       const char *state, void *user);
    /* Optional. A call waits for `ms`, and `checkpoint` has received its state. True: when
     * no call is running, the owner resumes the batch at the time of ch_batch_waits,
     * possibly in another process. False: the call waits in this process. */
    bool (*timer)(int64_t ms, void *user);
    /* No call is running. waiting counts calls left to the host, undecided approvals, and
     * calls whose own work waits for people or for a time. If waiting is not 0, the batch
     * pauses until ch_batch_resume or ch_batch_cancel, and `over` is called again. */
    void (*over)(size_t waiting, void *user);
};

struct ch_batch_opts {
    struct ch_loop *loop;
    struct ch_workers *workers;
    const struct ch_registry *registry;
    const struct ch_layer_mount *layer; /* mounted at the workspace; NULL: none */
    const char *workspace; /* absolute; borrowed, as are the next two */
    const char *session;   /* part of idempotency keys */
    const char *run;
    unsigned turn;
    enum chela_language language; /* in which a person is asked; AUTO: English */
    /* maximum number of concurrent calls; 0: CH_DEFAULT_PARALLEL; 1: sequential */
    unsigned parallel;
    /* calls beyond this number get an error result; 0: no call runs; SIZE_MAX: no limit */
    size_t max_calls;
    /* The calls are a sequence: each begins after those before it have succeeded. After one that
     * failed or was denied the rest is not done. Only reads are independent of each other. */
    bool in_sequence;
    const struct ch_policy *policy;       /* borrowed; NULL: all tools are allowed */
    const struct ch_approvals *approvals; /* borrowed; NULL: no rules */
    const struct ch_approvals *granted;   /* borrowed: its grants hold too; NULL: none */
    enum ch_consent ask_means;            /* effect of level "ask"; AUTO: no approval needed */
    struct ch_memory *memory;             /* borrowed; NULL: no remembered approvals */
    const struct ch_sandbox_policy *sandbox; /* borrowed; NULL: the default policy */
    const struct ch_egress *egress; /* borrowed; NULL: calls may send data to every host */
    const struct ch_flow_rules *flow; /* borrowed; the rule of two (flow.h); NULL: the defaults */
    const struct ch_labels *labels;   /* borrowed: sources of the conversation; NULL: no rule */
    struct ch_jobs *jobs; /* borrowed from the session; NULL: no background programs */
    struct ch_buffers *buffers; /* borrowed; files of an editor; NULL: none */
    int64_t window;   /* context window in tokens, bounds the results; 0: unknown */
    unsigned records; /* records kept of a truncated JSON array; 0: CH_DEFAULT_RECORDS */
    bool no_spill;    /* do not save truncated results to a file */
    const struct ch_registry *own; /* borrowed; more tools, for which no policy holds; NULL: none */
    const struct chela_channel *channel; /* borrowed; channel of the tool `message`; NULL: none */
    /* borrowed; session state of tools (state.h); NULL: state lasts as long as the batch */
    struct ch_session_state *state;
    /* borrowed, with the listener it points to (call_listener.h); NULL: none */
    struct ch_call_listener *const *listener;
    struct ch_early_reads *early; /* the batch owns it from ch_batch_start on; NULL: none */
    const struct ch_batch_ops *ops; /* borrowed as long as the batch */
    void *user;
};

struct ch_batch_totals {       /* counts of ended calls, except `calls` */
    size_t calls;              /* calls in the reply */
    size_t ok, errors, denied; /* each ended call counts in exactly one */
    size_t ran;                /* started, or answered by the host */
    size_t refused;            /* not run because of max_calls; also counted in errors */
    size_t surplus;            /* not run: beyond CH_LIMIT_CALLS_PER_REPLY; counted in denied */
    size_t trailing_errors;    /* errors after the last ok call, in call order */
    bool terminated;           /* a CHELA_TOOL_TERMINATES tool succeeded */
    bool stop;                 /* a hook asked to end the run */
};

/* reply: an assistant message with at least one TOOL_CALL; borrowed, must outlive the
 * batch. */
struct ch_batch *ch_batch_start(const struct ch_msg *reply, const struct ch_batch_opts *opts);

/* Call right after ch_batch_start: the result of this call is known from before a restart.
 * result: a CH_MSG_RESULTS message with only this call's blocks. The result is counted in
 * the totals; no callback reports it again. */
void ch_batch_settle(struct ch_batch *b, size_t index, const struct ch_msg *result, bool ran);

/* Call right after ch_batch_start: this call began before a restart and its outcome is
 * unknown. The call is not run; its result states that, and counts as denied. */
void ch_batch_interrupt(struct ch_batch *b, size_t index);

/* Call right after ch_batch_start: before a restart a person was asked about this call
 * under approval_id, for this digest. If the digest has changed, a new request with a new
 * id is made. */
void ch_batch_recall(struct ch_batch *b, size_t index, const char *approval_id,
                     const unsigned char digest[CH_SHA256_SIZE]);

/* Call right after ch_batch_start: before a restart this call asked `asked` questions. The
 * last one, if id is not NULL, is the state from which the call continues; answer NULL: the
 * call waits for it. */
struct ch_batch_question {
    unsigned asked;
    const char *id, *arguments, *state, *answer;
    bool is_error;
};
void ch_batch_continue(struct ch_batch *b, size_t index, const struct ch_batch_question *q);

/* Call right after ch_batch_start: before a restart this call left a state (`checkpoint`), from
 * which the call continues. */
void ch_batch_restore(struct ch_batch *b, size_t index, const char *state);

/* Let the call that `gate` held back start. */
void ch_batch_pass(struct ch_batch *b, size_t index);

/* The result of an ended call, as a separate message. */
struct ch_msg *ch_batch_result(struct ch_batch *b, size_t index, int64_t ts);

/* Calls not yet started get a "denied" result with this reason. Running calls continue;
 * calls left to the host still wait. */
void ch_batch_skip(struct ch_batch *b, const char *why);

/* Stop all unfinished calls, including those left to the host; each gets a "cancelled"
 * result. `over` follows. */
void ch_batch_cancel(struct ch_batch *b, const char *why);

/* True if a call's open question has this id. */
bool ch_batch_asks(const struct ch_batch *b, struct ch_sv id);

/* 0 if a call that the host ran, or a question, takes an answer of n bytes. CHELA_ENOENT: no
 * such call waits. CHELA_EEXIST: the call already has a result. CHELA_ELIMIT: the answer is
 * too long. */
int ch_batch_may_answer(const struct ch_batch *b, struct ch_sv id, size_t n,
                        struct chela_error *err);
/* Set the result or the answer; else the same errors. */
int ch_batch_answer(struct ch_batch *b, struct ch_sv id, struct ch_sv content, bool is_error,
                    struct chela_error *err);

/* Decide about a call for which `ask` was called. CHELA_ENOENT: unknown approval id.
 * CHELA_EEXIST: already decided. CHELA_EPERM: "always" is not possible for this call. */
int ch_batch_approve(struct ch_batch *b, struct ch_sv approval_id, enum chela_decision decision,
                     const char *reason, struct chela_error *err);

/* Numbers of pending host answers and pending decisions. */
struct ch_batch_waits {
    size_t answers, approvals;
    size_t questions; /* answers that only a person can give */
    size_t timers;    /* calls that wait for a time; not counted in answers */
    int64_t due;      /* earliest time of those; wall clock, ms */
};
struct ch_batch_waits ch_batch_waits(const struct ch_batch *b);

/* The call with this id was held back by `before` or `after`: ask again. */
void ch_batch_unhold(struct ch_batch *b, struct ch_sv id);

/* Continue after `over` reported waiting calls. Calls that still lack an answer keep
 * waiting. */
void ch_batch_resume(struct ch_batch *b);

struct ch_batch_totals ch_batch_totals(const struct ch_batch *b);
/* True: the call is not made because of max_calls. */
bool ch_batch_refuses(const struct ch_batch *b, size_t index);

/* The results of the calls that have ended as one CH_MSG_RESULTS message, in call order. When the
 * batch is over and nothing waits, these are all. */
struct ch_msg *ch_batch_message(struct ch_batch *b, int64_t ts);

/* No callback is called after this. Work that cannot be stopped finishes in the background;
 * its result is dropped. */
void ch_batch_close(struct ch_batch *b);

#endif
