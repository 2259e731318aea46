/* sandbox.h -- what the programs that tools start can reach.
 *
 * `exec` and tools that are programs run in a box: see docs/policy.md. The
 * default, with all members 0, is: as much of a box as this machine can make, no network,
 * the workspace writable. */
#ifndef CHELA_SANDBOX_H
#define CHELA_SANDBOX_H
#include <stddef.h>
#include <stdint.h>

#include "chela/choice.h"
#include "chela/error.h"
CHELA_BEGIN_DECLS

struct chela_sandbox_limits { /* 0: the default; -1: none */
    size_t size;              /* set by CHELA_SANDBOX_LIMITS */
    int64_t cpu_ms;           /* of one process: 2 hours */
    int64_t memory;           /* bytes of data of one process: 4 GB */
    int64_t file_size;        /* bytes of one file: 4 GB */
    int64_t files;            /* open in one process: 4096 */
    int64_t processes;        /* and threads, of one command: 1024 */
    int64_t tmp;              /* bytes of the private /tmp: 1 GB */
};
#define CHELA_SANDBOX_LIMITS(...) {.size = sizeof(struct chela_sandbox_limits), __VA_ARGS__}

struct chela_sandbox_opts { /* all of it is copied; lists end with NULL */
    size_t size;            /* set by CHELA_SANDBOX_OPTS */
    enum chela_sandbox_mode mode;
    enum chela_network network;
    /* What may be written: absolute paths, and "workspace". NULL: the workspace;
     * a list without that word makes it read-only. */
    const char *const *writable;
    const char *const *readable; /* absolute paths that may be read, beside the system's */
    /* What stays as it is even where writable, and even if absent: absolute, or
     * below the workspace. NULL: .git/hooks, .git/config, .env and the like. */
    const char *const *protect;
    const char *const *protect_more; /* besides those */
    const struct chela_sandbox_limits *limits; /* NULL: the defaults */
    const char *helper; /* the program chela-sandbox; NULL: where it was installed */
};
#define CHELA_SANDBOX_OPTS(...) {.size = sizeof(struct chela_sandbox_opts), __VA_ARGS__}

CHELA_END_DECLS
#endif
