/* cooldown.c -- see cooldown.h.
 *
 * The error class decides what cools down: a refused key affects all models of the key, a
 * rate limit mostly one model. There are few entries, so they are a list. Expired entries are
 * removed when an entry is added. */
#include "model/provider/cooldown.h"

#include "base/limits.h"
#include "base/mem.h"
#include "model/message/ids.h"

#define SECOND INT64_C(1000)

struct ch_cooldown {
    struct ch_cooldown *next;
    uint64_t id;
    int64_t until, asked_until;
    unsigned times; /* consecutive calls whose retries were exhausted */
    enum ch_error_class cls;
};

static const struct rest {
    enum ch_error_class cls;
    bool key; /* the key cools down with all its models, not only one model */
    int64_t first, longest;
} rests[] = {
    {CH_ERR_AUTH, true, 60 * SECOND, 600 * SECOND},
    {CH_ERR_BILLING, true, 300 * SECOND, 3600 * SECOND},
    {CH_ERR_MODEL_NOT_FOUND, false, 300 * SECOND, 3600 * SECOND},
    {CH_ERR_RATE_LIMIT, false, 15 * SECOND, 300 * SECOND},
    {CH_ERR_OVERLOADED, false, 15 * SECOND, 300 * SECOND},
    {CH_ERR_SERVER, false, 5 * SECOND, 60 * SECOND},
    {CH_ERR_TIMEOUT, false, 5 * SECOND, 60 * SECOND},
    {CH_ERR_NETWORK, false, 5 * SECOND, 60 * SECOND},
};

static const struct rest *rest_for(enum ch_error_class cls) {
    for (size_t i = 0; i < CH_LEN(rests); i++)
        if (rests[i].cls == cls)
            return &rests[i];
    return NULL; /* the request is at fault; another request may succeed */
}

static uint64_t id_of(struct ch_cooldown_subject s, bool key) {
    uint64_t h = ch_hash(ch_hash(key, ch_sv_str(s.base_url)), ch_sv_str(s.key));
    return key ? h : ch_hash(h, ch_sv_str(s.model));
}

static struct ch_cooldown *find(const struct ch_cooldowns *c, uint64_t id) {
    for (struct ch_cooldown *e = c->list; e; e = e->next)
        if (e->id == id)
            return e;
    return NULL;
}

static void drop_if(struct ch_cooldowns *c, uint64_t a, uint64_t b, int64_t before) {
    for (struct ch_cooldown **at = &c->list; *at;) {
        struct ch_cooldown *e = *at;
        if (e->id != a && e->id != b && e->until >= before) {
            at = &e->next;
            continue;
        }
        *at = e->next;
        c->n--;
        ch_free(e);
    }
}

void ch_cooldowns_release(struct ch_cooldowns *c) {
    drop_if(c, 0, 0, INT64_MAX);
}

void ch_cooldown_clear(struct ch_cooldowns *c, struct ch_cooldown_subject s) {
    if (c->list)
        drop_if(c, id_of(s, true), id_of(s, false), INT64_MIN);
}

/* Finds or adds an entry. An entry is kept for an hour after its cooldown, so that the next
 * failure is counted as one in a row. NULL: the table is full. */
static struct ch_cooldown *entry(struct ch_cooldowns *c, uint64_t id, int64_t now) {
    struct ch_cooldown *e = find(c, id);
    if (e)
        return e;
    drop_if(c, 0, 0, now - 3600 * SECOND);
    if (c->n >= CH_LIMIT_COOLDOWNS)
        drop_if(c, 0, 0, now);
    if (c->n >= CH_LIMIT_COOLDOWNS)
        return NULL;
    e = ch_alloc(sizeof(*e));
    e->id = id;
    e->next = c->list;
    c->list = e;
    c->n++;
    return e;
}

void ch_cooldown_failed(struct ch_cooldowns *c, struct ch_cooldown_subject s,
                        enum ch_error_class cls, int64_t asked_ms, int64_t now) {
    const struct rest *rest = rest_for(cls);
    if (!rest || asked_ms <= 0)
        return;
    struct ch_cooldown *e = entry(c, id_of(s, rest->key), now);
    if (!e)
        return;
    e->cls = cls;
    e->asked_until = CH_MAX(e->asked_until, now + asked_ms);
    e->until = CH_MAX(e->until, e->asked_until);
}

void ch_cooldown_gave_up(struct ch_cooldowns *c, struct ch_cooldown_subject s,
                         enum ch_error_class cls, int64_t now) {
    const struct rest *rest = rest_for(cls);
    struct ch_cooldown *e = rest ? entry(c, id_of(s, rest->key), now) : NULL;
    if (!e)
        return;
    int64_t ms = rest->first;
    for (unsigned i = 0; i < e->times && ms < rest->longest; i++)
        ms *= 2;
    e->times++;
    e->cls = cls;
    e->until = CH_MAX(e->until, now + CH_MIN(ms, rest->longest));
}

struct ch_cooling ch_cooldown_of(const struct ch_cooldowns *c, struct ch_cooldown_subject s,
                                 int64_t now) {
    struct ch_cooling cooling = {0};
    for (int key = 0; key < 2 && c->list; key++) {
        const struct ch_cooldown *e = find(c, id_of(s, key));
        if (!e || e->until - now <= cooling.ms)
            continue;
        cooling = (struct ch_cooling){.ms = e->until - now,
                                      .asked_ms = CH_MAX(e->asked_until - now, 0),
                                      .cls = e->cls};
    }
    return cooling;
}
