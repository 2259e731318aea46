/* system.h -- the instructions an agent starts with. */
#ifndef CH_PROMPT_SYSTEM_H
#define CH_PROMPT_SYSTEM_H

/* The default system prompt; the caller frees it. It holds nothing that
 * changes from run to run, so that vendors can cache it. */
char *ch_system_prompt(const char *workspace);

#endif
