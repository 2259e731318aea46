/* role_prompts.h -- prompts of chela's own, and those that the host gave. */
#ifndef CH_AGENT_ROLE_PROMPTS_H
#define CH_AGENT_ROLE_PROMPTS_H
#include "agent/handle/runtime.h"

struct ch_prompts;

/* Every prompt there is, for prompt/prompts.h; NULL and err: one is broken. */
const struct ch_prompts *ch_role_prompts(chela_runtime *rt, struct chela_error *err);
void ch_role_prompts_free(chela_runtime *rt);

#endif
