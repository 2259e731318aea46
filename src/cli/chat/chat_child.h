/* chat_child.h -- programs that the person starts from the chat: !command, the editor of
 * Ctrl-G, the clipboard of Ctrl-V. Only one runs at a time; the loop continues meanwhile. */
#ifndef CH_CLI_CHAT_CHILD_H
#define CH_CLI_CHAT_CHILD_H
#include "cli/chat/chat.h"

/* Run a command in the person's shell, in the workspace. Its output is shown and added to
 * the next message. */
void ch_chat_child_command(struct ch_chat *c, const char *command);
/* Edit the text of the prompt with $VISUAL or $EDITOR. */
void ch_chat_child_editor(struct ch_chat *c);
/* Attach the image of the clipboard. */
void ch_chat_child_clipboard(struct ch_chat *c);

/* Ctrl-C: end the program; a second time: kill it. False: none is running. */
bool ch_chat_child_interrupt(struct ch_chat *c);
/* Kill the program, if any, and close its handles. */
void ch_chat_child_close(struct ch_chat *c);

#endif
