/* call_listener.h -- a function that is called before a tool call starts. */
#ifndef CH_TOOL_CALL_LISTENER_H
#define CH_TOOL_CALL_LISTENER_H
#include <stdbool.h>

#include "chela/tool.h"

struct ch_call_listener {
    /* The call is checked and allowed, and starts next; again for each attempt. Loop thread.
     * False: the listener holds the call until ch_call_start, which asks again. */
    bool (*starting)(struct ch_call_listener *l, chela_call *call);
};

#endif
