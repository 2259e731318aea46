/* acp_follow.h -- messages that other processes add to a session. */
#ifndef CH_ACP_FOLLOW_H
#define CH_ACP_FOLLOW_H
#include "acp/acp.h"

/* Begin to look for changes. */
void ch_acp_follow(struct ch_acp_session *s);
void ch_acp_follow_stop(struct ch_acp_session *s);
/* Show the stored conversation, from its beginning. waiting: also queue the calls that wait
 * for a person. */
int ch_acp_follow_replay(struct ch_acp_session *s, bool show, struct chela_error *err);

#endif
