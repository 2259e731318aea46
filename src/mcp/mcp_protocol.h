/* mcp_protocol.h -- texts of the Model Context Protocol: versions, names, metadata, headers.
 *
 * Pure functions. */
#ifndef CH_MCP_PROTOCOL_H
#define CH_MCP_PROTOCOL_H
#include "json/json.h"
#include "json/writer.h"

#define CH_MCP_MODERN "2026-07-28"
#define CH_MCP_LEGACY "2025-11-25"
#define CH_MCP_BATCHES "2025-03-26" /* the only version with batches */
#define CH_MCP_META "io.modelcontextprotocol/"
#define CH_MCP_SKILLS CH_MCP_META "skills" /* an extension */
#define CH_MCP_TASKS CH_MCP_META "tasks" /* the extension of 2026-07-28 */

/* Error codes of the protocol. */
enum ch_mcp_code {
    CH_MCP_NO_RESOURCE = -32002, /* versions with a handshake */
    CH_MCP_HEADER_MISMATCH = -32020,
    CH_MCP_MISSING_CAPABILITY = -32021,
    CH_MCP_UNSUPPORTED_VERSION = -32022,
};

/* True for a version with a handshake that chela speaks. */
bool ch_mcp_is_legacy(struct ch_sv version);
/* True if the array of texts contains this text. */
bool ch_mcp_contains(const struct ch_json *array, const char *text);

/* Append the value of a header: plain text, or =?base64?...?= where a header cannot hold the
 * text. */
void ch_mcp_header_value(struct ch_buf *out, struct ch_sv text);
/* Append the decoded value of such a header; false: the base64 is invalid. A value without both
 * marks is plain text. */
bool ch_mcp_header_decode(struct ch_buf *out, struct ch_sv value);

/* Check the annotations x-mcp-header of a tool's schema. CHELA_EPROTO: err names the invalid
 * annotation. */
int ch_mcp_header_check(const struct ch_json *schema, struct chela_error *err);
/* Called for each annotated argument. value.p NULL: the argument is absent. is_number: the value
 * is one. Returns false to stop. */
typedef bool ch_mcp_header_fn(struct ch_sv name, struct ch_sv value, bool is_number, void *user);
/* False: fn stopped. */
bool ch_mcp_header_each(const struct ch_json *schema, const struct ch_json *arguments,
                        ch_mcp_header_fn *fn, void *user);
/* Append "Mcp-Param-X: value\n" for each annotated argument that is present. */
void ch_mcp_header_params(struct ch_buf *out, const struct ch_json *schema,
                          const struct ch_json *arguments);

/* Append the name under which a model sees a tool: SERVER__TOOL, of a-z A-Z 0-9 _ - and at most
 * 64 bytes. A name that had to be changed ends with a digest of the tool's name. */
void ch_mcp_alias(struct ch_buf *out, const char *server, struct ch_sv tool, bool force_digest);

/* Append a description: valid UTF-8, without control characters and characters that are not
 * visible, at most CH_LIMIT_MCP_TEXT bytes. */
void ch_mcp_clean(struct ch_buf *out, struct ch_sv text);

/* Append the result of roots/list for these absolute paths, NULL-terminated. */
void ch_mcp_roots(struct ch_buf *out, const char *const *paths);

/* Fill `content` of the answer to an elicitation with the defaults of the requested schema for
 * fields that the answer lacks. Appends the whole answer to out. */
void ch_mcp_fill_defaults(struct ch_buf *out, const struct ch_json *params,
                          const struct ch_json *answer);

#endif
