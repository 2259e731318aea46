/* chat_past.h -- shows the end of a stored conversation that is continued. */
#ifndef CH_CLI_CHAT_PAST_H
#define CH_CLI_CHAT_PAST_H
#include "cli/chat/chat.h"

/* Print the last messages of the session above the prompt, as they looked when they were
 * new. Nothing for a new session. */
void ch_chat_past(struct ch_chat *c);

#endif
