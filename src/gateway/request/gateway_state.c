/* gateway_state.c -- questions that every room asks the gateway, and the interruption of
 * chela_gateway_run. */
#include "gateway/request/gateway_state.h"

#include "store/store.h"

chela_agent *ch_gateway_agent(const chela_gateway *gw, struct ch_sv id) {
    if (!id.n)
        return gw->agents[0];
    for (chela_agent **a = gw->agents; *a; a++)
        if (ch_sv_is(id, (*a)->id))
            return *a;
    return NULL;
}

bool ch_gateway_is_shared(const chela_gateway *gw) {
    return gw->store && (gw->workers > 1 || gw->store->ops->flags & CHELA_STORE_SHARED);
}

void chela_gateway_interrupt(chela_gateway *gw) {
    if (atomic_exchange(&gw->interrupts, 1) == 0)
        ch_loop_post(gw->rt->loop, &gw->interrupt);
}
