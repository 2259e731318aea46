/* chat_show.h -- what a conversation looks like: events become lines above the prompt,
 * and what is under way becomes the foot of the screen. */
#ifndef CH_CLI_CHAT_SHOW_H
#define CH_CLI_CHAT_SHOW_H
#include "cli/chat/chat.h"

void ch_chat_event(struct ch_chat *c, const struct chela_event *ev);

/* What comes next above the prompt is of this kind; where to write it. */
FILE *ch_chat_part(struct ch_chat *c, enum ch_chat_kind kind);

/* Text above the prompt: it may hold anything; style is "" or a sequence. */
void ch_chat_print(struct ch_chat *c, const char *style, const char *text, size_t n);

void ch_chat_user(struct ch_chat *c, const char *text, size_t n);

void ch_chat_draw(struct ch_chat *c);

void ch_chat_unfold(struct ch_chat *c);

void ch_chat_clear(struct ch_chat *c); /* what a run left behind */

#endif
