/* role.h -- one question to a model in a role: planner, router, ...
 *
 * A role is a prompt of the catalogue (prompt/prompts.h), perhaps a model of its
 * own, and an answer that fits the prompt's schema. It is asked in a run of its
 * own, in a session that nobody else sees and nobody keeps: so it is retried,
 * falls back to other models and is asked again for an answer that does not fit,
 * as any run is. What it uses is charged to the run it works for, whose budgets
 * bound it; its requests, retries and warnings are events of that run. */
#ifndef CH_AGENT_ROLE_H
#define CH_AGENT_ROLE_H
#include "agent/feature/mode/mode_settings.h"
#include "agent/handle/run.h"
#include "prompt/prompts.h"

struct ch_role_question; /* a question that is under way */

struct ch_role_answer { /* borrowed for the callback */
    const struct ch_json *v; /* NULL: there is none */
    struct ch_sv text;       /* the same, as JSON */
    enum ch_reason reason;   /* then: why, as the end of a run says it */
    const char *error;
};
typedef void ch_role_answer_fn(const struct ch_role_answer *a, void *user);

const char *ch_role_name(enum ch_role_kind role); /* "planner" */

/* Ask on behalf of run. fn is called once, later, unless ch_role_close comes
 * first. NULL and err: the question could not be put. */
struct ch_role_question *ch_role_ask(chela_run *run, enum ch_role_kind role,
                                     const struct ch_prompt_value *values, size_t n,
                                     ch_role_answer_fn *fn, void *user, struct chela_error *err);

void ch_role_close(struct ch_role_question *q); /* NULL is a no-op */

/* The agent that carries out a step of a plan which is a run of its own: like
 * base, but that it reacts, in words, with the executor's model. base's; NULL and
 * err: it could not be made. */
chela_agent *ch_role_worker(chela_agent *base, struct chela_error *err);

/* Whether the agent was made for a role of the agent that it is derived from. */
bool ch_role_is_agent(const chela_agent *a);

#endif
