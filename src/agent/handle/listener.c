/* listener.c -- see listener.h. */
#include "agent/handle/listener.h"

#include "model/codec/encode.h"

static struct ch_listener *listener_of(struct ch_link *k) {
    return CH_CONTAINER(k, struct ch_listener, link);
}

void ch_listeners_tell(chela_run *run, const struct chela_event *ev) {
    for (CH_LIST_EACH(k, &run->session->agent->rt->listeners))
        if (!(listener_of(k)->ignored & CH_LISTENER_BIT(ev->type)))
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

static bool find_context(const chela_runtime *rt, const char *run, struct ch_sv call,
                         const struct ch_listener_query *q, char out[CH_LISTENER_CONTEXT]) {
    for (CH_LIST_EACH(k, &rt->listeners)) {
        struct ch_listener *l = listener_of(k);
        if (l->context && l->context(l, run, call, q, out))
            return true;
    }
    return false;
}

bool ch_listeners_context(const chela_runtime *rt, const char *run, struct ch_sv call,
                          char out[CH_LISTENER_CONTEXT]) {
    return find_context(rt, run, call, NULL, out);
}

void ch_listeners_add_context(const chela_run *run, const struct ch_listener_query *q,
                              struct ch_arena *a, struct ch_http_request *h) {
    char context[CH_LISTENER_CONTEXT];
    if (!find_context(run->session->agent->rt, run->id, CH_SV(""), q, context))
        return;
    ch_encode_add_header(a, h, (struct ch_header){CH_SV("traceparent"),
                                                  ch_arena_sv(a, ch_sv_str(context))});
}
