/* mcp_server_result.h -- the result that the function of a call sets. */
#ifndef CH_MCP_SERVER_RESULT_H
#define CH_MCP_SERVER_RESULT_H
#include "mcp/mcp_server.h"

void ch_mcp_result_clear(chela_mcp_call *call);
/* Append the result as JSON; false: the call failed with a protocol error, whose text is in
 * call->error. */
bool ch_mcp_result_write(chela_mcp_call *call, struct ch_buf *out);

/* Entries of a list: "{...},{...}". */
struct ch_mcp_entries {
    struct ch_buf text;
    size_t skip, room, n; /* entries before the page, entries of a page, entries seen */
    bool more;
};
void ch_mcp_entries_add(struct ch_mcp_entries *e, struct ch_sv json);
void ch_mcp_entries_add_all(struct ch_mcp_entries *e, struct ch_sv array); /* a JSON array */
/* Write the page as member `key`, and the cursor of the next one; frees the entries. */
void ch_mcp_entries_write(struct ch_mcp_entries *e, struct ch_jw *w, const char *key);

#endif
