/* scripted_reply.h -- builds the response bytes of a scripted model. */
#ifndef CH_MODEL_SCRIPTED_REPLY_H
#define CH_MODEL_SCRIPTED_REPLY_H
#include "model/scripted/scripted_private.h"

/* Never fails: an error becomes an error response of the protocol. serial numbers the
 * responses of one script. */
void ch_script_answer(struct ch_script *s, struct ch_sv body, uint64_t serial,
                      struct ch_script_reply *out);

void ch_script_reply_release(struct ch_script_reply *r);

#endif
