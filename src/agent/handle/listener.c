/* listener.c -- see listener.h. */
#include "agent/handle/listener.h"

static struct ch_listener *listener_of(struct ch_link *k) {
    return CH_CONTAINER(k, struct ch_listener, link);
}

void ch_listeners_tell(chela_run *run, const struct chela_event *ev) {
    for (CH_LIST_EACH(k, &run->session->agent->rt->listeners))
        listener_of(k)->heard(listener_of(k), run, ev);
}

void ch_listeners_checkpoint(chela_run *run, const struct ch_block *call, const char *state) {
    for (CH_LIST_EACH(k, &run->session->agent->rt->listeners))
        if (listener_of(k)->checkpoint)
            listener_of(k)->checkpoint(listener_of(k), run, call, state);
}

void ch_listeners_queried(chela_run *run, const struct ch_listener_query *q) {
    for (CH_LIST_EACH(k, &run->session->agent->rt->listeners))
        if (listener_of(k)->queried)
            listener_of(k)->queried(listener_of(k), run, q);
}

bool ch_listeners_entered(const chela_runtime *rt, struct ch_sv caller,
                          char out[CH_LISTENER_CONTEXT]) {
    for (CH_LIST_EACH(k, &rt->listeners)) {
        struct ch_listener *l = listener_of(k);
        if (l->entered && l->entered(l, caller, out))
            return true;
    }
    return false;
}

void ch_listeners_left(const chela_runtime *rt, const struct ch_listener_request *r) {
    for (CH_LIST_EACH(k, &rt->listeners))
        if (listener_of(k)->left)
            listener_of(k)->left(listener_of(k), r);
}

bool ch_listeners_context(const chela_runtime *rt, const char *run, struct ch_sv call,
                          char out[CH_LISTENER_CONTEXT]) {
    for (CH_LIST_EACH(k, &rt->listeners)) {
        struct ch_listener *l = listener_of(k);
        if (l->context && l->context(l, run, call, out))
            return true;
    }
    return false;
}
