/* presence.c -- see presence.h.
 *
 * The lease of a session names the gateway that holds the session. A gateway without
 * sessions holds no lease. The note makes such a gateway visible. */
#include "gateway/server/presence.h"

#include "agent/journal/journal.h"
#include "base/limits.h"
#include "gateway/request/presence_note.h"
#include "store/owner.h"

struct ch_presence {
    chela_gateway *gw;
    struct ch_timer timer;
    char *note; /* owned; NULL: nothing was written */
};

static void presence_change(struct ch_presence *p, enum chela_store_change_kind kind) {
    struct ch_journal *j = p->gw->rt->journal;
    struct chela_store_change c = {.kind = kind,
                                   .id = p->note,
                                   .key = "",
                                   .data = "",
                                   .now = ch_now_ms(ch_loop_clock(p->gw->rt->loop))};
    j->ops->change(j, &c, CH_SYNC_COMMIT, NULL, NULL);
}

static void presence_on_timer(struct ch_timer *t) {
    struct ch_presence *p = CH_CONTAINER(t, struct ch_presence, timer);
    presence_change(p, CHELA_STORE_NOTE);
    ch_timer_start(p->gw->rt->loop, t, CH_DEFAULT_PRESENCE_MS, presence_on_timer);
}

struct ch_presence *ch_presence_new(chela_gateway *gw) {
    struct ch_presence *p = ch_alloc(sizeof(*p));
    p->gw = gw;
    return p;
}

void ch_presence_start(struct ch_presence *p) {
    if (!ch_gateway_is_shared(p->gw))
        return;
    CH_BUF_AUTO note = {0};
    ch_buf_add_str(&note, CH_PRESENCE_NOTE);
    ch_owner_make(&note);
    p->note = ch_buf_take(&note);
    presence_on_timer(&p->timer);
}

void ch_presence_free(struct ch_presence *p) {
    if (!p)
        return;
    ch_timer_stop(p->gw->rt->loop, &p->timer);
    if (p->note)
        presence_change(p, CHELA_STORE_FORGET);
    ch_free(p->note);
    ch_free(p);
}
