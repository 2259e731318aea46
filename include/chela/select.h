/* select.h -- rank tools by a request, without a model.
 *
 * The ranking that agents use if they have more tools than a request should describe
 * (`selection` in struct chela_toolset_opts), for tests and for hosts that select tools
 * themselves. The ranking compares words, in English and in scripts without spaces.
 * Nothing is sent to a service.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call.
 *   Threads: any, one at a time
 *   Callbacks: yes
 *   Errors: none */
#ifndef CHELA_SELECT_H
#define CHELA_SELECT_H
#include <stddef.h>

#include "chela/error.h"
CHELA_BEGIN_DECLS

typedef struct chela_tool_index chela_tool_index;

/* Create an index of tools. json is an array of tool definitions {name, description,
 * parameters} in the form of any vendor, an object with such an array ("tools",
 * "functions"), or one definition per line.
 * Ownership: the caller owns *out and frees it with chela_tool_index_free; json is copied.
 * Errors: CHELA_EPARSE: the text is not JSON. CHELA_EINVAL: the text has no tool.
 * CHELA_ELIMIT: the text has too many tools. */
CHELA_API int chela_tool_index_new(const char *json, size_t len, chela_tool_index **out,
                                   struct chela_error *err);

/* Free an index. NULL is allowed.
 * Ownership: ix becomes invalid. */
CHELA_API void chela_tool_index_free(chela_tool_index *ix);

/* The number of tools in an index. */
CHELA_API size_t chela_tool_index_size(const chela_tool_index *ix);

/* The tools that match a request best, at most k, best first: a JSON array of {name, score,
 * summary}. Tools that do not match are omitted.
 * Ownership: the caller frees the result with chela_free. */
CHELA_API char *chela_tool_index_select(chela_tool_index *ix, const char *query, size_t len,
                                        size_t k);

/* The tools that chela_tool_index_select leaves out, in the order of the index: a JSON array of
 * {name, deferred: true, summary}. An agent defers these tools.
 * Ownership: the caller frees the result with chela_free. */
CHELA_API char *chela_tool_index_deferred(chela_tool_index *ix, const char *query, size_t len,
                                          size_t k);

CHELA_END_DECLS
#endif
