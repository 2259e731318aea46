/* chat_sessions.h -- the stored sessions: a picker to continue one, and the tree of forks. */
#ifndef CH_CLI_CHAT_SESSIONS_H
#define CH_CLI_CHAT_SESSIONS_H
#include "cli/chat/chat.h"

/* The mark before the title of a session that /undo left. Lists for continuing skip such
 * sessions. */
#define CH_CHAT_TAKEN_BACK "(taken back) "

/* Show the picker of sessions, filtered by a query. False: there is no session to choose,
 * and the reason was shown. */
bool ch_chat_sessions_pick(struct ch_chat *c, const char *query);
/* Show the forks around the current session; choosing one switches to it. */
void ch_chat_sessions_tree(struct ch_chat *c);
/* Mark a session as the state that /undo left. */
void ch_chat_sessions_take_back(struct ch_chat *c, const char *key);

#endif
