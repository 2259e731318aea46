/* compaction.h -- makes the history of a session shorter.
 *
 * Compaction is the only code that changes messages which were sent before. Stages, each
 * only if the stages before it did not suffice:
 *
 *   prune     old tool results are cut or removed
 *   window    the newest messages stay unchanged; of the older ones
 *   retain    the most important stay
 *   summary   a model summarises the removed messages. A bad summary is requested once
 *             more, then left out. The user's requests and identifiers
 *             are always carried over
 *   cut       the largest remaining texts are cut
 *
 * Every compaction is stored and emitted as an event. A call and its result stay
 * together. */
#ifndef CH_AGENT_COMPACTION_H
#define CH_AGENT_COMPACTION_H
#include "agent/context/context_budget.h"

/* The request fits, and the service no longer has the history in its cache
 * (CH_CONTEXT_COLD), so rewriting the history costs nothing extra: prunes old results if
 * that makes enough room. tokens: size of the request. Emits COMPACTION; the run may be
 * freed after the call. */
void ch_compaction_prune_cold(chela_run *run, size_t tokens);

/* Removes what is older than the newest messages of people that may stay (history_turns of the
 * agent). Emits COMPACTION if anything went; the run may be closed after the call. */
void ch_compaction_slide(chela_run *run);

/* Makes the history shorter and calls done with CH_IN_COMPACTED, at once or later. */
typedef void ch_compaction_fn(chela_run *run, const struct ch_input *in);
/* req: the request that the conversation would be sent with, so that a service can be asked to
 * condense it (service_compaction.h); borrowed for the call; NULL: chela does it. */
void ch_compaction_start(chela_run *run, const struct ch_model_request *req,
                         ch_compaction_fn *done);
/* A reply joined the transcript: stores and emits the compaction that it holds, if any. before:
 * tokens of its request. False: the run was closed. */
bool ch_compaction_received(chela_run *run, const struct ch_msg *reply, size_t before);
void ch_compaction_abort(chela_run *run); /* aborts the compaction; only while run->compaction is
                                             set */

/* Reads the option. CHELA_EINVAL: unknown value. */
int ch_compaction_mode_read(enum chela_compaction choice, enum ch_compaction_mode *out,
                            struct chela_error *err);

#endif
