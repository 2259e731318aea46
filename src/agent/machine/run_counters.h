/* run_counters.h -- what a run was asked for, and what went wrong on its way.
 *
 * Stored with the machine in every STATE, so it is short: the first line of
 * what it was asked, and the newest errors of tools and models. */
#ifndef CH_AGENT_RUN_COUNTERS_H
#define CH_AGENT_RUN_COUNTERS_H
#include "base/limits.h"
#include "base/sv.h"
#include "json/json.h"
#include "json/writer.h"
#include "model/message/message.h"

struct ch_run_failure { /* texts are owned */
    unsigned turn;
    char *of; /* the tool, or the model */
    char *cls; /* "timeout", "rate_limit" */
    char *text;
};

struct ch_run_counters {
    char *goal; /* owned; NULL: none is known */
    struct ch_run_failure errors[CH_LIMIT_ERROR_LOG];
    size_t n; /* that there were; the newest are kept */
};

void ch_run_counters_goal(struct ch_run_counters *c, const struct ch_msg *asked);
/* text: plain, or the result of a tool that failed. */
void ch_run_counters_failed(struct ch_run_counters *c, unsigned turn, struct ch_sv of,
                            const char *cls, struct ch_sv text);
/* "goal" and "error_log" of the object that is being written or was read. */
void ch_run_counters_write(const struct ch_run_counters *c, struct ch_jw *w);
struct ch_run_counters ch_run_counters_read(const struct ch_json *v);
void ch_run_counters_release(struct ch_run_counters *c);

#endif
