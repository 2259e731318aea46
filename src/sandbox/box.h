/* box.h -- what the sandbox program was asked to do, and how it says no.
 *
 * Processes, from the outside in; only the last runs what a model wrote:
 *
 *   leader   the process that the runtime started and kills: passes signals on
 *            and, at the end, dies the way the command did
 *   keeper   in a session of its own, so that killing the leader's group does
 *            not take it along: makes the box, and cleans up whatever happens
 *   init     process 1 of the box: reaps, hands SIGTERM to all; when it ends,
 *            the kernel ends everything in the box
 *   command
 *
 * Between keeper and init stands bubblewrap, if it is used. Without namespaces
 * there is no init, and the keeper hunts down what the command left.
 *
 * This is a program, not library code: when it cannot go on it says why in the
 * report and exits. */
#ifndef CH_SANDBOX_BOX_H
#define CH_SANDBOX_BOX_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "chela/error.h"

enum ch_outer { CH_OUTER_BWRAP, CH_OUTER_NAMESPACES, CH_OUTER_NONE };

/* Descriptors that survive an exec of our own; never one of the command. */
enum { CH_FD_REPORT = 3, CH_FD_STATUS, CH_FD_READY, CH_FD_SYSCTL, CH_FD_FIRST_FREE };

#define CH_EXIT_BROKEN 125               /* the sandbox itself failed; the report says how */
#define CH_BOX_SELF "/run/chela-sandbox" /* this program, inside bubblewrap's box */
#define CH_BOX_TMP "/tmp"

struct ch_paths {
    const char **p; /* borrowed from argv */
    size_t n;
};

struct ch_box_limits { /* 0: leave it as it is */
    uint64_t cpu_s, data, file_size, files, processes, tmp;
};

struct ch_box {
    enum ch_outer outer;
    const char *bwrap; /* its path, with CH_OUTER_BWRAP */
    bool inside;       /* we are init of bubblewrap's box */
    bool landlock, seccomp;
    bool network;                       /* the host's; otherwise none */
    bool tty;                           /* descriptor 0 becomes the controlling terminal */
    bool strict;                        /* what cannot be protected is not run */
    bool probe;                         /* not a command: see what holds */
    bool trial;                         /* of the probe: everything but the exec */
    pid_t parent;                       /* die if it is not our parent; 0: do not look */
    const char *workspace, *cwd;        /* absolute; workspace may be NULL */
    struct ch_paths writable, readable; /* absolute */
    struct ch_paths protect;            /* absolute or below the workspace; "name?":
                                           only if it is there */
    struct ch_box_limits limits;
    char **options; /* as they came, for the copy of us inside */
    int noptions;
    char **argv;     /* the command's */
    const char *tmp; /* its private directory for temporary files */
};

/* A list of words for exec; ended by NULL when handed over. */
struct ch_argv {
    const char **p; /* owned array of borrowed words */
    size_t n, cap;
};

/* --- saying so (report.c) */

#endif
