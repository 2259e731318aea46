/* outside.h -- the built-in tools that reach outside of the workspace: the settings each
 * tool requires, and the text that settings add to its description. */
#ifndef CH_TOOL_BUILTIN_OUTSIDE_H
#define CH_TOOL_BUILTIN_OUTSIDE_H
#include "base/buf.h"
#include "chela/tool.h"
#include "tool/registry/settings.h"

struct ch_outside {
    const char *name;
    bool (*offered)(const struct ch_tool_settings *s);
    /* Append to the description; may be NULL. */
    void (*describe)(const struct ch_tool_settings *s, struct ch_buf *out);
    bool (*destination)(chela_call *call, struct ch_buf *url); /* ch_tool.destination */
};

/* The row of a tool that needs settings; NULL for any other tool. */
const struct ch_outside *ch_outside_find(const char *name);

#endif
