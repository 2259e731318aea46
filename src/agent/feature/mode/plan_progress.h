/* plan_progress.h -- reads the progress of a plan from the conversation.
 *
 * The conversation is the only record. A plan joins it as a call of make_plan, each step
 * as a call whose id names plan, step and try:
 *
 *   plan_4            make_plan
 *   plan_4_s2         its step 2
 *   plan_4_s2_r1      the same step, repeated after a reflection
 *
 * So every process that has the conversation, also one that was started after a crash,
 * knows the request, the current plan and the steps that are done. Vendors see calls and
 * results like any others.
 *
 * A round begins after the last answer. Its plan is the last one that was accepted after
 * the user's last message; a new message of the user cancels it. A result counts only if
 * it is newer than the results of all steps that it depends on. Pure. */
#ifndef CH_AGENT_PLAN_PROGRESS_H
#define CH_AGENT_PLAN_PROGRESS_H
#include "agent/feature/mode/plan_steps.h"
#include "base/arena.h"
#include "model/message/message.h"

#define CH_PLAN_TOOL "make_plan"
#define CH_THINK_TOOL "think_step"
#define CH_REACT_TOOL "react_step"

struct ch_step_result {
    struct ch_sv result; /* in the transcript; p NULL: no valid result */
    bool failed;
    size_t at; /* position of the result in the round; 0: none */
};

/* The plan and its id are copies, which stay valid when the transcript changes. Results and the
 * refusal point into the transcript. */
struct ch_plan_progress {
    struct ch_arena arena;
    size_t begin;         /* index of the first message of the round */
    struct ch_sv request; /* the request, in the arena */
    bool planned;
    struct ch_sv id; /* id of the call of make_plan */
    struct ch_plan_steps steps;
    struct ch_step_result past[CH_LIMIT_PLAN_STEPS];
    unsigned done, failed; /* bits of steps */
    unsigned skipped;      /* bits of steps whose condition does not hold */
    const struct ch_json *answer; /* fixed plan: the value that becomes the answer; NULL: the
                                   * model writes the answer */
    unsigned tries;        /* repetitions of steps of this plan */
    unsigned retries;      /* repetitions in all plans of the round; a new plan counts as one */
    struct ch_sv refused;  /* why the last plan was refused; p NULL: it was accepted */
    unsigned refusals;     /* consecutive refused plans */
};

/* Reads the progress; release it with ch_plan_progress_release. */
void ch_plan_progress_read(const struct ch_transcript *t, struct ch_plan_progress *out);
void ch_plan_progress_release(struct ch_plan_progress *r);

/* The results of the steps, by index, as ch_plan_steps_fill needs them. */
void ch_plan_progress_results(const struct ch_plan_progress *r,
                              struct ch_sv out[CH_LIMIT_PLAN_STEPS]);

/* Make ids of calls, in the arena. */
struct ch_sv ch_plan_progress_plan_id(struct ch_arena *a, const struct ch_transcript *t);
struct ch_sv ch_plan_progress_step_id(struct ch_arena *a, struct ch_sv plan, unsigned step,
                                      unsigned try);
/* The index of the step that a call of this plan executes; negative: none. */
int ch_plan_progress_step(const struct ch_plan_progress *r, struct ch_sv call_id);

#endif
