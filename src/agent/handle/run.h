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

struct ch_compaction;
struct ch_past;
struct ch_pondering;
struct ch_run_features;
struct ch_run_origin;
struct ch_run_recall;
struct ch_said;

/* What a run may do, and who has to agree. */
struct ch_permit {
    struct ch_policy policy;  /* within `bounds`, or the agent's */
    struct ch_policy *bounds; /* owned: the policies that fit, within the agent's; NULL: none */
    bool own_policy;          /* it says more than the agent's */
    bool forgets;             /* ignore remembered approvals */
    enum ch_consent ask_means;
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
    struct ch_run_origin *origin; /* handle/run_origin.c */
    struct ch_permit permit;

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
    size_t began;         /* its first message in the transcript */
    bool begun;           /* RUN_START was sent in this life */
    uint64_t stored_events; /* m.seq as it was last stored */
    uint64_t start_seq;   /* of the record that it began with; 0: in another process, or none */
    uint64_t admit_seq;   /* once committed it begins; 0: does not wait */
    uint64_t end_seq;     /* once committed it has ended, or is paused; 0: likewise */
    uint64_t *gates;      /* owned, by call: once committed it may run; 0: likewise */
    bool acting;          /* what is stored now is so in the middle of its calls */
    unsigned recoveries;  /* times that it was taken up since the last reply, or one below */
    unsigned told; /* the status that lists show */
    struct ch_past *past; /* owned: what it goes on from; NULL: nothing */
    void (*take_up)(chela_run *run); /* ...and how; NULL: it begins anew */
    struct ch_course course; /* stored with the machine */

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
    struct ch_run_recall *recall; /* owned: notes that were looked for; NULL: not yet */
    struct ch_compaction *compaction; /* owned; NULL: none is under way */
    bool rewrote;               /* the transcript */

    /* acting */
    struct ch_list children; /* runs that calls of it are: delegate.h */
    unsigned nchildren;      /* agents called by it that have ended; stored */
    const struct ch_msg *reply; /* in the transcript */
    bool written; /* no model wrote it, but a feature */
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
    struct ch_run_features *features; /* owned; NULL: none (run/feature.h) */
    bool silent; /* a feature said so of its end */
    char *last_words; /* owned: of CH_IN_TAKEN_OVER; NULL: nobody has taken over */

    struct ch_said *said; /* owned: context/reply_directives.c; NULL: nothing */
    char error[CHELA_ERROR_MAX];
};

static inline bool ch_stops(const chela_run *run) {
    return run->stop != CH_IN_INPUT;
}

#endif
