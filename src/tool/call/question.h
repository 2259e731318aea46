/* question.h -- a question that a call asks a person in the middle of its work.
 *
 * The call rests until the answer is there; then its function is called again and finds the
 * answer. The question is stored with a state: another process continues the call from the
 * state, so the answer may take days. Without a state, a call that has an effect and whose
 * process ends is not made again.
 *
 * Hosts see the question as a call of the tool CH_QUESTION_TOOL that they have to answer. */
#ifndef CH_TOOL_QUESTION_H
#define CH_TOOL_QUESTION_H
#include "tool/call/call.h"

#define CH_QUESTION_TOOL "ask_user"

struct ch_question { /* texts in the arena of the call */
    const char *id;
    const char *arguments; /* arguments of CH_QUESTION_TOOL, as JSON */
    const char *state;     /* NULL: none */
    const char *answer;    /* NULL: not answered yet */
    bool is_error;         /* the answer states why no answer was given */
    bool told;             /* the batch has called `question` */
    /* Called once if the call ends without an answer, in the process that asked; may be NULL. */
    void (*dropped)(void *user);
    void *user;
};

/* False: nobody can be asked, because nobody decides about calls and the tool for questions is
 * denied. */
bool ch_call_can_ask(const chela_call *call);

/* For a deferred function on the loop thread, instead of chela_call_finish: ask, and rest.
 * arguments and state are copied; state may be NULL. dropped and user: as in the struct. */
void ch_call_question(chela_call *call, const char *arguments, const char *state,
                      void (*dropped)(void *user), void *user);

/* For the function of a tool: the question that was answered; NULL: none. */
struct ch_question *ch_call_answered(const chela_call *call);

/* --- for call.c and batch.c */

/* True if the call waits for an answer, now or when it would start. */
bool ch_question_is_open(const chela_call *call);
/* The call ends without an answer, or does not take its answer up. */
static inline void ch_question_drop(chela_call *call) {
    struct ch_question *q = call->question;
    void (*dropped)(void *) = q ? q->dropped : NULL;

    if (!dropped)
        return;
    q->dropped = NULL;
    dropped(q->user);
}
/* Set the answer; the call can start. */
void ch_question_answer(chela_call *call, struct ch_sv text, bool is_error);

#endif
