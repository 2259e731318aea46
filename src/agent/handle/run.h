/* run.h -- the struct behind the public handle chela_run.
 *
 * A host may close the session from any callback. Code that calls out (ch_emit, a hook)
 * checks run->dead afterwards and returns if it is set. The memory stays valid until the
 * loop's next turn. */
#ifndef CH_HANDLE_RUN_H
#define CH_HANDLE_RUN_H
#include <stdatomic.h>

#include "agent/handle/session.h"
#include "agent/machine/event.h"
#include "agent/machine/principal.h"
#include "agent/machine/run_counters.h"

struct ch_acting;
struct ch_compaction;
struct ch_control;
struct ch_journal_replay;
struct ch_embedding_wait;
struct ch_run_record;
struct ch_run_features;
struct ch_run_origin;
struct ch_run_recall;
struct ch_reply_directives;
struct ch_think;

/* Which tools a run may call, and which calls need consent. */
struct ch_permit {
    struct ch_policy policy; /* narrowed by `bounds`, or else by the agent's policy */
    struct ch_policy *bounds; /* owned: policies of channel and sender, narrowed by the agent's;
                                 NULL: none */
    bool own_policy; /* the policy is narrower than the agent's */
    bool forgets;    /* ignore remembered approvals */
    enum ch_consent ask_means;
};

/* The last model call that failed, for hosts that pass its status on. */
struct ch_model_failure {
    enum ch_error_class cls; /* CH_ERR_NONE: no call failed */
    int status;              /* HTTP status; 0: none */
    long retry_after_ms;     /* 0: not reported */
};

/* Work that is done once per run, or once per agent if the run changes hands. */
enum ch_run_did {
    CH_RUN_LOOKED = 1,   /* compared tools and project files with the system prompt */
    CH_RUN_SELECTED = 2, /* selected tools for the input */
    CH_RUN_EMBEDDED = 4, /* embedded the input to select tools */
    CH_RUN_REWROTE = 8,  /* rewrote the transcript */
};

struct chela_run {
    atomic_uint refs;
    unsigned did; /* bits of enum ch_run_did */
    struct ch_link link; /* in rt->closed.runs, once retired */
    chela_session *session;
    struct ch_loop *loop;
    char id[24];
    struct ch_run m;
    chela_event_fn *on_event;
    void *user;
    struct ch_permit permit;

    bool over;    /* ended or paused: RUN_END was sent */
    bool dead;    /* closed: no member may be used, no event is emitted */
    bool retired; /* the session has a newer run, or the run was left: only RUN_END is still
                     emitted */
    enum ch_in stop; /* an interruption that a callback asked for; it takes effect when the
                        callback has returned. CH_IN_INPUT: none */
    struct ch_task stop_soon; /* applies `stop` on the loop's next turn, unless it was applied
                                 before */
    char *last_words; /* owned: the person's answer for CH_IN_TAKEN_OVER; NULL: no take-over */

    /* Parts, each private to one file. They are allocated together with the run. */
    struct ch_control *control;   /* run/driver.c: begin, end, timers, cancellation */
    struct ch_think *turn;        /* run/think.c: the model call in flight */
    struct ch_acting *acting;     /* run/act.c: the calls of the reply */
    struct ch_run_record *record; /* journal/run_journal.c: how much of the run is stored; NULL:
                                   * the session is not stored */
    /* Optional parts; owned, NULL: none. */
    struct ch_run_origin *origin;           /* handle/run_origin.c: the requester and the address
                                             * of the answer */
    struct ch_run_features *features;       /* run/feature.c */
    struct ch_journal_replay *past;         /* a run that an earlier process began */
    struct ch_compaction *compaction;       /* context/compaction.c */
    struct ch_embedding_wait *embedding;    /* context/tool_embedding.c */
    struct ch_run_recall *recall;           /* context/recall.c */
    struct ch_reply_directives *directives; /* context/reply_directives.c */

    struct ch_target *target;   /* target of the current or last model call */
    struct ch_arena arena;      /* cleared every turn: request, texts of hooks */
    int64_t stamp;              /* one time for all events of a chunk, of a reply's end or of a
                                 * batch's end: reading the clock takes longer than most of them;
                                 * 0: each event reads the clock */
    const struct ch_msg *reply; /* the message of the transcript whose calls are executed */
    struct ch_batch *batch;
    struct ch_list children; /* child runs (run/parent.h) */
    unsigned nchildren;      /* child agents that have ended; stored */
    struct ch_queue steering, follow_ups;
    struct ch_buf text; /* answer text so far */
    char *error; /* owned, CHELA_ERROR_MAX bytes (run_outcome.h); NULL: no error so far */
    struct ch_model_failure failure;
};

static inline bool ch_run_did(const chela_run *run, enum ch_run_did what) {
    return run->did & what;
}
/* Marks a task of the run as done. True: the task was not marked before. */
static inline bool ch_run_once(chela_run *run, enum ch_run_did what) {
    bool first = !(run->did & what);
    run->did |= what;
    return first;
}

/* The run's error, "" if there is none. */
static inline const char *ch_run_error(const chela_run *run) {
    return run->error ? run->error : "";
}

static inline bool ch_run_stops(const chela_run *run) {
    return run->stop != CH_IN_INPUT;
}

#endif
