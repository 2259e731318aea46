/* runs_api.c -- see runs_api.h.
 *
 * All runs are read, and the runs of one page are kept: the memory does not depend on how many
 * there are. A page begins behind the place that `cursor` names: the value by which the list is
 * sorted, the time and the id of the last run of the page before. */
#include "gateway/http/runs_api.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/redact.h"
#include "gateway/http/report_query.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"
#include "gateway/request/store_lookup.h"

enum { BY_TS, BY_COST, BY_TOKENS, BY_MS };

struct runs_place { /* in the list, which is sorted downward */
    double value;
    int64_t ts;
    char *run; /* owned, or in the arena */
};
struct runs_row {
    struct runs_place place;
    struct ch_buf json;
};
struct runs_page {
    const char *agent, *model, *channel, *user, *reason, *status; /* NULL: any */
    int64_t since, until;
    double min_cost; /* negative: any */
    int sort;
    size_t limit;
    struct runs_place after; /* run NULL: the first page */
    struct runs_row *rows;   /* owned: 2 * limit */
    size_t n;
    int64_t total;
    bool more;
};

void ch_runs_write(struct ch_jw *w, const struct ch_activity_run *r) {
    CH_BUF_AUTO safe = {0};
    ch_jw_kcstr(w, "session", r->session);
    ch_jw_kcstr(w, "run", r->run);
    ch_jw_kcstr(w, "agent", r->agent);
    ch_jw_kcstr(w, "model", r->model);
    ch_jw_kcstr(w, "channel", r->channel);
    ch_jw_kcstr(w, "user", r->user);
    ch_jw_kcstr(w, "prompt", r->prompt);
    ch_jw_kcstr(w, "status", r->status);
    ch_jw_kcstr(w, "reason", r->reason);
    if (*r->error) {
        ch_redact_copy(&safe, ch_sv_str(r->error));
        ch_jw_kstr(w, "error", ch_buf_sv(&safe));
    }
    ch_jw_kint(w, "ts", r->start);
    ch_jw_kint(w, "ms", r->end - r->start);
    ch_jw_kint(w, "turns", r->turns);
    ch_jw_kint(w, "tool_calls", r->calls);
    ch_jw_kint(w, "input", r->input);
    ch_jw_kint(w, "output", r->output);
    ch_jw_kint(w, "cache_read", r->cache_read);
    ch_jw_key(w, "cost_usd");
    ch_jw_double(w, r->cost >= 0 ? r->cost : NAN);
    ch_jw_kint(w, "failures", r->failures);
    ch_jw_kint(w, "waits", r->waits);
    ch_jw_kint(w, "waited_ms", r->waited_ms);
}

/* --- which runs */

/* "gpt" names "openai/gpt", too. */
static bool is_model(const char *model, const char *wanted) {
    const char *slash = strchr(model, '/');
    return strcmp(model, wanted) == 0 || (slash && strcmp(slash + 1, wanted) == 0);
}

static bool is(const char *value, const char *wanted) {
    return !wanted || strcmp(value, wanted) == 0;
}

static bool runs_match(const struct runs_page *p, const struct ch_activity_run *r) {
    return is(r->agent, p->agent) && is(r->channel, p->channel) && is(r->user, p->user) &&
           is(r->reason, p->reason) && is(r->status, p->status) &&
           (!p->model || is_model(r->model, p->model)) && r->start >= p->since &&
           r->start < p->until && (p->min_cost < 0 || r->cost >= p->min_cost);
}

static double runs_value(const struct runs_page *p, const struct ch_activity_run *r) {
    switch (p->sort) {
    case BY_COST:
        return r->cost;
    case BY_TOKENS:
        return (double)(r->input + r->output);
    case BY_MS:
        return (double)(r->end - r->start);
    }
    return (double)r->start;
}

/* Negative: a is before b. */
static int compare_places(const struct runs_place *a, const struct runs_place *b) {
    if (a->value != b->value)
        return a->value > b->value ? -1 : 1;
    if (a->ts != b->ts)
        return a->ts > b->ts ? -1 : 1;
    return strcmp(a->run, b->run);
}

static int compare_rows(const void *a, const void *b) {
    return compare_places(&((const struct runs_row *)a)->place,
                          &((const struct runs_row *)b)->place);
}

/* Keeps the first rows, one page. */
static void runs_cut(struct runs_page *p) {
    if (p->n)
        qsort(p->rows, p->n, sizeof(*p->rows), compare_rows);
    for (; p->n > p->limit; p->more = true) {
        struct runs_row *last = &p->rows[--p->n];
        ch_free(last->place.run);
        ch_buf_release(&last->json);
    }
}

static int runs_on_run(const struct ch_activity_run *r, void *user) {
    struct runs_page *p = user;
    struct runs_place at = {runs_value(p, r), r->start, (char *)r->run};
    if (!runs_match(p, r))
        return 0;
    p->total++;
    if (p->after.run && compare_places(&at, &p->after) <= 0)
        return 0;
    if (p->n == 2 * p->limit)
        runs_cut(p);
    struct runs_row *row = &p->rows[p->n++];
    *row = (struct runs_row){.place = {at.value, at.ts, ch_strdup(r->run)}};
    struct ch_jw w = ch_jw(&row->json);
    ch_jw_begin(&w, '{');
    ch_runs_write(&w, r);
    ch_jw_end(&w, '}');
    return 0;
}

/* --- the request */

static int read_cursor(struct runs_page *p, const char *text, struct chela_error *err) {
    char *end, *next;
    if (!text || !*text)
        return 0;
    p->after.value = strtod(text, &end);
    if (*end == '~') {
        p->after.ts = strtoll(end + 1, &next, 10);
        if (next > end + 1 && *next == '~' && next[1])
            p->after.run = next + 1;
    }
    return p->after.run ? 0 : ch_fail(err, CHELA_EINVAL, "`cursor` is not the `next` of an answer");
}

static int read_page(struct runs_page *p, struct ch_arena *a, struct ch_sv query,
                     struct chela_error *err) {
    static const char *const sorts[] = {"ts", "cost", "tokens", "ms", NULL};
    static const char *const names[] = {"agent", "model", "channel",  "user", "reason", "status",
                                        "since", "until", "min_cost", "sort", "limit",  "cursor",
                                        NULL};
    double limit = 100;
    p->agent = ch_report_text(a, query, "agent");
    p->model = ch_report_text(a, query, "model");
    p->channel = ch_report_text(a, query, "channel");
    p->user = ch_report_text(a, query, "user");
    p->reason = ch_report_text(a, query, "reason");
    p->status = ch_report_text(a, query, "status");
    if (ch_report_known(a, query, names, err) < 0 ||
        ch_report_time(a, query, "since", &p->since, err) < 0 ||
        ch_report_time(a, query, "until", &p->until, err) < 0 ||
        ch_report_number(a, query, "min_cost", &p->min_cost, err) < 0 ||
        ch_report_number(a, query, "limit", &limit, err) < 0 ||
        ch_report_choice(a, query, "sort", sorts, &p->sort, err) < 0)
        return err->code;
    p->limit = (size_t)CH_MIN(CH_MAX(limit, 1), (double)CH_LIMIT_LISTED);
    return read_cursor(p, ch_report_text(a, query, "cursor"), err);
}

static void write_page(const struct runs_page *p, struct ch_buf *out) {
    ch_buf_add_str(out, "{\"runs\":[");
    for (size_t i = 0; i < p->n; i++) {
        if (i)
            ch_buf_addc(out, ',');
        ch_buf_add_sv(out, ch_buf_sv(&p->rows[i].json));
    }
    ch_buf_addf(out, "],\"total\":%lld,\"next\":", (long long)p->total);
    if (!p->more) {
        ch_buf_add_str(out, "null}");
        return;
    }
    CH_BUF_AUTO next = {0};
    const struct runs_place *last = &p->rows[p->n - 1].place;
    ch_buf_addf(&next, "%.17g~%lld~%s", last->value, (long long)last->ts, last->run);
    struct ch_jw w = ch_jw(out);
    ch_jw_str(&w, ch_buf_sv(&next));
    ch_buf_addc(out, '}');
}

static int query_runs(struct ch_store_lookup *l, struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    struct runs_page p = {.until = INT64_MAX, .min_cost = -1};
    int rc = read_page(&p, &arena, ch_sv_str(l->key), err);
    if (rc < 0)
        return rc;
    p.rows = ch_alloc(2 * p.limit * sizeof(*p.rows));
    rc = ch_activity_list(l->store, p.since, 0, runs_on_run, &p, err);
    runs_cut(&p);
    if (rc == 0)
        write_page(&p, &l->out);
    for (size_t i = 0; i < p.n; i++) {
        ch_free(p.rows[i].place.run);
        ch_buf_release(&p.rows[i].json);
    }
    ch_free(p.rows);
    return rc;
}

static void respond_runs(struct ch_request *req, struct ch_store_lookup *l) {
    ch_request_respond_json(req, 200, &l->out);
}

void ch_runs_get(struct ch_request *req) {
    ch_store_lookup_start(req, req->query.p ? req->query : CH_SV(""), 0, query_runs,
                          respond_runs);
}
