/* plan_progress.h -- how far a planned request has come, read from the conversation.
 *
 * The conversation is the only record there is. A plan joins it as a call of
 * make_plan, each step as a call whose id names plan, step and try:
 *
 *   plan_4            make_plan
 *   plan_4_s2         its step 2
 *   plan_4_s2_r1      the same, done again after a reflection
 *
 * So whoever holds the conversation, a process that was started after a crash
 * too, knows what was asked, which plan holds and which steps are done; and a
 * vendor sees calls and results like any others.
 *
 * A round begins after the last answer. Its plan is the last one that was
 * accepted after the user's last words: new words of the user undo it. A result
 * counts only if it is newer than those of all steps it depends on. Pure. */
#ifndef CH_AGENT_PLAN_PROGRESS_H
#define CH_AGENT_PLAN_PROGRESS_H
#include "agent/feature/mode/plan_steps.h"
#include "base/arena.h"
#include "model/message/message.h"

#define CH_PLAN_TOOL "make_plan"
#define CH_THINK_TOOL "think_step"
#define CH_REACT_TOOL "react_step"

struct ch_step_result {
    struct ch_sv result; /* p NULL: there is none that counts */
    bool failed;
    size_t at; /* place of the result in the round; 0: none */
};

struct ch_plan_progress { /* points into the conversation it was read from */
    struct ch_arena arena;
    size_t begin;           /* the first message of the round */
    struct ch_sv request;   /* what was asked for, in the arena */
    bool planned;
    struct ch_sv id;        /* of the plan's call */
    struct ch_plan_steps steps;
    struct ch_step_result past[CH_LIMIT_PLAN_STEPS];
    unsigned done, failed;  /* bits of steps */
    unsigned tries;         /* times that steps of this plan were done again */
    unsigned retries;       /* the same for all plans of the round, new plans included */
    struct ch_sv refused;   /* why nobody wanted the last plan; p NULL: it was accepted */
    unsigned refusals;      /* plans in a row that nobody wanted */
};

/* What it holds goes with ch_plan_progress_release. */
void ch_plan_progress_read(const struct ch_transcript *t, struct ch_plan_progress *out);
void ch_plan_progress_release(struct ch_plan_progress *r);

/* The texts that the steps gave, by index, as ch_plan_steps_fill takes them. */
void ch_plan_progress_results(const struct ch_plan_progress *r,
                              struct ch_sv out[CH_LIMIT_PLAN_STEPS]);

/* Ids of calls, in the arena. */
struct ch_sv ch_plan_progress_plan_id(struct ch_arena *a, const struct ch_transcript *t);
struct ch_sv ch_plan_progress_step_id(struct ch_arena *a, struct ch_sv plan, unsigned step,
                                      unsigned try);
/* The step that a call of this plan belongs to, as an index; negative: none. */
int ch_plan_progress_step(const struct ch_plan_progress *r, struct ch_sv call_id);

#endif
