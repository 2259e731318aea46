/* activity.h -- the runs of many sessions: how each ended, its model calls, and how long it waited
 * for people. Blocks. */
#ifndef CH_TRACE_ACTIVITY_H
#define CH_TRACE_ACTIVITY_H
#include "chela/store.h"

/* A request that a model answered, or that failed and was charged. */
struct ch_activity_call {
    const char *model; /* as in the configuration: "openai/gpt" */
    int64_t ts;        /* its end, ms since 1970 */
    int64_t n;         /* 1; more: calls of an embedding model */
    int64_t input, output, cache_read;
    double cost; /* US dollars; negative: unknown */
};

struct ch_activity_run {
    const char *session, *agent, *run;
    const char *channel, *user, *prompt; /* "": unknown. channel: "feishu", "api" */
    const char *model;                   /* of the last call; "": none */
    const char *status, *reason, *error; /* "": none */
    int64_t start, end;                  /* ms since 1970 */
    int64_t input, output, cache_read, turns, calls; /* calls: of tools */
    double cost; /* US dollars; negative: unknown */
    unsigned failures;  /* requests to models that failed */
    unsigned waits;     /* times that the run waited for a person */
    int64_t waited_ms;  /* these waits together */
    const struct ch_activity_call *asked; /* its own calls of models, without those of children */
    size_t nasked;
};
/* Texts are borrowed for the call. Nonzero ends the listing. */
typedef int ch_activity_fn(const struct ch_activity_run *run, void *user);

/* List the runs of the newest `sessions` sessions (0: all) that ended since a time. A run that
 * several sessions have, because one is a copy of the other, is listed once. A run that waits or
 * was interrupted is listed with its last state. */
int ch_activity_list(chela_store *store, int64_t since, size_t sessions, ch_activity_fn *fn,
                     void *user, struct chela_error *err);

#endif
