/* prompt_head.h -- the YAML head of a prompt file. */
#ifndef CH_PROMPT_PROMPT_HEAD_H
#define CH_PROMPT_PROMPT_HEAD_H
#include "prompt/prompt.h"

/* Read the head of `file`, if it begins with one; *body is what follows it.
 * Errors as ch_prompt_read. */
int ch_prompt_head_read(struct ch_arena *a, const struct ch_prompt *t, struct ch_sv file,
                        struct ch_prompt_head *out, struct ch_sv *body, struct chela_error *err);

/* Does the text, whose holes are t->variables, keep what the head says? */
int ch_prompt_head_check(const struct ch_prompt *t, struct chela_error *err);

#endif
