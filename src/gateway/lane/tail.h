/* tail.h -- the events of a session, from its records.
 *
 * A tail reads the records of a session and makes events of them (record_events.h), so a reader
 * gets the same events with the same positions from every process, at any time. Where this
 * gateway holds the session, each commit is read at once, and the tail also passes on what is
 * not stored: pieces of a reply in progress, progress of tools, runs of sub-agents. A piece has
 * the position of the newest record at its time and follows this record. Elsewhere the tail
 * looks for new records at intervals.
 *
 *   open --records so far--> opened --new records--> events ... --ch_lane_unwatch--> freed
 *
 * A position ("cursor") is the number of a record, N: after all events of the record; or N.k: after
 * the k-th of several. Two earlier forms are still read: run:seq and run:seq@record. Events may
 * be repeated after these.
 *
 * Loop thread only. */
#ifndef CH_GATEWAY_TAIL_H
#define CH_GATEWAY_TAIL_H
#include "gateway/lane/lane.h"

enum ch_tail_start {
    CH_TAIL_NOW,   /* events of later records */
    CH_TAIL_AWAIT, /* the same, held until ch_tail_await, which must follow */
    CH_TAIL_RUN,   /* from the beginning of the run in progress; CHELA_ENOENT: none */
    CH_TAIL_ALL,   /* of a new session: from its first record. If there is no session yet, and
                    * nobody is told (opened NULL), w is off the tail */
    CH_TAIL_AFTER, /* after a position; if the session has no such position: gap, then all */
};

/* err NULL: events follow, and nothing that is stored from now on is missed. gap: the position of
 * CH_TAIL_AFTER is not known; with CH_TAIL_AWAIT: a program that is no gateway holds the session.
 * Otherwise w is off the tail, which is gone. */
typedef void ch_tail_opened_fn(struct ch_lane_watcher *w, bool gap, const struct chela_error *err,
                               void *user);

/* after: a position, for CH_TAIL_AFTER. Calls opened, which may be NULL, from the loop. */
void ch_tail_open(chela_gateway *gw, const char *key, enum ch_tail_start start, struct ch_sv after,
                  struct ch_lane_watcher *w, ch_tail_opened_fn *opened, void *user);
/* The outcome of an inbox event. err NULL: the session took the event up, and events follow.
 * Otherwise the session refused the event, and no events follow. */
typedef void ch_tail_settled_fn(const struct chela_error *err, void *user);

/* The watcher of an open tail waits for the effect of an inbox event. begins: the event is a
 * message, and other events are not passed on until the message is taken up. Calls settled
 * once, from the loop. */
void ch_tail_await(struct ch_lane_watcher *w, const char *event, bool begins,
                   ch_tail_settled_fn *settled, void *user);
/* How the session took up the message that is awaited: "start", "steer", ...; of an event that
 * controls a run: id of the run, or "none", then " running" if the run is in progress. NULL: not
 * yet, or unknown. */
const char *ch_tail_taken_as(const struct ch_lane_watcher *w);

/* The gateway opened a lane: tails of its session read at each of its commits. */
void ch_tails_join(struct ch_lane *l);
/* The gateway is closed: watchers are not told. */
void ch_tails_close(chela_gateway *gw);

/* Passes the position of ev, which w receives now from its tail, and its JSON to fn. */
void ch_tail_write_event(const struct ch_lane_watcher *w, const struct chela_event *ev,
                         int (*fn)(void *user, const char *cursor, struct ch_sv json), void *user);

#endif
