/* schedule.h -- a schedule, read and ready to be asked what is due.
 *
 * In the store there are two notes of it: "schedule/NAME", what it is (unless it
 * is of the configuration), and "schedule-state/NAME", how far it has come. An
 * occurrence is the event "schedule/NAME/TIME" of the inbox.
 *
 * Deciding what is due is pure: ch_schedule_due. */
#ifndef CH_AGENT_SCHEDULE_H
#define CH_AGENT_SCHEDULE_H
#include "base/buf.h"
#include "base/limits.h"
#include "base/when.h"
#include "chela/schedule.h"
#include "json/json.h"

#define CH_SCHEDULE_NOTE "schedule/"
#define CH_SCHEDULE_STATE "schedule-state/"

/* Stored: it is the same for everybody who looks at the same schedule. */
struct ch_schedule_state {
    int64_t since; /* what was due before does not count; 0: nobody has looked yet */
    int64_t last;  /* nor what was due up to then */
    int64_t day;   /* of the last run, in days since 1970 of its zone... */
    int64_t runs;  /* ...and how many that day has had */
};

struct ch_schedule {
    struct chela_schedule is; /* its texts are in the arena */
    struct ch_arena arena;
    struct ch_when when;
    struct ch_zone *zone;       /* owned */
    int quiet_from, quiet_to;   /* minutes of the day; equal: none */
    const char *of_session;     /* in the arena; NULL: of the configuration */
    struct ch_schedule_state state;
};

int ch_schedule_new(const struct chela_schedule *given, const char *of_session,
                    struct ch_schedule **out, struct chela_error *err);
/* What ch_schedule_write wrote. */
int ch_schedule_read(struct ch_sv json, const char *of_session, struct ch_schedule **out,
                     struct chela_error *err);
void ch_schedule_write(const struct ch_schedule *s, struct ch_buf *out);
void ch_schedule_free(struct ch_schedule *s);
CH_DEFINE_AUTO(ch_schedule)

void ch_schedule_state_read(struct ch_sv json, struct ch_schedule_state *out);
void ch_schedule_state_write(const struct ch_schedule_state *s, struct ch_buf *out);

/* The first time after `after` that is not in its quiet hours. */
int64_t ch_schedule_next(const struct ch_schedule *s, int64_t after);

/* What has become due by `now`, by the state, and what to do about it. The state
 * goes on to now. A time is missed if nobody was there within a minute of it. */
struct ch_schedule_due {
    int64_t times[CH_LIMIT_MISSED]; /* to be run, the oldest first */
    size_t n;
    size_t skipped; /* for being too late */
    size_t over;    /* for being more than a day may have */
    bool set_back;  /* the clock was: it begins anew */
};
void ch_schedule_due(struct ch_schedule *s, int64_t now, struct ch_schedule_due *out);

/* "schedule/report/2027-03-01T08:00:00Z" */
void ch_schedule_event_id(const struct ch_schedule *s, int64_t due, struct ch_buf *out);
void ch_schedule_session(const struct ch_schedule *s, int64_t due, struct ch_buf *out);
void ch_schedule_stamp(const struct ch_schedule *s, int64_t due, struct ch_buf *out); /* local */

#endif
