/* skill_call.h -- a skill called by a person: "/skill NAME what to do".
 *
 * The model need not select the skill or read its file: the prompt contains the
 * instructions and the base directory of relative paths in them. */
#ifndef CH_PROMPT_SKILL_CALL_H
#define CH_PROMPT_SKILL_CALL_H
#include "chela/error.h"
#include "prompt/skills.h"

/* True if the text begins with the command. */
bool ch_skill_called(struct ch_sv text);

/* Append the text for the model. Blocks. CHELA_EINVAL: no name. CHELA_ENOENT: no such skill
 * for people, or its file cannot be opened beneath the workspace; err suggests known names. Another
 * error: the file cannot be read, or is too large. */
int ch_skill_call(const struct ch_skills *s, const char *workspace, struct ch_sv text,
                  struct ch_buf *out, struct chela_error *err);

/* The skill of a text that ch_skill_call made; NULL: another text, or the skill is gone. */
const struct ch_skill *ch_skill_in_call(const struct ch_skills *s, struct ch_sv text);

/* The same without the file's text: the model is asked to read the file, so that the tool
 * policy decides whether the sender may have it read. */
int ch_skill_request(const struct ch_skills *s, struct ch_sv text, struct ch_buf *out,
                     struct chela_error *err);

#endif
