/* schedule.h -- a schedule: parsing, storing, and finding due occurrences.
 *
 * The store has two notes of a schedule: "schedule/NAME" with its definition (unless the
 * configuration defines it), and "schedule-state/NAME" with its progress. An occurrence is
 * the inbox event "schedule/NAME/TIME".
 *
 * ch_schedule_due is pure. */
#ifndef CH_AGENT_SCHEDULE_H
#define CH_AGENT_SCHEDULE_H
#include "base/buf.h"
#include "base/limits.h"
#include "base/when.h"
#include "chela/schedule.h"
#include "json/json.h"

#define CH_SCHEDULE_NOTE "schedule/"
#define CH_SCHEDULE_STATE "schedule-state/"

/* Stored progress, shared by all gateways that run the schedule. */
struct ch_schedule_state {
    int64_t since; /* earlier occurrences do not count; 0: not checked yet */
    int64_t last;  /* occurrences up to this time are done */
    int64_t day;   /* day of the last run, in days since 1970 in the schedule's zone */
    int64_t runs;  /* runs on that day */
};

struct ch_schedule {
    struct chela_schedule is; /* texts are in the arena */
    struct ch_arena arena;
    struct ch_when when;
    struct ch_zone *zone;       /* owned */
    int quiet_from, quiet_to;   /* minutes of the day; equal: no quiet hours */
    const char *of_session;     /* in the arena: session that defined it; NULL: the configuration */
    struct ch_schedule_state state;
};

int ch_schedule_new(const struct chela_schedule *given, const char *of_session,
                    struct ch_schedule **out, struct chela_error *err);
/* Reads the JSON that ch_schedule_write wrote. */
int ch_schedule_read(struct ch_sv json, const char *of_session, struct ch_schedule **out,
                     struct chela_error *err);
void ch_schedule_write(const struct ch_schedule *s, struct ch_buf *out);
void ch_schedule_free(struct ch_schedule *s);
CH_DEFINE_AUTO(ch_schedule)

void ch_schedule_state_read(struct ch_sv json, struct ch_schedule_state *out);
void ch_schedule_state_write(const struct ch_schedule_state *s, struct ch_buf *out);

/* The first occurrence after `after` outside of the quiet hours. */
int64_t ch_schedule_next(const struct ch_schedule *s, int64_t after);

/* Occurrences that are due at `now`. The state advances to now. An occurrence is missed if
 * no gateway ran within a minute of it. */
struct ch_schedule_due {
    int64_t times[CH_LIMIT_MISSED]; /* occurrences to run, oldest first */
    size_t n;
    size_t skipped; /* occurrences that are too late */
    size_t over;    /* occurrences over the daily limit */
    bool set_back;  /* the clock was set back: the schedule starts again */
};
void ch_schedule_due(struct ch_schedule *s, int64_t now, struct ch_schedule_due *out);

/* "schedule/report/2027-03-01T08:00:00Z" */
void ch_schedule_event_id(const struct ch_schedule *s, int64_t due, struct ch_buf *out);
void ch_schedule_session(const struct ch_schedule *s, int64_t due, struct ch_buf *out);
/* in local time */
void ch_schedule_stamp(const struct ch_schedule *s, int64_t due, struct ch_buf *out);

#endif
