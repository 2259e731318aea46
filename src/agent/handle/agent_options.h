/* agent_options.h -- the options of an agent in one struct.
 *
 * Programs pass options in groups (chela/session.h), each a struct with its own
 * size. The library reads them into this struct once: groups that were not given
 * are zero, and every member can be used without a look at its group. Texts, lists
 * and the groups that are passed on as pointers stay the program's. */
#ifndef CH_AGENT_OPTIONS_H
#define CH_AGENT_OPTIONS_H
#include "base/arena.h"
#include "chela/session.h"

struct ch_agent_opts {
    const char *id, *description;
    const char *model, *const *fallbacks, *base_url, *api_key, *api_key_env;
    const char *system, *workspace;
    const char *tools, *allow, *deny, *tool_choice;
    enum chela_mode mode;
    enum chela_approve approve;
    enum chela_permission permission;
    enum chela_apply apply;
    enum chela_reasoning reasoning;
    int64_t max_output_tokens;
    const double *temperature;
    const char *output_schema;
    struct chela_limits limits;
    struct chela_loop_guard loop_guard;
    struct chela_request_opts request;
    struct chela_prompt_opts prompt;
    struct chela_toolset_opts toolset;
    struct chela_approval_opts approvals;
    struct chela_queue_opts queue;
    struct chela_compaction_opts compaction;
    struct chela_planning_opts planning;
    struct chela_team_opts team;
    struct chela_agent_gateway_opts gateway;
    const struct chela_sandbox_opts *sandbox;     /* read by ch_sandbox_read; may be NULL */
    const struct chela_heartbeat_opts *heartbeat; /* read by beat.c; may be NULL */
};

/* Reads the public options. given may be NULL. CHELA_EINVAL: a struct has a wrong size, or a limit
 * or a parameter of the requests is out of range. */
int ch_agent_opts_read(const struct chela_agent_opts *given, struct ch_agent_opts *out,
                       struct chela_error *err);

/* Writes the options back in their public form. The groups are copied into the arena. */
void ch_agent_opts_write(const struct ch_agent_opts *from, struct ch_arena *a,
                         struct chela_agent_opts *out);

#endif
