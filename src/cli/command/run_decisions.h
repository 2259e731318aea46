/* run_decisions.h -- decisions about the waiting calls of a run, by the flags --allow,
 * --refuse, --edit and --answer. */
#ifndef CH_CLI_RUN_DECISIONS_H
#define CH_CLI_RUN_DECISIONS_H
#include "chela.h"
#include "cli/setup/args.h"

struct ch_run_decisions {
    struct ch_texts allow, refuse; /* "ID" or "all" */
    struct ch_texts edit, answer;  /* "ID=JSON", "ID=TEXT" */
};

/* CHELA_EINVAL: a decision is malformed, or the session does not wait for it. */
int ch_run_decisions_check(const struct ch_run_decisions *d, chela_store *store, const char *key,
                           struct chela_error *err);
/* Passes the answers to calls that the host carries out to the session. */
int ch_run_decisions_answer(const struct ch_run_decisions *d, chela_session *session,
                            struct chela_error *err);
/* Sets the decision about an approval. False: the flags do not name it. */
bool ch_run_decisions_apply(const struct ch_run_decisions *d, struct chela_approval *a);

#endif
