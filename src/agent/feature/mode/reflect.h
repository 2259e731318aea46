/* reflect.h -- what the scores of a judge mean.
 *
 * The prompt `reflector` asks a model to score a result and to propose how to
 * go on. The scores are its to give; what follows from them is decided here, so
 * that a judge that is lenient, confused or talked over cannot wave a wrong
 * result through, and none can ask for another attempt for ever:
 *
 *   all scores 4 or 5                   accept
 *   some 3, none below                  one more attempt, then accept and warn
 *   some 1 or 2, attempts left          try the step again, or plan anew
 *   some 1 or 2, none left              ask a person
 *
 * Pure: no clock, no I/O; the state is the caller's to keep and store. */
#ifndef CH_AGENT_REFLECT_H
#define CH_AGENT_REFLECT_H
#include <stdbool.h>

#include "chela/choice.h"
#include "base/arena.h"
#include "chela/error.h"

#define CH_REFLECT_RETRIES 3 /* attempts after the first */

enum ch_reflect_action {
    CH_REFLECT_ACCEPT = CHELA_JUDGEMENT_ACCEPT,
    CH_REFLECT_RETRY_STEP = CHELA_JUDGEMENT_RETRY_STEP,
    CH_REFLECT_REPLAN = CHELA_JUDGEMENT_REPLAN,
    CH_REFLECT_ESCALATE = CHELA_JUDGEMENT_ESCALATE,
};
const char *ch_reflect_action_name(enum ch_reflect_action action); /* "retry_step" */

struct ch_reflection { /* what the judge said; texts in the arena */
    int completeness, correctness, format; /* 1..5 */
    enum ch_reflect_action proposed;
    int64_t step;             /* to try again; 0: none is named */
    const char *modification; /* what to do differently; "" */
    const char *question;     /* for a person; "" */
};

/* From the answer to the prompt. CHELA_EPARSE: no JSON; CHELA_EINVAL: a score
 * is missing or out of range, or the action is none. */
int ch_reflect_read(struct ch_arena *a, struct ch_sv answer, struct ch_reflection *out,
                    struct chela_error *err);

struct ch_reflect_state { /* of one step or plan; zeroed: nothing was tried */
    unsigned retries;
    bool doubted; /* a 3 was given a second chance */
};

struct ch_reflect_decision {
    enum ch_reflect_action action;
    bool warn;       /* accepted although there is doubt */
    bool overruled;  /* the judge proposed something else */
};

/* Counts the attempt that it asks for. */
struct ch_reflect_decision ch_reflect_decide(const struct ch_reflection *r,
                                             struct ch_reflect_state *s);

#endif
