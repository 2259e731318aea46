/* acp_turn.h -- a prompt, from its request to its answer; cancel. */
#ifndef CH_ACP_TURN_H
#define CH_ACP_TURN_H
#include "acp/acp.h"

void ch_acp_turn_prompt(chela_acp *acp, struct ch_rpc_request *r, const struct ch_json *params);
void ch_acp_turn_cancel(struct ch_acp_session *s);
/* Open the session; then apply the decisions, resume the run, or start the input. */
void ch_acp_turn_open(struct ch_acp_session *s);
/* Answer the open prompts. reason NULL: with an error. */
void ch_acp_turn_end(struct ch_acp_session *s, const char *reason, const char *error);
/* Leave the run and release the session. */
void ch_acp_turn_leave(struct ch_acp_session *s);
bool ch_acp_turn_busy(const struct ch_acp_session *s);

#endif
