/* send_email.h -- the built-in tool send_email. */
#ifndef CH_TOOL_BUILTIN_SEND_EMAIL_H
#define CH_TOOL_BUILTIN_SEND_EMAIL_H
#include "chela/tool.h"

/* user: struct ch_tool_settings. */
chela_tool_fn ch_send_email_run, ch_send_email_check;

#endif
