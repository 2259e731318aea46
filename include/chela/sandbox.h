/* sandbox.h -- restricts the programs that tools start.
 *
 * `exec` and tools that are programs run in a sandbox (docs/policy.md). By default the
 * sandbox has all layers that this machine supports and no network, and programs may write
 * to the workspace only. */
#ifndef CHELA_SANDBOX_H
#define CHELA_SANDBOX_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chela/choice.h"
#include "chela/error.h"
CHELA_BEGIN_DECLS

/* Limits of a program. 0: the default; -1: no limit. */
struct chela_sandbox_limits {
    size_t size;              /* set by CHELA_SANDBOX_LIMITS */
    int64_t cpu_ms;           /* CPU time of a process: 2 hours */
    /* bytes of memory of all processes of a command together: three quarters of the machine's;
     * without namespaces, of data of a process: 4 GB */
    int64_t memory;
    int64_t file_size;        /* bytes of a file: 4 GB */
    int64_t files;            /* open files of a process: 4096 */
    int64_t processes;        /* processes and threads of a command: 1024 */
    int64_t tmp;              /* bytes of the private /tmp: 1 GB */
    int64_t disk;             /* bytes of the disk that a command fills: 8 GB */
    int64_t disk_files;       /* files that a command makes: 1,000,000 */
};
#define CHELA_SANDBOX_LIMITS(...) {.size = sizeof(struct chela_sandbox_limits), __VA_ARGS__}

/* A sandbox. Everything is copied. Lists are NULL-terminated. */
struct chela_sandbox_opts {
    size_t size;            /* set by CHELA_SANDBOX_OPTS */
    enum chela_sandbox_mode mode;
    enum chela_network network;
    /* Paths that may be written: absolute paths and "workspace". NULL: the workspace. In a
     * list without "workspace" the workspace is read-only. */
    const char *const *writable;
    const char *const *readable; /* absolute paths that may be read, besides the system's */
    /* Paths that may not be changed or created, even in a writable directory: absolute or
     * relative to the workspace. NULL: .env, .ssh and similar files. */
    const char *const *protect;
    const char *const *protect_more; /* in addition to `protect` */
    const struct chela_sandbox_limits *limits; /* NULL: the defaults */
    const char *helper; /* path of the program chela-sandbox; NULL: the installed one */
    /* Absolute paths of files from which this program takes commands or permissions, such as
     * its configuration: read-only for programs; a file tool changes such a file only if a
     * person approves that call. */
    const char *const *ask;
    /* Absolute paths that neither programs nor file tools may read or write: stores, keys. */
    const char *const *hide;
    /* With CHELA_NETWORK_DEFAULT: hosts that programs may reach through a proxy of the runtime:
     * comma-separated patterns as for `egress` (docs/policy.md). A person is asked about other
     * hosts. */
    const char *network_hosts;
    /* The home of programs stays: one directory for each workspace, below chela's state directory.
     * False: each program has an empty one. */
    bool home;
};
#define CHELA_SANDBOX_OPTS(...) {.size = sizeof(struct chela_sandbox_opts), __VA_ARGS__}

CHELA_END_DECLS
#endif
