/* out_command.h -- finds out whether a tool result tells of a command that failed. */
#ifndef CH_CLI_OUT_COMMAND_H
#define CH_CLI_OUT_COMMAND_H
#include <stdbool.h>

#include "chela/event.h"

enum { CH_COMMAND_LINES = 8 }; /* lines of output shown of a command that failed */

/* True if ev (TOOL_RESULT) is the result of a command that ended with an exit code other than 0,
 * by a signal or by its time limit. *how: "exit code 3"; *output: the text before it. Both are
 * parts of the event. */
bool ch_command_failed(const struct chela_event *ev, struct chela_str *how,
                       struct chela_str *output);

#endif
