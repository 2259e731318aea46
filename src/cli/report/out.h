/* out.h -- the state of the output of a run for people (out_text.h). */
#ifndef CH_CLI_OUT_H
#define CH_CLI_OUT_H
#include <stdbool.h>

#include "chela/event.h"
#include "cli/term/console.h"

/* The answer on stdout, everything else on stderr. On a terminal text is streamed.
 * Otherwise, and when quiet, stdout gets only the final answer; text before tool calls goes
 * to stderr. */
struct ch_text {
    struct ch_console *console; /* borrowed */
    bool no_answer;             /* the answer is printed elsewhere */
    bool fresh;                 /* no text of this reply yet */
    bool calls;                 /* this reply contains tool calls */
    char *said;                 /* owned: text of the last reply with text */
    size_t said_n, said_cap;
    bool shown; /* `said` was shown */
    unsigned ticked;            /* bit mask of plan steps already shown as ended */
};

#endif
