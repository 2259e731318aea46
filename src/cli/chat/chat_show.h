/* chat_show.h -- displays a conversation: events become lines above the prompt, activity in
 * progress becomes the foot of the screen. */
#ifndef CH_CLI_CHAT_SHOW_H
#define CH_CLI_CHAT_SHOW_H
#include "cli/chat/chat.h"

void ch_chat_event(struct ch_chat *c, const struct chela_event *ev);

/* Keep the question of an event, APPROVAL_REQUIRED or CLIENT_TOOL_REQUIRED. task: the agent in
 * the background that asks; NULL: the run. */
void ch_chat_ask(struct ch_chat *c, const struct chela_event *ev, const char *task);

/* Begin output of this kind above the prompt; returns its stream. */
FILE *ch_chat_part(struct ch_chat *c, enum ch_chat_kind kind);

/* Print untrusted text above the prompt; style is "" or an escape sequence. */
void ch_chat_print(struct ch_chat *c, const char *style, const char *text, size_t n);

void ch_chat_user(struct ch_chat *c, const char *text, size_t n);

void ch_chat_draw(struct ch_chat *c);

/* Keep a text that can be unfolded; both are copied. */
void ch_chat_keep_result(struct ch_chat *c, const char *title, const char *text);
/* Print the i-th newest result, from 0. */
void ch_chat_unfold(struct ch_chat *c, size_t i);
void ch_chat_drop_results(struct ch_chat *c);
/* Alert a person who looks elsewhere: ring the bell and send a notification. */
void ch_chat_notify(struct ch_chat *c, const char *what);

void ch_chat_clear(struct ch_chat *c); /* reset the state of a run */

#endif
