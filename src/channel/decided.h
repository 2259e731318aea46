/* decided.h -- what people read about a decision on a call. */
#ifndef CH_CHANNEL_DECIDED_H
#define CH_CHANNEL_DECIDED_H
#include "base/buf.h"
#include "base/say.h"
#include "chela/sys/channel.h"

/* Appends "Allowed once", "Denied", "Decided before" or the error. */
void ch_decided_in_words(const struct chela_channel_decision *d, enum chela_language to,
                         const struct chela_error *err, struct ch_buf *out);
/* Appends the decision and who made it. */
void ch_decided_by(const struct chela_channel_decision *d, enum chela_language to,
                   struct ch_buf *out);

#endif
