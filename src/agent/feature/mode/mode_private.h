/* mode_private.h -- shared by mode.c, planning.c, judging.c and routing.c only.
 *
 * The next step is read from the conversation in every turn. This struct holds only data
 * that is not in the conversation. Of these data, STATE records hold `answering` and
 * `reacts`; a recovered run does not need the others. */
#ifndef CH_AGENT_MODE_PRIVATE_H
#define CH_AGENT_MODE_PRIVATE_H
#include "agent/feature/mode/mode.h"
#include "agent/feature/mode/mode_settings.h"
#include "agent/feature/mode/reflect.h"
#include "agent/feature/mode/role.h"
#include "agent/feature/mode/plan_progress.h"
#include "agent/run/feature_turn.h"
#include "base/say.h"
#include "json/writer.h"

struct ch_mode_state {
    const struct ch_feature *mode;  /* plan or route; NULL: reflection only */
    struct ch_role_question *asked; /* owned: question to a role; NULL: none */
    struct ch_plan_progress round;  /* progress of the plan, read in this turn */
    bool read;
    bool judged; /* the results were accepted */
    struct ch_reflect_state tried;
    size_t looked_at;                /* length of the transcript at the last judgement */
    bool reviewing;                  /* the answer is being judged */
    bool plans;                      /* route: the router chose the planner */
    bool routed;                     /* route: the router chose the plan's only step */
    bool answering;                  /* the model writes the answer in this turn */
    bool reacts;                     /* no plan or route came about: as in mode react */
    bool told_to_answer;             /* the model was told to answer now */
    bool shown;                      /* the plan was emitted */
    unsigned bad_plans;              /* consecutive bad plans */
    struct ch_buf feedback;          /* feedback for the planner */
    int repeated_step;               /* index of the step to repeat; negative: none */
    struct ch_buf advice;            /* what to change in the repeated step */
    int filling;                     /* index of the step for which the executor writes arguments */
    char *args[CH_LIMIT_PLAN_STEPS]; /* owned: arguments by the executor; NULL: none */
    unsigned hopeless;               /* bits of steps without valid arguments */
    struct ch_buf why;               /* why they have none */
    unsigned running, done, failed;  /* bits of steps, for events */
    unsigned skipped;                /* bits of skipped steps in the last event */
};

struct ch_mode_state *ch_mode_state(const chela_run *run); /* NULL: the run has no mode */

/* --- mode.c: ends of a turn. The caller must not use the turn afterwards */
/* Ends the run with a role's text, or with `otherwise`, in the person's language, if the text is
 * empty. */
void ch_mode_say(chela_run *run, struct ch_sv text, enum ch_say otherwise, enum ch_reason reason);
/* A role gave no usable answer. True: a warning states this and the alternative, and the run
 * continues. False: the run has ended. */
bool ch_mode_does_without(chela_run *run, enum ch_role_kind role, const struct ch_role_answer *a,
                          const char *instead);
/* Leaves this and the following turns to the model, as in mode react. */
void ch_mode_react(chela_run *run);
/* Asks a role; fn gets the run as its user argument. */
void ch_mode_ask(chela_run *run, enum ch_role_kind role, const struct ch_prompt_value *values,
                 size_t n, ch_role_answer_fn *fn);

/* --- mode.c: context of roles */
bool ch_mode_offers(const chela_run *run, const struct ch_tool *t);
void ch_mode_write_tool(struct ch_jw *w, const struct ch_tool *t, const char *kind);
void ch_mode_context(const chela_run *run, struct ch_buf *out);
/* Writes the results of the plan's steps, with failures and steps that were not run. */
void ch_mode_results(const struct ch_mode_state *k, struct ch_buf *out);
void ch_mode_write_plan(const struct ch_plan_steps *p, struct ch_jw *w);
static inline struct ch_sv ch_mode_or_none(const struct ch_buf *b) {
    return b->n ? ch_buf_sv(b) : CH_SV("none");
}

#endif
