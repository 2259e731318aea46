/* schedules_api.c -- see schedules_api.h. */
#include "gateway/schedule/schedules_api.h"

#include "agent/journal/schedule.h"
#include "base/error.h"
#include "base/limits.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"
#include "gateway/request/store_lookup.h"
#include "gateway/schedule/schedules.h"

/* --- the list: l->key has the schedules of the configuration */

/* Adds the next times to the JSON of a row. */
static int schedules_api_add(const struct chela_schedule_row *row, void *user) {
    struct ch_store_lookup *l = user;
    char *json = chela_schedule_row_json(row);
    int64_t at = row->next;
    ch_buf_addf(&l->out, "%s%.*s,\"upcoming\":[", l->number++ ? "," : "", (int)strlen(json) - 1,
                json);
    for (size_t i = 0; i < CH_LIMIT_UPCOMING && at != INT64_MAX; i++) {
        ch_buf_addf(&l->out, "%s%lld", i ? "," : "", (long long)at);
        if (chela_schedule_next(row->schedule, at, &at, NULL) < 0)
            break;
    }
    ch_buf_add_str(&l->out, "]}");
    chela_free(json);
    return 0;
}

static size_t schedules_api_read(struct ch_sv lines, struct ch_schedule **out, size_t max) {
    size_t n = 0;
    while (lines.n && n < max)
        n += ch_schedule_read(ch_sv_split(&lines, '\n'), NULL, &out[n], NULL) == 0;
    return n;
}

static int query_schedules(struct ch_store_lookup *l, struct chela_error *err) {
    size_t lines = 0;
    for (const char *c = l->key; *c; c++)
        lines += *c == '\n';
    CH_AUTOFREE struct ch_schedule **own = ch_alloc((lines + 1) * sizeof(struct ch_schedule *));
    CH_AUTOFREE const struct chela_schedule **list =
        ch_alloc((lines + 1) * sizeof(struct chela_schedule *));
    size_t n = schedules_api_read(ch_sv_str(l->key), own, lines);
    for (size_t i = 0; i < n; i++)
        list[i] = &own[i]->is;
    ch_buf_add_str(&l->out, "{\"schedules\":[");
    int rc = chela_schedule_list(l->store, list, schedules_api_add, l, err);
    ch_buf_add_str(&l->out, "]}");
    for (size_t i = 0; i < n; i++)
        ch_schedule_free(own[i]);
    return rc;
}

static void respond_schedules(struct ch_request *req, struct ch_store_lookup *l) {
    ch_request_respond_json(req, 200, &l->out);
}

void ch_schedules_api_list(struct ch_request *req) {
    CH_BUF_AUTO key = {0};
    ch_schedules_write(req->gw->schedules, &key);
    ch_store_lookup_start(req, key.n ? ch_buf_sv(&key) : CH_SV(""), 0, query_schedules,
                          respond_schedules);
}

/* --- run now */

static void schedules_api_on_disconnect(struct ch_request *req) {
    ch_schedules_forget(req->gw->schedules, req);
}

static void schedules_api_begun(int rc, const struct chela_error *err, size_t n, void *user) {
    struct ch_request *req = user;
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    req->on_disconnect = NULL;
    if (rc < 0) {
        ch_request_fail_with(req, err);
        return;
    }
    ch_jw_begin(&w, '{');
    ch_jw_kbool(&w, "started", n > 0);
    ch_jw_end(&w, '}');
    ch_request_respond_json(req, 202, &out);
}

void ch_schedules_api_run(struct ch_request *req) {
    CH_AUTOFREE char *name = ch_strndup(req->param.p, req->param.n);
    if (!req->gw->store) {
        ch_request_fail(req, 501, NULL, "this gateway has no store");
        return;
    }
    req->on_disconnect = schedules_api_on_disconnect;
    if (ch_schedules_run_now(req->gw->schedules, name, schedules_api_begun, req))
        return;
    req->on_disconnect = NULL;
    ch_request_fail(req, 409, NULL, "another schedule is being started: try again");
}
