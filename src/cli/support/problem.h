/* problem.h -- filling a struct chela_error on our side of the border.
 *
 * The library's own errors and the command line's travel in the same value,
 * so that one place prints them (console.h) and one maps them to exit codes. */
#ifndef CH_CLI_PROBLEM_H
#define CH_CLI_PROBLEM_H
#include "chela/error.h"

/* INTERFACE: the exit codes of the program. */
enum ch_exit {
    CH_EXIT_DONE = 0,
    CH_EXIT_ERROR = 1,
    CH_EXIT_USAGE = 2,
    CH_EXIT_STOPPED = 3,
    CH_EXIT_CANCELLED = 4,
    CH_EXIT_PAUSED = 5,
};

/* Keeps the first problem: later ones are mostly its consequences. Returns
 * code, so that a caller can hand it straight on. */
int ch_problem(struct chela_error *err, int code, const char *fmt, ...) CHELA_PRINTF(3, 4);

/* CH_EXIT_USAGE for what the user wrote (a flag, a file, a name), else
 * CH_EXIT_ERROR. */
int ch_problem_exit(const struct chela_error *err);

#endif
