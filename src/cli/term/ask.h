/* ask.h -- asking the person at the terminal: whether a call may be made, and
 * what the tool ask_user wants to know. */
#ifndef CH_CLI_ASK_H
#define CH_CLI_ASK_H
#include <stdio.h>

#include "chela/hooks.h"
#include "cli/term/console.h"
#include "cli/support/signal.h"

enum { CH_ANSWER_MAX = 4096 }; /* what a terminal hands over as one line */

struct ch_asker {
    struct ch_console *console; /* borrowed */
    struct ch_signals *signals; /* borrowed; may be NULL */
    int tty;                    /* owned; -1: there is nobody to ask */
    char line[CH_ANSWER_MAX];   /* the last answer: a reason points into it */
    char *choice;               /* owned: the choice that was the last answer, or NULL */
};

/* Is there a person? Only if questions can be seen (stderr is a terminal) and
 * answered (the terminal is ours to read, whatever stdin is). */
void ch_asker_open(struct ch_asker *a, struct ch_console *console, struct ch_signals *signals);
void ch_asker_close(struct ch_asker *a);
static inline bool ch_asker_there(const struct ch_asker *a) {
    return a->tty >= 0;
}

/* The hook `approve`; user is the struct ch_asker. */
enum chela_flow ch_asker_approve(chela_run *run, struct chela_approval *approval, void *user);

/* Put the question of a call of ask_user to the person. Returns the answer, in
 * a->line or owned by a, valid until the next question; NULL: there is none, and
 * *interrupted says whether the person wants the run to end. */
const char *ch_asker_question(struct ch_asker *a, const char *arguments, size_t len,
                              bool *interrupted);

/* Ask for a line of any kind, which may be empty; in a->line. NULL: there is
 * none, or nobody. */
const char *ch_asker_line(struct ch_asker *a, const char *question);

/* The question of such a call, with its choices, for people: not yet safe. */
void ch_question_write(FILE *out, const char *arguments, size_t len);
/* A number stands for the choice that has it: yours to chela_free; NULL: the
 * line is an answer of its own. */
char *ch_question_choice(const char *arguments, size_t len, const char *line);

/* What an answer says; false: nothing we understand. *reason, in the answer
 * itself, is set with a denial; it may be empty. */
bool ch_answer_read(char *answer, bool can_remember, enum chela_decision *out, const char **reason);

#endif
