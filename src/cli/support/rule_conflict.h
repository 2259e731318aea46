/* rule_conflict.h -- finds tools whose description offers an act that a rule of the agent
 * forbids.
 *
 * The model sees both texts and may follow either. The prompt states that rules come first,
 * but a tool that must not be used is better not described at all (tools.deny). The check
 * compares words: a rule forbids an act ("never delete anything", "不要删除数据"), and a tool's
 * name or description has a word for the same act. A rule with a condition ("never send
 * mail without asking") forbids nothing by itself. */
/* Faults that need no comparison of meanings: a rule that names a tool which the agent lacks, and
 * two rules of which one requires a tool by name that the other forbids. A word is the name of a
 * tool if it has an underscore, or stands in backquotes, and the agent has or chela knows the tool,
 * or the rule calls the word a tool. */
#ifndef CH_CLI_RULE_CONFLICT_H
#define CH_CLI_RULE_CONFLICT_H
#include <stddef.h>

typedef void ch_rule_conflict_fn(const char *rule, const char *tool, void *user);

/* Calls fn for each pair. rules: NULL-terminated, may be NULL. instructions: may be NULL; each
 * of its sentences counts as a rule. tools: as chela_agent_tools_json gives them. */
void ch_rule_conflicts(const char *const *rules, const char *instructions, const char *tools,
                       ch_rule_conflict_fn *fn, void *user);

typedef void ch_rule_fault_fn(const char *fault, void *user);

/* Calls fn with a sentence for each fault. Arguments as above. */
void ch_rule_faults(const char *const *rules, const char *tools, ch_rule_fault_fn *fn, void *user);

#endif
