/* model_end.h -- models that their vendor has switched off, or will soon. */
#ifndef CH_AGENT_MODEL_END_H
#define CH_AGENT_MODEL_END_H
#include "agent/handle/run.h"
#include "model/provider/target.h"

/* Append what there is to say about the end of a target's model. False: nothing, because it is
 * far off or not known. */
bool ch_model_end_write(const struct ch_target *t, int64_t now_ms, struct ch_buf *out);
/* Warns, once for a model of an agent. */
void ch_model_end_tell(chela_run *run);

#endif
