/* system.h -- the instructions an agent starts with. */
#ifndef CH_PROMPT_SYSTEM_H
#define CH_PROMPT_SYSTEM_H

#include "prompt/skills.h"

/* The system prompt: what was given, or else a default, and the skills (NULL:
 * none). The caller frees it. It holds nothing that changes from run to run, so
 * that vendors can cache it. */
char *ch_system_prompt(const char *given, const char *workspace, const struct ch_skills *skills);

#endif
