/* dingtalk_message.h -- messages of people. Pure functions. */
#ifndef CH_CHANNEL_DINGTALK_MESSAGE_H
#define CH_CHANNEL_DINGTALK_MESSAGE_H
#include "channel/dingtalk/dingtalk.h"

/* Parses the data of a callback with a message. The texts live in a. False: not a message that
 * names its id, chat and sender. */
bool ch_dingtalk_read(const struct ch_json *v, struct ch_arena *a,
                      struct chela_channel_message *out);
/* True if the chat is a conversation; otherwise it is a person, addressed by user id. */
bool ch_dingtalk_is_conversation(const char *chat);
/* The beginning of a text without marks, for notifications. */
void ch_dingtalk_title(struct ch_buf *out, struct ch_sv markdown);

#endif
