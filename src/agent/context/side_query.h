/* side_query.h -- one model call outside of the conversation: no tools, no history. A refused
 * request is repaired as in a turn (repair.h); there is no other retry. */
#ifndef CH_AGENT_SIDE_QUERY_H
#define CH_AGENT_SIDE_QUERY_H
#include "agent/handle/run.h"

struct ch_side_query;

struct ch_side_query_opts {
    chela_run *run;           /* the request is stored in the journal of this run; timeouts are
                               * those of its agent */
    const char *role;         /* who asks, for the journal; static */
    struct ch_target *target; /* borrowed */
    struct ch_sv system;
    struct ch_msg *const *msgs; /* the messages pass to the query, also if it does not start */
    size_t n;
    int64_t max_output_tokens; /* 0: the model's own limit */
    const struct ch_model_request *req; /* the whole request to the target instead of system, msgs
                                         * and the limit; borrowed for the call; NULL: none */
    /* Called once, later. text: the reply, may be empty. failed: the error, or "". Both are
     * borrowed. The query is freed afterwards. */
    void (*done)(struct ch_sv text, const char *failed, const struct ch_usage *usage, void *user);
    void *user;
};

/* Starts a model call beside the turns of a run. On failure `done` is not called. */
int ch_side_query_start(const struct ch_side_query_opts *opts, struct ch_side_query **out,
                        struct chela_error *err);
/* The reply; only inside `done`. */
struct ch_reply *ch_side_query_reply(struct ch_side_query *a);
/* Cancels: no callback follows. NULL is a no-op. Must not be called inside `done`. */
void ch_side_query_cancel(struct ch_side_query *a);

#endif
