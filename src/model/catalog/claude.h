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

/* True if both names denote the same model, with or without date and vendor prefix. A name
 * that cannot be parsed (a deployment's) counts as the same. */
bool ch_claude_same(struct ch_sv a, struct ch_sv b);

#endif
