/* chat_undo.h -- takes messages back: /undo and /rewind.
 *
 * A message is taken back by going on with a copy of the session up to the message, and by
 * restoring the files that the message changed (chela/undo.h). Either can be done alone. */
#ifndef CH_CLI_CHAT_UNDO_H
#define CH_CLI_CHAT_UNDO_H
#include "cli/chat/chat.h"

/* Record the changes of runs from now on. Call after the agent was created. */
void ch_chat_undo_open(struct ch_chat *c);
/* The store has the message of the run, which has changed nothing yet. */
void ch_chat_undo_begin(struct ch_chat *c, const char *text);
/* A run continues an earlier message. */
void ch_chat_undo_go_on(struct ch_chat *c);
/* A run has ended. */
void ch_chat_undo_end(struct ch_chat *c);
/* The chat continues with a copy of a session. */
void ch_chat_undo_forked(struct ch_chat *c, const char *from, const char *to);

/* Remember the messages of the session from earlier chats. */
void ch_chat_undo_load(struct ch_chat *c);
void ch_chat_undo_forget(struct ch_chat *c);

/* Copy the session up to `turn` (negative: all) to `name`, or to its own name with a number;
 * the chat continues with the copy. */
bool ch_chat_undo_copy(struct ch_chat *c, int64_t turn, const char *name);

void ch_chat_undo(struct ch_chat *c, const char *args);
void ch_chat_rewind(struct ch_chat *c, const char *args);

#endif
