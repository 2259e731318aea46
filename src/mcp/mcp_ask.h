/* mcp_ask.h -- turns a server's requests for input during a call into questions to a person.
 *
 * A server asks by one or more requests, each with a form of fields, a URL, or messages for a
 * model. A person answers one question at a time: the next field of a form, whether a page was
 * visited, or whether the model may answer. The questions and answers so far are stored as a
 * text, the state, from which any process can continue.
 *
 * Pure functions. A state that was damaged in the store is an error, never a crash. */
#ifndef CH_MCP_ASK_H
#define CH_MCP_ASK_H
#include "json/json.h"

/* The requests that a server may make besides elicitation. */
struct ch_mcp_may {
    struct ch_sv roots;       /* the result of roots/list; p NULL: not permitted */
    bool samples;             /* answers of a model (sampling/createMessage) */
    bool unasked;             /* sampling needs no consent of a person */
};

/* 0 if a server may ask for this input. Parameters and errors: those of ch_mcp_ask_begin. */
int ch_mcp_ask_check(const struct ch_json *requests, const struct ch_json *request_state,
                     unsigned round, struct chela_error *err);

/* Set *state: nothing is answered yet. requests: an object of {method, params} by key; NULL:
 * none. request_state: returned to the server; NULL: none. round: how often the server has
 * asked in this call. CHELA_EPROTO: the server asks for something that is not permitted.
 * CHELA_ELIMIT: the requests are too long, or the server asks too often. */
int ch_mcp_ask_begin(struct ch_buf *state, const struct ch_json *requests,
                     const struct ch_json *request_state, unsigned round,
                     const struct ch_mcp_may *may, struct chela_error *err);

enum ch_mcp_due {
    CH_MCP_DUE_NOTHING, /* everything is answered */
    CH_MCP_DUE_PERSON,
    CH_MCP_DUE_MODEL, /* see ch_mcp_ask_sample */
};

/* Append the next question, as arguments of the tool for questions. server: its name. Returns an
 * enum ch_mcp_due; CHELA_EPARSE: the state is damaged; CHELA_EPERM: a person declined, or nobody
 * can be asked, and there is no such answer in the protocol. */
int ch_mcp_ask_next(struct ch_sv state, const char *server, struct ch_buf *question,
                    struct chela_error *err);

/* Rewrite *state with the answer to the question. is_error: the person gave no answer. */
int ch_mcp_ask_answer(struct ch_buf *state, struct ch_sv text, bool is_error,
                      struct chela_error *err);

/* CH_MCP_DUE_MODEL: *params becomes the parameters of the request, in the arena. */
int ch_mcp_ask_sample(struct ch_sv state, struct ch_arena *arena, const struct ch_json **params,
                      struct chela_error *err);
/* Rewrite *state with the answer of the model, a JSON object. */
int ch_mcp_ask_sampled(struct ch_buf *state, struct ch_sv result, struct chela_error *err);

/* Rewrite *state: no person can be asked. Requests that need no consent stay open. */
int ch_mcp_ask_refuse(struct ch_buf *state, struct chela_error *err);

/* Append the members inputResponses and requestState of the repeated request. *round becomes
 * the round of the state. */
int ch_mcp_ask_members(struct ch_sv state, struct ch_buf *out, unsigned *round,
                       struct chela_error *err);
/* Append the response to the only request. */
int ch_mcp_ask_response(struct ch_sv state, struct ch_buf *out, struct chela_error *err);

#endif
