/* usage_api.c -- GET /api/usage?by=GROUP&bucket=TIME: sums of all runs and calls of models.
 * GET /api/usage?days=N: the model calls of the last N days, each with its tokens and duration.
 *
 * The list of calls is read from the journals of the newest sessions, up to a limit; the member
 * `truncated` is true if there are more; `total` and `cost_usd` are sums of all. A call that also
 * occurs in a copy of its session counts once. The response also lists today's use of the budgets,
 * up to a limit (`budgets_truncated`). */
#include "gateway/http/usage_api.h"

#include <math.h>

#include "base/limits.h"
#include "chela/trace.h"
#include "gateway/http/report_query.h"
#include "gateway/lane/budgets.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"
#include "gateway/request/store_lookup.h"
#include "trace/usage.h"

struct usage_report {
    struct ch_store_lookup *lookup;
    size_t ncalls;
    size_t nbudgets;
    bool truncated, budgets_truncated;
};

static int usage_api_add_call(const struct chela_model_call *call, void *user) {
    struct usage_report *u = user;
    struct ch_buf *out = &u->lookup->out;
    struct ch_jw w = ch_jw(out);
    if (!call->model)
        return 0;
    if (u->ncalls == CH_LIMIT_USAGE_CALLS) {
        u->truncated = true;
        return 1;
    }
    if (u->ncalls++)
        ch_buf_addc(out, ',');
    ch_jw_begin(&w, '{');
    ch_jw_kint(&w, "ts", call->ts);
    ch_jw_kint(&w, "ms", call->ms);
    ch_jw_kcstr(&w, "session", call->session);
    ch_jw_kcstr(&w, "agent", call->agent);
    ch_jw_kcstr(&w, "model", call->model);
    ch_jw_kint(&w, "input", call->input);
    ch_jw_kint(&w, "output", call->output);
    ch_jw_kint(&w, "cache_read", call->cache_read);
    if (call->cost >= 0)
        ch_jw_kdouble(&w, "cost_usd", call->cost);
    ch_jw_end(&w, '}');
    return 0;
}

/* On a worker thread: the limits are those of the last use. */
static int usage_api_add_budget(const struct chela_budget_use *b, void *user) {
    struct usage_report *u = user;
    struct ch_buf *out = &u->lookup->more;
    struct ch_jw w = ch_jw(out);
    if (u->nbudgets == CH_LIMIT_LISTED) {
        u->budgets_truncated = true;
        return 1;
    }
    ch_buf_addc(out, u->nbudgets++ ? ',' : '[');
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "budget", b->name);
    ch_jw_kcstr(&w, "of", b->of);
    ch_jw_kdouble(&w, "cost_usd", b->cost_usd);
    ch_jw_kint(&w, "tokens", b->tokens);
    ch_jw_kdouble(&w, "limit_usd", b->limit_usd);
    ch_jw_kint(&w, "limit_tokens", b->limit_tokens);
    ch_jw_kint(&w, "resets", b->resets);
    ch_jw_end(&w, '}');
    return 0;
}

/* --- sums */

static void write_sum(struct ch_jw *w, const struct ch_usage_sum *s) {
    ch_jw_kint(w, "runs", s->runs);
    ch_jw_kint(w, "failed", s->failed);
    ch_jw_kint(w, "calls", s->calls);
    ch_jw_kint(w, "input", s->input);
    ch_jw_kint(w, "output", s->output);
    ch_jw_kint(w, "cache_read", s->cache_read);
    ch_jw_key(w, "cost_usd");
    ch_jw_double(w, s->priced ? round(s->cost * 1e9) / 1e9 : NAN);
}

static void write_groups(struct ch_jw *w, const struct ch_usage_report *u) {
    ch_jw_kbegin(w, "groups", '[');
    for (size_t i = 0; i < u->n; i++) {
        ch_jw_begin(w, '{');
        ch_jw_kcstr(w, "key", u->groups[i]->key);
        if (*u->groups[i]->bucket)
            ch_jw_kcstr(w, "bucket", u->groups[i]->bucket);
        write_sum(w, &u->groups[i]->sum);
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, ']');
}

static int read_sums_query(struct ch_arena *a, struct ch_sv query, struct ch_usage_query *q,
                           struct chela_error *err) {
    static const char *const groups[] = {"day",    "agent", "model",  "channel",
                                         "prompt", "user",  "reason", NULL};
    static const char *const buckets[] = {"hour", "day", "week", "month", NULL};
    static const char *const names[] = {"by", "bucket", "since", "until", NULL};
    int by = -1, bucket = -1; /* without `by`: one group */

    if (ch_report_known(a, query, names, err) < 0 ||
        ch_report_choice(a, query, "by", groups, &by, err) < 0 ||
        ch_report_choice(a, query, "bucket", buckets, &bucket, err) < 0 ||
        ch_report_time(a, query, "since", &q->since, err) < 0 ||
        ch_report_time(a, query, "until", &q->until, err) < 0)
        return err->code;
    q->by = (enum ch_usage_by)(CH_USAGE_DAY + by);
    q->bucket = (enum ch_usage_bucket)(bucket + 1);
    return 0;
}

static int query_sums(struct ch_store_lookup *l, struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    struct ch_usage_query q = {.until = INT64_MAX};
    struct ch_usage_report u = {0};
    struct ch_jw w = ch_jw(&l->out);
    int rc = read_sums_query(&arena, ch_sv_str(l->key), &q, err);
    if (rc == 0)
        rc = ch_usage_read(l->store, &q, &u, err);
    if (rc == 0) {
        ch_jw_begin(&w, '{');
        write_groups(&w, &u);
        ch_jw_kbegin(&w, "total", '{');
        write_sum(&w, &u.total);
        ch_jw_end(&w, '}');
        ch_jw_end(&w, '}');
    }
    ch_usage_release(&u);
    return rc;
}

static void respond_sums(struct ch_request *req, struct ch_store_lookup *l) {
    ch_request_respond_json(req, 200, &l->out);
}

/* --- the newest calls */

/* The list may be a part of the calls; the sums are of all. */
static int add_total(struct ch_store_lookup *l, struct chela_error *err) {
    struct ch_usage_query all = {.by = CH_USAGE_ALL, .since = l->number, .until = INT64_MAX};
    struct ch_usage_report u = {0};
    struct ch_jw w = ch_jw(&l->out);
    int rc = ch_usage_read(l->store, &all, &u, err);
    ch_buf_add_str(&l->out, ",\"cost_usd\":");
    ch_jw_double(&w, u.total.priced ? round(u.total.cost * 1e6) / 1e6 : NAN);
    ch_buf_add_str(&l->out, ",\"total\":");
    w = ch_jw(&l->out);
    ch_jw_begin(&w, '{');
    write_sum(&w, &u.total);
    ch_jw_end(&w, '}');
    ch_usage_release(&u);
    return rc;
}

static int query_usage(struct ch_store_lookup *l, struct chela_error *err) {
    struct usage_report u = {.lookup = l};
    ch_buf_add_str(&l->out, "{\"calls\":[");
    int rc =
        chela_trace_calls(l->store, l->number, CH_LIMIT_LISTED, usage_api_add_call, &u, err);
    u.truncated |= rc == 0 && ch_store_lookup_exceeds(l);
    ch_buf_addf(&l->out, "],\"truncated\":%s", u.truncated ? "true" : "false");
    if (rc == 0)
        rc = add_total(l, err);
    if (rc == 0)
        rc = chela_store_budgets(l->store, ch_now_ms(&ch_clock_system), usage_api_add_budget, &u,
                                 err);
    if (u.nbudgets)
        ch_buf_addc(&l->more, ']');
    ch_buf_addf(&l->out, ",\"budgets_truncated\":%s", u.budgets_truncated ? "true" : "false");
    return rc;
}

/* On the loop: the limits become those of the configuration. */
static void usage_api_write_budget(const chela_gateway *gw, const struct ch_json *b,
                                   struct ch_jw *w) {
    double usd = ch_json_double(ch_json_get(b, "limit_usd"), 0);
    int64_t tokens = ch_json_int(ch_json_get(b, "limit_tokens"), 0);
    ch_budgets_limits(gw, ch_json_get_str(b, "budget"), &usd, &tokens);
    ch_jw_begin(w, '{');
    for (CH_JSON_MEMBERS(key, value, b)) {
        bool is_usd = ch_sv_is(ch_json_str(key), "limit_usd");
        bool is_tokens = ch_sv_is(ch_json_str(key), "limit_tokens");
        if ((is_usd && usd <= 0) || (is_tokens && tokens <= 0))
            continue;
        ch_jw_key_sv(w, ch_json_str(key));
        if (is_usd)
            ch_jw_double(w, usd);
        else if (is_tokens)
            ch_jw_int(w, tokens);
        else
            ch_jw_value(w, value);
    }
    ch_jw_end(w, '}');
}

static void respond_usage(struct ch_request *req, struct ch_store_lookup *l) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *list = NULL;
    struct ch_jw w = ch_jw(&l->out);
    if (l->more.n)
        ch_json_parse(&arena, ch_buf_sv(&l->more), CH_JSON_REPLACE, &list, NULL, NULL);
    ch_buf_add_str(&l->out, ",\"budgets\":");
    ch_jw_begin(&w, '[');
    for (CH_JSON_EACH(b, list))
        usage_api_write_budget(req->gw, b, &w);
    ch_jw_end(&w, ']');
    ch_buf_addc(&l->out, '}');
    ch_request_respond_json(req, 200, &l->out);
}

void ch_usage_get(struct ch_request *req) {
    int64_t days, now = ch_now_ms(ch_loop_clock(req->gw->rt->loop));
    if (ch_request_query(req, "by").p || ch_request_query(req, "bucket").p) {
        ch_store_lookup_start(req, req->query, 0, query_sums, respond_sums);
        return;
    }
    if (ch_request_query_number(req, "days", 30, 3650, &days))
        ch_store_lookup_start(req, ch_sv(NULL, 0), now - days * 24 * 3600 * 1000, query_usage,
                              respond_usage);
}
