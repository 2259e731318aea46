/* notices.c -- see notices.h. */
#include "gateway/http/notices.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/sha256.h"
#include "gateway/request/request.h"
#include "io/worker.h"

struct notices_look {
    struct ch_work work;
    struct ch_notices *owner; /* NULL: the gateway was closed */
    chela_store *store;
    struct ch_sha256 sum;
    int rc;
    struct chela_error err;
};

struct ch_notices {
    chela_gateway *gw;
    struct ch_list watchers;
    struct ch_timer timer;
    struct notices_look *reading; /* in progress; else NULL */
    bool read_again;           /* a session may have changed since the look began */
    unsigned char digest[CH_SHA256_SIZE]; /* digest of the list of sessions */
};

static int notices_add_row(const struct chela_store_session *s, void *user) {
    struct notices_look *l = user;
    CH_BUF_AUTO row = {0};
    ch_buf_addf(&row, "%s\n%s\n%s\n%lld %llu\n", s->key, s->status, s->title, (long long)s->updated,
                (unsigned long long)s->last);
    ch_sha256_add(&l->sum, row.p, row.n);
    return 0;
}

static void notices_run(struct ch_work *w) {
    struct notices_look *l = CH_CONTAINER(w, struct notices_look, work);
    struct chela_store_filter filter = CHELA_STORE_FILTER(.limit = CH_LIMIT_NOTICED);
    l->rc = chela_store_list(l->store, &filter, notices_add_row, l, &l->err);
}

static void notices_dropped(struct ch_work *w) {
    ch_free(CH_CONTAINER(w, struct notices_look, work));
}

static void notices_tell(struct ch_notices *n) {
    for (struct ch_link *k = n->watchers.head.next, *next; k != &n->watchers.head; k = next) {
        next = k->next;
        ch_request_send_event(CH_CONTAINER(k, struct ch_notice_watcher, link)->request, "sessions",
                              NULL, CH_SV("{}"));
    }
}

static void notices_on_timer(struct ch_timer *t);

static void notices_done(struct ch_work *w) {
    struct notices_look *l = CH_CONTAINER(w, struct notices_look, work);
    struct ch_notices *n = l->owner;
    unsigned char digest[CH_SHA256_SIZE];
    ch_sha256_end(&l->sum, digest);
    if (n) {
        bool changed = l->rc == 0 && memcmp(digest, n->digest, sizeof(digest)) != 0;
        n->reading = NULL;
        if (changed)
            memcpy(n->digest, digest, sizeof(digest));
        if (!ch_list_empty(&n->watchers))
            ch_timer_start(n->gw->rt->loop, &n->timer,
                           n->read_again ? CH_DEFAULT_NOTICE_SOON_MS : CH_DEFAULT_NOTICE_MS,
                           notices_on_timer);
        n->read_again = false;
        if (changed)
            notices_tell(n);
    }
    ch_free(l);
}

static void notices_on_timer(struct ch_timer *t) {
    struct ch_notices *n = CH_CONTAINER(t, struct ch_notices, timer);
    if (n->reading || ch_list_empty(&n->watchers))
        return;
    struct notices_look *l = ch_alloc(sizeof(*l));
    l->work =
        (struct ch_work){.run = notices_run, .done = notices_done, .dropped = notices_dropped};
    l->owner = n;
    l->store = n->gw->store;
    ch_sha256_init(&l->sum);
    n->reading = l;
    ch_work_submit(n->gw->rt->workers, &l->work);
}

struct ch_notices *ch_notices_new(chela_gateway *gw) {
    struct ch_notices *n = ch_alloc(sizeof(*n));
    n->gw = gw;
    ch_list_init(&n->watchers);
    return n;
}

void ch_notices_free(struct ch_notices *n) {
    ch_timer_stop(n->gw->rt->loop, &n->timer);
    if (n->reading)
        n->reading->owner = NULL;
    ch_free(n);
}

void ch_notices_watch(struct ch_notices *n, struct ch_notice_watcher *w, struct ch_request *req) {
    w->request = req;
    ch_list_add(&n->watchers, &w->link);
    if (n->gw->store)
        ch_notices_look_soon(n->gw);
}

void ch_notices_unwatch(struct ch_notice_watcher *w) {
    if (w->request)
        ch_list_del(&w->link);
    w->request = NULL;
}

void ch_notices_look_soon(chela_gateway *gw) {
    struct ch_notices *n = gw->notices;
    if (ch_list_empty(&n->watchers) || !gw->store)
        return;
    if (n->reading)
        n->read_again = true;
    else
        ch_timer_start(gw->rt->loop, &n->timer, CH_DEFAULT_NOTICE_SOON_MS, notices_on_timer);
}

/* --- the route */

static void notices_on_disconnect(struct ch_request *req) {
    ch_notices_unwatch(req->user);
    ch_free(req->user);
}

void ch_notices_get(struct ch_request *req) {
    struct ch_notice_watcher *w = ch_alloc(sizeof(*w));
    req->user = w;
    req->on_disconnect = notices_on_disconnect;
    ch_request_begin_stream(req);
    ch_exchange_write(req->x, CH_SV(": listening\n\n"));
    ch_notices_watch(req->gw->notices, w, req);
}
