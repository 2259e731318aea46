/* store_lookup.c -- see store_lookup.h. */
#include "gateway/request/store_lookup.h"

#include "base/limits.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"

static void free_lookup(struct ch_store_lookup *l) {
    if (l->gw)
        ch_list_del(&l->link);
    ch_buf_release(&l->out);
    ch_buf_release(&l->more);
    ch_free(l->found);
    ch_free(l->key);
    ch_free(l);
}

struct lookup_count {
    int64_t since;
    size_t n;
};

static int lookup_count_row(const struct chela_store_session *row, void *user) {
    struct lookup_count *c = user;
    c->n += row->updated >= c->since;
    return 0;
}

bool ch_store_lookup_exceeds(struct ch_store_lookup *l) {
    struct chela_store_filter filter = CHELA_STORE_FILTER(.limit = CH_LIMIT_LISTED + 1);
    struct lookup_count c = {.since = l->number};
    return chela_store_list(l->store, &filter, lookup_count_row, &c, NULL) == 0 &&
           c.n > CH_LIMIT_LISTED;
}

static void lookup_run(struct ch_work *w) {
    struct ch_store_lookup *l = CH_CONTAINER(w, struct ch_store_lookup, work);
    l->rc = l->query(l, &l->err);
}

static void lookup_dropped(struct ch_work *w) {
    free_lookup(CH_CONTAINER(w, struct ch_store_lookup, work));
}

static void lookup_done(struct ch_work *w) {
    struct ch_store_lookup *l = CH_CONTAINER(w, struct ch_store_lookup, work);
    struct ch_request *req = l->request;
    if (l->gw && l->settle && l->rc == 0)
        l->settle(l->gw, l);
    if (req) {
        req->on_disconnect = NULL;
        /* a change that the store has no space for may succeed later */
        if (l->err.code == CHELA_ELIMIT && strcmp(req->route->method, "GET") != 0)
            l->err.code = CHELA_EOVERLOAD;
        if (l->rc < 0)
            ch_request_fail_with(req, &l->err);
        else
            l->respond(req, l);
    }
    free_lookup(l);
}

static void lookup_on_disconnect(struct ch_request *req) {
    struct ch_store_lookup *l = req->user;
    l->request = NULL;
    if (l->gone)
        l->gone(l->user);
}

/* NULL: the gateway has no store; req is answered. */
static struct ch_store_lookup *lookup_new(struct ch_request *req, struct ch_sv key,
                                          ch_store_query_fn *query, ch_store_respond_fn *respond) {
    if (!req->gw->store) {
        ch_request_fail(req, 501, NULL, "this gateway has no store");
        return NULL;
    }
    struct ch_store_lookup *l = ch_alloc(sizeof(*l));
    l->work = (struct ch_work){.run = lookup_run, .done = lookup_done, .dropped = lookup_dropped};
    l->gw = req->gw;
    ch_list_add(&l->gw->lookups, &l->link);
    l->request = req;
    l->store = req->gw->store;
    l->key = key.p ? ch_strndup(key.p, key.n) : NULL;
    l->now = ch_now_ms(ch_loop_clock(req->gw->rt->loop));
    l->query = query;
    l->respond = respond;
    req->user = l;
    req->on_disconnect = lookup_on_disconnect;
    return l;
}

void ch_store_lookup_start(struct ch_request *req, struct ch_sv key, int64_t number,
                           ch_store_query_fn *query, ch_store_respond_fn *respond) {
    struct ch_store_lookup *l = lookup_new(req, key, query, respond);
    if (!l)
        return;
    l->number = number;
    ch_work_submit(req->gw->rt->workers, &l->work);
}

void ch_store_lookup_start_page(struct ch_request *req, struct ch_sv key,
                                ch_store_query_fn *query, ch_store_respond_fn *respond) {
    int64_t limit, before, after;
    if (!ch_request_query_number(req, "limit", CH_LIMIT_PAGE, CH_LIMIT_PAGE, &limit) ||
        !ch_request_query_number(req, "before", 0, INT32_MAX, &before) ||
        !ch_request_query_number(req, "after", 0, INT32_MAX, &after))
        return;
    struct ch_store_lookup *l = lookup_new(req, key, query, respond);
    if (!l)
        return;
    l->number = limit;
    l->before = before;
    l->after = after;
    ch_work_submit(req->gw->rt->workers, &l->work);
}

void ch_store_lookup_settle(struct ch_request *req,
                            void (*settle)(chela_gateway *gw, const struct ch_store_lookup *l)) {
    for (CH_LIST_EACH(k, &req->gw->lookups)) {
        struct ch_store_lookup *l = CH_CONTAINER(k, struct ch_store_lookup, link);
        if (l->request == req)
            l->settle = settle;
    }
}

void ch_store_lookup_own(struct ch_request *req, void (*gone)(void *user), void *user) {
    struct ch_store_lookup *l = req->user;
    l->gone = gone;
    l->user = user;
}

void ch_store_lookups_close(chela_gateway *gw) {
    for (struct ch_store_lookup *l;
         (l = CH_LIST_FIRST(&gw->lookups, struct ch_store_lookup, link));) {
        ch_list_del(&l->link);
        l->gw = NULL;
    }
}
