/* epoch.h -- the epochs of a conversation.
 *
 * A service may bind the reasoning of a reply to the exact system prompt, tools and messages that
 * it was written for, and refuses it after anything else. Every cache of a service begins with
 * the same bytes. So a conversation has epochs: within one, system prompt, tools and earlier
 * messages stay as they were sent, and only new messages are appended. What cannot be appended
 * begins a new epoch: other tools, another system prompt, another service, a rewritten history,
 * a block that the service refused. Reasoning of earlier epochs that is bound is not sent again.
 *
 * The beginning of an epoch is a record of the journal, so another process goes on in the same
 * epoch, or begins a new one if its prompt or its tools differ. */
#ifndef CH_AGENT_EPOCH_H
#define CH_AGENT_EPOCH_H
#include "agent/handle/run.h"

/* The conversation was read from a journal. Replies of a journal without epochs, which an earlier
 * version or another program wrote, are bound to nothing that is known. */
void ch_epoch_restored(chela_session *s);
/* The request is about to be encoded: begins a new epoch if its prefix is another one, and sets
 * the messages whose reasoning stays behind. */
void ch_epoch_settle(chela_run *run, struct ch_model_request *req);
/* The history was rewritten: begins a new epoch. */
void ch_epoch_rewritten(chela_run *run, const char *reason);
/* The service condensed the history: begins a new epoch. Reasoning after the compaction is bound to
 * it and stays. inserted: index of the message that was added for it; SIZE_MAX: none. */
void ch_epoch_condensed(chela_run *run, size_t inserted);
/* The service refused reasoning of this conversation: begins a new epoch without it. False: the
 * request held none, so another cause has to be looked for. */
bool ch_epoch_refused(chela_run *run);
/* Emits the event of an epoch that has begun, if any. False: the run was closed. */
bool ch_epoch_tell(chela_run *run);

#endif
