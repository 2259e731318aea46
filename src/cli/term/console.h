/* console.h -- the one door to standard output and standard error.
 *
 * Answers go to stdout, everything about them to stderr; both may be the same
 * terminal. The console knows where the cursor is, so that a note never lands
 * in the middle of an answer's line, and takes the status line away before
 * anything else is written. Text of others is made safe for terminals here:
 * always on stderr, on stdout when it is a terminal.
 *
 * Calls are safe from any thread: the run's events, the status ticker and the
 * library's log share it. */
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
    const char *pager; /* for long listings; NULL: none */
    bool json; /* lines on stderr are JSON objects; set before the first */

    pthread_mutex_t lock;              /* of what follows */
    struct ch_escape answer, progress; /* filters of the two open streams */
    size_t newlines;                   /* of the answer, held back: it ends with exactly one */
    bool answered;                     /* the answer has begun and is not ended */
    bool progressing;                  /* a stretch of progress text has begun */
    int open_fd;                       /* the terminal line is unfinished by this fd; 0: none */
    bool status;                       /* a status line is on the screen */
    /* Instead of writing, if set: for a screen that has its own way (screen.h).
     * Called under the lock, from any thread. */
    void (*sink)(const char *p, size_t n, void *user);
    void *sink_user;
    int failure;                       /* errno of the first failed write to stdout, 0 */
};

enum ch_verbosity { CH_NORMAL, CH_QUIET, CH_VERBOSE };

void ch_console_init(struct ch_console *c, const struct ch_env *env, enum ch_verbosity verbosity,
                     bool no_color);
void ch_console_release(struct ch_console *c);

/* A piece of the answer, and its end: one newline, whatever the text had. */
void ch_console_answer(struct ch_console *c, const char *p, size_t n);
void ch_console_answer_end(struct ch_console *c);

/* Bytes for stdout as they are (made safe on a terminal), at once. */
void ch_console_print(struct ch_console *c, const char *p, size_t n);

/* Columns of the terminal that stdout is; 0: it is none. */
unsigned ch_console_columns(const struct ch_console *c);

/* A piece of running text on stderr, dim; ended by whatever comes next. The
 * label opens the stretch. Nothing when quiet. */
void ch_console_progress(struct ch_console *c, const char *label, const char *p, size_t n);

/* One line on stderr. note: dim, not when quiet; verbose: only with -v;
 * error: "chela: ", always. The text may hold anything: it is made one safe
 * line. */
void ch_console_note(struct ch_console *c, const char *fmt, ...) CHELA_PRINTF(2, 3);
void ch_console_verbose(struct ch_console *c, const char *fmt, ...) CHELA_PRINTF(2, 3);
void ch_console_error(struct ch_console *c, const char *fmt, ...) CHELA_PRINTF(2, 3);
/* One line on stderr as a JSON object {ts, level, area, message}. */
void ch_console_json(struct ch_console *c, const char *level, const char *area, const char *text);
/* Text of several lines on stderr, made safe, always. */
void ch_console_complain(struct ch_console *c, const char *p, size_t n);
/* What was asked for by CHELA_TRACE comes even when quiet. */
void ch_console_trace(struct ch_console *c, const char *area, const char *text);

/* A question on stderr, always: several safe lines, the cursor stays behind the
 * last. Until ch_console_asked nothing but the terminal's own echo follows. */
void ch_console_ask(struct ch_console *c, const char *p, size_t n);
/* It was answered; ended_line: by a line that the terminal has echoed. */
void ch_console_asked(struct ch_console *c, bool ended_line);

/* Show a status line (safe text, cut to the terminal) instead of the one
 * before, unless a line of text is unfinished; NULL takes it away. Only for a
 * live stderr. */
void ch_console_status(struct ch_console *c, const char *line);

/* errno of the first write to stdout that failed, or 0. */
int ch_console_failure(struct ch_console *c);

/* For commands whose output is all there is: says what went wrong with stdout
 * (a closed pipe is no news) and turns code into the exit code to return. */
int ch_console_exit(struct ch_console *c, int code);

#endif
