/* select.h -- which of many tools suit a request, without a model.
 *
 * The ranking that agents use when they have more tools than a request should
 * describe (`selection` in struct chela_toolset_opts), by itself: for trying it
 * out, and for hosts that choose tools themselves. Words are compared, in
 * English and in scripts without spaces; nothing is sent anywhere. An index is
 * used by one thread at a time. */
#ifndef CHELA_SELECT_H
#define CHELA_SELECT_H
#include <stddef.h>

#include "chela/error.h"
CHELA_BEGIN_DECLS

typedef struct chela_tool_index chela_tool_index;

/* json: an array of tool definitions {name, description, parameters} in the
 * spelling of any vendor, an object that holds one ("tools", "functions"), or a
 * definition a line. The text need not live on. CHELA_EPARSE when it is no
 * JSON, CHELA_EINVAL when there is no tool in it. */
CHELA_API int chela_tool_index_new(const char *json, size_t len, chela_tool_index **out,
                                   struct chela_error *err);
CHELA_API void chela_tool_index_free(chela_tool_index *ix);
CHELA_API size_t chela_tool_index_size(const chela_tool_index *ix);

/* The at most k tools that suit the request best, the best first, as a JSON
 * array of {name, score, summary}; yours to chela_free. Tools that have nothing
 * in common with it are left out. */
CHELA_API char *chela_tool_index_select(chela_tool_index *ix, const char *query, size_t len,
                                        size_t k);

CHELA_END_DECLS
#endif
