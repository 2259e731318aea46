/* child.h -- run a program, feed its stdin, collect its output, and end it.
 *
 * The child leads its own session and process group and inherits only
 * descriptors 0 to 2. Stopping sends SIGTERM to the group, and SIGKILL after a
 * grace period. Output is read into capped buffers. Output beyond the cap is
 * read and discarded, so the child never blocks; the result reports the total.
 * A grandchild that keeps the pipes open does not delay the end: after the
 * leader's exit, the remaining output gets CH_DEFAULT_DRAIN_MS, then the group
 * is killed. A grandchild that closed the pipes keeps running unless the child
 * was stopped or timed out.
 *
 * A program may have a pseudo terminal instead of pipes, and a fourth
 * descriptor on which a wrapper (the sandbox) reports about itself.
 *
 * All functions are for the loop thread. */
#ifndef CH_IO_CHILD_H
#define CH_IO_CHILD_H
#include "base/buf.h"
#include "io/loop.h"

struct ch_child;

struct ch_child_opts {
    const char *const *argv; /* NULL-terminated; argv[0] looked up in PATH; copied */
    const char *const *env;  /* NULL: inherit; else the whole environment; copied */
    const char *cwd;         /* NULL: inherit; copied */
    struct ch_sv input;      /* stdin, complete before the program starts; copied */
    bool open_input;         /* stdin stays open: ch_child_write, ch_child_end_input */
    bool merge;              /* stderr goes into stdout: one stream, in writing order */
    bool stream;             /* keep no output: all of it goes to on_output, uncapped */
    bool tty;                /* stdin, stdout and stderr are a terminal; implies merge */
    bool report;             /* descriptor 3 is a socket; its data is result.report */
    /* Optional, with report: the program has sent a socket over it (SCM_RIGHTS); the first one
     * only. fd belongs to the callee. May stop or close the child. */
    void (*on_socket)(int fd, void *user);
    size_t max_output;       /* per stream; 0: CH_LIMIT_TOOL_OUTPUT */
    int64_t timeout_ms;      /* 0: none */
    int64_t grace_ms;        /* between SIGTERM and SIGKILL; 0: CH_DEFAULT_GRACE_MS */
};

struct ch_child_result {
    int exit_code;                 /* -1 when killed by a signal */
    int signal;                    /* 0 if the program exited by itself */
    bool timed_out, stopped;       /* ended by timeout_ms; by ch_child_stop */
    struct ch_sv out, err;         /* borrowed until the callback returns */
    uint64_t out_total, err_total; /* bytes written, kept or not */
    struct ch_sv report;           /* the first CH_LIMIT_CHILD_REPORT bytes; borrowed */
};
/* exit_code -1 with signal 0: the exit status is unknown, because the host
 * reaps all children or ignores SIGCHLD. */

/* The end of a child, called exactly once and never from inside ch_child_start.
 * If the program could not be started, result is NULL and err holds the reason.
 * The child is freed when the callback returns; ch_child_close inside the
 * callback is allowed and does nothing. */
typedef void ch_child_fn(const struct ch_child_result *result, const struct chela_error *err,
                         void *user);

/* Optional: called with output as it arrives (stream 1 or 2), up to the cap.
 * May stop or close the child. */
typedef void ch_child_output_fn(int stream, struct ch_sv data, void *user);

/* Start a program; never returns NULL. argv[0] is searched in the PATH of env;
 * relative entries of PATH are skipped. The loop is held while the program
 * runs. */
struct ch_child *ch_child_start(struct ch_loop *loop, const struct ch_child_opts *opts,
                                ch_child_output_fn *on_output, ch_child_fn *done, void *user);

/* Write to stdin of a program started with open_input; data is copied.
 * CHELA_ESTATE: stdin was closed by either side. CHELA_ELIMIT: the program does
 * not read and CH_LIMIT_CHILD_INPUT bytes are already waiting; nothing of data
 * is taken. */
int ch_child_write(struct ch_child *c, struct ch_sv data);

/* Close stdin once the program has read everything; send ^D to a terminal. */
void ch_child_end_input(struct ch_child *c);

/* Ask the program to end (SIGTERM, then SIGKILL). The done callback follows
 * with stopped set. */
void ch_child_stop(struct ch_child *c);

/* Kill the program at once and free the child: no callback after this. NULL is
 * a no-op. */
void ch_child_close(struct ch_child *c);

/* A new descriptor of the reports' pipe, for the caller to close; -1: none. poll() tells
 * POLLHUP when no process holds the other end. */
int ch_child_copy_report(const struct ch_child *c);

#endif
