/* assemble.h -- assembles text layers within a token budget.
 *
 * A request has four kinds of text: instructions (system), material (context), the question
 * (user), and unconditional rules (constraints). They appear in this order, so that rules
 * are both first and last, where models follow them best.
 *
 * If the text exceeds the budget, layers that may be shortened are: first to their own cap,
 * then, lowest priority first, until everything fits. A shortened layer keeps
 * CH_LIMIT_LAYER_LEAST tokens and contains a note about the omission. Constraints are never
 * shortened. Pure: no clock, no files. */
#ifndef CH_PROMPT_ASSEMBLE_H
#define CH_PROMPT_ASSEMBLE_H
#include "base/buf.h"

enum ch_layer_kind { CH_LAYER_SYSTEM, CH_LAYER_CONTEXT, CH_LAYER_USER, CH_LAYER_CONSTRAINTS };

struct ch_layer {
    const char *name; /* for messages */
    enum ch_layer_kind kind;
    struct ch_sv text;
    struct ch_sv end;  /* end of text, kept when the text is shortened */
    unsigned priority; /* the lowest is shortened first */
    size_t cap;        /* maximum tokens; 0: no cap of its own */
    bool compressible;
    size_t tokens, kept; /* set by ch_assemble: tokens before and after; if all layers fit, both
                          * may be a bound instead */
    size_t at, size;     /* set by ch_assemble: place in the text, in bytes */
};

/* The shares of a context window, in tokens. */
struct ch_budget {
    size_t system; /* maximum for the system prompt */
    size_t output; /* reserved for the reply */
};
struct ch_budget ch_budget_split(size_t window, unsigned system_percent, unsigned output_percent);

/* Append the layers to out, separated by blank lines. budget 0: only the caps apply.
 * Returns the number of tokens over budget. n is at most CH_LIMIT_LAYERS. */
size_t ch_assemble(struct ch_layer *layers, size_t n, size_t budget, struct ch_buf *out);

/* Append "AGENTS.md (800 of 5200 tokens)" for each shortened layer. */
void ch_assemble_report(const struct ch_layer *layers, size_t n, struct ch_buf *out);

#endif
