/* prompts_builtin.h -- the prompts that come with chela, inside the library. */
#ifndef CH_PROMPT_PROMPTS_BUILTIN_H
#define CH_PROMPT_PROMPTS_BUILTIN_H
#include "prompt/prompts.h"

/* Those that come with chela. */
int ch_prompts_builtin(struct ch_prompts *c, struct chela_error *err);

/* Their test cases, the text of a YAML file; {NULL,0}: there are none. */
struct ch_sv ch_prompts_builtin_cases(const char *name);

#endif
