/* ask_user.h -- the built-in tool ask_user. */
#ifndef CH_TOOL_BUILTIN_ASK_USER_H
#define CH_TOOL_BUILTIN_ASK_USER_H
#include "chela/tool.h"

chela_tool_fn ch_ask_user_check;

#endif
