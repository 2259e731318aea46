/* activity_api.c -- see activity_api.h. The runs are read from the journals of the newest
 * sessions, up to a limit; the member `truncated` is true if there are more (runs_api.c lists
 * all). */
#include "gateway/http/activity_api.h"

#include "base/limits.h"
#include "gateway/http/runs_api.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"
#include "gateway/request/store_lookup.h"
#include "trace/activity.h"

static int activity_add_run(const struct ch_activity_run *r, void *user) {
    struct ch_store_lookup *l = user;
    struct ch_jw w = ch_jw(&l->out);
    if (l->last == CH_LIMIT_ACTIVITY_RUNS) {
        l->after = true; /* truncated */
        return 1;
    }
    w.comma = l->last++ > 0;
    ch_jw_begin(&w, '{');
    ch_runs_write(&w, r);
    ch_jw_end(&w, '}');
    return 0;
}

static int query_activity(struct ch_store_lookup *l, struct chela_error *err) {
    ch_buf_add_str(&l->out, "{\"runs\":[");
    int rc = ch_activity_list(l->store, l->number, CH_LIMIT_LISTED, activity_add_run, l, err);
    bool truncated = l->after || (rc == 0 && ch_store_lookup_exceeds(l));
    ch_buf_addf(&l->out, "],\"truncated\":%s}", truncated ? "true" : "false");
    return rc;
}

static void respond_activity(struct ch_request *req, struct ch_store_lookup *l) {
    ch_request_respond_json(req, 200, &l->out);
}

void ch_activity_get(struct ch_request *req) {
    int64_t days, now = ch_now_ms(ch_loop_clock(req->gw->rt->loop));
    if (ch_request_query_number(req, "days", 30, 3650, &days))
        ch_store_lookup_start(req, ch_sv(NULL, 0), now - days * 24 * 3600 * 1000, query_activity,
                              respond_activity);
}
