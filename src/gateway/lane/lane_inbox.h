/* lane_inbox.h -- the events that wait for a lane's session, in the order of their arrival.
 *
 * The store's inbox has every event that was acknowledged, whichever gateway accepted it.
 * The lane holds the session's lease, so only this lane takes events up. It reads the events
 * of its session from the store and, in order, offers each to the delivery that waits for
 * it. If no delivery waits for an event, the event is restored (gw->restore_event). No event
 * is delivered from memory alone.
 *
 *   CH_TURN_BEGINS    begins a separate run: waits until the session is idle
 *   CH_TURN_JOINS     joins a run in progress, or begins one
 *   CH_TURN_CONTROLS  concerns the current run (a decision, a result, a cancellation)
 *
 * Events of one kind keep their order. An event that joins a run does not wait for one that
 * waits for the end of the run; one that controls a run waits for nothing.
 *
 * Loop thread only. */
#ifndef CH_GATEWAY_LANE_INBOX_H
#define CH_GATEWAY_LANE_INBOX_H
#include "chela/mailbox.h"
#include "gateway/request/gateway_state.h"

struct ch_lane;
struct ch_lane_inbox;

enum ch_turn_kind { CH_TURN_BEGINS, CH_TURN_JOINS, CH_TURN_CONTROLS };

#define CH_TURN_WAITS 1

/* Waits for the turn of an event; embedded in the struct of its owner. */
struct ch_turn {
    struct ch_link link;
    const char *id; /* id of the event; borrowed */
    enum ch_turn_kind kind;
    unsigned since; /* the first reading of the inbox that must show the event */
    /* Called with err NULL when the turn of the event has come. Returns 0: the event was
     * taken up; CH_TURN_WAITS: the event must wait longer; negative: the event is not
     * delivered and its owner handles that. Called with err when the event is no longer in
     * the inbox (CHELA_EEXIST) or the lane was closed; the result is ignored. Afterwards the
     * turn is off the list, unless it waits. */
    int (*take)(struct ch_turn *t, struct ch_lane *l, const struct chela_error *err);
};

struct ch_lane_inbox *ch_lane_inbox_new(struct ch_lane *l);
/* The lane is being closed: nothing is read or offered any more. i may be NULL. */
void ch_lane_inbox_stop(struct ch_lane_inbox *i);
/* Call after ch_lane_inbox_stop. `take` of the waiting turns is called with an error. */
void ch_lane_inbox_free(struct ch_lane_inbox *i);

/* Reads the inbox for the first time, or after the session was opened again; then calls
 * done, from the loop. */
void ch_lane_inbox_open(struct ch_lane_inbox *i,
                        void (*done)(struct ch_lane *l, const struct chela_error *err));
/* Adds t, whose event the store has, to the list of waiting turns. ch_list_del(&t->link)
 * removes it. */
void ch_lane_inbox_wait(struct ch_lane *l, struct ch_turn *t);
/* The store may have more events of the session. */
void ch_lane_inbox_refresh(struct ch_lane *l);
/* Something changed in the lane: a run ended, an event was prepared. */
void ch_lane_inbox_poke(struct ch_lane *l);
/* Settles an event that was not taken up, and removes it from the list of the lane, if a lane
 * is open. done (may be NULL) is called when the store has answered. */
void ch_lane_inbox_settle(chela_gateway *gw, const char *key, const char *id,
                          chela_accepted_fn *done, void *user);
/* True if the event was read and not taken up. */
bool ch_lane_inbox_holds(const struct ch_lane *l, const char *id);
/* True if an event of the inbox was not taken up. */
bool ch_lane_inbox_waits(const struct ch_lane *l);

#endif
