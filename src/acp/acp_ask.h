/* acp_ask.h -- questions to the editor's user: consent, ask_user, trust.
 *
 * A session owns its questions, and asks one at a time. The run that they belong to is paused;
 * it is resumed with the decisions when all questions are decided. Loop thread only. */
#ifndef CH_ACP_ASK_H
#define CH_ACP_ASK_H
#include "acp/acp.h"

/* Add a question; the texts of fields are taken. A call that is neither a question of consent
 * nor ask_user is denied at once. */
void ch_acp_ask_add(struct ch_acp_session *s, const struct ch_acp_ask *fields);
/* Free a question; a request that the editor has not answered is cancelled. */
void ch_acp_ask_drop(struct ch_acp_ask *a);
void ch_acp_ask_drop_all(struct ch_acp_session *s);
/* Take the text of a prompt as the answer to a question that was asked as text. False: there
 * is no such question. */
bool ch_acp_ask_answer(struct ch_acp_session *s, const char *text);
/* Whether the editor has been asked and has not answered yet. */
bool ch_acp_ask_is_open(const struct ch_acp_session *s);
/* Ask the next undecided question; when all are decided, open the session for the decisions
 * and for a prompt that waits. */
void ch_acp_ask_next(struct ch_acp_session *s);
/* Decide all questions: the user does not answer them. */
void ch_acp_ask_refuse(struct ch_acp_session *s);
/* Hand the decisions to the opened session. */
int ch_acp_ask_apply(struct ch_acp_session *s, struct chela_error *err);
/* Ask whether the configuration file of the session's directory may be used. */
void ch_acp_ask_trust(struct ch_acp_session *s);

#endif
