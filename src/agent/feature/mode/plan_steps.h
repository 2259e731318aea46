/* plan_steps.h -- a plan: steps that depend on each other.
 *
 * A planner writes a list of steps. Each step is one tool call or, without a tool, a
 * question that is answered from earlier results. Every plan is checked here: unknown
 * tools, circular or forward dependencies, too many steps, steps that only check or
 * report. Each problem is described so that a planner can correct it.
 *
 * Arguments may refer to the result of an earlier step, $step_2_result, or to a part of
 * it, $step_2_result.items[0].id. A string that consists of one reference is replaced by
 * the value itself; inside a longer string a reference is replaced by text. Command lines
 * take no references, so that no shell ever reads a result.
 *
 * A fixed plan (fixed_plan.h) may also refer to $request, the user's text, and give a step a
 * condition, `when`. A step whose condition does not hold is skipped, and so is a step all of
 * whose dependencies were skipped. The result of a skipped step is null.
 *
 * Pure: no clock, no I/O. A plan points into the JSON from which it was read. */
#ifndef CH_AGENT_PLAN_STEPS_H
#define CH_AGENT_PLAN_STEPS_H
#include "base/buf.h"
#include "base/limits.h"
#include "json/json.h"

struct ch_plan_step {
    unsigned id;                 /* number that the planner gave */
    struct ch_sv description;
    struct ch_sv tool;           /* empty: the step is answered from earlier results */
    const struct ch_json *input; /* JSON object */
    unsigned needs; /* bit i: depends on the step at index i, which is an earlier one */
    const struct ch_json *when; /* fixed plan: condition of the step; NULL: none */
};

struct ch_plan_steps {
    struct ch_plan_step list[CH_LIMIT_PLAN_STEPS];
    size_t n;
    bool fixed;            /* written by hand: conditions, $request, no model fills arguments */
    struct ch_sv request;  /* fixed plan: value of $request */
};

/* The tools that a planner may use. */
struct ch_plan_tools {
    bool (*known)(struct ch_sv tool, void *user);
    /* Optional: the argument of the tool is a command line. */
    bool (*is_command)(struct ch_sv tool, struct ch_sv argument, void *user);
    /* Optional: appends what the tool's schema does not permit in the input, which may hold
     * references. */
    void (*check_input)(struct ch_sv tool, const struct ch_json *input, struct ch_buf *wrong,
                        void *user);
    void *user;
    bool fixed; /* the plan is a fixed plan */
};

/* Reads a plan. list: an array of {step_id, description, tool_name, tool_input,
 * depends_on}. CHELA_EINVAL: not a valid plan; `why` has one line per problem. */
int ch_plan_steps_read(const struct ch_json *list, const struct ch_plan_tools *tools,
                       struct ch_plan_steps *out, struct ch_buf *why);

/* Writes a step in the form that ch_plan_steps_read takes. */
struct ch_jw;
void ch_plan_steps_write(const struct ch_plan_step *s, const struct ch_plan_steps *all,
                         struct ch_jw *w);

/* Bits of the steps that can start: neither done nor failed, with all dependencies in
 * `done`. */
unsigned ch_plan_steps_ready(const struct ch_plan_steps *p, unsigned done, unsigned failed);
/* Fixed plan: true if the condition of the step holds. results: as for ch_plan_steps_fill. */
bool ch_plan_steps_holds(const struct ch_plan_steps *p, const struct ch_plan_step *s,
                         const struct ch_sv *results);
/* Replaces the references in a text, which is not JSON. CHELA_EINVAL as ch_plan_steps_fill. */
int ch_plan_steps_fill_text(const struct ch_plan_steps *p, const struct ch_plan_step *s,
                            struct ch_sv text, const struct ch_sv *results, struct ch_buf *out,
                            struct ch_buf *why);
/* True: the text holds a reference, whose value is not known yet. */
bool ch_plan_steps_refers(struct ch_sv text);
/* Index of the step with this number; negative: none. */
int ch_plan_steps_find(const struct ch_plan_steps *p, int64_t id);

/* Writes the input of a step as JSON with every reference replaced. results: texts of the
 * steps, by index. CHELA_EINVAL: a result has no such member; `why` names it. */
int ch_plan_steps_fill(const struct ch_plan_steps *p, const struct ch_plan_step *s,
                       const struct ch_sv *results, struct ch_buf *out, struct ch_buf *why);

#endif
