/* verdict.c -- the stored state and what was seen outside, against docs/promises.md. */
#include <stdlib.h>
#include <string.h>

#include "agent/journal/journal.h"
#include "base/limits.h"
#include "gateway/request/gateway_state.h"
#include "sim/sim.h"
#include "store/store.h"

struct taken {
    unsigned session; /* whose journal is read */
    unsigned times[SIM_EVENTS];
    unsigned order[SIM_EVENTS]; /* of the session, in the order of the journal */
    size_t n;
};

static int on_record(const struct chela_store_record *r, void *user) {
    struct taken *t = user;
    const char *p = r->type == CH_REC_INBOUND ? memmem(r->data, r->n, "ev", 2) : NULL;
    while (p) {
        char *end;
        unsigned long number = strtoul(p + 2, &end, 10);
        if (end > p + 2 && *end == '#' && number < sim.nevents) {
            t->times[number]++;
            if (t->n < SIM_EVENTS)
                t->order[t->n++] = (unsigned)number;
            break;
        }
        p = memmem(p + 2, r->n - (size_t)(p + 2 - r->data), "ev", 2);
    }
    return 0;
}

/* Of two events of one session, the one that was acknowledged before the other was asked is
 * taken up first. */
static void judge_order(const struct taken *t) {
    for (size_t i = 0; i < t->n; i++)
        for (size_t k = i + 1; k < t->n; k++) {
            const struct sim_event *first = &sim.events[t->order[i]],
                                   *then = &sim.events[t->order[k]];
            if (then->acked >= 0 && then->acked < first->asked)
                sim_violation("P7: %s took up event %u before event %u, which was accepted before "
                              "the other was sent",
                              sim.sessions[t->session], first->number, then->number);
        }
}

static void judge_events(const struct taken *t) {
    for (unsigned i = 0; i < sim.nevents; i++) {
        const struct sim_event *e = &sim.events[i];
        if (e->acked >= 0 && !e->refused && t->times[i] == 0)
            sim_violation("P1: event %u was accepted and is lost", i);
        if (t->times[i] > 1)
            sim_violation("P2: event %u was taken up %u times", i, t->times[i]);
    }
}

/* Nothing is left over in memory, and a process that lost a session says so. */
static void judge_nodes(void) {
    for (unsigned i = 0; i < sim.nnodes; i++) {
        const struct sim_node *node = &sim.nodes[i];
        if (!node->up)
            continue;
        if (!ch_list_empty(&node->gw->deliveries))
            sim_violation("P5: %s holds deliveries when nothing waits", node->name);
        if (!ch_list_empty(&node->gw->requests))
            sim_violation("P5: %s holds requests when nothing waits", node->name);
        if (node->fenced && !node->told)
            sim_violation("P6: %s lost a session and does not say so", node->name);
    }
}

void sim_judge(void) {
    struct taken t = {0};
    struct chela_error err = {0};
    for (unsigned i = 0; i < sim.nsessions; i++) {
        t.session = i;
        t.n = 0;
        ch_store_memory.records(sim_store_db, sim.sessions[i], 1, on_record, &t, &err);
        judge_order(&t);
    }
    judge_events(&t);
    judge_nodes();
}
