/* mcp_ask.h -- turns a server's requests for input during a call into questions to a person.
 *
 * A server asks by one or more requests, each with a form of fields or a URL. A person
 * answers one question at a time: the next field of a form, or whether a page was visited.
 * The questions and answers so far are stored as a text, the state, from which any process
 * can continue.
 *
 * Pure functions. A state that was damaged in the store is an error, never a crash. */
#ifndef CH_MCP_ASK_H
#define CH_MCP_ASK_H
#include "json/json.h"

/* Set *state: nothing is answered yet. requests: an object of {method, params} by key; NULL:
 * none. request_state: returned to the server; NULL: none. round: how often the server has
 * asked in this call. roots: the result of roots/list; p NULL: the server must not ask for it.
 * CHELA_EPROTO: the server asks for something else than elicitation and permitted roots.
 * CHELA_ELIMIT: the requests are too long, or the server asks too often. */
int ch_mcp_ask_begin(struct ch_buf *state, const struct ch_json *requests,
                     const struct ch_json *request_state, unsigned round, struct ch_sv roots,
                     struct chela_error *err);

/* Append the next question, as arguments of the tool for questions. server: its name. Returns 1,
 * or 0: everything is answered, or CHELA_EPARSE: the state is damaged. */
int ch_mcp_ask_next(struct ch_sv state, const char *server, struct ch_buf *question,
                    struct chela_error *err);

/* Rewrite *state with the answer to the question. is_error: the person gave no answer. */
int ch_mcp_ask_answer(struct ch_buf *state, struct ch_sv text, bool is_error,
                      struct chela_error *err);

/* Rewrite *state: no person can be asked. */
int ch_mcp_ask_refuse(struct ch_buf *state, struct chela_error *err);

/* Append the members inputResponses and requestState of the repeated request. *round becomes
 * the round of the state. */
int ch_mcp_ask_members(struct ch_sv state, struct ch_buf *out, unsigned *round,
                       struct chela_error *err);
/* Append the response to the only request. */
int ch_mcp_ask_response(struct ch_sv state, struct ch_buf *out, struct chela_error *err);

#endif
