/* eval_stub.h -- answers the calls of an agent in place of its tools, so that a trial has no effect
 * outside of its own workspace.
 *
 * A tool that the case does not name is kept if a call only reads, or changes nothing but the
 * workspace of the trial; every other tool is simulated. The model sees the same names,
 * descriptions and schemas. */
#ifndef CH_EVAL_STUB_H
#define CH_EVAL_STUB_H
#include "chela/session.h"
#include "eval/eval_case.h"

struct ch_eval_stubs;

/* What happened to the calls of a trial. */
struct ch_eval_stub_counts {
    unsigned simulated; /* calls of tools that the case does not name */
    unsigned unrecorded; /* calls whose arguments the case has no recorded result for */
};

/* Replaces tools of the agents, which ends with NULL. *out is owned by the caller. CHELA_ENOENT:
 * the case names a tool that the first agent lacks. */
int ch_eval_stubs_new(const struct ch_eval_case *c, chela_agent *const *agents,
                      struct ch_eval_stubs **out, struct chela_error *err);
/* After the agents were closed and their calls have ended. */
void ch_eval_stubs_free(struct ch_eval_stubs *s);
struct ch_eval_stub_counts ch_eval_stubs_counts(const struct ch_eval_stubs *s);

#endif
