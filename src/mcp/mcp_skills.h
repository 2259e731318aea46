/* mcp_skills.h -- skills that a server offers (extension io.modelcontextprotocol/skills).
 *
 * A server lists entries: the front matter of each skill, and URI, size and digest of its files.
 * A person accepts entries, which are stored; no file is read for that. The model sees the
 * accepted skills in the description of one tool, by which it reads their files. A file that
 * differs from its accepted entry is not used. */
#ifndef CH_MCP_SKILLS_H
#define CH_MCP_SKILLS_H
#include "mcp/mcp_client.h"

#define CH_MCP_SKILL_TOOL "read_skill"

/* --- entries; pure */

/* CHELA_EPROTO: the entry is invalid or exceeds a limit. */
int ch_mcp_skill_check(const struct ch_json *entry, struct chela_error *err);
/* The file of a valid entry: member of its resources; NULL: none. path: below the skill's
 * folder. */
const struct ch_json *ch_mcp_skill_file(const struct ch_json *entry, struct ch_sv path);
/* Append the file that the result of resources/read has. CHELA_EPROTO: the result is not that
 * file of the entry. */
int ch_mcp_skill_verify(const struct ch_json *entry, const struct ch_json *file,
                        const struct ch_json *result, struct ch_buf *out, struct chela_error *err);

/* --- of a client */

void ch_mcp_skills_open(chela_mcp *m, const char *origin);
void ch_mcp_skills_close(chela_mcp *m);
/* Append description and schema of the tool; false: no skill is accepted. */
bool ch_mcp_skills_describe(const chela_mcp *m, struct ch_buf *description, struct ch_buf *schema);
/* The body of the tool's function. */
int ch_mcp_skills_call(chela_call *call, chela_mcp *m);

#endif
