/* web_fetch.h -- the built-in tool web_fetch. */
#ifndef CH_TOOL_BUILTIN_WEB_FETCH_H
#define CH_TOOL_BUILTIN_WEB_FETCH_H
#include "base/buf.h"
#include "chela/tool.h"

/* user: struct ch_tool_settings. */
chela_tool_fn ch_web_fetch_run, ch_web_fetch_check;
bool ch_web_fetch_destination(chela_call *call, struct ch_buf *url); /* ch_tool.destination */

#endif
