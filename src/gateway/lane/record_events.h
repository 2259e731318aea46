/* record_events.h -- the events of a session's runs, made from its journal.
 *
 * A gateway that does not hold a session shows its runs from the records that the holder
 * writes. A reply is one TEXT_DELTA, and events without a record (requests to the model,
 * progress of tools, the runs of sub-agents) are missing. Numbers of events grow, may have
 * gaps, and are never higher than the number that the holder gave to the same event.
 *
 * Any thread, one at a time for each state. */
#ifndef CH_GATEWAY_RECORD_EVENTS_H
#define CH_GATEWAY_RECORD_EVENTS_H
#include "base/arena.h"
#include "base/buf.h"
#include "base/list.h"
#include "chela/event.h"
#include "chela/sys/store.h"

/* What was read so far; zeroed: nothing. */
struct ch_record_events {
    struct ch_buf session, agent; /* values for RUN_START; set by the owner */
    struct ch_buf run, model, answer;
    struct ch_buf run_agent; /* of the run, if it is another one; else empty */
    struct ch_buf citations; /* sources of the answer, JSON */
    struct ch_list calls; /* calls of the last reply; struct record_call */
    struct ch_list notes; /* messages that wait; struct record_note */
    uint64_t seq;         /* number of the run's next event */
    uint64_t since;       /* seq after the run's last STATE: the holder's number */
    uint64_t turn;
    enum chela_stop stop;     /* of the turn, with usage and citations: for TURN_END */
    struct chela_usage usage;
    bool open;            /* the turn has no TURN_END yet */
    bool begun;           /* a run is in progress: it has not ended or paused */
    bool paused;          /* the run has paused, and may end without being resumed */
    bool ready;           /* the lists are initialized */
};

/* The events of one record. Texts are in the arena. */
struct ch_record_batch {
    struct ch_link link;
    struct ch_arena arena;
    uint64_t record;   /* its number in the session */
    uint64_t since;    /* the holder gave lower numbers to all events of earlier records, up to the
                        * last STATE */
    const char *taken; /* id of the inbox event that the record takes up; NULL: none */
    const char *mode;  /* mode of the message of `taken`: "start", "steer", ... */
    struct chela_event *events;
    size_t n;
    size_t first; /* events before this one are known already */
};

/* True: events of this type are made from records, soon after they happened. The parts of a reply
 * in progress do not count. */
bool ch_record_events_make(enum chela_event_type type);
/* NULL: the record has no events. */
struct ch_record_batch *ch_record_events_read(struct ch_record_events *s,
                                              const struct chela_store_record *r);
void ch_record_batch_free(struct ch_record_batch *b);
void ch_record_events_release(struct ch_record_events *s);

#endif
