/* out.h -- what a run looks like: for people, and for programs. */
#ifndef CH_CLI_OUT_H
#define CH_CLI_OUT_H
#include <stdbool.h>

#include "chela/event.h"
#include "cli/term/console.h"

/* --- for people (out_text.c) ------------------------------------------------ */

/* The answer on stdout, everything about it on stderr. On a terminal text is
 * shown as it comes. Elsewhere, and when quiet, stdout gets the final answer
 * alone: text that turns out to come before tool calls is shown on stderr. */
struct ch_text {
    struct ch_console *console; /* borrowed */
    bool no_answer;             /* the answer is printed by somebody else */
    bool fresh;                 /* no text of this reply has come yet */
    bool calls;                 /* this reply asked for tools */
    char *said;                 /* owned: the text of the last reply that had some */
    size_t said_n, said_cap;
    bool shown; /* and it has been shown */
    unsigned ticked;            /* bits of the plan's steps that were shown to have ended */
};

/* --- for programs (out_json.c) ----------------------------------------------- */

#endif
