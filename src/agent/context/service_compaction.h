/* service_compaction.h -- a model's service shortens the conversation (compaction.by: service).
 *
 * Where the facts of the model say that its service can, each request names a threshold above which
 * the service condenses the conversation, or leaves out old results of tools. The compaction is a
 * block of the reply. A request of its own asks for one when the conversation does not fit the
 * model, or a person wants it shorter. The transcript keeps all messages; codec/compacted.h tells
 * which of them a request leaves out. A service that refuses is not asked again for a day, and
 * context/compaction.h takes over. */
#ifndef CH_AGENT_SERVICE_COMPACTION_H
#define CH_AGENT_SERVICE_COMPACTION_H
#include "agent/handle/run.h"

struct ch_reply;

/* Completes a described request: the messages that it leaves out, and the threshold. */
void ch_service_compaction_ask(const chela_run *run, struct ch_model_request *req);
/* True if the service of run->target condenses conversations when asked. */
bool ch_service_compaction_able(const chela_run *run);
/* The request that asks for a compaction of the first n messages. */
struct ch_model_request ch_service_compaction_request(const struct ch_model_request *req, size_t n);
/* The service did not condense the conversation: learns from its refusal and warns, and does not
 * ask again while the session is open. The run may be closed. reply: NULL, or the refusal; failed:
 * its words; "": it returned no compaction with content. */
void ch_service_compaction_failed(chela_run *run, const struct ch_reply *reply, const char *failed);

#endif
