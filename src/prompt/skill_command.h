/* skill_command.h -- commands: files of Markdown whose text a person sends by "/NAME words".
 *
 * A command is a file NAME.md in a folder `commands` of a workspace or of the user, as other agents
 * have them. Its text is the message; nothing in it is executed. */
#ifndef CH_PROMPT_SKILL_COMMAND_H
#define CH_PROMPT_SKILL_COMMAND_H
#include "base/buf.h"
#include "base/sv.h"

/* Whether the file of a skill is that of a command: a skill's file is SKILL.md. */
bool ch_command_is_file(const char *path);

/* Append the body with the words in it: "$ARGUMENTS" is all words, "$1" to "$9" is one of them
 * (quotes keep spaces together). Words that the body has no place for follow after a blank line. */
void ch_command_expand(struct ch_sv body, struct ch_sv words, struct ch_buf *out);

#endif
