/* program.h -- runs an external program for a tool, in its sandbox, on the loop.
 *
 * The sandbox is prepared on a worker thread, because preparation reads files. The program
 * then runs as a child (io/child.h). This module also selects the environment variables
 * that the program receives: a short fixed list. */
#ifndef CH_TOOL_PROGRAM_H
#define CH_TOOL_PROGRAM_H
#include "io/child.h"
#include "io/worker.h"
#include "guard/repositories.h"
#include "tool/process/box_network.h"
#include "tool/process/pinned.h"
#include "tool/process/sandbox_policy.h"

struct ch_layer_mount;
struct ch_program;

/* Texts and the policy are copied. */
struct ch_program_opts {
    const struct ch_sandbox_policy *policy; /* NULL: the default policy */
    const char *const *argv, *const *env;   /* NULL-terminated */
    const char *workspace;                  /* absolute */
    const struct ch_layer_mount *layer; /* mounted at the workspace; stays mounted; NULL: none */
    /* Working directory: a model's path, which must lead to a directory of the workspace
     * (path.h), or any path if the operator chose it. NULL: the workspace. */
    const char *cwd;
    bool any_cwd;
    /* The operator chose the program: its files are readable in the sandbox, wherever they
     * are (see program.c). */
    bool trusted_argv;
    const struct ch_pins *pins; /* the program does not run if its files have changed; NULL: any */
    bool free_instructions; /* the user allowed it to write files that later runs obey */
    bool full_box; /* in the full sandbox without a network, whatever the policy says */
    /* Optional: whether a person has allowed this digest of a destination (box_network.h), as long
     * as the program runs. */
    bool (*granted)(const unsigned char *digest, void *user);
    void *granted_user;
    /* Private data and text that nobody vouched for have met (tool/call/flow.h): a host that only
     * the agent's list allows is asked about. */
    bool met;
    struct ch_sv command; /* that a person may allow a destination to; empty: none */
    struct ch_sv input;
    bool open_input, merge, stream, tty; /* as in struct ch_child_opts */
    size_t max_output;
    int64_t timeout_ms;
    void (*started)(void *user); /* optional: the program is running now */
};

struct ch_program_result {
    const struct ch_child_result *child; /* NULL: the program did not run */
    /* Why the program did not run, or its sandbox failed; NULL otherwise. */
    const char *error_type, *error;
    bool boxed, degraded; /* ran in a sandbox; some needed layer was missing */
    /* Parts of repositories that the program made, set aside; NULL: none. Paths are absolute. */
    const struct ch_held_list *held;
    const struct ch_refused_hosts *refused; /* destinations that were not allowed; NULL: none */
};

/* Called exactly once, on the loop thread, never from inside ch_program_start. The program
 * is freed when the callback returns. r is borrowed. */
typedef void ch_program_fn(const struct ch_program_result *r, void *user);

struct ch_program *ch_program_start(struct ch_loop *loop, struct ch_workers *workers,
                                    const struct ch_program_opts *opts,
                                    ch_child_output_fn *on_output, ch_program_fn *done, void *user);

/* As ch_child_*; before the program runs, write and end_input return CHELA_EBUSY. */
int ch_program_write(struct ch_program *p, struct ch_sv data);
int ch_program_end_input(struct ch_program *p);
void ch_program_stop(struct ch_program *p);
void ch_program_close(struct ch_program *p);

/* --- environment of the program */

/* The environment variables that every program receives, as "NAME=value", in out (room for
 * CH_PROGRAM_ENV entries and a NULL); owned by the caller. Reads the environment, so no
 * thread may change the environment concurrently. */
#define CH_PROGRAM_ENV 8
void ch_program_env(char *out[CH_PROGRAM_ENV + 1]);
void ch_program_env_free(char *env[CH_PROGRAM_ENV + 1]);

#endif
