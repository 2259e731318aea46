/* gate.h -- post to the loop from threads that may outlive the loop.
 *
 * ch_loop_post requires a live loop. A thread that the runtime does not own (a
 * host's thread that finishes a tool call late) cannot know whether the loop is
 * alive, so it posts through a gate. After ch_gate_shut, posts are refused and
 * none is in progress. The loop thread can take back earlier posts with
 * ch_loop_unpost. */
#ifndef CH_IO_GATE_H
#define CH_IO_GATE_H
#include <pthread.h>

#include "io/loop.h"

struct ch_gate {
    pthread_mutex_t lock;
    struct ch_loop *loop; /* under lock; borrowed; NULL: the gate is shut */
};

void ch_gate_init(struct ch_gate *g, struct ch_loop *loop);
void ch_gate_release(struct ch_gate *g);

/* May be called from any thread. False, with p unchanged, if the gate is shut. */
bool ch_gate_post(struct ch_gate *g, struct ch_post *p);

/* Loop thread only. Blocks until posts in progress are done. */
void ch_gate_shut(struct ch_gate *g);

#endif
