/* gateway_state.c -- questions that every room asks the gateway, and the interruption of
 * chela_gateway_run. */
#include "gateway/request/gateway_state.h"

#include "agent/journal/journal.h"
#include "base/entry.h"
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

void ch_gateway_keep(chela_gateway *gw, const char *prefix, struct ch_sv name, const char *session,
                     struct ch_sv data, int64_t ms) {
    struct ch_journal *j = gw->rt->journal;
    int64_t now = ch_now_ms(ch_loop_clock(gw->rt->loop));
    CH_BUF_AUTO id = {0};
    ch_buf_addf(&id, "%s%.*s", prefix, CH_SV_FMT(name));
    struct chela_store_change c = {.kind = CHELA_STORE_KEEP,
                                   .id = ch_buf_str(&id),
                                   .key = session,
                                   .data = data.p,
                                   .n = data.n,
                                   .now = now,
                                   .until = now + ms};
    j->ops->change(j, &c, CH_SYNC_COMMIT, NULL, NULL);
}

void chela_gateway_interrupt(chela_gateway *gw) {
    CH_NEEDS_OR(gw, NULL, );
    if (atomic_exchange(&gw->interrupts, 1) == 0)
        ch_loop_post(gw->rt->loop, &gw->interrupt);
}
