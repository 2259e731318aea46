/* context_budget.h -- how full a model's context is, before it is asked.
 *
 * Tokens are guessed (prompt/tokens.h), message by message as the transcript
 * grows, and put right by what the service counted for the request before. Some
 * of the window belongs to the reply. A model whose window nobody knows is
 * asked until it refuses; from then on what it refused is the window. */
#ifndef CH_AGENT_CONTEXT_BUDGET_H
#define CH_AGENT_CONTEXT_BUDGET_H
#include "agent/handle/run.h"

struct ch_context_room {
    size_t window;  /* of the model, in tokens; 0: unknown, and so is the rest */
    size_t request; /* that a request may have */
    size_t history; /* that its transcript may have, as guessed; 0: none is left */
};

enum ch_context_fit {
    CH_CONTEXT_FITS,
    CH_CONTEXT_COLD,      /* it fits; a rewrite of its history costs nothing more */
    CH_CONTEXT_TOO_LARGE, /* the history has to be made shorter first */
};

/* Measure a request for run->target before it is encoded. tokens: what the service is
 * expected to count; unchanged if the request is so small that nobody counts. */
enum ch_context_fit ch_context_budget_fit(chela_run *run, const struct ch_model_request *req,
                                          size_t *tokens);

/* Tokens of a request with the transcript as it is now and the head that was measured
 * last. */
size_t ch_context_budget_tokens(const chela_run *run);

struct ch_context_room ch_context_budget_room(const chela_run *run);

/* What a request without a limit of its own keeps free for the reply, in tokens;
 * 0: nobody knows the window. */
size_t ch_context_budget_reply(const chela_run *run);

/* A request was answered; or it was too large for the model. */
void ch_context_budget_learn(chela_run *run, const struct ch_usage *u);
void ch_context_budget_overflowed(chela_run *run);

/* The transcript was rewritten. */
void ch_context_budget_rewritten(chela_session *s);

#endif
