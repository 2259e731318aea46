/* completion.h -- a response in the protocol of a model service, from the request to its
 * end. The struct of each protocol begins with struct ch_completion. */
#ifndef CH_GATEWAY_COMPLETION_H
#define CH_GATEWAY_COMPLETION_H
#include "gateway/http/client_tools.h"
#include "gateway/http/contract.h"
#include "gateway/http/kept_calls.h"
#include "gateway/lane/client_history.h"
#include "gateway/lane/lane.h"
#include "gateway/lane/sealed_reasoning.h"
#include "gateway/request/request.h"

struct ch_completion {
    const struct ch_completion_ops *ops;
    struct ch_request *request;
    struct ch_lane_watcher watcher;
    struct ch_lane_wait wait;
    struct ch_budget_wait budget;
    struct ch_delivery *delivery; /* being stored or delivered; else NULL */
    struct ch_lane *lane; /* NULL: not opened yet, or elsewhere. Owned, unless it is stored */
    struct ch_lane_opts opts; /* options of the lane; their memory belongs to the request and
                               * this struct */
    const char *session;  /* key of the stored session, in the request's arena; NULL: none */
    struct ch_client_history history;
    struct ch_client_tools tools;
    struct ch_kept_scope kept; /* of a request without a session */
    size_t began;              /* messages before those of its run */
    struct ch_sv dropped; /* what the protocol's reader did not honour, comma separated */
    char id[40];
    char *agent; /* owned: its id */
    int64_t created;
    unsigned turn; /* number of the run's turn in this response, from 1 */
    size_t nreasoning; /* blocks of reasoning of this turn that were reported as complete */
    enum chela_stop stop; /* of the last turn that has ended */
    const struct chela_event *outcome; /* in ops->end: RUN_END as the session has it */
    bool acted;  /* a tool was started */
    bool stream; /* the client asked for a stream */
    bool begun;  /* the stream has begun; set by the protocol */
    bool background; /* ops->accepted responds; the run goes on when the client leaves */
    bool imports;    /* the stored session is new, and gets the history before the lane opens */
};

/* How a failed run is reported. */
struct ch_completion_failure {
    int status;       /* of HTTP */
    const char *code; /* "rate_limit_exceeded" */
    long retry_after_ms; /* 0: unknown */
};

struct ch_completion_ops {
    size_t size;        /* size of the protocol's struct */
    const char *prefix; /* prefix of the response's id */
    const char *api;    /* name of the codec that has the same protocol */
    const struct ch_contract_row *contract; /* the members of a request */
    int overloaded;     /* the protocol's HTTP status for a service that is overloaded */
    /* Reads the protocol's own members of the request: settings, tools, history. */
    int (*read)(struct ch_completion *r, struct ch_lane_opts *o, struct chela_error *err);
    /* All but RUN_END; of a structured answer, all but its text, which comes with RUN_END. */
    void (*event)(struct ch_completion *r, const struct chela_event *ev);
    /* A block of reasoning is complete; its text was reported by events before. May be
     * NULL. */
    void (*reasoned)(struct ch_completion *r, const struct ch_block *b);
    /* RUN_END: responds. A failed run gets here only if the stream has begun, or as one that ended
     * with LENGTH: the limit cut an answer in a schema. */
    void (*end)(struct ch_completion *r, const struct chela_event *ev);
    /* Of a background response. admit: the event is about to be stored; records of its run have
     * higher numbers than `after`; may add members to the event and give it another kind. accepted:
     * the store has the event; responds. started: the run has begun here. */
    int (*admit)(struct ch_completion *r, const char *event, uint64_t after,
                 const struct ch_delivery_kind **kind, struct ch_jw *w, struct chela_error *err);
    void (*accepted)(struct ch_completion *r, bool started);
    void (*release)(struct ch_completion *r); /* frees the protocol's own members */
};

/* Handles the request. */
void ch_completion_begin(struct ch_request *req, const struct ch_completion_ops *ops);
/* The run, if this process has it; NULL: there is none, or another gateway has the session. */
const chela_run *ch_completion_run(const struct ch_completion *r);
/* Did the client ask for an answer in a schema? Its parser takes the answer alone: no text of
 * earlier turns, beside calls, or of an answer that did not match. */
static inline bool ch_completion_structured(const struct ch_completion *r) {
    return r->opts.patch.output_schema != NULL;
}
/* RUN_END as the protocol reports it; stop: of the last turn that has ended. */
struct chela_event ch_completion_end_of(const struct chela_event *ev, enum chela_stop stop);
/* Did the run end in an error, or was it cancelled? */
bool ch_completion_failed(const struct chela_event *end);
/* The status for a failed run. Errors that the client can act upon, a rate limit or a request
 * that the model service rejects, keep their status; others are 502. */
struct ch_completion_failure ch_completion_failure_of(const struct ch_completion *r,
                                                      const struct chela_event *end);
/* The text of the error: the sentence of ending.h. The service's own words are in the log. */
const char *ch_completion_message(const struct ch_completion *r, const struct chela_event *end);
/* True if the client can post the block's own signature or encrypted form back without its
 * author: the reader attributes it to the right model. Otherwise the block must be sealed. */
bool ch_completion_plain(const struct ch_completion *r, const struct ch_block *b);
/* Appends the sealed form of a block of reasoning of this turn. */
void ch_completion_seal(const struct ch_completion *r, const struct ch_block *b,
                        struct ch_buf *out);

#endif
