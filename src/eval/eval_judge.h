/* eval_judge.h -- asks a model whether an answer meets a criterion.
 *
 * The answer is data: the judge gets it between marks that its author cannot know. A verdict needs
 * a quote that occurs in the answer; a verdict without it, or a reply of another form, is asked for
 * once more and then counts as invalid. An invalid verdict is never a pass. */
#ifndef CH_EVAL_JUDGE_H
#define CH_EVAL_JUDGE_H
#include "base/sv.h"
#include "chela/session.h"
#include "json/json.h"

struct ch_eval_question {
    struct ch_sv rubric, task, answer, reference; /* reference empty: none */
    const char *model;                            /* "provider/model" */
};

struct ch_eval_verdict {
    bool valid, pass;
    const char *reason; /* of the judge; if not valid: why not */
    struct ch_sv evidence;
    double cost; /* negative: unknown */
    unsigned asked;
};
/* verdict is borrowed until the function returns. */
typedef void ch_eval_judge_fn(const struct ch_eval_verdict *verdict, void *user);

/* Reads a check: the rubric, or an object with its members. */
struct ch_eval_question ch_eval_judge_question(const struct ch_json *check);

/* Asks; done is called once, never inside the call. like: service of the model and further options
 * (may be NULL). The texts are copied. CHELA_E*: the judge cannot be asked, and done is not
 * called. */
int ch_eval_judge(chela_runtime *rt, const struct chela_agent_opts *like,
                  const struct ch_eval_question *q, ch_eval_judge_fn *done, void *user,
                  struct chela_error *err);

/* Reads a reply: whether it is a verdict whose evidence occurs in the answer. The texts of *out
 * point into the arena. Pure. */
void ch_eval_judge_read(struct ch_sv reply, struct ch_sv answer, struct ch_arena *arena,
                        struct ch_eval_verdict *out);

#endif
