/* mode_private.h -- what the files of modes share: mode.c, planning.c, judging.c,
 * routing.c. Nobody else includes it.
 *
 * What is done next is read from the conversation each turn; what is kept here
 * is only what no conversation holds, and a run that goes on elsewhere can do
 * without. */
#ifndef CH_AGENT_MODE_PRIVATE_H
#define CH_AGENT_MODE_PRIVATE_H
#include "agent/feature/mode/mode.h"
#include "agent/feature/mode/mode_settings.h"
#include "agent/feature/mode/reflect.h"
#include "agent/feature/mode/role.h"
#include "agent/feature/mode/plan_progress.h"
#include "agent/run/feature_turn.h"
#include "json/writer.h"

struct ch_mode_state {
    const struct ch_feature *mode; /* PLAN or ROUTE; NULL: reflection alone */
    struct ch_role_question *asked;  /* owned: the role that is being asked; NULL: none */
    struct ch_plan_progress round;   /* of this turn */
    bool read;
    bool judged;             /* what the steps gave is good enough */
    struct ch_reflect_state tried;
    size_t looked_at;        /* messages of the conversation when something was judged last */
    bool reviewing;          /* it is the answer that is being judged */
    bool plans;              /* ROUTE: the request is for the planner */
    bool routed;             /* ...or its one step was the router's choice */
    bool answering;          /* this turn is the model's, and has no tools */
    bool told;               /* that it is to answer now */
    bool shown;              /* the plan, to whoever watches */
    unsigned bad_plans;      /* in a row */
    struct ch_buf feedback;  /* for the planner */
    int again;               /* index of the step to do once more; negative: none */
    struct ch_buf advice;    /* what to do differently */
    int filling;             /* index of the step whose arguments the executor makes */
    char *args[CH_LIMIT_PLAN_STEPS]; /* owned: those it made; NULL: none */
    unsigned hopeless;       /* bits of steps that nobody can make a call of */
    struct ch_buf why;       /* ...and why */
    unsigned running, done, failed; /* bits of steps, for events */
};

struct ch_mode_state *ch_mode_state(const chela_run *run); /* NULL: the run has none */

/* --- mode.c: ends of a turn, after which nothing of it may be touched */
/* The run ends with these words, which are a role's, or these if it has none. */
void ch_mode_say(chela_run *run, struct ch_sv text, const char *otherwise, enum ch_reason reason);
/* The run fails. What stopped a role stops the run. */
void ch_mode_fail(chela_run *run, enum ch_reason reason, const char *why);
void ch_mode_unanswered(chela_run *run, enum ch_role_kind role, const struct ch_role_answer *a);
/* Ask a role; fn gets the run. */
void ch_mode_ask(chela_run *run, enum ch_role_kind role, const struct ch_prompt_value *values,
                 size_t n, ch_role_answer_fn *fn);

/* --- mode.c: what roles are told */
bool ch_mode_offers(const chela_run *run, const struct ch_tool *t);
void ch_mode_write_tool(struct ch_jw *w, const struct ch_tool *t, const char *kind);
void ch_mode_context(const chela_run *run, struct ch_buf *out);
/* What the steps of the plan gave, failures and omissions included. */
void ch_mode_results(const struct ch_mode_state *k, struct ch_buf *out);
void ch_mode_write_plan(const struct ch_plan_steps *p, struct ch_jw *w);
static inline struct ch_sv ch_mode_or_none(const struct ch_buf *b) {
    return b->n ? ch_buf_sv(b) : CH_SV("none");
}

#endif
