/* client_tools.h -- the tools that a request brings, which its sender runs.
 *
 * The protocols have more kinds of tools than a model behind chela: tools that the vendor
 * runs are left out and named in a warning; a tool with free text becomes a function with
 * one string; a namespace becomes functions with longer names. The kinds are remembered, so
 * that a call goes back to the client in the form of its tool. Two different tools of one name
 * are refused when the lane adds them to its agent. Everything lives in the request's arena. */
#ifndef CH_GATEWAY_CLIENT_TOOLS_H
#define CH_GATEWAY_CLIENT_TOOLS_H
#include "base/arena.h"
#include "base/buf.h"
#include "gateway/lane/lane.h"
#include "json/json.h"

struct ch_client_tool {
    struct ch_sv name;  /* the name that the client uses */
    struct ch_sv space; /* its namespace; empty: none */
    bool is_text;       /* takes one text instead of an object */
};

struct ch_client_tools {
    struct ch_arena *arena;
    struct chela_tool_opts *opts;
    struct ch_client_tool *kinds; /* beside opts */
    size_t n, cap;
    bool replaces; /* a tool that is added may replace one of the same name */
    struct ch_sv skipped; /* types of the tools that were left out, comma separated */
};

/* Adds {name, description, SCHEMA}. schema: the name of the member with the schema. */
int ch_client_tools_add(struct ch_client_tools *t, const struct ch_json *tool, const char *schema,
                        struct ch_sv space, struct chela_error *err);
/* Adds a tool {name, description, format} whose argument is one text. */
int ch_client_tools_add_text(struct ch_client_tools *t, const struct ch_json *tool,
                             struct ch_sv space, struct chela_error *err);
/* Notes that a tool of this type was left out. */
void ch_client_tools_skip(struct ch_client_tools *t, struct ch_sv type);
/* Keeps the tools whose names occur as "name" in the list, or in a member of its entries. */
void ch_client_tools_restrict(struct ch_client_tools *t, const struct ch_json *list);

/* The tool with this name for the model; NULL: not one of the client's. */
const struct ch_client_tool *ch_client_tools_find(const struct ch_client_tools *t,
                                                  struct ch_sv name);
/* The name for the model of a tool, which may be in a namespace. Every vendor accepts it. Long
 * names that differ get names that differ. */
struct ch_sv ch_client_tools_name(struct ch_arena *a, struct ch_sv space, struct ch_sv name);
/* The arguments of a call in a history, as text: JSON in a string, or the object that some clients
 * send instead; otherwise "{}". */
struct ch_sv ch_client_tools_arguments(struct ch_arena *a, const struct ch_json *v);
/* The text argument of a call as an object, and back. */
struct ch_sv ch_client_tools_wrap(struct ch_arena *a, struct ch_sv text);
struct ch_sv ch_client_tools_unwrap(struct ch_arena *a, struct ch_sv arguments);

#endif
