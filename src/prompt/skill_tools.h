/* skill_tools.h -- the tools that a skill asks to use without questions (allowed-tools).
 *
 * Authors write the names of other programs: Bash, Read, Edit. This module knows the tools that
 * such a name stands for. The list counts only in a workspace that its user trusts, and only
 * while the skill is active (agent/feature/skill). */
#ifndef CH_PROMPT_SKILL_TOOLS_H
#define CH_PROMPT_SKILL_TOOLS_H
#include "base/sha256.h"
#include "prompt/skills.h"
#include "tool/call/approval.h"

/* True if a usable skill has such a list. */
bool ch_skills_want_tools(const struct ch_skills *s);

/* Digest of the lists of the workspace's skills, in hexadecimal: what the user trusts. Skills of
 * the user do not count. */
void ch_skills_tools_digest(const struct ch_skills *s, char hex[2 * CH_SHA256_SIZE + 1]);

/* Grant the tools of the skill (out NULL: none is granted). Entries that name no known tool, or
 * have a pattern that cannot be read, are appended to `unknown`, comma-separated. */
void ch_skill_tools_grant(const struct ch_skill *skill, const struct ch_registry *tools,
                          struct ch_approvals *out, struct ch_buf *unknown);

/* Append the list as written, separated by spaces. */
void ch_skill_tools_show(const struct ch_skill *skill, struct ch_buf *out);

#endif
