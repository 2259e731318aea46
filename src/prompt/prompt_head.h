/* prompt_head.h -- the YAML head of a prompt file. */
#ifndef CH_PROMPT_PROMPT_HEAD_H
#define CH_PROMPT_PROMPT_HEAD_H
#include "prompt/prompt.h"

/* Parse the head of `file`, if any; *body is the text after it. Errors as ch_prompt_read. */
int ch_prompt_head_read(struct ch_arena *a, const struct ch_prompt *t, struct ch_sv file,
                        struct ch_prompt_head *out, struct ch_sv *body, struct chela_error *err);

/* Check that the text, whose placeholders are t->variables, agrees with the head. */
int ch_prompt_head_check(const struct ch_prompt *t, struct chela_error *err);

#endif
