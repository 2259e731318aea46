/* usage.h -- sums of runs and of model calls, in groups. Blocks.
 *
 * Sums are made while the records are read: there is no limit on the number of runs. A run counts
 * at the time at which it began, a call of a model at its end. A group by model has the runs that
 * called the model. Costs are those of calls, as far as they are known. Times are UTC. */
#ifndef CH_TRACE_USAGE_H
#define CH_TRACE_USAGE_H
#include "base/key_table.h"
#include "chela/store.h"
#include "trace/activity.h"

enum ch_usage_by {
    CH_USAGE_ALL, /* one group */
    CH_USAGE_DAY,
    CH_USAGE_AGENT,
    CH_USAGE_MODEL,
    CH_USAGE_CHANNEL,
    CH_USAGE_PROMPT,
    CH_USAGE_USER,
    CH_USAGE_REASON
};
enum ch_usage_bucket {
    CH_USAGE_WHOLE, /* no buckets */
    CH_USAGE_HOURS,
    CH_USAGE_DAYS,
    CH_USAGE_WEEKS, /* from Monday */
    CH_USAGE_MONTHS
};

struct ch_usage_sum {
    int64_t runs, failed, calls, input, output, cache_read;
    double cost;
    bool priced; /* the cost of at least one call is known */
};

struct ch_usage_group {
    struct ch_keyed entry;   /* its key: bucket, line feed, key; owned */
    const char *key;         /* in the entry's key */
    char bucket[24];         /* "2026-11-19", "2026-11", "2026-11-19T20:00"; "": no buckets */
    struct ch_usage_sum sum;
    uint64_t last; /* the last run that was counted here */
};

struct ch_usage_query {
    enum ch_usage_by by;
    enum ch_usage_bucket bucket;
    int64_t since, until; /* ms since 1970; since <= time < until */
};

struct ch_usage_report {
    struct ch_usage_query query;
    struct ch_key_table table;
    struct ch_usage_group **groups; /* owned; in the order of bucket and key */
    size_t n, cap;
    struct ch_usage_sum total;
    uint64_t runs; /* counted so far */
    bool over;     /* too many groups */
};

/* CHELA_ELIMIT: more than CH_LIMIT_USAGE_GROUPS groups. */
int ch_usage_read(chela_store *store, const struct ch_usage_query *query,
                  struct ch_usage_report *out, struct chela_error *err);
void ch_usage_release(struct ch_usage_report *u);

#endif
