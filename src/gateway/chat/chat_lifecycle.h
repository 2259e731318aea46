/* chat_lifecycle.h -- the chat services of a configuration: opened at the start, changed by
 * a reload, closed.
 *
 * A plan opens the channels that a configuration asks for without using them, so that a
 * wrong configuration changes nothing. */
#ifndef CH_GATEWAY_CHAT_LIFECYCLE_H
#define CH_GATEWAY_CHAT_LIFECYCLE_H
#include "gateway/request/gateway_state.h"

struct ch_chat_plan;

int ch_chat_lifecycle_plan(chela_gateway *gw, const struct chela_gateway_opts *o,
                           struct ch_chat_plan **out, struct chela_error *err);
void ch_chat_lifecycle_apply(chela_gateway *gw, struct ch_chat_plan *plan); /* frees the plan */
void ch_chat_lifecycle_drop_plan(struct ch_chat_plan *plan);
void ch_chat_lifecycle_close_all(chela_gateway *gw);

#endif
