/* usage.c -- see usage.h. */
#include "trace/usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/calendar.h"
#include "base/error.h"
#include "base/grow.h"
#include "base/limits.h"

#define DAY_S 86400

static bool usage_in_time(const struct ch_usage_report *u, int64_t ts) {
    return ts >= u->query.since && ts < u->query.until;
}

static int64_t floor_to(int64_t seconds, int64_t step) {
    return seconds - (seconds % step + step) % step;
}

static void write_day(struct ch_buf *out, const struct ch_date *d, const char *more) {
    ch_buf_addf(out, "%04d-%02d-%02d%s", d->year, d->month, d->day, more);
}

/* The beginning of the bucket that a time is in. */
static void write_bucket(struct ch_buf *out, enum ch_usage_bucket bucket, int64_t ts) {
    int64_t seconds = floor_to(ts, 1000) / 1000, day = floor_to(seconds, DAY_S);
    struct ch_date d = ch_date_of(day);
    char hour[8];

    switch (bucket) {
    case CH_USAGE_WHOLE:
        return;
    case CH_USAGE_HOURS:
        snprintf(hour, sizeof(hour), "T%02d:00", ch_date_of(seconds).hour);
        write_day(out, &d, hour);
        return;
    case CH_USAGE_DAYS:
        write_day(out, &d, "");
        return;
    case CH_USAGE_WEEKS:
        d = ch_date_of(day - (d.weekday + 6) % 7 * DAY_S);
        write_day(out, &d, "");
        return;
    case CH_USAGE_MONTHS:
        ch_buf_addf(out, "%04d-%02d", d.year, d.month);
    }
}

static void write_key(struct ch_buf *out, const struct ch_usage_report *u,
                      const struct ch_activity_run *run, const char *model, int64_t ts) {
    switch (u->query.by) {
    case CH_USAGE_ALL:
        return;
    case CH_USAGE_DAY:
        write_bucket(out, CH_USAGE_DAYS, ts);
        return;
    case CH_USAGE_AGENT:
        ch_buf_add_str(out, run->agent);
        return;
    case CH_USAGE_MODEL:
        ch_buf_add_str(out, model);
        return;
    case CH_USAGE_CHANNEL:
        ch_buf_add_str(out, run->channel);
        return;
    case CH_USAGE_PROMPT:
        ch_buf_add_str(out, run->prompt);
        return;
    case CH_USAGE_USER:
        ch_buf_add_str(out, run->user);
        return;
    case CH_USAGE_REASON:
        ch_buf_add_str(out, run->reason);
    }
}

/* The group of a run or call at a time; NULL: there are too many groups. */
static struct ch_usage_group *usage_group(struct ch_usage_report *u,
                                          const struct ch_activity_run *run, const char *model,
                                          int64_t ts) {
    CH_BUF_AUTO name = {0};
    write_bucket(&name, u->query.bucket, ts);
    size_t bucket = name.n;
    ch_buf_addc(&name, '\n');
    write_key(&name, u, run, model, ts);
    struct ch_keyed *e = ch_key_table_find(&u->table, ch_buf_sv(&name));
    if (e)
        return CH_CONTAINER(e, struct ch_usage_group, entry);
    u->over |= u->n == CH_LIMIT_USAGE_GROUPS;
    if (u->over)
        return NULL;
    struct ch_usage_group *g = ch_alloc(sizeof(*g));
    char *owned = ch_buf_take(&name);
    memcpy(g->bucket, owned, CH_MIN(bucket, sizeof(g->bucket) - 1));
    g->key = owned + bucket + 1;
    CH_GROW(u->groups, u->n, u->cap, 16);
    u->groups[u->n++] = g;
    ch_key_table_add(&u->table, &g->entry, owned);
    return g;
}

static void count_run(struct ch_usage_report *u, struct ch_usage_group *g,
                      const struct ch_activity_run *run) {
    if (!g || g->last == u->runs)
        return;
    g->last = u->runs;
    g->sum.runs++;
    g->sum.failed += strcmp(run->status, "error") == 0 || strcmp(run->status, "stopped") == 0;
}

static void count_call(struct ch_usage_sum *s, const struct ch_activity_call *c) {
    s->calls += c->n;
    s->input += c->input;
    s->output += c->output;
    s->cache_read += c->cache_read;
    s->priced |= c->cost >= 0;
    s->cost += CH_MAX(c->cost, 0);
}

static int usage_on_run(const struct ch_activity_run *run, void *user) {
    struct ch_usage_report *u = user;
    bool by_model = u->query.by == CH_USAGE_MODEL, counted = usage_in_time(u, run->start);

    u->runs++; /* numbers the runs: see count_run */
    if (counted && !by_model)
        count_run(u, usage_group(u, run, "", run->start), run);
    u->total.runs += counted;
    u->total.failed +=
        counted && (strcmp(run->status, "error") == 0 || strcmp(run->status, "stopped") == 0);
    for (size_t i = 0; i < run->nasked; i++) {
        const struct ch_activity_call *c = &run->asked[i];
        if (counted && by_model)
            count_run(u, usage_group(u, run, c->model, run->start), run);
        struct ch_usage_group *g =
            usage_in_time(u, c->ts) ? usage_group(u, run, c->model, c->ts) : NULL;
        if (!g)
            continue;
        count_call(&g->sum, c);
        count_call(&u->total, c);
    }
    return u->over;
}

static int by_place(const void *a, const void *b) {
    const struct ch_usage_group *x = *(struct ch_usage_group *const *)a;
    const struct ch_usage_group *y = *(struct ch_usage_group *const *)b;
    int order = strcmp(x->bucket, y->bucket);

    return order ? order : strcmp(x->key, y->key);
}

int ch_usage_read(chela_store *store, const struct ch_usage_query *query,
                  struct ch_usage_report *out, struct chela_error *err) {
    *out = (struct ch_usage_report){.query = *query};
    int rc = ch_activity_list(store, query->since, 0, usage_on_run, out, err);

    if (rc == 0 && out->over)
        rc = ch_fail(err, CHELA_ELIMIT, "more than %d groups: ask for a shorter time or for larger "
                     "buckets", CH_LIMIT_USAGE_GROUPS);
    if (out->n)
        qsort(out->groups, out->n, sizeof(struct ch_usage_group *), by_place);
    return rc;
}

void ch_usage_release(struct ch_usage_report *u) {
    for (size_t i = 0; i < u->n; i++) {
        char *name = (char *)u->groups[i]->entry.key;
        ch_key_table_del(&u->table, &u->groups[i]->entry);
        ch_free(name);
        ch_free(u->groups[i]);
    }
    ch_key_table_release(&u->table);
    ch_free(u->groups);
    *u = (struct ch_usage_report){0};
}
