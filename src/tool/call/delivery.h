/* delivery.h -- what the runs of a session delivered through `message`.
 *
 * A model that replies with the tool often says the same once more as its
 * answer. The host sends answers on; to say it twice would annoy people, so
 * RUN_END tells when the answer is there already. A text counts once its call
 * succeeded, and only if it went to the run's own conversation. Texts are
 * compared word by word: white space does not matter. Only the newest
 * CH_LIMIT_DELIVERIES of a session are known. Loop thread only. */
#ifndef CH_TOOL_DELIVERY_H
#define CH_TOOL_DELIVERY_H
#include "base/buf.h"

struct ch_session_state;

/* A call is about to deliver text; again for each attempt. */
void ch_delivery_begin(struct ch_session_state *s, const char *run, struct ch_sv call,
                       struct ch_sv text);
/* That call succeeded. Nothing happens if it delivered nothing. */
void ch_delivery_done(struct ch_session_state *s, const char *run, struct ch_sv call);
/* The text that this call of the run delivered, its words one blank apart; NULL
 * if it delivered nothing. Borrowed. */
const char *ch_delivery_text(struct ch_session_state *s, const char *run, struct ch_sv call);
bool ch_delivery_has(struct ch_session_state *s, const char *run, struct ch_sv answer);

#endif
