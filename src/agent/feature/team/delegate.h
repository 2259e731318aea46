/* delegate.h -- agents as tools of another agent (child_run.h). */
#ifndef CH_AGENT_DELEGATE_H
#define CH_AGENT_DELEGATE_H
#include "agent/run/parent.h"

/* Writes the tools that the child must not have, after `denied` (NULL: none). An agent that
 * may not delegate does not see the tools for delegation. */
void ch_delegate_withhold(const struct ch_child_run *c, const char *denied, struct ch_buf *out);
/* Counts the child in its caller's total. Running children are counted where they are
 * found, so a recovered child counts once. */
void ch_delegate_ended(const struct ch_child_run *c);

#endif
