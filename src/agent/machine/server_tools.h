/* server_tools.h -- the tools of an agent that the model's service runs. */
#ifndef CH_AGENT_SERVER_TOOLS_H
#define CH_AGENT_SERVER_TOOLS_H
#include "base/arena.h"
#include "base/sv.h"
#include "chela/error.h"
#include "json/json.h"

/* Reads a list of tools in the vendor's form, or an object of such lists by the name of a
 * provider or a protocol. An entry {"tools": names and globs, "allowed_callers": [..]} is no tool:
 * it says who may call tools of the agent beside the model. text NULL: *out is NULL.
 * CHELA_ECONFIG: the text is none of these. */
int ch_server_tools_read(struct ch_arena *a, const char *text, const struct ch_json **out,
                         struct chela_error *err);
/* The list for a provider and its protocol; NULL: none. tools may be NULL. */
const struct ch_json *ch_server_tools_list(const struct ch_json *tools, const char *provider,
                                           const char *api);
/* The tools of such a list, as JSON in the arena; empty: none. */
struct ch_sv ch_server_tools_for(struct ch_arena *a, const struct ch_json *list);
/* Who may call the tool `name`, as JSON in the arena; empty: the list does not say. */
struct ch_sv ch_server_tools_callers(struct ch_arena *a, const struct ch_json *list,
                                     struct ch_sv name);

#endif
