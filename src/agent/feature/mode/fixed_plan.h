/* fixed_plan.h -- a plan that a person wrote into a file, in place of a planner.
 *
 * The file is YAML or JSON:
 *
 *     steps:
 *       - { id: 1, tool: query_database, input: { sql: "select count(*) from orders" } }
 *       - { id: 2, ask: "Is this urgent? Answer with JSON, {urgent: true}: $request" }
 *       - { id: 3, tool: send_email, when: $step_2_result.urgent, input: { body: $step_1_result } }
 *     answer: $step_1_result
 *
 * The plan joins the conversation as a planner's plan does, so it has the same order, journal
 * and recovery (plan_progress.h). A step without a tool asks a model. */
#ifndef CH_AGENT_FIXED_PLAN_H
#define CH_AGENT_FIXED_PLAN_H
#include "base/arena.h"
#include "chela/error.h"
#include "json/json.h"

/* Reads and checks a file, except that its tools exist. *out, in the arena: an object with
 * "steps", as ch_plan_steps_read takes them, and "answer", a list, or none.
 * Errors: CHELA_ENOENT: no such file. CHELA_EIO: the file cannot be read. CHELA_EPARSE: the
 * file is not YAML. CHELA_ELIMIT: the file is too large or too deeply nested. CHELA_EINVAL: no
 * valid plan. The message names the file, and the line if known. */
int ch_fixed_plan_load(struct ch_arena *a, const char *path, const struct ch_json **out,
                       struct chela_error *err);

#endif
