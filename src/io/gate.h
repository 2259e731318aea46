/* gate.h -- a door to the loop that can be shut.
 *
 * ch_loop_post needs the loop to be there. A thread that the runtime does not
 * own (a host's, finishing a tool's call late) cannot know that, so it posts
 * through a gate: once the loop's side has shut it, posts are refused, and none
 * is under way. What was let in before can be taken back by ch_loop_unpost. */
#ifndef CH_IO_GATE_H
#define CH_IO_GATE_H
#include <pthread.h>

#include "io/loop.h"

struct ch_gate {
    pthread_mutex_t lock;
    struct ch_loop *loop; /* under lock; borrowed; NULL: shut */
};

void ch_gate_init(struct ch_gate *g, struct ch_loop *loop);
void ch_gate_release(struct ch_gate *g);

/* Any thread. False, and p is untouched, when the gate is shut. */
bool ch_gate_post(struct ch_gate *g, struct ch_post *p);

/* Loop thread only. */
void ch_gate_shut(struct ch_gate *g);

#endif
