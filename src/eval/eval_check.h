/* eval_check.h -- compares the outcome of a trial with the checks of its case. Pure, except that
 * files are read through a function. Judges and programs are asked elsewhere (eval_judge.h,
 * eval_trial.c). */
#ifndef CH_EVAL_CHECK_H
#define CH_EVAL_CHECK_H
#include "eval/eval_case.h"

struct ch_eval_call {
    struct ch_sv name, arguments; /* JSON */
    struct ch_sv result;
    bool is_error, ended;
    const char *error_type; /* NULL: none */
};

struct ch_eval_outcome {
    struct ch_sv text; /* the last answer */
    const char *status, *reason;
    struct ch_sv error; /* of the run; empty: none */
    const struct ch_eval_call *calls;
    size_t ncalls;
    unsigned turns;
    int64_t tokens;
    double cost; /* negative: unknown */
    double seconds;
    /* Appends a file of the workspace. CHELA_ENOENT: there is none. */
    int (*file)(const char *path, struct ch_buf *out, struct chela_error *err, void *user);
    void *user;
};

/* Whether this file decides about a check. */
bool ch_eval_check_is_pure(const struct ch_eval_check *k);
/* Whether the check holds. If it does not, *why gets the reason: what was expected, what came. */
bool ch_eval_check(const struct ch_eval_check *k, const struct ch_eval_outcome *o,
                   struct ch_buf *why);
/* Without a check about the status: a run that failed, stopped or waits passes nothing. */
bool ch_eval_check_ended(const struct ch_eval_outcome *o, struct ch_buf *why);

#endif
