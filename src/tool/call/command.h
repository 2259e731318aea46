/* command.h -- tools that run a program. */
#ifndef CH_TOOL_COMMAND_H
#define CH_TOOL_COMMAND_H
#include "tool/registry/registry.h"

struct ch_pins;

/* A tool that runs a program: arguments as JSON on stdin, result on stdout;
 * a non-zero exit is an error result with stderr. */
struct ch_command_opts {
    struct chela_tool_opts tool; /* fn, user unused */
    const char *const *argv;     /* NULL-terminated; copied */
    const char *cwd;             /* NULL: the workspace */
    const struct ch_pins *pins;  /* as in program.h; copied */
};
int ch_command_add(struct ch_registry *r, const struct ch_command_opts *opts,
                   struct chela_error *err);

#endif
