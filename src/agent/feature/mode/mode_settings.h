/* mode_settings.h -- settings of an agent for plans, roles and reflection. */
#ifndef CH_AGENT_MODE_SETTINGS_H
#define CH_AGENT_MODE_SETTINGS_H
#include "agent/handle/agent.h"

/* Roles: built-in prompts for calls on behalf of a run. */
enum ch_role_kind {
    CH_ROLE_ROUTER,
    CH_ROLE_PLANNER,
    CH_ROLE_EXECUTOR,
    CH_ROLE_REFLECTOR,
    CH_ROLE_LISTENER,
    CH_ROLES
};

/* Which outputs the reflector judges. */
struct ch_reflecting {
    bool answers;      /* the answer of a run */
    bool errors;       /* results with an error */
    const char *tools; /* in the arena: results of these tools, as names and globs; NULL: none */
    bool never;        /* judge nothing, not even a plan */
};

struct ch_mode_settings { /* in the agent's arena */
    struct ch_reflecting reflection;
    const char *models[CH_ROLES]; /* NULL: the agent's model */
    const struct ch_json *plan;   /* a fixed plan (fixed_plan.h); NULL: a planner makes plans */
};

/* The settings; all zero if the options have none. */
const struct ch_mode_settings *ch_mode_settings(const chela_agent *a);

/* Reads the options of `planning`. Errors: those of ch_fixed_plan_load, and CHELA_EINVAL for
 * a wrong value of `reflection`. */
int ch_mode_settings_read(chela_agent *a, const struct ch_agent_opts *o,
                          struct chela_error *err);
/* Sets the model of a role; the text is copied. NULL or "" changes nothing: a role has the
 * agent's model until one is set. */
void ch_mode_settings_model(chela_agent *a, enum ch_role_kind role, const char *model);

#endif
