/* plan_steps.h -- a plan: steps that depend on each other.
 *
 * A planner writes a list of steps, each one call of a tool or, without a tool,
 * something to be worked out from earlier results. Whatever wrote it, it is
 * checked here: tools that do not exist, steps that wait for each other or for
 * a later one, too many of them, steps that only check or report. What is wrong
 * is said in words that a planner can act on.
 *
 * Arguments may name the result of an earlier step, $step_2_result, or a place
 * in it, $step_2_result.items[0].id. Results are put in as values: a string that
 * is nothing but a reference becomes the value itself, inside a longer string it
 * becomes text of that string. A command line takes none, so that no result is
 * ever read by a shell.
 *
 * Pure: no clock, no I/O. A plan points into the JSON it was read from. */
#ifndef CH_AGENT_PLAN_STEPS_H
#define CH_AGENT_PLAN_STEPS_H
#include "base/buf.h"
#include "base/limits.h"
#include "json/json.h"

struct ch_plan_step {
    unsigned id;                 /* as the planner numbered it */
    struct ch_sv description;
    struct ch_sv tool;           /* empty: it is answered from results */
    const struct ch_json *input; /* an object */
    unsigned needs;              /* bit i: the step at index i, always an earlier one */
};

struct ch_plan_steps {
    struct ch_plan_step list[CH_LIMIT_PLAN_STEPS];
    size_t n;
};

/* What a planner may use. */
struct ch_plan_tools {
    bool (*known)(struct ch_sv tool, void *user);
    /* Optional. Does this argument of the tool go to a shell? */
    bool (*is_command)(struct ch_sv tool, struct ch_sv argument, void *user);
    void *user;
};

/* list: an array of {step_id, description, tool_name, tool_input, depends_on}.
 * CHELA_EINVAL: it is no plan, and `why` says what is wrong, one line each. */
int ch_plan_steps_read(const struct ch_json *list, const struct ch_plan_tools *tools,
                       struct ch_plan_steps *out, struct ch_buf *why);

/* The same form again. */
struct ch_jw;
void ch_plan_steps_write(const struct ch_plan_step *s, const struct ch_plan_steps *all,
                         struct ch_jw *w);

/* Bits of the steps that can begin: in neither set, with all they need in `done`. */
unsigned ch_plan_steps_ready(const struct ch_plan_steps *p, unsigned done, unsigned failed);
/* Index of the step with this number; negative: there is none. */
int ch_plan_steps_find(const struct ch_plan_steps *p, int64_t id);

/* The input of a step as JSON text with every reference replaced. results: by
 * index, the text that each step gave. CHELA_EINVAL: a result has no such
 * place, and `why` says which. */
int ch_plan_steps_fill(const struct ch_plan_steps *p, const struct ch_plan_step *s,
                       const struct ch_sv *results, struct ch_buf *out, struct ch_buf *why);

#endif
