/* side_query.h -- a question to a model beside the conversation: no tools, no
 * history, no second try. What comes of it is the asker's to judge. */
#ifndef CH_AGENT_SIDE_QUERY_H
#define CH_AGENT_SIDE_QUERY_H
#include "agent/handle/agent.h"

struct ch_side_query;

struct ch_side_query_opts {
    chela_agent *agent;       /* its timeouts hold */
    struct ch_target *target; /* borrowed */
    struct ch_sv system;
    const struct ch_msg *const *msgs; /* borrowed for the call */
    size_t n;
    int64_t max_output_tokens; /* 0: the model's own limit */
    /* Once, never from inside the call. text is empty if there is none; failed
     * says why, "" otherwise. Both are borrowed, and what asked is gone after. */
    void (*done)(struct ch_sv text, const char *failed, const struct ch_usage *usage, void *user);
    void *user;
};

int ch_side_query_start(const struct ch_side_query_opts *opts, struct ch_side_query **out,
                        struct chela_error *err);
/* No callback after this; NULL is a no-op. Not from inside `done`. */
void ch_side_query_cancel(struct ch_side_query *a);

#endif
