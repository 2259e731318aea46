/* builtin.h -- the tools that come with chela. */
#ifndef CH_TOOL_BUILTIN_H
#define CH_TOOL_BUILTIN_H
#include "tool/registry/registry.h"

/* Every built-in, ended by an entry whose name is NULL. */
extern const struct chela_tool_opts ch_builtin_tools[];

/* Add the built-ins whose names match allow (NULL: all) and not deny. A
 * pattern without wildcards that names no built-in is left to the caller. */
int ch_builtin_add(struct ch_registry *r, const char *allow, const char *deny,
                   struct chela_error *err);

/* The same for an agent with these settings (which may be NULL): tools that need
 * some are added if they are there, and hold a reference. */
struct ch_tool_settings;
int ch_builtin_add_with(struct ch_registry *r, struct ch_tool_settings *settings, const char *allow,
                        const char *deny, struct chela_error *err);

/* The built-in that needs a channel, by its name, if r has it; else NULL. A host
 * may have a tool of its own with that name, which needs none. */
#define CH_MESSAGE_TOOL "message"
#define CH_MEMORY_WRITE_TOOL "memory_write"
const char *ch_channel_tool(const struct ch_registry *r);

/* A tool that runs a program: arguments as JSON on stdin, result on stdout;
 * a non-zero exit is an error result with stderr. */
struct ch_command_opts {
    struct chela_tool_opts tool; /* fn, user unused */
    const char *const *argv;     /* NULL-terminated; copied */
    const char *cwd;             /* NULL: the workspace */
};
int ch_command_add(struct ch_registry *r, const struct ch_command_opts *opts,
                   struct chela_error *err);

#endif
