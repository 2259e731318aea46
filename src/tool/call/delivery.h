/* delivery.h -- remembers which texts the runs of a session delivered through `message`.
 *
 * A model that replies with the tool often repeats the same text as its answer. The host
 * delivers answers too, so RUN_END reports if the answer was already delivered. A text
 * counts once its call succeeded, and only if it went to the run's own conversation. Texts
 * are compared word by word; white space is ignored. Only the newest CH_LIMIT_DELIVERIES of
 * a session are kept. Loop thread only. */
#ifndef CH_TOOL_DELIVERY_H
#define CH_TOOL_DELIVERY_H
#include "base/buf.h"

struct ch_session_state;

/* A call is about to deliver text; called for each attempt. */
void ch_delivery_begin(struct ch_session_state *s, const char *run, struct ch_sv call,
                       struct ch_sv text);
/* The call succeeded. No-op if the call delivered nothing. */
void ch_delivery_done(struct ch_session_state *s, const char *run, struct ch_sv call);
/* The text that this call of the run delivered, words separated by single blanks; NULL if
 * the call delivered nothing. Borrowed. */
const char *ch_delivery_text(struct ch_session_state *s, const char *run, struct ch_sv call);
bool ch_delivery_has(struct ch_session_state *s, const char *run, struct ch_sv answer);

#endif
