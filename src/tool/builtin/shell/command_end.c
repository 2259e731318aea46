/* command_end.c -- see command_end.h. */
#include "tool/builtin/shell/command_end.h"

#include <string.h>

const char *ch_command_end_line(struct ch_arena *arena, const struct ch_command_end *end) {
    if (end->timed_out && end->timeout_ms > 0)
        return ch_arena_printf(arena,
                               "[stopped after %g s by its time limit; use a longer timeout, or "
                               "background]",
                               (double)end->timeout_ms / 1000);
    if (end->timed_out)
        return "[stopped by its time limit]";
    if (end->signal)
        return ch_arena_printf(arena, "[%s by signal %d (%s)]", end->killed ? "killed" : "ended",
                               end->signal, strsignal(end->signal));
    return end->exit_code == 0 ? NULL : ch_arena_printf(arena, "[exit code %d]", end->exit_code);
}
