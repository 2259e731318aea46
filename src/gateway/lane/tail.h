/* tail.h -- the events of a session that another process holds.
 *
 * A tail reads the records that the holder writes and makes events of them
 * (record_events.h). Its watcher is a lane's: the same handler receives the events of a
 * session whether this gateway runs it or another one.
 *
 *   open --records so far--> opened --new records--> events ... --ch_lane_unwatch--> freed
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
    CH_TAIL_AFTER, /* after the event with a given id */
};

/* err NULL: events follow, and nothing that is stored from now on is missed. gap: the event of
 * CH_TAIL_AFTER is not known; with CH_TAIL_AWAIT: a program that is no gateway holds the session.
 * Otherwise w is off the tail, which is gone. */
typedef void ch_tail_opened_fn(struct ch_lane_watcher *w, bool gap, const struct chela_error *err,
                               void *user);

/* after: id of an event, for CH_TAIL_AFTER. Calls opened, which may be NULL, from the loop. */
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

/* The gateway is closed: watchers are not told. */
void ch_tails_close(chela_gateway *gw);

/* The id of the last event that w received: "run:seq", of a tail also the record. */
void ch_tail_event_id(const struct ch_lane_watcher *w, const struct chela_event *ev,
                      struct ch_buf *out);

#endif
