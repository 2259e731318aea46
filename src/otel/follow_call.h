/* follow_call.h -- the tool calls of a followed run, as spans `execute_tool` and metrics.
 *
 * A call that is repeated or that waits has a span for each attempt and for each wait, below
 * the span of the call. Loop thread only. */
#ifndef CH_OTEL_FOLLOW_CALL_H
#define CH_OTEL_FOLLOW_CALL_H
#include "agent/handle/run.h"
#include "otel/metrics.h"

struct ch_follow_run;
struct ch_otel_output;
struct ch_wait_state;

/* A call that has not ended. */
struct ch_follow_call {
    uint64_t id;       /* hash of the call's id */
    int64_t start;     /* 0: the call has not started, because a person is asked */
    int64_t asked;     /* time of the question to a person; 0: no person is asked */
    int64_t since;     /* begin of the attempt or of the wait */
    int64_t until;     /* end of the wait; 0: the call does not wait */
    unsigned attempts; /* attempts that ended */
    bool sleeps;       /* the wait is the work of the call */
    bool waited;       /* the call waits or has waited: its attempts have spans */
};

/* The common part of the spans and metrics of a run's calls of one tool. */
struct ch_follow_call_memo {
    char tool[64]; /* its name; empty: nothing is known yet */
    struct ch_buf span; /* template; empty: not known */
    struct ch_otel_point *duration; /* NULL: not known */
};

#define CH_FOLLOW_CALL_MEMOS 4 /* of a run; tools whose hashes collide replace each other */

struct ch_follow_calls {
    struct ch_follow_call *open; /* owned */
    size_t n, cap;
    struct ch_follow_call_memo memos[CH_FOLLOW_CALL_MEMOS];
};

void ch_follow_call_begin(const struct ch_otel_output *o, struct ch_follow_run *r,
                          const chela_run *run, struct ch_sv id, int64_t now);
/* A person is asked about the call. */
void ch_follow_call_asked(struct ch_follow_run *r, struct ch_sv id, int64_t now);
/* An attempt of the call has ended, and the call waits. */
void ch_follow_call_wait(const struct ch_otel_output *o, struct ch_follow_run *r,
                         const chela_run *run, const struct ch_block *call,
                         const struct ch_wait_state *w, int64_t now);
void ch_follow_call_end(const struct ch_otel_output *o, struct ch_follow_run *r, chela_run *run,
                        const struct chela_event *ev);

#endif
