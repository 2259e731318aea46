/* agent.h -- makes agents from options, and ends them.
 *
 * chela_agent_close marks an agent. The agent is closed when no session, no override and no
 * hold uses it. Loop thread only. */
#ifndef CH_AGENT_API_AGENT_H
#define CH_AGENT_API_AGENT_H
#include "agent/handle/agent.h"

struct ch_command_check;
struct ch_pins;

/* chela_agent_new with options in internal form. */
int ch_agent_open(chela_runtime *rt, const struct ch_agent_opts *opts, chela_agent **out,
                  struct chela_error *err);

/* chela_agent_add_command with a program whose files must be as pinned (tool/process/pinned.h), and
 * a rule for its calls (tool/call/command.h; NULL: none). */
int ch_agent_add_command(chela_agent *agent, const struct chela_command_opts *opts,
                         const struct ch_pins *pins, const struct ch_command_check *check,
                         struct chela_error *err);

/* Takes the names of built-in tools that tools of the user replace (CH_TOOL_REPLACES) from the deny
 * list. To be called once after such tools were added; chela_agent_policy does so itself. */
void ch_agent_free_names(chela_agent *agent);

/* Keeps an agent open although chela_agent_close was called; ch_agent_release ends that. */
void ch_agent_hold(chela_agent *agent);
void ch_agent_release(chela_agent *agent);

/* Closes the agents that chela_agent_close marked and that nothing uses any more. */
void ch_agents_close_unused(chela_runtime *rt);

#endif
