/* session_copies.c -- see session_copies.h.
 *
 * A fork is a new session with the records of another one, up to a place between two runs.
 * The original is not changed, so editing, repeating and undoing a message by a fork loses
 * nothing. */
#include "gateway/http/session_copies.h"

#include "base/error.h"
#include "base/random_id.h"
#include "gateway/lane/lane.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"
#include "gateway/request/store_lookup.h"

/* --- rename: l->key is the key, a line feed and the title */

static char *split_argument(struct ch_store_lookup *l) {
    char *second = strchr(l->key, '\n');
    *second++ = 0;
    return second;
}

static struct ch_sv join_argument(struct ch_request *req, struct ch_sv key, struct ch_sv text) {
    CH_BUF_AUTO both = {0};
    ch_buf_addf(&both, "%.*s\n%.*s", CH_SV_FMT(key), CH_SV_FMT(text));
    return ch_arena_sv(&req->arena, ch_buf_sv(&both));
}

static int query_rename(struct ch_store_lookup *l, struct chela_error *err) {
    const char *title = split_argument(l);
    l->found = ch_strdup(title);
    return chela_store_title(l->store, l->key, title, err);
}

static void respond_renamed(struct ch_request *req, struct ch_store_lookup *l) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "session", l->key);
    ch_jw_kcstr(&w, "title", l->found);
    ch_jw_end(&w, '}');
    req->gw->session_changed(req->gw);
    ch_request_respond_json(req, 200, &out);
}

void ch_session_copies_rename(struct ch_request *req) {
    struct ch_sv title = ch_json_get_str(req->json, "title");
    struct chela_error err = {0};
    if (ch_lane_key_check(req->param, &err) < 0)
        ch_request_fail_with(req, &err);
    else if (!title.n)
        ch_request_fail(req, 400, NULL, "`title` is missing");
    else
        ch_store_lookup_start(req, join_argument(req, req->param, title), 0, query_rename,
                              respond_renamed);
}

/* --- fork */

#define ALL INT64_MAX /* l->number of a copy of all records */

/* l->last: the number of replies before record l->number. */
static int count_replies(const struct chela_store_record *r, void *user) {
    struct ch_store_lookup *l = user;
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;
    if ((int64_t)r->seq >= l->number)
        return 1;
    if (strcmp(chela_store_record_name(r->type), "message") == 0 &&
        ch_json_parse(&arena, ch_sv(r->data, r->n), CH_JSON_REPLACE, &v, NULL, NULL) == 0)
        l->last += ch_sv_is(ch_json_str(ch_json_path(v, "message", "role", NULL)), "assistant");
    return 0;
}

static int query_fork(struct ch_store_lookup *l, struct chela_error *err) {
    const char *to = split_argument(l);
    int rc = 0;
    l->last = l->number == ALL ? -1 : 0;
    if (l->number != ALL)
        rc = chela_store_records(l->store, l->key, 1, count_replies, l, err);
    if (rc < 0 || l->last == 0)
        return rc; /* nothing comes before the first reply */
    rc = chela_store_fork(l->store, l->key, l->last, to, err);
    if (rc == 0)
        l->found = ch_strdup(to);
    return rc;
}

static void respond_forked(struct ch_request *req, struct ch_store_lookup *l) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "session", l->found);
    ch_jw_kcstr(&w, "from", l->key);
    ch_jw_end(&w, '}');
    req->gw->session_changed(req->gw);
    ch_request_respond_json(req, l->found ? 201 : 200, &out);
}

void ch_session_copies_fork(struct ch_request *req) {
    char random[24];
    struct chela_error err = {0};
    struct ch_sv to = ch_json_get_str(req->json, "to");
    const struct ch_json *given = ch_json_get(req->json, "before");
    int64_t before = ch_json_is(given, CH_JSON_NUMBER) ? ch_json_int(given, 0) : ALL;
    ch_random_id("fork:", random);
    if (!to.n)
        to = ch_sv_str(random);
    int rc = ch_request_check_types(req->json, NULL, "to:string before:integer", &err);
    if (rc == 0)
        rc = ch_lane_key_check(req->param, &err);
    if (rc == 0)
        rc = ch_lane_key_check(to, &err);
    if (rc == 0 && before < 1)
        rc = ch_fail(&err, CHELA_EINVAL, "`before` must be the number of a record, from 1");
    if (rc < 0) {
        ch_request_fail_with(req, &err);
        return;
    }
    ch_store_lookup_start(req, join_argument(req, req->param, to), before, query_fork,
                          respond_forked);
}

/* --- export */

static int add_export_line(const char *p, size_t n, void *user) {
    ch_buf_add(&((struct ch_store_lookup *)user)->out, p, n);
    return 0;
}

static int query_export(struct ch_store_lookup *l, struct chela_error *err) {
    return chela_store_export(l->store, l->key, add_export_line, l, err);
}

static void respond_exported(struct ch_request *req, struct ch_store_lookup *l) {
    ch_request_respond(req, 200, "application/jsonl", ch_buf_sv(&l->out));
}

void ch_session_copies_export(struct ch_request *req) {
    ch_store_lookup_start(req, req->param, 0, query_export, respond_exported);
}
