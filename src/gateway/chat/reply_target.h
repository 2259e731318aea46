/* reply_target.h -- the place in a chat that a session writes to: messages that the model
 * sends by itself, and questions about its calls. */
#ifndef CH_GATEWAY_REPLY_TARGET_H
#define CH_GATEWAY_REPLY_TARGET_H
#include "gateway/chat/chat_service.h"
#include "gateway/lane/lane.h"

/* Attaches the lane's session to its chat. to: the address of the newest message; NULL: the
 * address of the session's last reply. */
int ch_reply_target_attach(struct ch_chat_service *chat, struct ch_lane *l, const char *to,
                           struct chela_error *err);
/* Before a run is resumed: a run that paused without the chat, because another door began it, goes
 * on without. */
int ch_reply_target_resume(struct ch_chat_service *chat, struct ch_lane *l,
                           struct chela_error *err);
/* ch_reply_target_attach for a run that no message of the chat began, or that begins with messages
 * that wait in the session; attach_chat of struct chela_gateway. */
int ch_reply_target_attach_timer_run(struct ch_lane *l, const char **to,
                                     enum chela_approve *approve, struct chela_error *err);
/* Allows the model to reply and react to a message of an attached session. */
void ch_reply_target_add_message(struct ch_chat_service *chat, const char *session,
                                 const char *message);
/* Asks the open questions of a session that an earlier process left paused. */
void ch_reply_target_ask_again(struct ch_chat_service *chat, struct ch_lane *l);
void ch_reply_targets_release(struct ch_chat_service *chat);

#endif
