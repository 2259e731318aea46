/* mcp_stdio.h -- a link to a server that is a child process, in the sandbox.
 *
 * The server receives only PATH, LANG, LC_ALL, TZ, HOME (its own directory) and the variables
 * that are configured. Its stderr goes to the log, line by line. */
#ifndef CH_MCP_STDIO_H
#define CH_MCP_STDIO_H
#include "io/worker.h"
#include "mcp/mcp_link.h"

struct ch_sandbox_policy;
struct ch_pins;

struct ch_mcp_stdio_opts {
    struct ch_loop *loop;
    struct ch_workers *workers;
    const char *name;               /* for the log; borrowed while the link is open */
    const char *const *argv;        /* copied */
    const char *const *env;         /* "NAME=value"; NULL: none; copied */
    const char *dir;                /* its own directory, absolute; copied */
    const struct ch_sandbox_policy *policy; /* copied */
    const struct ch_pins *pins;             /* as in program.h; copied */
};

struct ch_mcp_link *ch_mcp_stdio_new(const struct ch_mcp_stdio_opts *opts,
                                     const struct ch_mcp_link_events *events, void *user);

#endif
