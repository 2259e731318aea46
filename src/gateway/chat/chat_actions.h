/* chat_actions.h -- tools that act in a chat other than by writing: react to a message,
 * recall one, mute or remove a member. */
#ifndef CH_GATEWAY_CHAT_ACTIONS_H
#define CH_GATEWAY_CHAT_ACTIONS_H
#include "gateway/chat/chat_service.h"

struct ch_chat_action;

/* Adds the tools to an agent that may use them; add_tools of struct ch_lane_opts. */
int ch_chat_actions_add_tools(chela_gateway *gw, chela_agent *agent, const char *key,
                              struct chela_error *err);
void ch_chat_actions_release(struct ch_chat_service *chat);

/* The tools can name a message once it was received, or sent (ch_sent_fn; user is the
 * service). */
void ch_chat_actions_on_received(struct ch_chat_service *chat,
                                 const struct chela_channel_arrival *in);
void ch_chat_actions_on_sent(const struct chela_outbound *m, const char *note, void *user);

/* A call whose result comes from the service: pass ch_chat_actions_done to the channel, with
 * the action as its tag. */
struct ch_chat_action *ch_chat_actions_begin(struct ch_chat_service *chat, chela_call *call);
void ch_chat_actions_done(const struct chela_error *err, void *action);

#endif
