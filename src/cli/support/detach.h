/* detach.h -- continues in a process without a terminal, which outlives the command.
 *
 * The standard output of that process is a log file from the start. Its standard error goes
 * to the person's terminal until its work has begun, and to the log from then on. */
#ifndef CH_CLI_DETACH_H
#define CH_CLI_DETACH_H
#include <stdbool.h>
#include <sys/types.h>

#include "chela/error.h"
#include "cli/support/env.h"

struct ch_detach {
    pid_t pid;    /* the new process; 0: this process is the new one */
    char *log;    /* owned: path of the log */
    int file;     /* owned: the log */
    int says;     /* owned, of the old process: standard error of the new one */
    int begun[2]; /* owned: a byte arrives when the work has begun */
};

/* Start the new process: returns in both. Call before any thread exists. key: of the session,
 * names the log. */
int ch_detach(struct ch_detach *d, const struct ch_env *env, const char *key,
              struct chela_error *err);
/* In the new process: the work has begun. Does nothing when called again. */
void ch_detach_begun(struct ch_detach *d);
/* In the old process: copy the messages of the new one until its work has begun. False: the
 * new process has ended, with exit code *code. */
bool ch_detach_wait(struct ch_detach *d, int *code);
void ch_detach_release(struct ch_detach *d);

#endif
