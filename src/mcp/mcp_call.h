/* mcp_call.h -- one call of a server's tool: request, questions to a person, result.
 *
 *     call --> tools/call --> result
 *                  |  ^
 *     the server asks |  questions are answered: the request is repeated with the answers
 *                  v  |  (older versions: the open request continues)
 *             the call rests (tool/call/question.h)
 *
 * Loop thread only. */
#ifndef CH_MCP_CALL_H
#define CH_MCP_CALL_H
#include "mcp/mcp_client.h"

struct ch_mcp_target { /* borrowed for the call of the function */
    chela_mcp *mcp;
    const char *name;   /* name of the tool at the server */
    const char *output; /* schema of its structured result; NULL: none */
    bool task;          /* a call may be a task, in versions with a handshake */
    const char *method; /* instead of tools/call, with the arguments as parameters; NULL: none */
};

/* The body of a tool's function: begins or continues the call. */
int ch_mcp_call(chela_call *call, const struct ch_mcp_target *t);

/* Append the headers for arguments that the schema annotates. arguments: JSON. */
void ch_mcp_call_headers(struct ch_buf *out, const char *schema, const char *arguments);

#endif
