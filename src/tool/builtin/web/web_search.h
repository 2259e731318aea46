/* web_search.h -- the built-in tool web_search. */
#ifndef CH_TOOL_BUILTIN_WEB_SEARCH_H
#define CH_TOOL_BUILTIN_WEB_SEARCH_H
#include "base/buf.h"
#include "chela/tool.h"

/* user: struct ch_tool_settings. */
chela_tool_fn ch_web_search_run, ch_web_search_check;
bool ch_web_search_destination(chela_call *call, struct ch_buf *url); /* ch_tool.destination */

#endif
