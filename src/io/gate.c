/* gate.c -- see gate.h. The lock is held while posting, so that no post is in
 * progress after ch_gate_shut. Lock order: gate, then loop. */
#include "io/gate.h"

void ch_gate_init(struct ch_gate *g, struct ch_loop *loop) {
    pthread_mutex_init(&g->lock, NULL);
    g->loop = loop;
}

void ch_gate_release(struct ch_gate *g) {
    pthread_mutex_destroy(&g->lock);
}

bool ch_gate_post(struct ch_gate *g, struct ch_post *p) {
    pthread_mutex_lock(&g->lock);
    bool open = g->loop != NULL;
    if (open)
        ch_loop_post(g->loop, p);
    pthread_mutex_unlock(&g->lock);
    return open;
}

void ch_gate_shut(struct ch_gate *g) {
    pthread_mutex_lock(&g->lock);
    g->loop = NULL;
    pthread_mutex_unlock(&g->lock);
}
