/* acp_session.h -- sessions of an editor: new, load, resume, list, close, delete, their options. */
#ifndef CH_ACP_SESSION_H
#define CH_ACP_SESSION_H
#include "acp/acp.h"

/* The open session that params name. NULL: none, and r, unless it is NULL, was refused. */
struct ch_acp_session *ch_acp_session_of(chela_acp *acp, struct ch_rpc_request *r,
                                         const struct ch_json *params);

/* Handlers of the methods session/new, load, resume, list, close, delete, set_mode and
 * set_config_option: each answers or refuses r, now or later. */
void ch_acp_session_new(chela_acp *acp, struct ch_rpc_request *r, const struct ch_json *params);
void ch_acp_session_load(chela_acp *acp, struct ch_rpc_request *r, const struct ch_json *params);
void ch_acp_session_resume(chela_acp *acp, struct ch_rpc_request *r, const struct ch_json *params);
void ch_acp_session_list(chela_acp *acp, struct ch_rpc_request *r, const struct ch_json *params);
void ch_acp_session_close(chela_acp *acp, struct ch_rpc_request *r, const struct ch_json *params);
void ch_acp_session_delete(chela_acp *acp, struct ch_rpc_request *r, const struct ch_json *params);
void ch_acp_session_mode(chela_acp *acp, struct ch_rpc_request *r, const struct ch_json *params);
void ch_acp_session_option(chela_acp *acp, struct ch_rpc_request *r, const struct ch_json *params);

/* Create the agent of the session unless it exists. */
int ch_acp_session_agent(struct ch_acp_session *s, struct chela_error *err);
/* Enter the place again, after its configuration was trusted. */
int ch_acp_session_reenter(struct ch_acp_session *s, struct chela_error *err);
/* End a session of this connection; its run is left to be resumed. */
void ch_acp_session_free(struct ch_acp_session *s);
/* End the session that s->close asks to close, once its run has ended. */
void ch_acp_session_end(struct ch_acp_session *s);
/* Tell the editor the slash commands. */
void ch_acp_session_commands(struct ch_acp_session *s);

#endif
