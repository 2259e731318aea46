/* response_store.c -- see response_store.h. */
#include "gateway/http/response_store.h"

#include <poll.h>

#include "agent/journal/journal.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "gateway/request/request.h"
#include "gateway/request/store_lookup.h"
#include "store/store.h"

struct stored_response {
    char *id, *object, *items; /* owned */
    size_t bytes;
};

struct ch_response_store {
    struct stored_response all[CH_LIMIT_STORED_RESPONSES]; /* a ring; id NULL: deleted */
    size_t first, n, bytes;
};

static void drop_response(struct ch_response_store *s, struct stored_response *r) {
    s->bytes -= r->bytes;
    ch_free(r->id);
    ch_free(r->object);
    ch_free(r->items);
    *r = (struct stored_response){0};
}

static void drop_oldest(struct ch_response_store *s) {
    drop_response(s, &s->all[s->first]);
    s->first = (s->first + 1) % CH_LIMIT_STORED_RESPONSES;
    s->n--;
}

void ch_response_store_free(struct ch_response_store *s) {
    while (s && s->n)
        drop_oldest(s);
    ch_free(s);
}

static void response_remember(chela_gateway *gw, const char *id, struct ch_sv object,
                              struct ch_sv items) {
    struct ch_response_store *s = gw->responses;
    size_t bytes = object.n + items.n;
    if (!s)
        s = gw->responses = ch_alloc(sizeof(*s));
    while (s->n && (s->n == CH_LIMIT_STORED_RESPONSES ||
                    s->bytes + bytes > CH_LIMIT_STORED_RESPONSE_BYTES))
        drop_oldest(s);
    s->bytes += bytes;
    s->all[(s->first + s->n++) % CH_LIMIT_STORED_RESPONSES] =
        (struct stored_response){.id = ch_strdup(id),
                                 .object = ch_strndup(object.p, object.n),
                                 .items = ch_strndup(items.p ? items.p : "", items.n),
                                 .bytes = bytes};
}

/* --- for other workers */

#define SHARED "response/" /* prefix of the id in the sessions' store */
#define LOOKS 5            /* another worker may be storing the response just now */
#define LOOK_MS 20
#define LOOKS_DELETED 250 /* a deletion waits for the disk */

/* data empty: deleted. */
static void response_share(chela_gateway *gw, struct ch_sv id, struct ch_sv data) {
    ch_gateway_keep(gw, SHARED, id, data, CH_DEFAULT_SHARED_RESPONSE_MS);
}

void ch_response_store_put(chela_gateway *gw, const char *id, struct ch_sv object,
                           struct ch_sv items) {
    CH_BUF_AUTO both = {0};
    if (object.n + items.n > CH_LIMIT_STORED_RESPONSE)
        return;
    response_remember(gw, id, object, items);
    if (!gw->workers || object.n + items.n > CH_LIMIT_SHARED_RESPONSE)
        return;
    struct ch_jw w = ch_jw(&both);
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "object", object);
    ch_jw_kstr(&w, "items", items);
    ch_jw_end(&w, '}');
    response_share(gw, ch_sv_str(id), ch_buf_sv(&both));
}

/* The i-th newest response; NULL: past the oldest. */
static struct stored_response *newest(struct ch_response_store *s, size_t i) {
    return s && i < s->n ? &s->all[(s->first + s->n - 1 - i) % CH_LIMIT_STORED_RESPONSES] : NULL;
}

static struct stored_response *find_response(const chela_gateway *gw, struct ch_sv id) {
    struct stored_response *r;
    for (size_t i = 0; (r = newest(gw->responses, i)); i++)
        if (r->id && ch_sv_is(id, r->id))
            return r;
    return NULL;
}

static int response_on_kept(const struct chela_store_item *i, void *user) {
    struct ch_store_lookup *l = user;
    ch_buf_add_sv(&l->out, ch_sv(i->data, i->n));
    l->last = i->ts > l->now;
    return 0;
}

/* l->number: looks. l->last: found. */
static int response_query(struct ch_store_lookup *l, struct chela_error *err) {
    CH_BUF_AUTO name = {0};
    int rc = CHELA_ENOENT;
    ch_buf_addf(&name, SHARED "%s", l->key);
    for (int64_t i = 0; i < l->number && rc == CHELA_ENOENT; i++) {
        if (i > 0)
            poll(NULL, 0, LOOK_MS);
        *err = (struct chela_error){0};
        rc = ch_store_kept(l->store, ch_buf_str(&name), response_on_kept, l, err);
    }
    return rc == CHELA_ENOENT ? 0 : rc;
}

static void response_fetched(chela_gateway *gw, const struct ch_store_lookup *l) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;
    struct stored_response *r = find_response(gw, ch_sv_str(l->key));
    if (l->last && r && !l->out.n)
        drop_response(gw->responses, r); /* another worker deleted it */
    if (l->last && !r && l->out.n &&
        ch_json_parse(&arena, ch_buf_sv(&l->out), CH_JSON_REPLACE, &v, NULL, NULL) == 0)
        response_remember(gw, l->key, ch_json_get_str(v, "object"), ch_json_get_str(v, "items"));
}

bool ch_response_store_fetch(struct ch_request *req, struct ch_sv id,
                             void (*respond)(struct ch_request *req, struct ch_store_lookup *l)) {
    if (!req->gw->workers || !req->gw->store || !id.n || id.n > CH_LIMIT_SESSION_KEY)
        return false;
    ch_store_lookup_start(req, id, find_response(req->gw, id) ? 1 : LOOKS, response_query, respond);
    ch_store_lookup_settle(req, response_fetched);
    return true;
}

struct ch_sv ch_response_store_items(const chela_gateway *gw, struct ch_sv id) {
    const struct stored_response *r = find_response(gw, id);
    return r ? ch_sv_str(r->items) : ch_sv(NULL, 0);
}

static struct ch_sv find_item(const char *object, struct ch_arena *a, struct ch_sv id) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);
    const struct ch_json *v = NULL;
    ch_json_parse(&arena, ch_sv_str(object), CH_JSON_STRICT, &v, NULL, NULL);
    for (CH_JSON_EACH(item, ch_json_get(v, "output")))
        if (!json.n && ch_sv_eq(ch_json_get_str(item, "id"), id))
            ch_jw_value(&w, item);
    return json.n ? ch_arena_sv(a, ch_buf_sv(&json)) : ch_sv(NULL, 0);
}

struct ch_sv ch_response_store_item(const chela_gateway *gw, struct ch_arena *a, struct ch_sv id) {
    const char *text = ch_arena_str(a, id);
    struct stored_response *r;
    struct ch_sv item = {0};
    for (size_t i = 0; id.n && !item.p && (r = newest(gw->responses, i)); i++)
        if (r->id && strstr(r->object, text))
            item = find_item(r->object, a, id);
    return item;
}

/* --- routes */

static void no_response(struct ch_request *req) {
    ch_request_fail(req, 404, NULL, "there is no response '%.*s', or it is no longer remembered",
                    CH_SV_FMT(req->param));
}

/* A stored response is complete, so cancelling it changes nothing. */
static void response_get(struct ch_request *req, struct ch_store_lookup *l) {
    const struct stored_response *r = find_response(req->gw, req->param);
    bool cancels = strcmp(req->route->method, "POST") == 0;
    CH_BUF_AUTO out = {0};
    (void)l;
    if (!r) {
        no_response(req);
    } else if (cancels && !strstr(r->object, "\"background\":true")) { /* texts escape quotes */
        ch_request_fail(req, 400, NULL, "only a response with `background` can be cancelled");
    } else if (ch_sv_eq(ch_request_query(req, "stream"), CH_SV("true"))) {
        ch_request_fail(req, 400, NULL,
                        "`stream` is not supported: a stored response is complete");
    } else {
        ch_buf_add_str(&out, r->object);
        ch_request_respond_json(req, 200, &out);
    }
}

void ch_response_store_get(struct ch_request *req) {
    if (!ch_response_store_fetch(req, req->param, response_get))
        response_get(req, NULL);
}

void ch_response_store_input(struct ch_request *req) {
    ch_request_fail(req, 400, NULL, "input items are not supported");
}

static void response_deleted(struct ch_request *req, struct ch_store_lookup *l) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    (void)l;
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "id", req->param);
    ch_jw_kcstr(&w, "object", "response");
    ch_jw_kbool(&w, "deleted", true);
    ch_jw_end(&w, '}');
    ch_request_respond_json(req, 200, &out);
}

/* Waits until the store has the deletion. */
static int response_query_deleted(struct ch_store_lookup *l, struct chela_error *err) {
    CH_BUF_AUTO name = {0};
    int rc = 0;
    ch_buf_addf(&name, SHARED "%s", l->key);
    for (int64_t i = 0; i < l->number && rc == 0; i++) {
        ch_buf_clear(&l->out);
        rc = ch_store_kept(l->store, ch_buf_str(&name), response_on_kept, l, err);
        if (rc == 0 && !l->out.n)
            return 0;
        poll(NULL, 0, LOOK_MS);
    }
    return rc == CHELA_ENOENT ? 0
           : rc < 0           ? rc
                              : ch_fail(err, CHELA_EIO, "the store did not take the deletion");
}

static void response_delete(struct ch_request *req, struct ch_store_lookup *l) {
    struct stored_response *r = find_response(req->gw, req->param);
    (void)l;
    if (!r) {
        no_response(req);
        return;
    }
    drop_response(req->gw->responses, r);
    if (!req->gw->workers) {
        response_deleted(req, NULL);
        return;
    }
    response_share(req->gw, req->param, CH_SV(""));
    ch_store_lookup_start(req, req->param, LOOKS_DELETED, response_query_deleted, response_deleted);
}

void ch_response_store_delete(struct ch_request *req) {
    if (!ch_response_store_fetch(req, req->param, response_delete))
        response_delete(req, NULL);
}
