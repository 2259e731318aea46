/* eval_trial.h -- one trial of a case: its workspace, its agent and session, its turns, and the
 * checks of what came out. Loop thread. */
#ifndef CH_EVAL_TRIAL_H
#define CH_EVAL_TRIAL_H
#include "base/buf.h"
#include "chela/eval.h"
#include "eval/eval_case.h"

struct ch_eval_trial_opts { /* borrowed until the end of the trial */
    chela_runtime *rt;
    const struct chela_eval_opts *eval;
    const struct ch_eval_case *c;
    const char *agent, *model; /* NULL: the case's, the agent's own */
    unsigned n;                /* number of the trial, from 1 */
};

struct ch_eval_result {
    bool pass;
    bool invalid; /* the case cannot be run: not the agent's failure, and never a pass */
    bool failed;  /* the model's service failed, also the second time */
    bool unpriced; /* the cost is not known */
    double cost;   /* of the agent and the judges, as far as known */
    const char *agent, *model;
    struct ch_sv json;             /* the trial in a report */
    const struct chela_error *err; /* the evaluation cannot go on; NULL: it can */
};
/* result is borrowed until the function returns; the trial is freed afterwards. */
typedef void ch_eval_trial_fn(const struct ch_eval_result *result, void *user);

/* done is called once, and never inside the call. */
void ch_eval_trial_start(const struct ch_eval_trial_opts *o, ch_eval_trial_fn *done, void *user);

#endif
