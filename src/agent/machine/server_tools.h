/* server_tools.h -- the tools of an agent that the model's service runs. */
#ifndef CH_AGENT_SERVER_TOOLS_H
#define CH_AGENT_SERVER_TOOLS_H
#include "base/arena.h"
#include "chela/error.h"
#include "json/json.h"

/* Reads a list of tools in the vendor's form, or an object of such lists by the name of a
 * provider or a protocol. text NULL: *out is NULL. CHELA_ECONFIG: the text is neither. */
int ch_server_tools_read(struct ch_arena *a, const char *text, const struct ch_json **out,
                         struct chela_error *err);
/* The list for a provider and its protocol, as JSON in the arena; empty: none. */
struct ch_sv ch_server_tools_for(struct ch_arena *a, const struct ch_json *tools,
                                 const char *provider, const char *api);

#endif
