/* sandbox_private.h -- what sandbox_policy.c and sandbox_probe.c share. */
#ifndef CH_TOOL_SANDBOX_PRIVATE_H
#define CH_TOOL_SANDBOX_PRIVATE_H
#include <stdatomic.h>

#include "tool/process/sandbox_policy.h"

enum ch_layer {
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

/* Lives for ever; but for `warned`, it does not change. */
struct ch_sandbox_facts {
    struct ch_sandbox_facts *next;
    char *given;       /* path that was asked about; NULL: the installed one */
    char *helper;      /* chela-sandbox; NULL: not found */
    const char *bwrap; /* NULL: not there, or not able */
    bool own;          /* chela-sandbox can make namespaces itself */
    struct ch_sandbox_layer layers[CH_LAYERS];
    atomic_bool *warned; /* somebody was told that a layer is missing */
};
const struct ch_sandbox_facts *ch_sandbox_facts(const char *helper);

#endif
