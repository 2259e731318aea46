/* scripted_talk.h -- a request as a scripted model sees it. */
#ifndef CH_MODEL_SCRIPTED_TALK_H
#define CH_MODEL_SCRIPTED_TALK_H
#include "model/scripted/scripted_private.h"

/* Read a request of the Messages API. CHELA_EINVAL when a real service would
 * refuse it too: not JSON, no messages, calls and results that do not pair. */
int ch_talk_read(struct ch_arena *a, struct ch_sv body, struct ch_talk *out,
                 struct chela_error *err);

#endif
