/* compaction.h -- making the history of a session shorter.
 *
 * The one place where what was sent before is changed. In this order, each only
 * if what comes before it was not enough:
 *
 *   prune     old results of tools are cut or taken out
 *   window    the newest messages stay as they are, and of those before them
 *   retain    the most important
 *   summary   a model condenses what goes; its summary is judged, asked for once
 *             more if it is bad, and done without if it stays bad. What the user
 *             said and identifiers are carried on by the runtime in any case
 *   cut       the largest texts that are left
 *
 * Each time it is journalled and told as an event. A call and its result stay
 * together through all of it. */
#ifndef CH_AGENT_COMPACTION_H
#define CH_AGENT_COMPACTION_H
#include "agent/context/context_budget.h"

/* The request fits, and the service no longer has the history in its cache
 * (CH_CONTEXT_COLD), so that a rewrite costs nothing more: prune old results if that
 * makes enough room. tokens: of the request. Emits COMPACTION; the run may be dead then. */
void ch_compaction_prune_cold(chela_run *run, size_t tokens);

/* Make it shorter and go on with CH_IN_COMPACTED, now or later. */
typedef void ch_compaction_fn(chela_run *run, const struct ch_input *in);
void ch_compaction_start(chela_run *run, ch_compaction_fn *done);
void ch_compaction_abort(chela_run *run); /* drop it, if any */

/* "summary" (also NULL), "retain", "off". CHELA_EINVAL. */
int ch_compaction_mode_read(enum chela_compaction choice, enum ch_compaction_mode *out,
                            struct chela_error *err);

#endif
