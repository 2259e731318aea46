/* driver.h -- the run as it happens: performs what run.c decides.
 *
 * driver.c holds the middle: begin, step, event log, interruption, end.
 * think.c makes model calls, act.c runs tool calls; each reports back through
 * ch_drive(). Nothing here decides what comes next.
 *
 * A session may be closed from inside any callback. So whoever calls out
 * (ch_emit, a hook) looks at run->dead afterwards and returns if it is set;
 * memory stays until the loop's next iteration. */
#ifndef CH_AGENT_DRIVER_H
#define CH_AGENT_DRIVER_H
#include "agent/handle/agent.h"
#include "agent/machine/principal.h"
#include "agent/machine/run_counters.h"
#include "agent/context/tool_embedding.h"
#include "agent/machine/media.h"
#include "agent/journal/journal_replay.h"
#include "prompt/directive.h"

struct chela_run {
    atomic_uint refs;
    struct ch_link link; /* in the runtime's closed runs, once retired */
    chela_session *session;
    struct ch_loop *loop;
    char id[24];
    struct ch_run m;
    enum ch_mode mode; /* its agent's, or the one that it began in, in another process */
    chela_event_fn *on_event;
    void *user;
    struct ch_policy policy; /* within `bounds`, or the agent's */
    struct ch_policy *bounds; /* owned: the policies that fit, within the agent's; NULL: none */
    struct ch_behalf behalf;
    bool forgets; /* what was allowed always counts for nothing */
    bool own_policy;         /* it says more than the agent's */
    enum ch_consent ask_means;
    char *prompt; /* owned: fingerprint of what the model is told; NULL: the agent's */

    bool active;          /* counted in rt->running, the loop is held */
    bool over;            /* ended or paused; RUN_END was sent */
    bool dead;            /* closed: touch nothing, say nothing */
    bool retired;         /* its session has another run: it is told of its end, no more */
    unsigned turn_open;   /* number of the turn whose TURN_END is still to be sent, or 0 */
    enum ch_in stop;      /* asked for inside a callback: an interruption that takes place when
                             the callback has returned; CH_IN_INPUT: none */
    struct ch_task stop_soon; /* at the latest then, if nothing else happens */
    enum ch_in interrupt; /* waiting for the tools to end; CH_IN_INPUT: none */

    /* being stored */
    struct ch_msg *input; /* owned: what it begins with, until it is admitted */
    char *event;          /* owned: of the inbox, that this is; NULL */
    char *answer_to;      /* owned: where its answer goes; NULL: nowhere */
    char *drop_if;        /* owned: words that leave nothing behind; NULL: none */
    size_t began;         /* its first message in the transcript */
    bool begun;           /* RUN_START was sent in this life */
    uint64_t stored_events; /* m.seq as it was last stored */
    uint64_t start_seq;   /* of the record that it began with; 0: in another process, or none */
    uint64_t admit_seq;   /* once committed it begins; 0: does not wait */
    uint64_t end_seq;     /* once committed it has ended, or is paused; 0: likewise */
    uint64_t *gates;      /* owned, by call: once committed it may run; 0: likewise */
    bool acting;          /* what is stored now is so in the middle of its calls */
    unsigned recoveries;  /* times that it was taken up since the last reply, or one below */
    enum ch_past_status told; /* the status that lists show */
    struct ch_past *past; /* owned: what it goes on from; NULL: nothing */
    struct ch_course course; /* stored with the machine */
    struct ch_buf plan;   /* JSON that a mode wants to have again after a crash: it is
                             stored with the machine; empty: none */

    /* thinking */
    struct ch_target *target;
    const char *key; /* of the target, that the call was made with */
    struct ch_http_call *call;
    struct ch_decoder decoder;
    bool decoding;         /* decoder is initialised */
    struct ch_arena arena; /* of this turn: request, hooks' texts */
    struct ch_http_request http;
    struct ch_sv body[3];
    bool output_shown;
    unsigned held;           /* quirks that would take strict schemas out of the request */
    enum ch_output_way output_way; /* of this turn */
    bool unfit;              /* the answer was not of the form; `complaint` says why */
    struct ch_buf complaint;
    bool selected; /* tools for its input */
    struct ch_pondering *pondering; /* owned: embeddings it waits for; NULL: none */
    bool pondered;
    struct { /* by the embedding model, not yet in the journal */
        unsigned calls;
        int64_t tokens;
    } embedded;
    bool looked;   /* at what may be done, and what has changed */
    int64_t stamp;           /* time of the chunk being decoded, 0 between chunks */
    const char *stop_reason; /* for TURN_END */
    struct ch_usage turn_usage; /* of all its attempts */
    double turn_cost;           /* likewise; negative: unknown */
    bool warned_price;          /* that it is unknown */
    bool may_redo;              /* the host can take back what it showed */

    size_t guessed;             /* tokens of the request, before a gauge was asked */
    bool recalled_once;         /* notes were looked for... */
    struct ch_seeking *recalling; /* ...or are: NULL: not now */
    struct ch_buf recalled;     /* what was found, for the end of requests */
    struct ch_compaction *compaction; /* owned; NULL: none is under way */
    bool rewrote;               /* the transcript */
    bool compacts;              /* that is all it is for... */
    char *focus;                /* ...and what to keep above all; owned; NULL: nothing */

    /* acting */
    struct ch_list children; /* runs that calls of it are: delegate.h */
    unsigned nchildren;      /* agents called by it that have ended; stored */
    const struct ch_msg *reply; /* in the transcript */
    struct ch_batch *batch;
    struct ch_guard guard;

    struct ch_timer deadline, retry;
    struct ch_task begin;
    struct ch_queue steering, follow_ups;
    bool deliver_follow_up;
    atomic_bool cancelled;
    struct ch_post cancel; /* on its way once cancelled is set */
    char *cancel_reason;
    atomic_bool left;
    struct ch_post leave; /* likewise */

    struct ch_buf text; /* the answer so far */
    struct ch_moding *moding; /* owned: mode.c; NULL: it has not begun */
    double willingness;       /* what led to it; negative: nobody asked */
    bool unasked;             /* mode heartbeat: only the dice want it */
    bool spoke;               /* mode heartbeat: an action reached the chat */

    char *handoff;    /* owned: id of the agent that is to go on; NULL: this one */
    struct ch_buf handoff_note;
    unsigned handoffs; /* that there were; stored */
    char *last_words; /* owned: of CH_IN_TAKEN_OVER; NULL: nobody has taken over */

    /* the channel; reply_directives.c */
    struct ch_directives said; /* of the last reply that had text */
    bool said_before;          /* it is an earlier one */
    struct ch_arena media_arena;
    struct chela_str *media; /* in it: what the answer attaches */
    size_t nmedia;
    struct ch_about about; /* what it answers */
    char error[CHELA_ERROR_MAX];
};

/* --- driver.c */
int ch_run_new(chela_session *s, const struct chela_run_opts *opts, chela_run **out,
               struct chela_error *err);
/* Its session has another agent now: limits, policy and model are that one's. */
int ch_run_rebind(chela_run *run, struct chela_error *err);
void ch_run_begin(chela_run *run); /* once it is admitted, not before the next iteration */
void ch_run_admit(chela_run *run); /* its session is open, or could not be opened */
void ch_run_committed(chela_run *run, uint64_t seq); /* the journal is safe up to here */
void ch_run_lost(chela_run *run, const struct chela_error *err); /* and no further */
void ch_run_close(chela_run *run);  /* its session is closed: stop at once, from anywhere */
void ch_run_retire(chela_run *run); /* it has ended, and its session has another run */
/* The session's part in the run ends, and its reference goes: by
 * ch_runtime_free_closed alone. */
void ch_run_part(chela_run *run);
chela_run *ch_run_ref(chela_run *run); /* returns run */
void ch_run_unref(chela_run *run);
bool ch_emit(chela_run *run, struct chela_event *ev); /* false: run->dead */
void ch_drive(chela_run *run, const struct ch_input *in);
/* End the run from outside, at any step. Calls that are under way are cancelled first:
 * the transcript has a result for every call. Not inside a callback of the host's:
 * what its hooks and its calls ask for is run->stop. */
void ch_interrupt(chela_run *run, enum ch_in kind, const char *why);
static inline bool ch_stops(const chela_run *run) {
    return run->stop != CH_IN_INPUT;
}
void ch_stop(chela_run *run); /* what run->stop asks for: ch_interrupt */
void ch_warn(chela_run *run, const char *fmt, ...) CHELA_PRINTF(2, 3);
/* The runtime itself failed: end the run with err's message. */
void ch_break(chela_run *run, const struct chela_error *err);
/* The fingerprint of what its model is told. */
const char *ch_run_prompt(chela_run *run);
int64_t ch_run_now(const chela_run *run);
/* The run's time does not pass while a person thinks: give back what it took. */
void ch_run_extend(chela_run *run, int64_t ms);

static inline struct chela_str ch_str(struct ch_sv s) {
    return (struct chela_str){s.p, s.n};
}
static inline struct ch_sv ch_unstr(struct chela_str s) {
    return ch_sv(s.p, s.n);
}

/* --- think.c */
void ch_think(chela_run *run);       /* make the model call that m describes */
void ch_think_abort(chela_run *run); /* drop it, if any */
/* Parts of it, for turns that are not the model's (mode.c). False: the run is
 * over or gone. */
bool ch_think_deliver(chela_run *run); /* what waits for the model */
bool ch_think_note(chela_run *run, struct ch_sv text); /* a word of the runtime's own */
bool ch_think_open(chela_run *run); /* TURN_START, unless the turn has begun */
void ch_think_reply(chela_run *run, struct ch_reply *r); /* as if a model had said so */
/* The run's answer, in words that its model did not choose. person: a person did. */
bool ch_think_say(chela_run *run, struct ch_sv text, bool person);

/* --- act.c */
void ch_act(chela_run *run); /* run the calls of run->reply */
/* All calls are answered: results into the transcript, m is told. */
void ch_act_done(chela_run *run);

/* Events about a call that are told by others, too. False: run->dead. */
void ch_act_tell(chela_run *run, enum chela_event_type type, const struct ch_block *call);
bool ch_emit_approval(chela_run *run, const struct chela_approval *a);
size_t ch_act_index(const chela_run *run, const struct ch_block *call); /* in the reply */

/* --- takeover.c */
/* A person ends the run with these words: soon, or once a paused one goes on. */
void ch_take_over(chela_run *run, const char *text);
/* Before the machine hears of it: the words become the answer. False: the run is gone. */
bool ch_taken_over(chela_run *run);
#define CH_TAKEN_OVER "A person took over here, so this call was not made."

/* --- recover.c: a run that an earlier process began */
int ch_recover_new(chela_session *s, const struct chela_run_opts *opts, chela_run **out,
                   struct chela_error *err);
void ch_recover_begin(chela_run *run);
void ch_recover_batch(chela_run *run); /* what is known about the calls of run->batch */
int ch_recover_answer(chela_session *s, struct ch_sv call_id, struct ch_sv content, bool is_error,
                      struct chela_error *err);
int ch_recover_approve(chela_session *s, const char *approval_id, enum chela_decision decision,
                       const char *reason, struct chela_error *err);

/* --- input_queue.c */
void ch_inflow_rested(chela_session *s); /* its run has ended or paused */
/* From a journal; n's parts are taken. */
void ch_inflow_recall(chela_session *s, struct ch_past_note *n);
/* The oldest of a run's queue, that the run did not get to. */
void ch_inflow_return(chela_run *run, struct ch_queue *q);
void ch_inflow_free(chela_session *s);
uint64_t ch_inflow_oldest(const chela_session *s); /* record of what waits longest; 0: none */
size_t ch_inflow_waiting(const chela_session *s);  /* how many messages wait for a run */

struct ch_shown ch_session_shown(const chela_session *s); /* and what waits to be */

/* --- queue.c */
void ch_queue_init(struct ch_queue *q);
void ch_queue_release(struct ch_queue *q);
void ch_queue_shown(const struct ch_queue *q, struct ch_shown *sum); /* added to it */
/* Would it be taken? */
bool ch_queue_fits(const struct ch_queue *q, const struct ch_msg *m);
/* m, whose first block is a text, is taken if it returns 0. */
int ch_queue_push(struct ch_queue *q, struct ch_msg *m);
/* The journal's record of the message pushed last, and of the oldest; 0: none. */
void ch_queue_mark(struct ch_queue *q, uint64_t seq);
uint64_t ch_queue_seq(const struct ch_queue *q);
/* On whose behalf the message pushed last came (taken), and the oldest; NULL when
 * empty. */
void ch_queue_for(struct ch_queue *q, struct ch_behalf behalf);
const struct ch_behalf *ch_queue_whose(const struct ch_queue *q);
/* Mark the message pushed last, and ask about the oldest: if its run does not get
 * to deliver it, it goes on waiting in the session. to: where the answer to it
 * goes; NULL. */
void ch_queue_keep(struct ch_queue *q, const char *to);
bool ch_queue_stays(const struct ch_queue *q);
char *ch_queue_take_to(struct ch_queue *q); /* yours to ch_free; NULL */
/* What the message pushed last came with (copied). Of the oldest: in the place of
 * *about, if there is anything. */
void ch_queue_about(struct ch_queue *q, const struct ch_about *about);
void ch_queue_take_about(struct ch_queue *q, struct ch_about *about);
struct ch_sv ch_queue_text(const struct ch_queue *q); /* of the oldest; "" when empty */
/* The oldest message; the caller's from now on. NULL when empty. */
struct ch_msg *ch_queue_pop(struct ch_queue *q);

/* --- hooks.c: each calls all sets in order; false: a hook said halt */
bool ch_hook_before_model(chela_run *run, struct chela_turn_patch *patch);
bool ch_hook_delta(chela_run *run, const struct chela_event *ev);
bool ch_hook_after_model(chela_run *run, const struct chela_event *ev);
bool ch_hook_invalid(chela_run *run, struct chela_invalid_call *call);
bool ch_hook_before_tool(chela_run *run, struct chela_before_tool *call);
bool ch_hook_approve(chela_run *run, struct chela_approval *approval);
bool ch_hook_after_tool(chela_run *run, struct chela_after_tool *call);
void ch_hook_run_end(chela_run *run, const struct chela_event *ev);

#endif
