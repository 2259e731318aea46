/* run.h -- the structs behind the public handles: a run.
 *
 * A session may be closed from inside any callback. So whoever calls out (ch_emit, a
 * hook) looks at run->dead afterwards and returns if it is set; memory stays until the
 * loop's next iteration. */
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
struct ch_turn;

/* What a run may do, and who has to agree. */
struct ch_permit {
    struct ch_policy policy;  /* within `bounds`, or the agent's */
    struct ch_policy *bounds; /* owned: the policies that fit, within the agent's; NULL: none */
    bool own_policy;          /* it says more than the agent's */
    bool forgets;             /* ignore remembered approvals */
    enum ch_consent ask_means;
};

/* Things that happen once a run, or until it is bound to another agent. */
enum ch_run_did {
    CH_RUN_LOOKED = 1,   /* at what may be done, and what has changed */
    CH_RUN_SELECTED = 2, /* tools for the input */
    CH_RUN_EMBEDDED = 4, /* the input, to select them */
    CH_RUN_REWROTE = 8,  /* the transcript */
};

struct chela_run {
    atomic_uint refs;
    struct ch_link link; /* in the runtime's closed runs, once retired */
    chela_session *session;
    struct ch_loop *loop;
    char id[24];
    struct ch_run m;
    chela_event_fn *on_event;
    void *user;
    struct ch_permit permit;

    bool over;       /* ended or paused; RUN_END was sent */
    bool dead;       /* closed: touch nothing, say nothing */
    bool retired;    /* its session has another run: it is told of its end, no more */
    unsigned did;    /* bits of ch_run_did */
    enum ch_in stop; /* asked for inside a callback: an interruption that takes place when
                        the callback has returned; CH_IN_INPUT: none */
    struct ch_task stop_soon; /* at the latest then, if nothing else happens */
    char *last_words; /* owned: of CH_IN_TAKEN_OVER; NULL: nobody has taken over */

    /* Parts, each private to a file, in one piece of memory with the run. */
    struct ch_control *control;   /* run/driver.c: begin, end, timers, cancellation */
    struct ch_turn *turn;         /* run/think.c: the model call in flight */
    struct ch_acting *acting;     /* run/act.c: the calls of the reply */
    struct ch_run_record *record;     /* journal/run_journal.c: what of it is stored */
    struct ch_run_origin *origin; /* handle/run_origin.c: who asked */
    /* Parts that not every run has; owned, NULL: none. */
    struct ch_run_features *features; /* run/feature.c */
    struct ch_journal_replay *past;             /* what it goes on from */
    struct ch_compaction *compaction; /* context/compaction.c */
    struct ch_embedding_wait *embedding;   /* context/tool_embedding.c */
    struct ch_run_recall *recall;     /* context/recall.c */
    struct ch_reply_directives *directives;             /* context/reply_directives.c */

    struct ch_target *target; /* of the model call that was made last, or is made */
    struct ch_arena arena;    /* of this turn: request, hooks' texts */
    int64_t stamp;            /* time of the chunk being decoded, 0 between chunks */
    const struct ch_msg *reply; /* in the transcript: whose calls are run */
    struct ch_batch *batch;
    struct ch_list children; /* runs that calls of it are (run/parent.h) */
    unsigned nchildren;      /* agents called by it that have ended; stored */
    struct ch_queue steering, follow_ups;
    struct ch_buf text; /* the answer so far */
    char error[CHELA_ERROR_MAX];
};

static inline bool ch_run_did(const chela_run *run, enum ch_run_did what) {
    return run->did & what;
}
/* True the first time. */
static inline bool ch_run_once(chela_run *run, enum ch_run_did what) {
    bool first = !(run->did & what);
    run->did |= what;
    return first;
}

static inline bool ch_run_stops(const chela_run *run) {
    return run->stop != CH_IN_INPUT;
}

#endif
