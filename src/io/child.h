/* child.h -- run a program, feed it, collect what it says, end it.
 *
 * The child leads its own session and process group and inherits nothing but
 * descriptors 0 to 2; stopping it means SIGTERM to the group, SIGKILL after a
 * grace period. Output is read into capped buffers: past the cap it is read on
 * and thrown away (the child never blocks), and the result says how much there
 * was. A grandchild that keeps the pipes open does not delay the end: once the
 * leader has exited, the rest of the output gets a short while
 * (CH_DEFAULT_DRAIN_MS), then the group is killed. One that let go of the pipes
 * is left alone unless the child was stopped or timed out.
 *
 * A program may have a pseudo terminal in place of pipes, and a fourth
 * descriptor for what a wrapper around it has to say about itself. */
#ifndef CH_IO_CHILD_H
#define CH_IO_CHILD_H
#include "base/buf.h"
#include "io/loop.h"

struct ch_child;

struct ch_child_opts {
    const char *const *argv; /* NULL-terminated; argv[0] looked up in PATH; copied */
    const char *const *env;  /* NULL: inherit; else the whole environment; copied */
    const char *cwd;         /* NULL: inherit; copied */
    struct ch_sv input;      /* fed to stdin, then closed; copied */
    bool open_input;         /* stdin stays open: ch_child_write, ch_child_end_input */
    bool merge;              /* stderr is stdout: one stream, in the order of writing */
    bool stream;             /* keep nothing: all output goes to on_output, uncapped */
    bool tty;                /* a terminal is stdin, stdout and stderr; implies merge */
    bool report;             /* descriptor 3 is a pipe, for result.report */
    size_t max_output;       /* per stream; 0: CH_LIMIT_TOOL_OUTPUT */
    int64_t timeout_ms;      /* 0: none */
    int64_t grace_ms;        /* between SIGTERM and SIGKILL; 0: CH_DEFAULT_GRACE_MS */
};

struct ch_child_result {
    int exit_code;                 /* -1 when killed by a signal */
    int signal;                    /* 0 when it exited */
    bool timed_out, stopped;       /* by timeout_ms; by ch_child_stop */
    struct ch_sv out, err;         /* borrowed until the callback returns */
    uint64_t out_total, err_total; /* bytes written, kept or not */
    struct ch_sv report;           /* the first CH_LIMIT_CHILD_REPORT bytes; borrowed */
};
/* exit_code -1 with signal 0: a host that reaps all children, or ignores
 * SIGCHLD, took the status away. */

/* result is NULL and err says why if the program could not be started. Called
 * exactly once, never from inside ch_child_start; the child is gone when it
 * returns (ch_child_close inside it is allowed and does nothing). */
typedef void ch_child_fn(const struct ch_child_result *result, const struct chela_error *err,
                         void *user);

/* Optional: output as it arrives (stream 1 or 2), as far as it is kept. May
 * stop or close the child. */
typedef void ch_child_output_fn(int stream, struct ch_sv data, void *user);

/* Never NULL. argv[0] is found in the PATH of env; relative entries of PATH
 * are skipped. While the program runs the loop is held. */
struct ch_child *ch_child_start(struct ch_loop *loop, const struct ch_child_opts *opts,
                                ch_child_output_fn *on_output, ch_child_fn *done, void *user);

/* More for stdin of a program started with open_input; copied, written as it
 * reads. CHELA_ESTATE: its stdin is closed, by either side. CHELA_ELIMIT: it
 * does not read, and CH_LIMIT_CHILD_INPUT bytes wait already; none is taken. */
int ch_child_write(struct ch_child *c, struct ch_sv data);

/* Close stdin once everything written has been read; to a terminal, ^D. */
void ch_child_end_input(struct ch_child *c);

/* Ask it to end (TERM, then KILL); done follows with stopped set. */
void ch_child_stop(struct ch_child *c);

/* Kill at once and forget: no callback after this. NULL is a no-op. */
void ch_child_close(struct ch_child *c);

#endif
