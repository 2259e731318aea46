/* usage_api.c -- GET /api/usage?days=N: the model calls of the last N days, each with its
 * tokens and duration.
 *
 * The calls are read from the journals of the newest sessions, up to a limit; the member
 * `truncated` is true if there are more. A call that also occurs in a copy of its session is
 * listed once. The cost of the runs is summed up, as far as prices are known. The response also
 * lists today's use of the budgets, up to a limit (`budgets_truncated`). */
#include "gateway/http/usage_api.h"

#include <math.h>

#include "base/limits.h"
#include "chela/trace.h"
#include "gateway/lane/budgets.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"
#include "gateway/request/store_lookup.h"

struct usage_report {
    struct ch_store_lookup *lookup;
    size_t ncalls;
    double cost;
    size_t nbudgets;
    bool truncated, budgets_truncated;
    bool priced; /* the cost of at least one run is known */
};

static int usage_api_add_call(const struct chela_model_call *call, void *user) {
    struct usage_report *u = user;
    struct ch_buf *out = &u->lookup->out;
    struct ch_jw w = ch_jw(out);
    if (!call->model) {
        u->priced = true;
        u->cost += call->cost;
        return 0;
    }
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

static int query_usage(struct ch_store_lookup *l, struct chela_error *err) {
    struct usage_report u = {.lookup = l};
    ch_buf_add_str(&l->out, "{\"calls\":[");
    int rc =
        chela_trace_calls(l->store, l->number, CH_LIMIT_LISTED, usage_api_add_call, &u, err);
    u.truncated |= rc == 0 && ch_store_lookup_exceeds(l);
    ch_buf_addf(&l->out, "],\"truncated\":%s,\"cost_usd\":", u.truncated ? "true" : "false");
    struct ch_jw w = ch_jw(&l->out);
    ch_jw_double(&w, u.priced ? round(u.cost * 1e6) / 1e6 : NAN);
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
    if (ch_request_query_number(req, "days", 30, 3650, &days))
        ch_store_lookup_start(req, ch_sv(NULL, 0), now - days * 24 * 3600 * 1000, query_usage,
                              respond_usage);
}
