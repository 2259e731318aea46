/* program.h -- an outside program, run for a tool: in its box, on the loop.
 *
 * Preparing the box looks at files, so it happens on a worker thread; then the
 * program is a child (io/child.h) like any other. What it may see of us is
 * decided here too: a few variables of the environment and nothing else. */
#ifndef CH_TOOL_PROGRAM_H
#define CH_TOOL_PROGRAM_H
#include "io/child.h"
#include "io/worker.h"
#include "tool/process/sandbox_policy.h"

struct ch_program;

/* Texts are copied, and so is the policy. */
struct ch_program_opts {
    const struct ch_sandbox_policy *policy; /* NULL: the default one */
    const char *const *argv, *const *env;   /* NULL-terminated */
    const char *workspace;                  /* absolute */
    /* Where it starts: a path of the model's, which has to lead to a directory
     * of the workspace (path.h); or, if the operator chose it, any. NULL: the
     * workspace itself. */
    const char *cwd;
    bool any_cwd;
    /* The operator chose the program too: its files may be read (see
     * program.c), wherever they are. */
    bool trusted_argv;
    struct ch_sv input;
    bool open_input, merge, stream, tty; /* as in struct ch_child_opts */
    size_t max_output;
    int64_t timeout_ms;
    void (*started)(void *user); /* optional: it runs now */
};

struct ch_program_result {
    const struct ch_child_result *child; /* NULL: it did not run */
    /* Why it did not run, or its box failed; NULL: none of that. */
    const char *error_type, *error;
    bool boxed, degraded; /* it ran in a box; not all of it holds here */
};

/* Exactly once, on the loop thread, never from inside ch_program_start; the
 * program is gone when it returns. r is borrowed. */
typedef void ch_program_fn(const struct ch_program_result *r, void *user);

struct ch_program *ch_program_start(struct ch_loop *loop, struct ch_workers *workers,
                                    const struct ch_program_opts *opts,
                                    ch_child_output_fn *on_output, ch_program_fn *done, void *user);

/* As ch_child_*; before the program runs, write and end_input are refused
 * (CHELA_EBUSY). */
int ch_program_write(struct ch_program *p, struct ch_sv data);
int ch_program_end_input(struct ch_program *p);
void ch_program_stop(struct ch_program *p);
void ch_program_close(struct ch_program *p);

/* --- its environment */

/* The variables of ours that any program gets, as "NAME=value", in out (room
 * for CH_PROGRAM_ENV and a NULL); owned by the caller. Reads the environment:
 * not while threads may change it. */
#define CH_PROGRAM_ENV 8
void ch_program_env(char *out[CH_PROGRAM_ENV + 1]);
void ch_program_env_free(char *env[CH_PROGRAM_ENV + 1]);

#endif
