/* listener.h -- a part of a higher layer that receives the events of all runs of a runtime.
 *
 * A listener receives an event before the host does. It must not call the library, and must
 * not keep what the event points to. Loop thread only. */
#ifndef CH_HANDLE_LISTENER_H
#define CH_HANDLE_LISTENER_H
#include "agent/handle/run.h"

#define CH_LISTENER_CONTEXT 56 /* bytes of a header `traceparent`, with its NUL */

struct ch_listener {
    struct ch_link link; /* in the runtime's listeners */
    void (*heard)(struct ch_listener *l, chela_run *run, const struct chela_event *ev);
    /* The trace context (`traceparent`) for a request that a run makes for a call, or to its
     * model if call is empty. False: none. Optional. */
    bool (*context)(struct ch_listener *l, const char *run, struct ch_sv call,
                    char out[CH_LISTENER_CONTEXT]);
    /* A call stored a state from which another process can continue the call; a call that waits
     * stores its wait (tool/call/wait.h). Optional. */
    void (*checkpoint)(struct ch_listener *l, chela_run *run, const struct ch_block *call,
                       const char *state);
};

void ch_listeners_tell(chela_run *run, const struct chela_event *ev);
void ch_listeners_checkpoint(chela_run *run, const struct ch_block *call, const char *state);
bool ch_listeners_context(const chela_runtime *rt, const char *run, struct ch_sv call,
                          char out[CH_LISTENER_CONTEXT]);

#endif
