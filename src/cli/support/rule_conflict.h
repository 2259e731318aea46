/* rule_conflict.h -- finds tools whose description offers an act that a rule of the agent
 * forbids.
 *
 * The model sees both texts and may follow either. The prompt states that rules come first,
 * but a tool that must not be used is better not described at all (tools.deny). The check
 * compares words: a rule forbids an act ("never delete anything", "不要删除数据"), and a tool's
 * name or description has a word for the same act. A rule with a condition ("never send
 * mail without asking") forbids nothing by itself. */
#ifndef CH_CLI_RULE_CONFLICT_H
#define CH_CLI_RULE_CONFLICT_H
#include <stddef.h>

typedef void ch_rule_conflict_fn(const char *rule, const char *tool, void *user);

/* Calls fn for each pair. rules: NULL-terminated, may be NULL. instructions: may be NULL; each
 * of its sentences counts as a rule. tools: as chela_agent_tools_json gives them. */
void ch_rule_conflicts(const char *const *rules, const char *instructions, const char *tools,
                       ch_rule_conflict_fn *fn, void *user);

#endif
