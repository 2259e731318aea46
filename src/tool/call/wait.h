/* wait.h -- a call that waits until a time: between two attempts of a retry policy, or because
 * waiting is its work (ch_call_sleep).
 *
 * The wait is stored as the state of the call (`checkpoint` of struct ch_batch_ops), so that
 * another process continues the wait and keeps the count of attempts. If the owner of the
 * batch continues the run at that time (`timer`), a call with a long wait rests, and the run
 * pauses. Otherwise the call waits in this process. Loop thread only. */
#ifndef CH_TOOL_WAIT_H
#define CH_TOOL_WAIT_H
#include "tool/call/call.h"

/* Store the wait and begin it. due: wall clock, in ms. error: of the attempt that failed; empty:
 * the wait is the work of the call. */
void ch_wait_begin(chela_call *call, int64_t due, struct ch_sv error);

/* The call is about to start. True: its time has not come, and the call keeps waiting. */
bool ch_wait_goes_on(chela_call *call);

/* The wait has ended, but the deadline of the retry policy has passed. */
bool ch_wait_is_late(const chela_call *call);

/* The state of a call whose next attempt begins. NULL: unchanged; "": none, because a call
 * that is interrupted from now on may have taken effect. Text in the arena. */
const char *ch_wait_next_state(chela_call *call);

/* Restore a wait from the stored state; false: the state does not describe a wait. */
bool ch_wait_restore(chela_call *call, struct ch_sv state);

/* The stored state of a wait. */
struct ch_wait_state {
    int64_t until;     /* wall clock, in ms; 0: the next attempt has begun */
    int64_t since;     /* the first attempt began */
    int64_t from;      /* the wait began; 0: not known */
    unsigned attempts; /* begun so far */
    bool sleeps;       /* the wait is the work of the call */
    /* "type: text", of the attempt that failed; borrowed from the state or the arena */
    struct ch_sv error;
};
/* Read a stored state; false: the state is none of a wait. */
bool ch_wait_read(struct ch_sv state, struct ch_arena *arena, struct ch_wait_state *out);
struct ch_sv ch_wait_error_type(struct ch_sv error); /* the type of a stored error */

#endif
