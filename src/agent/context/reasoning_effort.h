/* reasoning_effort.h -- how much the model of a request is asked to reason. */
#ifndef CH_AGENT_REASONING_EFFORT_H
#define CH_AGENT_REASONING_EFFORT_H
#include "agent/handle/run.h"
#include "model/catalog/model_request.h"

enum ch_effort ch_reasoning_effort(enum chela_reasoning reasoning);

/* Warns, once for a model, that the request sends another effort than the wanted one, and that the
 * model ends (model_end.h). */
void ch_reasoning_effort_tell(chela_run *run, const struct ch_model_request *req);

#endif
