/* role_prompts.h -- the built-in prompts of roles, and those that the host added. */
#ifndef CH_AGENT_ROLE_PROMPTS_H
#define CH_AGENT_ROLE_PROMPTS_H
#include <stddef.h>

#include "agent/handle/runtime.h"

struct ch_prompts;

/* All prompts of the runtime. NULL and err: one of them is invalid. */
const struct ch_prompts *ch_role_prompts(chela_runtime *rt, struct chela_error *err);
void ch_role_prompts_free(chela_runtime *rt);

/* Appends the instructions that the agent's prompt (context.prompt) has for a session; session
 * NULL: without a roll-out. *fingerprint (may be NULL) is borrowed until the prompts change. */
int ch_instructions_render(const chela_agent *a, const char *session, struct ch_buf *out,
                           const char **fingerprint, struct chela_error *err);

/* The other names by which a role's prompt may call a value. */
extern const struct ch_prompt_alias {
    const char *name, *other;
} ch_prompt_aliases[];
extern const size_t ch_prompt_naliases;

#endif
