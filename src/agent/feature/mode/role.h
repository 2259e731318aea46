/* role.h -- asks a model in a role, such as planner or router, one question.
 *
 * A role is a prompt of the catalogue (prompt/prompts.h), an optional model, and an answer
 * that matches the prompt's schema. The question is a separate run in a session that is
 * neither visible nor stored. So retries, fallbacks and a second request for an answer that
 * does not match work as in any run. Usage is charged to the run on whose behalf the role is
 * asked, and that run's budgets limit it; requests, retries and warnings are events of that
 * run. */
#ifndef CH_AGENT_ROLE_H
#define CH_AGENT_ROLE_H
#include "agent/feature/mode/mode_settings.h"
#include "agent/handle/run.h"
#include "prompt/prompts.h"

struct ch_role_question; /* a question in flight */

struct ch_role_answer { /* borrowed, valid during the callback */
    const struct ch_json *v; /* the answer; NULL: no answer */
    struct ch_sv text;       /* the answer as JSON text; without an answer: the model's last text */
    enum ch_reason reason;   /* without an answer: the reason */
    const char *error;
};
typedef void ch_role_answer_fn(const struct ch_role_answer *a, void *user);

const char *ch_role_name(enum ch_role_kind role); /* "planner" */

/* Asks a role on behalf of the run. fn is called once, later, unless ch_role_close is
 * called first. NULL and err: the role could not be asked. */
struct ch_role_question *ch_role_ask(chela_run *run, enum ch_role_kind role,
                                     const struct ch_prompt_value *values, size_t n,
                                     ch_role_answer_fn *fn, void *user, struct chela_error *err);

void ch_role_close(struct ch_role_question *q); /* NULL is a no-op */

/* The agent for a plan's step that is a separate run: like base, but in mode react, with
 * plain text answers and the executor's model. base owns the agent. NULL and err: failure. */
chela_agent *ch_role_worker(chela_agent *base, struct chela_error *err);

/* True: the agent was made for a role of its base. */
bool ch_role_is_agent(const chela_agent *a);

#endif
