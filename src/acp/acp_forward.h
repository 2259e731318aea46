/* acp_forward.h -- prompts and decisions for a session that a gateway holds. */
#ifndef CH_ACP_FORWARD_H
#define CH_ACP_FORWARD_H
#include "acp/acp.h"

/* Pass the prompt to the gateway that holds the session. False: not possible. */
bool ch_acp_forward_input(struct ch_acp_session *s);
/* True while the prompt's event waits to be taken up. *expired: the event has waited too long
 * and was withdrawn. */
bool ch_acp_forward_waits(struct ch_acp_session *s, bool *expired);
/* Pass the decided questions to the gateway. */
void ch_acp_forward_decisions(struct ch_acp_session *s);
/* Stop the gateway's run. False: nobody has taken the prompt up, and it is withdrawn. */
bool ch_acp_forward_cancel(struct ch_acp_session *s);

#endif
