/* skill_call.h -- a skill called by a person: "/skill NAME what to do".
 *
 * The model then need not find out that it fits, nor read its file: the prompt
 * holds the instructions, and says what paths in them are relative to. */
#ifndef CH_PROMPT_SKILL_CALL_H
#define CH_PROMPT_SKILL_CALL_H
#include "chela/error.h"
#include "prompt/skills.h"

/* Does the text begin with the command? */
bool ch_skill_called(struct ch_sv text);

/* Append what the model is sent instead. Blocking. CHELA_EINVAL: no name.
 * CHELA_ENOENT: there is no such skill for people, or its file cannot be read
 * beneath the workspace; err says what is meant, or known. */
int ch_skill_call(const struct ch_skills *s, const char *workspace, struct ch_sv text,
                  struct ch_buf *out, struct chela_error *err);

/* The same without the file: the model is asked to read it, so that what the
 * writer may have read is decided by who decides about tools. */
int ch_skill_request(const struct ch_skills *s, struct ch_sv text, struct ch_buf *out,
                     struct chela_error *err);

#endif
