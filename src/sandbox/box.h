/* box.h -- the parsed options of the sandbox program.
 *
 * Processes, from the outside in; only the last one runs a model's command:
 *
 *   leader   the process that the runtime starts and kills: forwards signals and
 *            finally ends with the status or signal of the command
 *   keeper   in its own session, so that killing the leader's group does not kill
 *            it: creates the box and cleans up in every case
 *   init     process 1 of the box: reaps processes and forwards SIGTERM to all;
 *            when init ends, the kernel kills every process of the box
 *   command
 *
 * bubblewrap, if used, runs between keeper and init. Without namespaces there
 * is no init, and the keeper kills the processes that the command left.
 *
 * This is a program, not library code: on failure it writes the reason to the
 * report and exits. */
#ifndef CH_SANDBOX_BOX_H
#define CH_SANDBOX_BOX_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "chela/error.h"

/* How the box is created: by bubblewrap, by the program's own code (mounts.c), or not at all.
 * bubblewrap is preferred: it is small, widely reviewed, and on some systems the only program
 * that may create namespaces. */
enum ch_outer { CH_OUTER_BWRAP, CH_OUTER_NAMESPACES, CH_OUTER_NONE };

/* Descriptors that survive this program's own exec; the command never gets
 * them. */
enum { CH_FD_REPORT = 3, CH_FD_STATUS, CH_FD_READY, CH_FD_SYSCTL, CH_FD_FIRST_FREE };

#define CH_EXIT_BROKEN 125               /* the sandbox itself failed; see the report */
#define CH_BOX_SELF "/run/chela-sandbox" /* this program, inside bubblewrap's box */
#define CH_BOX_TMP "/tmp"
#define CH_BOX_HOME "/run/home" /* a home that stays, inside a box with mounts */
#define CH_BOX_NAME "sandbox" /* of the machine */

struct ch_paths {
    const char **p; /* NULL-terminated, or NULL; borrowed from argv */
    size_t n;
};

struct ch_box_limits { /* 0: unchanged */
    uint64_t cpu_s, data, total, file_size, files, processes, tmp, disk, disk_files;
};

struct ch_box {
    enum ch_outer outer;
    const char *bwrap; /* path of bubblewrap, with CH_OUTER_BWRAP */
    bool inside;       /* this process is init of bubblewrap's box */
    bool landlock, seccomp;
    bool network;                       /* use the host's network; otherwise none */
    bool proxy;                         /* send the runtime a socket that listens in the box */
    unsigned proxy_port;                /* of that socket; 0: none */
    bool tty;                           /* descriptor 0 becomes the controlling terminal */
    bool strict;                        /* refuse to run if a path cannot be protected */
    bool probe;                         /* no command: probe the available layers */
    bool trial;                         /* part of the probe: every step except exec */
    pid_t parent;                       /* required parent, die otherwise; 0: not checked */
    bool hold;                          /* no command: hold the layer mounted (overlay.h) */
    pid_t layer;                        /* the process that holds it; 0: there is no layer */
    int renames; /* in a layer, no option: the command's socket to init; 0: none (renames.h) */
    const char *upper, *work;           /* directories of the layer, with `hold` */
    const char *workspace, *cwd;        /* absolute; workspace may be NULL */
    const char *home; /* a directory of the host that stays; NULL: the box makes one */
    struct ch_paths writable, readable; /* absolute */
    struct ch_paths protect;            /* absolute or below the workspace; "name?": only if
                                           it exists */
    struct ch_paths hide;               /* absolute: neither readable nor writable */
    struct ch_paths repositories;       /* absolute: .git directories, and .git files */
    const char *git_name, *git_email;   /* of the user, for commits; NULL: unknown */
    bool free_instructions;             /* instructions may be written, as in file_kind.h */
    struct ch_box_limits limits;
    /* options as given; passed to the copy of this program that runs in the sandbox */
    char **options;
    int noptions;
    char **argv;     /* argv of the command */
    const char *tmp; /* private directory for temporary files */
};

/* A list of words for exec; NULL-terminated before use. */
struct ch_argv {
    const char **p; /* owned array of borrowed words */
    size_t n, cap;
};

#endif
