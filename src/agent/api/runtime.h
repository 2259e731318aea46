/* runtime.h -- makes runtimes from options, and frees what was closed. */
#ifndef CH_AGENT_RUNTIME_H
#define CH_AGENT_RUNTIME_H
#include "agent/handle/runtime.h"
#include "prompt/skills.h"

/* Frees closed runs, sessions and agents. These may be closed inside their own callbacks:
 * closing stops them at once and puts them on a list, and only this function frees them. It
 * is called on the loop's next turn, and by functions that must not be called from a
 * callback. Does nothing while a callback is on the stack. */
void ch_runtime_free_closed(chela_runtime *rt);
/* chela_runtime_new with a given clock. */
int ch_runtime_open(const struct chela_runtime_opts *opts, const struct ch_clock *clock,
                    chela_runtime **out, struct chela_error *err);

/* The user trusts the tools of the skills of this workspace (a real path), if their digest
 * (prompt/skill_tools.h) is this one. Holds for agents that are created afterwards. */
void ch_runtime_trust_skills(chela_runtime *rt, const char *workspace, const char *digest);
bool ch_runtime_trusts_skills(const chela_runtime *rt, const char *workspace,
                              const struct ch_skills *skills);

#endif
