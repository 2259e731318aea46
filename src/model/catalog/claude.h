/* claude.h -- properties of a Claude model, derived from its name. */
#ifndef CH_MODEL_CLAUDE_H
#define CH_MODEL_CLAUDE_H
#include <stdbool.h>

#include "base/sv.h"

enum ch_claude_family {
    CH_CLAUDE_NOT, /* another vendor's model, or a deployment's own name */
    CH_CLAUDE_OPUS,
    CH_CLAUDE_SONNET,
    CH_CLAUDE_HAIKU,
    CH_CLAUDE_FABLE,
    CH_CLAUDE_MYTHOS,
    CH_CLAUDE_OTHER,
};

struct ch_claude {
    enum ch_claude_family family;
    int major, minor; /* claude-sonnet-4-5 is 4, 5; claude-3-5-... is 3, 5 */
};

/* Parses every spelling in use: claude-3-5-haiku-20241022, claude-sonnet-4-5,
 * anthropic/claude-sonnet-4.5, us.anthropic.claude-opus-4-1-20250805-v1:0. */
struct ch_claude ch_claude_parse(struct ch_sv model);

static inline bool ch_claude_from(struct ch_claude c, int major, int minor) {
    return c.major > major || (c.major == major && c.minor >= minor);
}

enum ch_claude_thinking {
    CH_THINK_NONE,     /* not supported */
    CH_THINK_BUDGET,   /* thinking:{type:enabled,budget_tokens} */
    CH_THINK_ADAPTIVE, /* thinking:{type:adaptive} and output_config.effort */
};
/* Other models get the form that most compatible servers support. */
enum ch_claude_thinking ch_claude_thinking(struct ch_claude c);

/* False for newer models, which reject a temperature other than 1. */
bool ch_claude_takes_temperature(struct ch_claude c);

/* False for Fable and Mythos, which reject a forced tool choice. */
bool ch_claude_takes_forced_choice(struct ch_claude c);

/* True if the model supports structured output: from Opus 4.1 and the 4.5 models on. */
bool ch_claude_takes_schema(struct ch_claude c);

/* True for the models whose thinking blocks are bound to the prefix of the request. */
bool ch_claude_binds(struct ch_claude c);

/* True if both names denote the same model, with or without date and vendor prefix. A name
 * that cannot be parsed (a deployment's) counts as the same. */
bool ch_claude_same(struct ch_sv a, struct ch_sv b);

#endif
