/* scripted_talk.h -- extracts the conversation from a request. */
#ifndef CH_MODEL_SCRIPTED_TALK_H
#define CH_MODEL_SCRIPTED_TALK_H
#include "model/scripted/scripted_private.h"

/* Parse a request of the Messages API. CHELA_EINVAL if a real service would reject it too:
 * not JSON, no messages, unpaired calls and results. */
int ch_talk_read(struct ch_arena *a, struct ch_sv body, struct ch_talk *out,
                 struct chela_error *err);

#endif
