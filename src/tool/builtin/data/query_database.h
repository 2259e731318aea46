/* query_database.h -- the built-in tool query_database. */
#ifndef CH_TOOL_BUILTIN_QUERY_DATABASE_H
#define CH_TOOL_BUILTIN_QUERY_DATABASE_H
#include "chela/tool.h"

/* user: struct ch_tool_settings. */
chela_tool_fn ch_query_database_run, ch_query_database_check;

#endif
