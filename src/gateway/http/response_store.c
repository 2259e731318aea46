/* response_store.c -- see response_store.h. */
#include "gateway/http/response_store.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/journal/journal.h"
#include "base/chars.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "gateway/http/admission.h"
#include "gateway/http/response_run.h"
#include "gateway/request/request.h"
#include "gateway/request/store_lookup.h"
#include "model/message/ids.h"
#include "store/store.h"

struct stored_response {
    char *id, *object, *items; /* owned */
    char *outputs; /* owned: ids of the items of its output, each between two spaces */
    char *run; /* owned: of a background response, for ch_response_run_read; else NULL */
    size_t bytes;
    bool complete;
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
    ch_free(r->run);
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

/* A response as the store has it: its members are borrowed. */
struct kept_response {
    struct ch_sv object, items, run;
    bool complete, of_session;
};

static struct kept_response response_parse(struct ch_arena *a, struct ch_sv text) {
    const struct ch_json *v = NULL;
    ch_json_parse(a, text, CH_JSON_REPLACE, &v, NULL, NULL);
    return (struct kept_response){ch_json_get_str(v, "object"), ch_json_get_str(v, "items"),
                                  ch_json_get_str(v, "run"),
                                  ch_json_bool(ch_json_get(v, "complete"), true),
                                  ch_json_bool(ch_json_get(v, "of_session"), false)};
}

static void response_write(const struct kept_response *k, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "object", k->object);
    ch_jw_kstr(&w, "items", k->items);
    if (k->run.n)
        ch_jw_kstr(&w, "run", k->run);
    ch_jw_kbool(&w, "complete", k->complete);
    ch_jw_kbool(&w, "of_session", k->of_session);
    ch_jw_end(&w, '}');
}

static void response_remember(chela_gateway *gw, const char *id, const struct kept_response *k) {
    struct ch_response_store *s = gw->responses;
    size_t bytes = k->object.n + k->items.n + k->run.n;
    CH_BUF_AUTO outputs = {0};
    response_list_outputs(k->object, &outputs);
    if (!s)
        s = gw->responses = ch_alloc(sizeof(*s));
    while (s->n && (s->n == CH_LIMIT_STORED_RESPONSES ||
                    s->bytes + bytes > CH_LIMIT_STORED_RESPONSE_BYTES))
        drop_oldest(s);
    s->bytes += bytes;
    s->all[(s->first + s->n++) % CH_LIMIT_STORED_RESPONSES] =
        (struct stored_response){.id = ch_strdup(id),
                                 .object = ch_strndup(k->object.p, k->object.n),
                                 .items = ch_strndup(k->items.p ? k->items.p : "", k->items.n),
                                 .outputs = ch_strndup(outputs.p, outputs.n),
                                 .run = k->run.n ? ch_strndup(k->run.p, k->run.n) : NULL,
                                 .bytes = bytes,
                                 .complete = k->complete,
                                 .of_session = k->of_session};
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

void ch_response_store_keep_run(chela_gateway *gw, const char *id, const char *session,
                                struct ch_sv run) {
    response_keep(gw, ch_sv_str(id), session, run);
}

static void response_put(chela_gateway *gw, const char *id, const char *session,
                         const struct kept_response *k) {
    CH_BUF_AUTO text = {0}, outputs = {0};
    if (k->object.n + k->items.n > CH_LIMIT_STORED_RESPONSE)
        return;
    response_remember(gw, id, k);
    response_write(k, &text);
    if (!gw->store || text.n > CH_LIMIT_SHARED_RESPONSE)
        return;
    response_keep(gw, ch_sv_str(id), session, ch_buf_sv(&text));
    response_list_outputs(k->object, &outputs);
    struct ch_sv ids = ch_sv_trim(ch_buf_sv(&outputs));
    while (ids.n)
        ch_gateway_keep(gw, ITEM, ch_sv_split(&ids, ' '), NULL, ch_sv_str(id),
                        CH_DEFAULT_STORED_RESPONSE_MS);
}

void ch_response_store_put(chela_gateway *gw, const char *id, const char *session,
                           struct ch_sv object, struct ch_sv items) {
    const struct kept_response k = {
        .object = object, .items = items, .complete = true, .of_session = session != NULL};
    response_put(gw, id, session, &k);
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

/* Replaces the place of a run in l->more by the response as far as it is known. */
static int response_write_run(struct ch_store_lookup *l, struct ch_sv name,
                              struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO object = {0}, items = {0}, text = {0};
    struct ch_response_run run;
    const char *id = ch_arena_str(&arena, ch_sv(name.p + strlen(STORED), name.n - strlen(STORED)));
    if (!ch_response_run_read(&arena, id, ch_arena_sv(&arena, ch_buf_sv(&l->more)), &run))
        return 0;
    int rc = ch_response_run_write(l->store, &run, &object, &items, err);
    if (rc < 0)
        return rc;
    const struct kept_response k = {.object = ch_buf_sv(&object),
                                    .items = ch_buf_sv(&items),
                                    .run = ch_buf_sv(&l->more),
                                    .complete = rc > 0,
                                    .of_session = true};
    response_write(&k, &text);
    ch_buf_clear(&l->more);
    ch_buf_add_sv(&l->more, ch_buf_sv(&text));
    return 0;
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
        rc = response_write_run(l, ch_buf_sv(&id), err);
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
    struct stored_response *r = find_response(gw, id);
    struct kept_response k = response_parse(&arena, text);
    struct ch_response_run run;
    bool known = r && r->complete && text.n;
    if (r && !known) /* deleted by another worker, or with its session; or it went on */
        drop_response(gw->responses, r);
    if (known || !k.object.p)
        return;
    const char *name = ch_arena_str(&arena, id);
    if (k.complete && k.run.n && ch_response_run_read(&arena, name, k.run, &run))
        response_put(gw, name, ch_arena_str(&arena, run.session), &k);
    else
        response_remember(gw, name, &k);
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

static void response_respond(struct ch_request *req, struct ch_store_lookup *l) {
    const struct stored_response *r = find_response(req->gw, req->param);
    CH_BUF_AUTO out = {0};
    (void)l;
    if (!r) {
        no_response(req);
        return;
    }
    ch_buf_add_str(&out, r->object);
    ch_request_respond_json(req, 200, &out);
}

/* Calls respond when the response is known here, if it exists. */
static void response_find(struct ch_request *req,
                          void (*respond)(struct ch_request *req, struct ch_store_lookup *l)) {
    if (!ch_response_store_fetch(req, req->param, NULL, respond))
        respond(req, NULL);
}

static bool response_is_number(struct ch_sv text) {
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
    return text.n < 16;
}

static void response_stream(struct ch_request *req, struct ch_store_lookup *l) {
    const struct stored_response *r = find_response(req->gw, req->param);
    struct ch_sv after = ch_request_query(req, "starting_after");
    struct ch_response_run run;
    (void)l;
    const char *text = r && r->run ? ch_arena_str(&req->arena, ch_sv_str(r->run)) : "";
    int64_t skip = after.n ? 1 + strtoll(ch_arena_str(&req->arena, after), NULL, 10) : 0;
    if (!r)
        no_response(req);
    else if (!response_is_number(after))
        ch_request_fail(req, 400, NULL, "`starting_after` must be the number of an event");
    else if (ch_response_run_read(&req->arena, ch_arena_str(&req->arena, req->param),
                                  ch_sv_str(text), &run))
        ch_response_run_stream(req, &run, skip);
    else
        ch_request_fail(req, 400, NULL, "only a response with `background` can be streamed later");
}

void ch_response_store_stream(struct ch_request *req, const char *id) {
    req->param = ch_sv_str(ch_arena_str(&req->arena, ch_sv_str(id)));
    response_find(req, response_stream);
}

void ch_response_store_get(struct ch_request *req) {
    bool streams = ch_sv_eq(ch_request_query(req, "stream"), CH_SV("true"));
    response_find(req, streams ? response_stream : response_respond);
}

/* --- POST .../cancel */

#define LOOKS_CANCELLED 250 /* a tool may need a while to end */

/* Waits until the response is complete. l->key: the name. */
static int response_query_complete(struct ch_store_lookup *l, struct chela_error *err) {
    int rc = 0;
    for (int64_t i = 0; i < LOOKS_CANCELLED && rc == 0; i++) {
        CH_ARENA_AUTO arena = {0};
        ch_buf_clear(&l->out);
        l->last = 0;
        rc = response_read(l, ch_sv_str(l->key), 1, err);
        struct ch_sv line = ch_buf_sv(&l->out);
        ch_sv_split(&line, ' ');
        if (rc == 0 && (!l->last || response_parse(&arena, line).complete))
            return 0;
        poll(NULL, 0, LOOK_MS);
    }
    return rc;
}

static void response_cancelled(struct ch_request *req, struct ch_lane *l,
                               const struct ch_delivery *d) {
    const struct stored_response *r = find_response(req->gw, req->param);
    const char *id = ch_arena_str(&req->arena, req->param);
    struct ch_response_run run;
    struct chela_error ignored = {0};
    (void)l;
    if (r && r->run && d->action && strcmp(d->action, CH_CLIENT_DROPPED) == 0 &&
        ch_response_run_read(&req->arena, id, ch_arena_sv(&req->arena, ch_sv_str(r->run)), &run)) {
        run.cancelled = true;
        ch_response_run_keep(req->gw, &run, &ignored);
    }
    ch_store_lookup_start(req, ch_sv_str(ch_arena_printf(&req->arena, STORED "%s", id)), 1,
                          response_query_complete, response_respond);
    ch_store_lookup_settle(req, response_fetched);
}

/* A response that is complete stays as it is. */
static void response_cancel(struct ch_request *req, struct ch_store_lookup *l) {
    const struct stored_response *r = find_response(req->gw, req->param);
    const char *id = ch_arena_str(&req->arena, req->param);
    CH_BUF_AUTO data = {0};
    struct ch_jw w = ch_jw(&data);
    struct ch_response_run run;
    (void)l;
    if (r && !r->run) {
        ch_request_fail(req, 400, NULL, "only a response with `background` can be cancelled");
    } else if (!r || r->complete ||
               !ch_response_run_read(&req->arena, id,
                                     ch_arena_sv(&req->arena, ch_sv_str(r->run)), &run)) {
        response_respond(req, NULL);
    } else {
        ch_jw_kstr(&w, "of", run.event);
        ch_admission_begin(req, &ch_client_cancel, ch_arena_str(&req->arena, run.session),
                           run.agent, &data, response_cancelled);
    }
}

void ch_response_store_cancel(struct ch_request *req) {
    response_find(req, response_cancel);
}

/* --- GET .../input_items */

#define ITEMS_AT_ONCE 20

static struct ch_sv response_item_id(struct ch_arena *a, struct ch_sv response, size_t i,
                                     const struct ch_json *item) {
    struct ch_sv id = ch_json_get_str(item, "id");
    return id.n ? id
                : ch_sv_str(ch_arena_printf(a, "in_%.*s_%zu", CH_SV_FMT(response), i));
}

/* An item as clients expect it: with an id and a type, a text as a list of parts. */
static void response_write_item(struct ch_jw *w, const struct ch_json *item, struct ch_sv id) {
    const struct ch_json *content = ch_json_get(item, "content");
    bool answer = ch_sv_is(ch_json_get_str(item, "role"), "assistant");
    ch_jw_begin(w, '{');
    ch_jw_kstr(w, "id", id);
    if (!ch_json_get(item, "type"))
        ch_jw_kcstr(w, "type", "message");
    for (CH_JSON_MEMBERS(k, v, item)) {
        if (ch_sv_is(ch_json_str(k), "id") || (v == content && ch_json_is(v, CH_JSON_STRING)))
            continue;
        ch_jw_key_sv(w, ch_json_str(k));
        ch_jw_value(w, v);
    }
    if (ch_json_is(content, CH_JSON_STRING)) {
        ch_jw_kbegin(w, "content", '[');
        ch_jw_begin(w, '{');
        ch_jw_kcstr(w, "type", answer ? "output_text" : "input_text");
        ch_jw_kstr(w, "text", ch_json_str(content));
        if (answer)
            ch_jw_kraw(w, "annotations", CH_SV("[]"));
        ch_jw_end(w, '}');
        ch_jw_end(w, ']');
    }
    ch_jw_end(w, '}');
}

struct item_page {
    struct ch_request *req;
    struct ch_arena *arena;
    const struct ch_json **items; /* in the order of the page */
    struct ch_sv *ids;
    size_t n, from, end;
};

/* The items of the input, newest first unless order=asc. */
static void response_read_page(struct item_page *p, const struct ch_json *all, size_t noutput) {
    bool ascending = ch_sv_eq(ch_request_query(p->req, "order"), CH_SV("asc"));
    size_t i = 0;
    p->n = all && all->n > noutput ? all->n - noutput : 0;
    p->items = ch_arena_alloc(p->arena, (p->n + 1) * sizeof(*p->items));
    p->ids = ch_arena_alloc(p->arena, (p->n + 1) * sizeof(*p->ids));
    for (CH_JSON_EACH(item, all)) {
        if (i == p->n)
            break;
        size_t at = ascending ? i : p->n - 1 - i;
        p->items[at] = item;
        p->ids[at] = response_item_id(p->arena, p->req->param, i++, item);
    }
}

static bool response_seek_page(struct item_page *p, int64_t limit) {
    struct ch_sv after = ch_http_route_decode_query(p->arena, ch_request_query(p->req, "after"));
    while (after.n && p->from < p->n && !ch_sv_eq(p->ids[p->from], after))
        p->from++;
    if (after.n && p->from == p->n)
        return false;
    p->from += after.n > 0;
    p->end = CH_MIN(p->n, p->from + (size_t)limit);
    return true;
}

static void response_write_page(const struct item_page *p, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    bool any = p->from < p->end;
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "object", "list");
    ch_jw_kbegin(&w, "data", '[');
    for (size_t i = p->from; i < p->end; i++)
        response_write_item(&w, p->items[i], p->ids[i]);
    ch_jw_end(&w, ']');
    ch_jw_kstr(&w, "first_id", any ? p->ids[p->from] : ch_sv(NULL, 0));
    ch_jw_kstr(&w, "last_id", any ? p->ids[p->end - 1] : ch_sv(NULL, 0));
    ch_jw_kbool(&w, "has_more", p->end < p->n);
    ch_jw_end(&w, '}');
}

static void response_list_input(struct ch_request *req, struct ch_store_lookup *l) {
    const struct stored_response *r = find_response(req->gw, req->param);
    const struct ch_json *all = NULL, *object = NULL;
    struct item_page page = {.req = req, .arena = &req->arena};
    CH_BUF_AUTO out = {0};
    int64_t limit;
    (void)l;
    if (!r) {
        no_response(req);
        return;
    }
    if (!ch_request_query_number(req, "limit", ITEMS_AT_ONCE, CH_LIMIT_PAGE, &limit))
        return;
    ch_json_parse(&req->arena, ch_sv_str(ch_arena_printf(&req->arena, "[%s]", r->items)),
                  CH_JSON_REPLACE, &all, NULL, NULL);
    ch_json_parse(&req->arena, ch_arena_sv(&req->arena, ch_sv_str(r->object)), CH_JSON_REPLACE,
                  &object, NULL, NULL);
    const struct ch_json *output = ch_json_get(object, "output");
    response_read_page(&page, all, output ? output->n : 0);
    if (!response_seek_page(&page, limit)) {
        ch_request_fail(req, 400, NULL, "`after` is the id of no item of the input");
        return;
    }
    response_write_page(&page, &out);
    ch_request_respond_json(req, 200, &out);
}

void ch_response_store_input(struct ch_request *req) {
    response_find(req, response_list_input);
}

/* --- DELETE */

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
    if (!r->complete) {
        ch_request_fail(req, 409, "busy", "the response is in progress: cancel it first");
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
    response_find(req, response_delete);
}
