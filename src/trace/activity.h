/* activity.h -- the runs of the newest sessions: how each ended, and how long it waited for
 * people. Blocks. */
#ifndef CH_TRACE_ACTIVITY_H
#define CH_TRACE_ACTIVITY_H
#include "chela/store.h"

struct ch_activity_run {
    const char *session, *agent, *run;
    const char *status, *reason, *error; /* "": none */
    int64_t start, end;                  /* ms since 1970 */
    int64_t input, output, turns, calls;
    double cost; /* US dollars; negative: unknown */
    unsigned failures;  /* requests to models that failed */
    unsigned waits;     /* times that the run waited for a person */
    int64_t waited_ms;  /* these waits together */
};
/* Texts are borrowed for the call. Nonzero ends the listing. */
typedef int ch_activity_fn(const struct ch_activity_run *run, void *user);

/* List the runs of the newest `sessions` sessions (0: all) that ended since a time. A run that
 * several sessions have, because one is a copy of the other, is listed once. A run that waits or
 * was interrupted is listed with its last state. */
int ch_activity_list(chela_store *store, int64_t since, size_t sessions, ch_activity_fn *fn,
                     void *user, struct chela_error *err);

#endif
