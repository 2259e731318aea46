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

/* Guess the part of the request that is the same in every turn. */
void ch_context_budget_head(chela_run *run, const struct ch_model_request *req);

/* Guess the request that is described here, for run->target; what it will be
 * counted as. */
size_t ch_context_budget_measure(chela_run *run, const struct ch_model_request *req);

/* The same for the transcript as it is now and the head that was measured last. */
size_t ch_context_budget_tokens(const chela_run *run);

struct ch_context_room ch_context_budget_room(const chela_run *run);

/* What a request without a limit of its own keeps free for the reply, in tokens;
 * 0: nobody knows the window. */
size_t ch_context_budget_reply(const chela_run *run);

/* A request was answered; or it was too large for the model. */
void ch_context_budget_learn(chela_run *run, const struct ch_usage *u);
void ch_context_budget_overflowed(chela_run *run);

/* The service has forgotten what it read, so a rewrite costs nothing more. */
bool ch_context_budget_is_cold(const chela_run *run);

/* The transcript was rewritten. */
void ch_context_budget_rewritten(chela_session *s);

#endif
