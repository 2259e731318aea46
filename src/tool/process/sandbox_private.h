/* sandbox_private.h -- shared by sandbox_policy.c and sandbox_probe.c. */
#ifndef CH_TOOL_SANDBOX_PRIVATE_H
#define CH_TOOL_SANDBOX_PRIVATE_H
#include <stdatomic.h>

#include "tool/process/sandbox_policy.h"

enum ch_sandbox_layer_id {
    CH_LAYER_HELPER,
    CH_LAYER_NAMESPACES,
    CH_LAYER_LANDLOCK,
    CH_LAYER_SECCOMP,
    CH_LAYER_PRIVILEGES,
    CH_LAYER_LIMITS,
    CH_LAYER_PROCESSES,
    CH_LAYER_NETWORK,
    CH_LAYER_PROTECTED,
    CH_LAYER_TREE,
    CH_LAYERS
};

/* Never freed; immutable except for `warned`. */
struct ch_sandbox_facts {
    struct ch_sandbox_facts *next;
    char *given;       /* requested path; NULL: the installed one */
    char *helper;      /* chela-sandbox; NULL: not found */
    const char *bwrap; /* NULL: missing or unusable */
    bool own;          /* chela-sandbox can create namespaces itself */
    bool temporary;    /* the probe could not run for lack of descriptors or processes */
    struct ch_sandbox_layer layers[CH_LAYERS];
    atomic_bool *warned; /* a missing layer was already reported */
};
const struct ch_sandbox_facts *ch_sandbox_facts(const char *helper);

#endif
