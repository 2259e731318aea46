/* context_budget.h -- measures requests against the model's context window.
 *
 * Tokens are estimated (prompt/tokens.h) message by message as the transcript grows, and
 * corrected by the service's count of the previous request. A part of the window is kept
 * free for the reply. If the window is unknown, requests are sent until the service refuses
 * one as too large; the size of that request then counts as the window. */
#ifndef CH_AGENT_CONTEXT_BUDGET_H
#define CH_AGENT_CONTEXT_BUDGET_H
#include "agent/handle/run.h"

struct ch_context_room {
    size_t window;  /* context window in tokens; 0: unknown, as are the others */
    size_t request; /* most tokens of a request */
    size_t history; /* most guessed tokens of the transcript; 0: nothing is left */
};

enum ch_context_fit {
    CH_CONTEXT_FITS,
    CH_CONTEXT_COLD,      /* fits, and the service's cache of the history has expired */
    CH_CONTEXT_TOO_LARGE, /* the history has to be compacted first */
};

/* Measures a request for run->target before it is encoded. *tokens: the count that is
 * expected of the service; unchanged if the request is too small to be counted. */
enum ch_context_fit ch_context_budget_fit(chela_run *run, const struct ch_model_request *req,
                                          size_t *tokens);

/* Expected tokens of a request with the present transcript and the head that was measured
 * last. */
size_t ch_context_budget_tokens(const chela_run *run);

/* Messages from the start that are not sent to run->target, because it reads a compaction that
 * stands for them (codec/compacted.h), and the guessed tokens of the others. */
size_t ch_context_budget_from(const chela_run *run);
size_t ch_context_budget_history(const chela_run *run);

struct ch_context_room ch_context_budget_room(const chela_run *run);

/* Tokens that a request without an output limit keeps free for the reply; 0: the window is
 * unknown. */
size_t ch_context_budget_reply(const chela_run *run);

/* Learns from a reply's usage, or from a request that was too large for the model. */
void ch_context_budget_learn(chela_run *run, const struct ch_usage *u);
void ch_context_budget_overflowed(chela_run *run);

/* The transcript was rewritten: forgets counts and encoded bytes. */
void ch_context_budget_rewritten(chela_session *s);

#endif
