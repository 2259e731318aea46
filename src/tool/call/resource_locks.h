/* resource_locks.h -- which calls of one reply must not run beside each other.
 *
 * A call names what it works on by keys, "files/src/a.c"; a key stands for all
 * keys below it too. Two calls get in each other's way if a key of one is, or
 * is above, a key of the other, and either wants it alone. Such calls run in
 * the order of the reply; all others side by side. */
#ifndef CH_TOOL_RESOURCE_LOCKS_H
#define CH_TOOL_RESOURCE_LOCKS_H
#include <stdbool.h>
#include <stddef.h>

#include "chela/tool.h"

#define CH_USE_FILES "files" /* the workspace; below it, its paths */

struct ch_use {
    struct ch_use *next;
    const char *key;
    enum chela_use use;
};

/* What a call said it uses; all in its arena. */
struct ch_uses {
    struct ch_use *list;
    size_t n;
    bool all; /* it named too much: it runs alone */
};

bool ch_uses_collide(const struct ch_uses *a, const struct ch_uses *b);

/* Name a path of the workspace as the model gave it; one that leads out of it
 * is not named, since it will not be used. */
void ch_use_path(chela_call *call, const char *path, enum chela_use use);

/* The hook `resources` of a tool: name what the call works on. */
typedef void ch_resources_fn(chela_call *call, void *user);

/* All of the workspace, as a program may read it. */
ch_resources_fn ch_use_workspace;

#endif
