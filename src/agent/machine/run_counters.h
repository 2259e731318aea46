/* run_counters.h -- the goal of a run, and its newest errors.
 *
 * Both are stored in every STATE record, so they are short: the first line of the request,
 * and the newest errors of tools and models. */
#ifndef CH_AGENT_RUN_COUNTERS_H
#define CH_AGENT_RUN_COUNTERS_H
#include "base/limits.h"
#include "base/sv.h"
#include "json/json.h"
#include "json/writer.h"
#include "model/message/message.h"

struct ch_run_failure { /* texts are owned */
    unsigned turn;
    char *of; /* name of the tool or the model */
    char *cls; /* class of the error, such as "timeout" */
    char *text;
};

struct ch_run_counters {
    char *goal; /* owned; NULL: unknown */
    struct ch_run_failure *errors; /* owned, CH_LIMIT_ERROR_LOG of them; NULL: no error yet */
    size_t n; /* number of errors so far; only the newest are kept */
};

void ch_run_counters_goal(struct ch_run_counters *c, const struct ch_msg *asked);
/* Adds an error. text: plain text, or the result of a failed tool. */
void ch_run_counters_failed(struct ch_run_counters *c, unsigned turn, struct ch_sv of,
                            const char *cls, struct ch_sv text);
/* Writes and reads the members "goal" and "error_log" of a STATE record. */
void ch_run_counters_write(const struct ch_run_counters *c, struct ch_jw *w);
struct ch_run_counters ch_run_counters_read(const struct ch_json *v);
void ch_run_counters_release(struct ch_run_counters *c);

#endif
