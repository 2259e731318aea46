/* mcp_file.h -- files with `mcpServers`, as other MCP clients write them.
 *
 * Such a file is read as a configuration that has MCP servers and nothing else. */
#ifndef CH_CONFIG_MCP_FILE_H
#define CH_CONFIG_MCP_FILE_H
#include "base/buf.h"
#include "chela/error.h"

/* True for a path whose file name is mcp.json or .mcp.json. */
bool ch_mcp_file_is(const char *path);

/* Append the configuration that corresponds to the text of such a file. CHELA_ECONFIG: err
 * names the server whose definition is wrong. */
int ch_mcp_file_translate(struct ch_sv text, const char *path, struct ch_buf *out,
                          struct chela_error *err);

#endif
