/* reply_propensity.h -- reading the settings of a companion's willingness. */
#ifndef CH_AGENT_REPLY_PROPENSITY_H
#define CH_AGENT_REPLY_PROPENSITY_H
#include "chela/heartbeat.h"

/* Members that *given lacks get their defaults; given NULL: all of them do. */
int ch_reply_propensity_read(enum chela_chat_kind kind, const struct chela_willing_opts *given,
                             struct chela_willing_opts *out, struct chela_error *err);

#endif
