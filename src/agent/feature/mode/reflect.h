/* reflect.h -- decides the next action from the scores of a judge.
 *
 * The prompt `reflector` asks a model to score a result and to propose an action. The model
 * supplies only the scores; this file decides the action. So a lenient, confused or
 * manipulated judge cannot accept a wrong result, and no judge can request attempts without
 * end:
 *
 *   all scores 4 or 5                   accept
 *   some 3, none below                  one more attempt, then accept and warn
 *   some 1 or 2, attempts left          retry the step, or make a new plan
 *   some 1 or 2, none left              ask a person
 *
 * Pure: no clock, no I/O. The caller keeps and stores the state. */
#ifndef CH_AGENT_REFLECT_H
#define CH_AGENT_REFLECT_H
#include <stdbool.h>

#include "chela/choice.h"
#include "base/arena.h"
#include "chela/error.h"

#define CH_REFLECT_RETRIES 3 /* attempts after the first one */

enum ch_reflect_action {
    CH_REFLECT_ACCEPT = CHELA_JUDGEMENT_ACCEPT,
    CH_REFLECT_RETRY_STEP = CHELA_JUDGEMENT_RETRY_STEP,
    CH_REFLECT_REPLAN = CHELA_JUDGEMENT_REPLAN,
    CH_REFLECT_ESCALATE = CHELA_JUDGEMENT_ESCALATE,
};

struct ch_reflection { /* the judge's answer; texts are in the arena */
    int completeness, correctness, format; /* 1..5 */
    enum ch_reflect_action proposed;
    int64_t step;             /* step to repeat; 0: none */
    const char *modification; /* what to change; may be "" */
    const char *question;     /* question for a person; may be "" */
    const char *reasons;      /* why scores below 4 are not higher; may be "" */
};

/* Reads the judge's answer. CHELA_EPARSE: no JSON. CHELA_EINVAL: a score is missing or out
 * of range, or the action is unknown. */
int ch_reflect_read(struct ch_arena *a, struct ch_sv answer, struct ch_reflection *out,
                    struct chela_error *err);

struct ch_reflect_state { /* state of one step or plan; all zero: no attempt yet */
    unsigned retries;
    bool doubted; /* a score of 3 led to another attempt */
};

struct ch_reflect_decision {
    enum ch_reflect_action action;
    bool warn; /* accepted despite a score of 3 */
};

/* Decides, and counts the attempt that the decision asks for. */
struct ch_reflect_decision ch_reflect_decide(const struct ch_reflection *r,
                                             struct ch_reflect_state *s);

#endif
