/* listener.h -- a part of a higher layer that receives the events of all runs of a runtime.
 *
 * A listener receives an event before the host does. It must not call the library, and must
 * not keep what the event points to. Loop thread only. */
#ifndef CH_HANDLE_LISTENER_H
#define CH_HANDLE_LISTENER_H
#include "agent/handle/run.h"

#define CH_LISTENER_BIT(type) (UINT64_C(1) << (type))
#define CH_LISTENER_CONTEXT 56 /* bytes of a header `traceparent`, with its NUL */

/* A model call outside of the conversation that has ended, for example for a summary. */
struct ch_listener_query {
    const char *role; /* who asked: "compaction" */
    const struct ch_target *target;
    size_t messages;
    unsigned turn;
    int64_t start, end; /* ms, wall clock */
    const struct ch_reply *reply;
    struct ch_sv error; /* empty: the call did not fail */
};

/* A request to a server of this process that has ended, and that belongs to a trace. */
struct ch_listener_request {
    const char *method, *route;
    int status;
    int64_t start, end;          /* ms, wall clock */
    const char *caller, *inside; /* trace context of the caller; the one that `entered` made */
};

struct ch_listener {
    struct ch_link link; /* in the runtime's listeners */
    uint64_t ignored;    /* bits of the event types (CH_LISTENER_BIT) that are not heard */
    void (*heard)(struct ch_listener *l, chela_run *run, const struct chela_event *ev);
    /* The trace context (`traceparent`) for a request that a run makes: for a call; for a model
     * call outside of the conversation (q: its role, target, messages and turn); or to its model,
     * if call is empty and q is NULL. False: none. Optional. */
    bool (*context)(struct ch_listener *l, const char *run, struct ch_sv call,
                    const struct ch_listener_query *q, char out[CH_LISTENER_CONTEXT]);
    /* A call stored a state from which another process can continue the call; a call that waits
     * stores its wait (tool/call/wait.h). Optional. */
    void (*checkpoint)(struct ch_listener *l, chela_run *run, const struct ch_block *call,
                       const char *state);
    /* A model call outside of the conversation has ended. Optional. */
    void (*queried)(struct ch_listener *l, chela_run *run, const struct ch_listener_query *q);
    /* A request with a trace context begins: the context for what the request causes. False: the
     * context is malformed. Optional, and `left` with it. */
    bool (*entered)(struct ch_listener *l, struct ch_sv caller, char out[CH_LISTENER_CONTEXT]);
    void (*left)(struct ch_listener *l, const struct ch_listener_request *r);
};

/* True if the runtime has listeners. Most runtimes have none. */
static inline bool ch_listeners_any(const chela_run *run) {
    return !ch_list_empty(&run->session->agent->rt->listeners);
}
void ch_listeners_tell(chela_run *run, const struct chela_event *ev);
void ch_listeners_checkpoint(chela_run *run, const struct ch_block *call, const char *state);
void ch_listeners_queried(chela_run *run, const struct ch_listener_query *q);
bool ch_listeners_entered(const chela_runtime *rt, struct ch_sv caller,
                          char out[CH_LISTENER_CONTEXT]);
void ch_listeners_left(const chela_runtime *rt, const struct ch_listener_request *r);
bool ch_listeners_context(const chela_runtime *rt, const char *run, struct ch_sv call,
                          char out[CH_LISTENER_CONTEXT]);
/* Add the header `traceparent` to a request of a run to a model, if there is a trace context.
 * q: as for ch_listener.context. */
void ch_listeners_add_context(const chela_run *run, const struct ch_listener_query *q,
                              struct ch_arena *a, struct ch_http_request *h);

#endif
