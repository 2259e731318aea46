/* resource_locks.h -- decides which calls of one reply must not run concurrently.
 *
 * A call declares its resources by keys such as "files/src/a.c"; a key covers all keys
 * below it. Two calls conflict if a key of one equals or covers a key of the other and at
 * least one of the two uses is exclusive. Conflicting calls run in the order of the reply;
 * all other calls run in parallel. */
#ifndef CH_TOOL_RESOURCE_LOCKS_H
#define CH_TOOL_RESOURCE_LOCKS_H
#include <stdbool.h>
#include <stddef.h>

#include "chela/tool.h"

#define CH_USE_FILES "files" /* the workspace; its paths are keys below */

struct ch_use {
    struct ch_use *next;
    const char *key;
    enum chela_use use;
};

/* Resources that a call declared; all in its arena. */
struct ch_uses {
    struct ch_use *list;
    size_t n;
    bool all; /* too many keys: the call runs alone */
};

bool ch_uses_collide(const struct ch_uses *a, const struct ch_uses *b);

/* Declare a workspace path as the model gave it. A path that leads out of the workspace is
 * ignored, because the call will not be able to use it. */
void ch_use_path(chela_call *call, const char *path, enum chela_use use);

/* The `resources` hook of a tool: declares the resources of the call. */
typedef void ch_resources_fn(chela_call *call, void *user);

/* Declares the whole workspace, shared, for tools whose program may read any file. */
ch_resources_fn ch_use_workspace;

#endif
