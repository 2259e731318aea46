/* prompts_builtin.h -- the built-in prompts, embedded in the library. */
#ifndef CH_PROMPT_PROMPTS_BUILTIN_H
#define CH_PROMPT_PROMPTS_BUILTIN_H
#include "prompt/prompts.h"

/* Add the built-in prompts. */
int ch_prompts_builtin(struct ch_prompts *c, struct chela_error *err);

/* Their test cases, the text of a YAML file; {NULL,0}: none. */
struct ch_sv ch_prompts_builtin_cases(const char *name);

#endif
