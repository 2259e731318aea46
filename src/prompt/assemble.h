/* assemble.h -- texts that share a budget of tokens.
 *
 * A request is made of four kinds of text: what the agent is told (system), what
 * it is given to work with (context), what it is asked (user), and what holds
 * whatever else is there (constraints). They stand in this order, so that rules
 * are both first and last, where models heed them best.
 *
 * When there is too much, layers that may be shortened are: first to their own
 * cap, then, the lowest priority first, until all fits. One that is shortened
 * keeps CH_LIMIT_LAYER_LEAST tokens and says that something is missing.
 * Constraints are never shortened. Pure: no clock, no files. */
#ifndef CH_PROMPT_ASSEMBLE_H
#define CH_PROMPT_ASSEMBLE_H
#include "base/buf.h"

enum ch_layer_kind { CH_LAYER_SYSTEM, CH_LAYER_CONTEXT, CH_LAYER_USER, CH_LAYER_CONSTRAINTS };

struct ch_layer {
    const char *name; /* for people */
    enum ch_layer_kind kind;
    struct ch_sv text;
    struct ch_sv end;  /* what text ends with, and still does when it is shortened */
    unsigned priority; /* the lowest is shortened first */
    size_t cap;        /* tokens; 0: none of its own */
    bool compressible;
    size_t tokens, kept; /* after ch_assemble: what it had, and what is left */
};

/* How a context is shared out, in tokens. */
struct ch_budget {
    size_t system; /* for the system prompt, at most */
    size_t output; /* kept free for the answer */
    size_t work;   /* what is left: tools, history, input */
};
struct ch_budget ch_budget_split(size_t window, unsigned system_percent, unsigned output_percent);

/* Append the layers to out, each with a blank line before it unless it is the
 * first. budget 0: none but the caps. Returns the tokens that it is too large by
 * all the same. n is at most CH_LIMIT_LAYERS. */
size_t ch_assemble(struct ch_layer *layers, size_t n, size_t budget, struct ch_buf *out);

/* "AGENTS.md (800 of 5200 tokens)", for each that was shortened. */
void ch_assemble_report(const struct ch_layer *layers, size_t n, struct ch_buf *out);

#endif
