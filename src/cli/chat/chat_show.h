/* chat_show.h -- displays a conversation: events become lines above the prompt, activity in
 * progress becomes the foot of the screen. */
#ifndef CH_CLI_CHAT_SHOW_H
#define CH_CLI_CHAT_SHOW_H
#include "cli/chat/chat.h"

void ch_chat_event(struct ch_chat *c, const struct chela_event *ev);

/* Begin output of this kind above the prompt; returns its stream. */
FILE *ch_chat_part(struct ch_chat *c, enum ch_chat_kind kind);

/* Print untrusted text above the prompt; style is "" or an escape sequence. */
void ch_chat_print(struct ch_chat *c, const char *style, const char *text, size_t n);

void ch_chat_user(struct ch_chat *c, const char *text, size_t n);

void ch_chat_draw(struct ch_chat *c);

void ch_chat_unfold(struct ch_chat *c);

void ch_chat_clear(struct ch_chat *c); /* reset the state of a run */

#endif
