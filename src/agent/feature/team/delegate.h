/* delegate.h -- agents as tools of another agent (child_run.h). */
#ifndef CH_AGENT_DELEGATE_H
#define CH_AGENT_DELEGATE_H
#include "agent/run/parent.h"

/* Tools that the child must not have, after those that are `denied` (NULL: none):
 * who must not call others is not told that it could. */
void ch_delegate_withhold(const struct ch_child_run *c, const char *denied, struct ch_buf *out);
/* It counts for who called it from now on. Those at work are counted where they are
 * found: one that is taken up again after a crash is still one. */
void ch_delegate_ended(const struct ch_child_run *c);

#endif
