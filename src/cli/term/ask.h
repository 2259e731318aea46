/* ask.h -- asks the person at the terminal for approvals and for answers to ask_user. */
#ifndef CH_CLI_ASK_H
#define CH_CLI_ASK_H
#include <stdio.h>

#include "chela/hooks.h"
#include "cli/term/console.h"
#include "cli/support/signal.h"

enum { CH_ANSWER_MAX = 4096 }; /* maximum line length of a terminal */

struct ch_asker {
    struct ch_console *console; /* borrowed */
    struct ch_signals *signals; /* borrowed, or `own`; NULL: no person, or no thread */
    struct ch_signals *own;     /* owned: if the caller has none; NULL: none */
    int tty;                    /* owned; -1: no person to ask */
    char line[CH_ANSWER_MAX];   /* the last answer; a reason points into it */
    char *choice;               /* owned: the selected choice of the last answer, or NULL */
};

/* Find out whether there is a person: stderr must be a terminal, and the terminal must be
 * readable, whatever stdin is. signals: end a question; NULL: the asker catches them until it is
 * closed, so that Ctrl-C ends a question and the terminal is restored. */
void ch_asker_open(struct ch_asker *a, struct ch_console *console, struct ch_signals *signals);
void ch_asker_close(struct ch_asker *a);
static inline bool ch_asker_there(const struct ch_asker *a) {
    return a->tty >= 0;
}

/* True: a signal has ended a question. */
static inline bool ch_asker_interrupted(const struct ch_asker *a) {
    return ch_signals_caught(a->signals);
}

/* The `approve` hook; user is the struct ch_asker. */
enum chela_flow ch_asker_approve(chela_run *run, struct chela_approval *approval, void *user);

/* Ask the question of an ask_user call. Returns the answer, in a->line or owned by a, valid
 * until the next question. NULL: no answer; *interrupted tells whether the person wants the
 * run to end. */
const char *ch_asker_question(struct ch_asker *a, const char *arguments, size_t len,
                              bool *interrupted);

/* Ask for a line, which may be empty; in a->line. NULL: no answer, or no person to ask. */
const char *ch_asker_line(struct ch_asker *a, const char *question);

/* The same for a secret, which the terminal does not show. */
const char *ch_asker_secret(struct ch_asker *a, const char *question);

/* Write the question of an ask_user call with its choices; not yet safe. */
void ch_question_write(FILE *out, const char *arguments, size_t len);
/* The choice with the number in line, to be freed with chela_free; NULL: line is a free
 * answer. */
char *ch_question_choice(const char *arguments, size_t len, const char *line);

/* Parse an answer; false: not understood. For a denial, *reason points into the answer; it
 * may be empty. */
bool ch_answer_read(char *answer, bool can_remember, enum chela_decision *out, const char **reason);

#endif
