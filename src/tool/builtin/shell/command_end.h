/* command_end.h -- the line that tells a model how a command failed. */
#ifndef CH_TOOL_COMMAND_END_H
#define CH_TOOL_COMMAND_END_H
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct ch_command_end {
    int exit_code, signal; /* signal 0: none */
    bool timed_out, killed;
    int64_t timeout_ms; /* 0: not known */
};

/* The last line of the result of a command, such as "[exit code 3]", in the arena. NULL: the
 * command succeeded. */
const char *ch_command_end_line(struct ch_arena *arena, const struct ch_command_end *end);

#endif
