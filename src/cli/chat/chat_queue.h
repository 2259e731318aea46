/* chat_queue.h -- messages that were sent during a run and that the model has not seen.
 *
 * A message leaves the list when its event STEERING or FOLLOW_UP arrives. Messages that
 * remain when the run ends go back to the person, or, after /compact, to the model. */
#ifndef CH_CLI_CHAT_QUEUE_H
#define CH_CLI_CHAT_QUEUE_H
#include "cli/chat/chat.h"

/* typed: the text as the person typed it. Both texts are copied; the outputs of commands that the
 * chat keeps for the message go with it. */
void ch_chat_queue_add(struct ch_chat *c, const char *text, const char *typed);
/* The model received a message. Returns its typed text, to be freed by the caller; NULL: the
 * message is not in the list. */
char *ch_chat_queue_delivered(struct ch_chat *c, struct chela_str text);
/* The texts and the typed texts, one below the other, and an empty list. The caller frees both.
 * The outputs of commands go back to the chat. False: nothing waits. */
bool ch_chat_queue_take(struct ch_chat *c, char **text, char **typed);
void ch_chat_queue_release(struct ch_chat *c);

#endif
