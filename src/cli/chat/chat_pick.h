/* chat_pick.h -- a picker in place of the prompt. */
#ifndef CH_CLI_CHAT_PICK_H
#define CH_CLI_CHAT_PICK_H
#include "cli/chat/chat.h"

/* Open an empty picker; the caller adds the items and calls ch_pick_filter. chosen gets the
 * id of the chosen item, borrowed, or NULL if the person cancelled. An open picker is
 * replaced. */
struct ch_pick *ch_chat_pick(struct ch_chat *c, const char *prompt, ch_chat_chosen_fn *chosen);
/* Feed keys to the open picker; returns the number of bytes consumed. */
size_t ch_chat_pick_feed(struct ch_chat *c, const char *p, size_t n);
/* No byte followed an ESC. */
void ch_chat_pick_flush(struct ch_chat *c);
void ch_chat_pick_close(struct ch_chat *c);

#endif
