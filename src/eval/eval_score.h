/* eval_score.h -- the trials of an evaluation so far, and the report about them. */
#ifndef CH_EVAL_SCORE_H
#define CH_EVAL_SCORE_H
#include "eval/eval_case.h"
#include "eval/eval_stats.h"
#include "json/writer.h"

struct ch_eval_row { /* a case with one variant */
    const struct ch_eval_case *c;
    char *agent, *model; /* owned; NULL: not known yet */
    char **trials;       /* owned, with its texts: JSON; NULL: not ended */
    struct ch_eval_tally tally;
    double cost;
};

/* A judge, and how it agreed with labelled answers. */
struct ch_eval_judge_score {
    struct ch_sv rubric; /* borrowed from the case */
    const char *model;   /* owned; NULL: the agent's */
    const char *label, *of; /* of the check, and the case that it was read in */
    unsigned asked, invalid; /* labelled answers */
    struct ch_eval_agreement agreement;
};

struct ch_eval_score {
    struct ch_eval_row *rows; /* owned */
    size_t nrows, trials;     /* trials: wanted of each row */
    unsigned ended, passed, reused, invalid, failed;
    double cost;
    bool unpriced, complete, over_budget;
    struct ch_eval_judge_score *judges; /* owned */
    size_t njudges, judges_cap;
    int64_t seed;
    const char *against; /* comparison with an earlier report, as JSON; NULL: none */
};

void ch_eval_score_release(struct ch_eval_score *s);
/* The report, for the caller to free. NULL, and err: the report is too large. */
char *ch_eval_score_report(const struct ch_eval_score *s, struct chela_error *err);

#endif
