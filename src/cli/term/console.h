/* console.h -- the only writer of standard output and standard error.
 *
 * Answers go to stdout, everything else to stderr; both may be the same terminal. The
 * console tracks the cursor, so that a note never starts in the middle of an answer's line,
 * and removes the status line before other output. Untrusted text is made safe for
 * terminals here: always on stderr and in listings, because a file is read at a terminal
 * later; an answer on stdout only if that is a terminal, because programs read answers.
 *
 * All functions may be called from any thread: the run's events, the status ticker and the
 * library's log use the same console. */
#ifndef CH_CLI_CONSOLE_H
#define CH_CLI_CONSOLE_H
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "chela/error.h"
#include "cli/support/env.h"
#include "cli/term/term.h"

struct ch_console {
    struct ch_term out, err;
    bool quiet, verbose;
    const char *pager; /* for long listings; NULL: no pager */
    bool json; /* write JSON objects on stderr; set before the first line */
    enum chela_language language; /* of lines about the end of a run; AUTO: that of its sentence */
    unsigned worker; /* number of this process in lines on stderr; 0: none */

    pthread_mutex_t lock;              /* protects the following members */
    struct ch_escape answer, progress; /* filters of the two streams */
    /* line feeds of the answer held back, because it ends with exactly one */
    size_t newlines;
    bool answered;                     /* the answer has begun and not ended */
    const char *progressing;           /* label of the progress text that has begun; NULL: none */
    int open_fd;                       /* fd that left the terminal line unfinished; 0: none */
    bool status;                       /* a status line is on the screen */
    /* Replaces writing, for a screen with its own output (screen.h). Called under the lock,
     * from any thread. */
    void (*sink)(const char *p, size_t n, void *user);
    void *sink_user;
    int failure;                       /* errno of the first failed write to stdout, or 0 */
};

enum ch_verbosity { CH_NORMAL, CH_QUIET, CH_VERBOSE };

void ch_console_init(struct ch_console *c, const struct ch_env *env, enum ch_verbosity verbosity,
                     bool no_color);
void ch_console_release(struct ch_console *c);

/* A piece of the answer, and its end: exactly one newline. */
void ch_console_answer(struct ch_console *c, const char *p, size_t n);
void ch_console_answer_end(struct ch_console *c);

/* Write text to stdout, made safe, at once. JSON stays the same JSON: the safe form of a
 * character is its escape in a string. */
void ch_console_print(struct ch_console *c, const char *p, size_t n);

/* Columns of stdout's terminal; 0: not a terminal. */
unsigned ch_console_columns(const struct ch_console *c);

/* A piece of progress text on stderr, dim; any other output ends it. The label precedes the
 * first piece; it is a constant, and another one begins a line. Nothing when quiet. */
void ch_console_progress(struct ch_console *c, const char *label, const char *p, size_t n);

/* One line on stderr. note: dim, not when quiet; verbose: only with -v; error: "chela: ",
 * always. Untrusted text is made one safe line. */
void ch_console_note(struct ch_console *c, const char *fmt, ...) CHELA_PRINTF(2, 3);
void ch_console_verbose(struct ch_console *c, const char *fmt, ...) CHELA_PRINTF(2, 3);
void ch_console_error(struct ch_console *c, const char *fmt, ...) CHELA_PRINTF(2, 3);
/* One line on stderr as a JSON object {ts, level, area, message}. */
void ch_console_json(struct ch_console *c, const char *level, const char *area, const char *text);
/* Several lines on stderr, made safe, always. */
void ch_console_complain(struct ch_console *c, const char *p, size_t n);
/* Trace output requested by CHELA_TRACE, also when quiet. */
void ch_console_trace(struct ch_console *c, const char *area, const char *text);

/* A question on stderr, always: several safe lines; the cursor stays after the last.
 * Nothing else is written until ch_console_asked. */
void ch_console_ask(struct ch_console *c, const char *p, size_t n);
/* The question was answered; ended_line: the terminal echoed a line end. */
void ch_console_asked(struct ch_console *c, bool ended_line);

/* Show a status line (safe text, truncated to the terminal) instead of the previous one,
 * unless a line of text is unfinished; NULL removes it. Only if stderr is live. */
void ch_console_status(struct ch_console *c, const char *line);

/* errno of the first write to stdout that failed, or 0. */
int ch_console_failure(struct ch_console *c);

/* For commands that only print: reports a failure of stdout (except a closed pipe) and
 * returns the exit code. */
int ch_console_exit(struct ch_console *c, int code);

#endif
