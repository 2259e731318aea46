/* problem.h -- fills a struct chela_error for the command line.
 *
 * Errors of the library and of the command line use the same struct, so that one place
 * prints them (console.h) and one maps them to exit codes. */
#ifndef CH_CLI_PROBLEM_H
#define CH_CLI_PROBLEM_H
#include "chela/error.h"

/* The exit codes of the program, a part of its interface. */
enum ch_exit {
    CH_EXIT_DONE = 0,
    CH_EXIT_ERROR = 1,
    CH_EXIT_USAGE = 2,
    CH_EXIT_STOPPED = 3,
    CH_EXIT_CANCELLED = 4,
    CH_EXIT_PAUSED = 5,
    CH_EXIT_DECLINED = 6,
};

/* Keeps the first problem, because later ones are usually consequences. Returns code. */
int ch_problem(struct chela_error *err, int code, const char *fmt, ...) CHELA_PRINTF(3, 4);

/* Put the name of the file, and ": ", before the message of the problem; file NULL: nothing.
 * Returns its code. */
int ch_problem_in(struct chela_error *err, const char *file);

/* If the problem is that another process uses the session, adds the command that follows the
 * session. Returns its code. */
int ch_problem_in_use(struct chela_error *err, const char *key);

/* CH_EXIT_USAGE for errors in user input (a flag, a file, a name), else CH_EXIT_ERROR, also for a
 * disk that is full. */
int ch_problem_exit(const struct chela_error *err);

#endif
