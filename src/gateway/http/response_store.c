/* response_store.c -- see response_store.h. */
#include "gateway/http/response_store.h"

#include <poll.h>
#include <stdio.h>

#include "agent/journal/journal.h"
#include "base/chars.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "gateway/request/request.h"
#include "gateway/request/store_lookup.h"
#include "model/message/ids.h"
#include "store/store.h"

struct stored_response {
    char *id, *object, *items; /* owned */
    char *outputs; /* owned: ids of the items of its output, each between two spaces */
    size_t bytes;
    bool of_session; /* the text goes with a session that may be deleted */
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
    ch_free(r->outputs);
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

/* An id that a gateway made; other words are no names of the store. */
static bool response_is_id(struct ch_sv id) {
    for (size_t i = 0; i < id.n; i++)
        if (!ch_char_is(id.p[i], CH_CHAR_WORD | CH_CHAR_DASH))
            return false;
    return id.n > 0 && id.n <= CH_ID_ROOM;
}

static void response_list_outputs(struct ch_sv object, struct ch_buf *out) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;
    ch_json_parse(&arena, object, CH_JSON_REPLACE, &v, NULL, NULL);
    ch_buf_addc(out, ' ');
    for (CH_JSON_EACH(item, ch_json_get(v, "output")))
        if (response_is_id(ch_json_get_str(item, "id")))
            ch_buf_addf(out, "%.*s ", CH_SV_FMT(ch_json_get_str(item, "id")));
}

static void response_remember(chela_gateway *gw, const char *id, bool of_session,
                              struct ch_sv object, struct ch_sv items) {
    struct ch_response_store *s = gw->responses;
    size_t bytes = object.n + items.n;
    CH_BUF_AUTO outputs = {0};
    response_list_outputs(object, &outputs);
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
                                 .outputs = ch_strndup(outputs.p, outputs.n),
                                 .bytes = bytes,
                                 .of_session = of_session};
}

/* --- in the sessions' store: for the time after a restart, and for other workers */

#define STORED "response/" /* prefix of a response's id; the text is empty when it was deleted */
#define ITEM "item/"       /* prefix of an item's id; the text is the id of its response */
#define LOOKS 5            /* another worker may be storing the response just now */
#define LOOK_MS 20
#define LOOKS_DELETED 250 /* a deletion waits for the disk */

/* data empty: deleted. */
static void response_keep(chela_gateway *gw, struct ch_sv id, const char *session,
                          struct ch_sv data) {
    ch_gateway_keep(gw, STORED, id, session, data, CH_DEFAULT_STORED_RESPONSE_MS);
}

void ch_response_store_put(chela_gateway *gw, const char *id, const char *session,
                           struct ch_sv object, struct ch_sv items) {
    CH_BUF_AUTO both = {0}, outputs = {0};
    if (object.n + items.n > CH_LIMIT_STORED_RESPONSE)
        return;
    response_remember(gw, id, session != NULL, object, items);
    if (!gw->store || object.n + items.n > CH_LIMIT_SHARED_RESPONSE)
        return;
    struct ch_jw w = ch_jw(&both);
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "object", object);
    ch_jw_kstr(&w, "items", items);
    ch_jw_kbool(&w, "of_session", session != NULL);
    ch_jw_end(&w, '}');
    response_keep(gw, ch_sv_str(id), session, ch_buf_sv(&both));
    response_list_outputs(object, &outputs);
    struct ch_sv ids = ch_sv_trim(ch_buf_sv(&outputs));
    while (ids.n)
        ch_gateway_keep(gw, ITEM, ch_sv_split(&ids, ' '), NULL, ch_sv_str(id),
                        CH_DEFAULT_STORED_RESPONSE_MS);
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
    if (i->ts <= l->now)
        return 0;
    ch_buf_add_sv(&l->more, ch_sv(i->data, i->n));
    l->last = 1;
    return 0;
}

/* Reads the text of a name into l->more. l->last: it has one, which may be empty. */
static int response_look(struct ch_store_lookup *l, const char *name, struct chela_error *err) {
    ch_buf_clear(&l->more);
    l->last = 0;
    int rc = ch_store_kept(l->store, name, response_on_kept, l, err);
    if (rc == CHELA_ENOENT)
        *err = (struct chela_error){0};
    return rc == CHELA_ENOENT ? 0 : rc;
}

/* Reads one name; a name of an item is one of its response. Adds the line of the response. */
static int response_read(struct ch_store_lookup *l, struct ch_sv name, int64_t looks,
                         struct chela_error *err) {
    CH_BUF_AUTO id = {0};
    int rc = 0;
    ch_buf_add_sv(&id, name);
    for (int64_t i = 0; i < looks && rc == 0 && !l->last; i++) {
        if (i > 0)
            poll(NULL, 0, LOOK_MS);
        rc = response_look(l, ch_buf_str(&id), err);
    }
    if (rc == 0 && l->last && ch_sv_starts(name, ITEM)) {
        ch_buf_clear(&id);
        ch_buf_addf(&id, STORED "%s", ch_buf_str(&l->more));
        rc = response_look(l, ch_buf_str(&id), err);
    }
    if (rc == 0 && l->last)
        ch_buf_addf(&l->out, "%s %s\n", ch_buf_str(&id), ch_buf_str(&l->more));
    return rc;
}

/* l->key: names, separated by spaces. l->number: looks for the first one. The result has a line for
 * each response: its name and its text. */
static int response_query(struct ch_store_lookup *l, struct chela_error *err) {
    struct ch_sv names = ch_sv_str(l->key);
    int64_t looks = l->number;
    int rc = 0;
    while (names.n && rc == 0 && l->out.n < CH_LIMIT_STORED_RESPONSE_BYTES) {
        l->last = 0;
        rc = response_read(l, ch_sv_split(&names, ' '), looks, err);
        looks = 1;
    }
    return rc;
}

static void response_take(chela_gateway *gw, struct ch_sv id, struct ch_sv text) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;
    struct stored_response *r = find_response(gw, id);
    if (r && !text.n)
        drop_response(gw->responses, r); /* deleted by another worker, or with its session */
    if (!r && text.n && ch_json_parse(&arena, text, CH_JSON_REPLACE, &v, NULL, NULL) == 0)
        response_remember(gw, ch_arena_str(&arena, id),
                          ch_json_bool(ch_json_get(v, "of_session"), false),
                          ch_json_get_str(v, "object"), ch_json_get_str(v, "items"));
}

static void response_fetched(chela_gateway *gw, const struct ch_store_lookup *l) {
    struct ch_sv all = ch_buf_sv(&l->out);
    while (all.n) {
        struct ch_sv line = ch_sv_split(&all, '\n'), name = ch_sv_split(&line, ' ');
        response_take(gw, ch_sv(name.p + strlen(STORED), name.n - strlen(STORED)), line);
    }
}

static struct stored_response *find_output(const chela_gateway *gw, struct ch_sv id) {
    char word[CH_ID_ROOM + 3];
    struct stored_response *r = NULL;
    if (!response_is_id(id))
        return NULL;
    snprintf(word, sizeof(word), " %.*s ", CH_SV_FMT(id));
    for (size_t i = 0; (r = newest(gw->responses, i)); i++)
        if (r->id && strstr(r->outputs, word))
            return r;
    return NULL;
}

static void response_want(struct ch_buf *names, const char *prefix, struct ch_sv id) {
    if (response_is_id(id) && names->n < (size_t)CH_LIMIT_KEPT_LOOKS * CH_ID_ROOM)
        ch_buf_addf(names, "%s%s%.*s", names->n ? " " : "", prefix, CH_SV_FMT(id));
}

/* A reference, or reasoning without its encrypted content. */
static bool refers_to_output(const struct ch_json *item) {
    struct ch_sv type = ch_json_get_str(item, "type");
    if (ch_sv_is(type, "reasoning"))
        return !ch_json_get_str(item, "encrypted_content").n;
    return type.n ? ch_sv_is(type, "item_reference") : !ch_json_get(item, "role");
}

bool ch_response_store_fetch(struct ch_request *req, struct ch_sv id, const struct ch_json *input,
                             void (*respond)(struct ch_request *req, struct ch_store_lookup *l)) {
    const struct stored_response *r = find_response(req->gw, id);
    bool known = r != NULL, shared = ch_gateway_is_shared(req->gw);
    CH_BUF_AUTO names = {0};
    if (!known || shared || r->of_session)
        response_want(&names, STORED, id);
    for (CH_JSON_EACH(item, input)) {
        struct ch_sv of = ch_json_get_str(item, "id");
        if (refers_to_output(item) && !find_output(req->gw, of))
            response_want(&names, ITEM, of);
    }
    if (!req->gw->store || !names.n)
        return false;
    ch_store_lookup_start(req, ch_buf_sv(&names), shared && !known ? LOOKS : 1, response_query,
                          respond);
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
    const struct stored_response *r = find_output(gw, id);
    return r ? find_item(r->object, a, id) : ch_sv(NULL, 0);
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
    if (!ch_response_store_fetch(req, req->param, NULL, response_get))
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

/* Waits until the store has the deletion. l->key: the name. */
static int response_query_deleted(struct ch_store_lookup *l, struct chela_error *err) {
    int rc = 0;
    for (int64_t i = 0; i < l->number && rc == 0; i++) {
        rc = response_look(l, l->key, err);
        if (rc == 0 && !l->more.n)
            return 0;
        poll(NULL, 0, LOOK_MS);
    }
    return rc < 0 ? rc : ch_fail(err, CHELA_EIO, "the store did not take the deletion");
}

static void response_delete(struct ch_request *req, struct ch_store_lookup *l) {
    struct stored_response *r = find_response(req->gw, req->param);
    (void)l;
    if (!r) {
        no_response(req);
        return;
    }
    drop_response(req->gw->responses, r);
    if (!req->gw->store) {
        response_deleted(req, NULL);
        return;
    }
    response_keep(req->gw, req->param, NULL, CH_SV(""));
    ch_store_lookup_start(
        req, ch_sv_str(ch_arena_printf(&req->arena, STORED "%.*s", CH_SV_FMT(req->param))),
        LOOKS_DELETED, response_query_deleted, response_deleted);
}

void ch_response_store_delete(struct ch_request *req) {
    if (!ch_response_store_fetch(req, req->param, NULL, response_delete))
        response_delete(req, NULL);
}
