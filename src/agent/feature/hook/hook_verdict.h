/* hook_verdict.h -- what the program of a hook says.
 *
 * The program says it by its exit code and its output, in the form of Claude Code's hooks: 0 goes
 * on, 2 blocks with the text of stderr, and a JSON object on stdout says more. Several programs of
 * one event have one verdict: the first that blocks wins, texts for the model are joined. */
#ifndef CH_AGENT_HOOK_VERDICT_H
#define CH_AGENT_HOOK_VERDICT_H
#include "agent/feature/hook/hook_list.h"

struct ch_hook_verdict { /* zeroed: go on */
    bool block;
    bool stop;             /* the run ends */
    struct ch_buf reason;  /* why it blocks, or why the run ends */
    struct ch_buf context; /* for the model */
    struct ch_buf input;   /* new arguments of the call, a JSON object; empty: unchanged */
    struct ch_buf warning; /* for people: what was wrong with a program */
    struct ch_buf message; /* for people: what a program wants to say */
};

/* How a program ended. */
struct ch_hook_outcome {
    const char *name;  /* of the program, for messages */
    const char *error; /* the program did not run; NULL: it ran */
    bool timed_out;
    int exit_code; /* -1: killed by a signal */
    struct ch_sv out, err;
};

void ch_hook_verdict_add(struct ch_hook_verdict *v, enum ch_hook_event event,
                         const struct ch_hook_outcome *o);
void ch_hook_verdict_release(struct ch_hook_verdict *v);

#endif
