/* builtin.h -- the tools that come with chela. */
#ifndef CH_TOOL_BUILTIN_H
#define CH_TOOL_BUILTIN_H
#include "tool/registry/registry.h"

/* Every built-in, ended by an entry whose name is NULL. */
extern const struct chela_tool_opts ch_builtin_tools[];

/* Add the built-in tools whose names match allow (NULL: all) and do not match deny. A
 * pattern without wildcards that names no built-in is ignored; the caller checks it. A tool
 * that needs settings is added only if settings contains them, and holds a reference to
 * settings. settings may be NULL. */
struct ch_tool_settings;
int ch_builtin_add_with(struct ch_registry *r, struct ch_tool_settings *settings, const char *allow,
                        const char *deny, struct chela_error *err);

#endif
