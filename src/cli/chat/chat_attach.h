/* chat_attach.h -- makes the message for the model from the text that was typed.
 *
 * Words such as @path add a file, outputs of commands that the person ran (!command) are
 * added, and a folded paste is replaced by its text. */
#ifndef CH_CLI_CHAT_ATTACH_H
#define CH_CLI_CHAT_ATTACH_H
#include "cli/chat/chat_source.h"

/* Make the message from its text and from what the person typed, which differs for a command
 * such as /skill: only words that were typed add files. *text becomes the whole text, owned by
 * the caller. On failure the caller shows err; m is released in both cases with
 * ch_chat_attach_release. */
int ch_chat_attach(struct ch_chat *c, const char *message, const char *typed,
                   struct ch_chat_message *m, char **text, struct chela_error *err);
void ch_chat_attach_release(struct ch_chat_message *m);

/* A text was pasted into the editor, from byte `from` to the cursor: a long one is folded to
 * one line, the path of an image becomes an attachment. */
void ch_chat_attach_pasted(struct ch_chat *c, size_t from);
/* The text with folded pastes replaced; the caller frees it. */
char *ch_chat_attach_unfold(const struct ch_chat *c, const char *typed);
/* A stored message as it was typed: attached texts become one line each. The caller frees
 * it. */
char *ch_chat_attach_fold(const char *text);

/* Write at most max bytes of the text of a block that ends with </KIND>. A closing mark inside is
 * broken up: files, servers and commands cannot end the block and speak for the person. */
void ch_chat_attach_text(FILE *out, const char *kind, const char *text, size_t max);
/* Write a name so that the name stays in its line and its quotes. */
void ch_chat_attach_name(FILE *out, const char *name);

/* Keep the output of a command for the next message. */
void ch_chat_attach_output(struct ch_chat *c, const char *command, int code, const char *output);
/* Keep a text of an MCP server for the message that is being sent. NULL: forget the texts. */
void ch_chat_attach_served(struct ch_chat *c, const char *text);
/* Forget the outputs and the texts. */
void ch_chat_attach_forget(struct ch_chat *c);

#endif
