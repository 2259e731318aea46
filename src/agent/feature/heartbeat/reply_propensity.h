/* reply_propensity.h -- reads the settings of the reply propensity (chela/heartbeat.h). */
#ifndef CH_AGENT_REPLY_PROPENSITY_H
#define CH_AGENT_REPLY_PROPENSITY_H
#include "chela/heartbeat.h"

/* Members that are missing in *given get their defaults. given NULL: all of them. */
int ch_reply_propensity_read(enum chela_chat_kind kind, const struct chela_willing_opts *given,
                             struct chela_willing_opts *out, struct chela_error *err);

#endif
