/* pool.c -- see pool.h. The search is cheap, because the newest connection nearly always
 * matches. */
#include "net/pool.h"

#include "base/limits.h"

static struct ch_conn *oldest(const struct ch_pool *p) {
    return CH_LIST_FIRST(&p->idle, struct ch_conn, link);
}

static void remove_conn(struct ch_pool *p, struct ch_conn *c) {
    ch_list_del(&c->link);
    p->count--;
    ch_conn_set_idle(c, false);
}

static void pool_drop(struct ch_pool *p, struct ch_conn *c) {
    remove_conn(p, c);
    ch_conn_close(c);
}

static void pool_on_ready(struct ch_conn *c, void *user) {
    (void)c, (void)user;
}

static void pool_on_bytes(struct ch_conn *c, char *bytes, size_t n, void *user) {
    (void)bytes;
    (void)n;
    pool_drop(user, c);
}

static void pool_on_gone(struct ch_conn *c, const struct chela_error *err, void *user) {
    (void)err;
    pool_drop(user, c);
}

static const struct ch_conn_events idle_events = {
    .ready = pool_on_ready, .sent = pool_on_ready, .bytes = pool_on_bytes, .gone = pool_on_gone};

static void on_expiry(struct ch_timer *timer);

static int64_t age_of_oldest(const struct ch_pool *p) {
    return ch_mono_ms(ch_loop_clock(p->loop)) - oldest(p)->idle_since;
}

static void pool_arm(struct ch_pool *p) {
    ch_timer_start(p->loop, &p->expiry, CH_DEFAULT_KEEP_MS - age_of_oldest(p), on_expiry);
}

static void on_expiry(struct ch_timer *timer) {
    struct ch_pool *p = CH_CONTAINER(timer, struct ch_pool, expiry);
    while (oldest(p) && age_of_oldest(p) >= CH_DEFAULT_KEEP_MS)
        pool_drop(p, oldest(p));
    if (oldest(p))
        pool_arm(p);
}

void ch_pool_init(struct ch_pool *p, struct ch_loop *loop) {
    *p = (struct ch_pool){.loop = loop};
    ch_list_init(&p->idle);
}

void ch_pool_release(struct ch_pool *p) {
    while (oldest(p))
        pool_drop(p, oldest(p));
    ch_timer_stop(p->loop, &p->expiry);
}

void ch_pool_put(struct ch_pool *p, struct ch_conn *c) {
    if (p->count == CH_LIMIT_IDLE_CONNS)
        pool_drop(p, oldest(p));
    ch_conn_hold(c, &idle_events, p);
    ch_conn_set_idle(c, true);
    c->idle_since = ch_mono_ms(ch_loop_clock(p->loop));
    ch_list_add(&p->idle, &c->link);
    p->count++;
    if (!ch_timer_armed(&p->expiry))
        pool_arm(p);
}

struct ch_conn *ch_pool_get(struct ch_pool *p, const struct ch_conn_route *route) {
    for (struct ch_link *k = p->idle.head.prev; k != &p->idle.head; k = k->prev) {
        struct ch_conn *c = CH_CONTAINER(k, struct ch_conn, link);
        if (!ch_conn_leads_to(c, route))
            continue;
        remove_conn(p, c);
        return c;
    }
    return NULL;
}
