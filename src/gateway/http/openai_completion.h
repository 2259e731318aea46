/* openai_completion.h -- a response in one of OpenAI's protocols, from the request to its
 * end. The struct of each protocol begins with struct ch_completion. */
#ifndef CH_GATEWAY_OPENAI_COMPLETION_H
#define CH_GATEWAY_OPENAI_COMPLETION_H
#include "gateway/lane/client_history.h"
#include "gateway/lane/lane.h"
#include "gateway/request/request.h"

struct ch_completion {
    const struct ch_completion_ops *ops;
    struct ch_request *request;
    struct ch_lane_watcher watcher;
    struct ch_lane_wait wait;
    struct ch_delivery *delivery; /* being stored or delivered; else NULL */
    struct ch_lane *lane; /* NULL: not opened yet, or elsewhere. Owned, unless it is stored */
    const char *session;  /* key of the stored session, in the request's arena; NULL: none */
    struct ch_client_history history;
    char id[40];
    char *agent; /* owned: its id */
    int64_t created;
    bool stream; /* the client asked for a stream */
    bool begun;  /* the stream has begun; set by the protocol */
};

struct ch_completion_ops {
    size_t size;        /* of the protocol's struct */
    const char *prefix; /* of the response's id */
    /* Reads the protocol's own members of the request: history, tools, format. */
    int (*read)(struct ch_completion *r, struct ch_lane_opts *o, struct chela_error *err);
    void (*event)(struct ch_completion *r, const struct chela_event *ev); /* but for RUN_END */
    /* RUN_END: responds. A failed run gets here only if the stream has begun. */
    void (*end)(struct ch_completion *r, const struct chela_event *ev);
    void (*release)(struct ch_completion *r); /* frees the protocol's own members */
};

/* Handles the request. */
void ch_completion_begin(struct ch_request *req, const struct ch_completion_ops *ops);
/* Did the run end in an error, or was it cancelled? */
bool ch_completion_failed(const struct chela_event *end);

#endif
