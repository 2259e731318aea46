/* chat_review.h -- /review: the changes of the session that are not real yet. */
#ifndef CH_CLI_CHAT_REVIEW_H
#define CH_CLI_CHAT_REVIEW_H
#include "cli/chat/chat.h"

/* args: "", "accept [FILE [HUNK]...]" or "refuse [FILE] [-- COMMENT]". A comment goes to the
 * model. */
void ch_chat_review(struct ch_chat *c, const char *args);

#endif
