/* event.h -- writes events as JSON. The event struct is public (chela/event.h). */
#ifndef CH_AGENT_EVENT_H
#define CH_AGENT_EVENT_H
#include "base/buf.h"
#include "chela/event.h"
#include "model/codec/codec.h"

static inline struct chela_usage ch_public_usage(const struct ch_usage *u, double cost) {
    return (struct chela_usage){.input = u->input,
                                .output = u->output,
                                .cache_read = u->cache_read,
                                .cache_write = u->cache_write,
                                .reasoning = u->reasoning,
                                .cost_usd = cost};
}
/* The same in the other direction, without the cost. */
struct ch_usage ch_own_usage(const struct chela_usage *u);
static inline struct chela_str ch_str(struct ch_sv s) {
    return (struct chela_str){s.p, s.n};
}
static inline struct ch_sv ch_unstr(struct chela_str s) {
    return ch_sv(s.p, s.n);
}

/* The end of the text of a reply that was cut off, in the journal. */
#define CH_REPLY_CUT "\n\n[interrupted]"

/* Where an event stands in its session, for readers that come back. */
struct ch_event_place {
    const char *cursor; /* position in the session; NULL: none */
    bool passing; /* the event is not stored: later records replace it */
};
/* Writes an event as chela_event_json does, with its place. place may be NULL. */
void ch_event_write(const struct chela_event *ev, const struct ch_event_place *place,
                    struct ch_buf *out);

/* RUN_END of a session's run: people are told in a sentence (ending.h), and the log has the
 * reason and the error, which may be a service's own words. Other ends are not logged. */
void ch_event_log_end(const char *session, const struct chela_event *ev);

#endif
