/* chat_tasks.h -- tasks beside the conversation: agents in the background and processes of
 * `exec`. */
#ifndef CH_CLI_CHAT_TASKS_H
#define CH_CLI_CHAT_TASKS_H
#include "cli/chat/chat.h"

/* /tasks: list them and show one; "cancel WORDS": end one. */
void ch_chat_tasks(struct ch_chat *c, const char *args);
/* An event of an agent in the background; user is the chat. */
void ch_chat_task_event(const struct chela_event *ev, void *user);

#endif
