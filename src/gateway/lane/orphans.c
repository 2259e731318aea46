/* orphans.c -- see orphans.h. */
#include "gateway/lane/orphans.h"

#include "base/checksum.h"
#include "base/limits.h"
#include "gateway/request/gateway_state.h"
#include "store/owner.h"
#include "store/store.h"
#include "store/writer.h"

struct sighting {
    uint64_t id;   /* digest of the item's id */
    int64_t since, last; /* monotonic: when a scan saw the item first, and last */
};

/* An item that no scan has seen for this long is forgotten. Not every scan reads every kind
 * of item: items of chats are read less often. */
#define FORGET_MS (5 * CH_DEFAULT_CHAT_SCAN_MS)

struct ch_orphans {
    chela_gateway *gw;
    unsigned round;
    struct sighting *seen; /* owned */
    size_t nseen;
};

struct ch_orphans *ch_orphans_new(chela_gateway *gw) {
    struct ch_orphans *o = ch_alloc(sizeof(*o));
    o->gw = gw;
    return o;
}

void ch_orphans_free(struct ch_orphans *o) {
    if (!o)
        return;
    ch_free(o->seen);
    ch_free(o);
}

void ch_orphans_begin_scan(struct ch_orphans *o) {
    o->round++;
}

static uint64_t orphans_digest(const char *id) {
    size_t n = strlen(id);
    return (uint64_t)ch_checksum(0, id, n) << 32 | ch_checksum(1, id, n);
}

int64_t ch_orphans_age(struct ch_orphans *o, const char *id) {
    uint64_t d = orphans_digest(id);
    int64_t now = ch_mono_ms(ch_loop_clock(o->gw->rt->loop));
    for (size_t i = 0; i < o->nseen; i++)
        if (o->seen[i].id == d) {
            o->seen[i].last = now;
            return now - o->seen[i].since;
        }
    if (o->nseen < CH_LIMIT_SIGHTINGS) {
        o->seen = ch_realloc(o->seen, (o->nseen + 1) * sizeof(*o->seen));
        o->seen[o->nseen++] = (struct sighting){d, now, now};
    }
    return 0;
}

void ch_orphans_end_scan(struct ch_orphans *o) {
    int64_t now = ch_mono_ms(ch_loop_clock(o->gw->rt->loop));
    size_t n = 0;
    for (size_t i = 0; i < o->nseen; i++)
        if (now - o->seen[i].last < FORGET_MS)
            o->seen[n++] = o->seen[i];
    o->nseen = n;
}

bool ch_orphans_is_first_scan(const struct ch_orphans *o) {
    return o->round <= 1;
}

bool ch_orphans_lease_is_held(const struct chela_store_session *s, int64_t now) {
    return ch_owner_is_held(s->owner) ||
           (*s->owner && ch_lease_is_current(s->until, now) && !ch_owner_is_dead(s->owner));
}
