/* verdict.c -- the stored state and what was seen outside, against docs/promises.md. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/journal/journal.h"
#include "base/limits.h"
#include "gateway/request/gateway_state.h"
#include "sim/sim.h"
#include "store/store.h"

struct taken {
    unsigned session; /* whose journal is read */
    unsigned times[SIM_EVENTS];  /* records that took the event up */
    unsigned joined[SIM_EVENTS]; /* times that its text joined the transcript */
    unsigned order[SIM_EVENTS];  /* of the session, in the order of the journal */
    size_t n;
    struct { /* texts that wait for a record that delivers them */
        uint64_t seq;
        unsigned number;
    } queued[SIM_EVENTS];
    size_t nqueued;
};

/* The next event that a text names; SIM_EVENTS: none. */
static unsigned next_event(const char **at, const char *end) {
    while ((*at = memmem(*at, (size_t)(end - *at), "ev", 2))) {
        char *after;
        unsigned long number = strtoul(*at + 2, &after, 10);
        *at += 2;
        if (after > *at && *after == '#' && number < sim.nevents)
            return (unsigned)number;
    }
    return SIM_EVENTS;
}

static bool has(const struct chela_store_record *r, const char *text) {
    return memmem(r->data, r->n, text, strlen(text)) != NULL;
}

static void read_inbound(struct taken *t, const struct chela_store_record *r) {
    const char *at = r->data, *end = memmem(r->data, r->n, "],\"ts\"", 6);
    bool starts = has(r, "\"mode\":\"start\""), takes = has(r, "\"event\":\"");
    for (unsigned number; end && (number = next_event(&at, end)) < SIM_EVENTS;) {
        t->joined[number] += starts;
        t->times[number] += takes;
        if (takes && t->n < SIM_EVENTS)
            t->order[t->n++] = number;
        if (!starts && t->nqueued < SIM_EVENTS) {
            t->queued[t->nqueued].seq = r->seq;
            t->queued[t->nqueued++].number = number;
        }
    }
}

static void read_delivery(struct taken *t, const struct chela_store_record *r) {
    const char *of = memmem(r->data, r->n, "\"of\":", 5);
    if (!of || has(r, "\"dropped\":true"))
        return;
    uint64_t seq = strtoull(of + 5, NULL, 10);
    for (size_t i = 0; i < t->nqueued; i++)
        if (t->queued[i].seq == seq)
            t->joined[t->queued[i].number]++;
}

static int on_record(const struct chela_store_record *r, void *user) {
    if (r->type == CH_REC_INBOUND)
        read_inbound(user, r);
    else if (r->type == CH_REC_MESSAGE)
        read_delivery(user, r);
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
        if (e->acked >= 0 && !e->refused && t->joined[i] == 0)
            sim_violation("P1: event %u was taken up, and its text is lost", i);
        if (t->joined[i] > 1)
            sim_violation("P2: the model was told of event %u %u times", i, t->joined[i]);
    }
}

struct said {
    const char *text;
    bool found;
};

static int on_said(const struct chela_store_record *r, void *user) {
    struct said *s = user;
    s->found |= r->type == CH_REC_MESSAGE && has(r, s->text);
    return 0;
}

/* The chat got nothing that its session does not know of. */
static void judge_messages(void) {
    struct chela_error err = {0};
    for (size_t i = 0; i < sim_nsent; i++) {
        struct said s = {sim_sent[i].text, strncmp(sim_sent[i].text, "answer ", 7) != 0};
        const char *run = strstr(sim_sent[i].key, ":run_");
        char key[80];
        if (s.found || !run)
            continue;
        snprintf(key, sizeof(key), "%.*s", (int)(run - sim_sent[i].key), sim_sent[i].key);
        ch_store_memory.records(sim_store_db, key, 1, on_said, &s, &err);
        if (!s.found)
            sim_violation("P3: the chat got '%s', which its session did not say", s.text);
    }
}

/* Nothing is left over in memory, and a process that lost a session says so. */
static void judge_nodes(void) {
    for (unsigned i = 0; i < sim.nnodes; i++) {
        const struct sim_node *node = &sim.nodes[i];
        if (!node->up || !node->gw)
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
        t.n = t.nqueued = 0;
        ch_store_memory.records(sim_store_db, sim.sessions[i], 1, on_record, &t, &err);
        judge_order(&t);
    }
    judge_events(&t);
    judge_messages();
    judge_nodes();
}
