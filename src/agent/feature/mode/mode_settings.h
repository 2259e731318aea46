/* mode_settings.h -- what an agent's options say about plans, roles and reflection. */
#ifndef CH_AGENT_MODE_SETTINGS_H
#define CH_AGENT_MODE_SETTINGS_H
#include "agent/handle/agent.h"

/* Prompts of chela's own that a run makes calls with. */
enum ch_role_kind {
    CH_ROLE_ROUTER,
    CH_ROLE_PLANNER,
    CH_ROLE_EXECUTOR,
    CH_ROLE_REFLECTOR,
    CH_ROLE_LISTENER,
    CH_ROLES
};

/* What is judged by a model call of its own. */
struct ch_reflecting {
    bool answers;      /* what a run would end with */
    bool errors;       /* results of which one is an error */
    const char *tools; /* in the arena: results of these, names and globs; NULL: none */
    bool never;        /* not even a plan */
};

struct ch_mode_settings { /* in the agent's arena */
    struct ch_reflecting reflection;
    const char *models[CH_ROLES]; /* NULL: the agent's own */
};

/* Zeroed if the options said nothing. */
const struct ch_mode_settings *ch_mode_settings(const chela_agent *a);

/* From the options `roles`, `reflection` and `reflect_tools`. */
int ch_mode_settings_read(chela_agent *a, const struct chela_agent_opts *o,
                          struct chela_error *err);
/* The model of a role; the text is copied. NULL, "": the agent's own. */
void ch_mode_settings_model(chela_agent *a, enum ch_role_kind role, const char *model);

#endif
