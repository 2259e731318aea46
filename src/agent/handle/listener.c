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

bool ch_listeners_context(const chela_runtime *rt, const char *run, struct ch_sv call,
                          char out[CH_LISTENER_CONTEXT]) {
    for (CH_LIST_EACH(k, &rt->listeners)) {
        struct ch_listener *l = listener_of(k);
        if (l->context && l->context(l, run, call, out))
            return true;
    }
    return false;
}
