/* schedule.h -- runs that begin by the clock.
 *
 * A schedule says when, and what an agent is told then, in which session. Those
 * of the configuration are handed to a gateway (chela/gateway.h); others are
 * kept in the store, where every program that uses it sees them. Each time that
 * a schedule is due is an event of the store's inbox, named after schedule and
 * time: whoever is first to accept it runs it, nobody else does, and one that
 * was accepted is run even if the program dies. docs/schedules.md has the rest.
 *
 * The calls here that take a store block; any thread. */
#ifndef CHELA_SCHEDULE_H
#define CHELA_SCHEDULE_H
#include "chela/session.h"
#include "chela/store.h"
CHELA_BEGIN_DECLS

struct chela_schedule { /* texts are copied by whoever takes it */
    size_t size;             /* set by CHELA_SCHEDULE */
    const char *name;        /* letters, digits, '-' and '_': at most 64 */
    const char *when;        /* "0 9 * * mon-fri", "@daily", "every 30m", "at 2027-03-01T09:00" */
    const char *timezone;    /* "Europe/Berlin"; NULL: the machine's */
    const char *agent;       /* NULL: the first */
    const char *session;     /* NULL: "schedule:NAME" */
    const char *prompt;      /* what the agent is told */
    enum chela_missed missed;
    const char *quiet_hours; /* "22:00-07:00": not due then; NULL: none */
    int fresh;               /* each run begins with an empty session: KEY:TIME */
    /* Bounds of each run within the agent's, and of a day; 0: no further ones */
    double cost_budget_usd;
    int64_t max_turns, timeout_ms, max_runs_per_day;
    /* A wake: this file of the agent's workspace is what it is told, nothing is
     * done while it says nothing, and an answer of HEARTBEAT_OK alone leaves
     * nothing behind. NULL: none. */
    const char *wake_file;
};
#define CHELA_SCHEDULE(...) {.size = sizeof(struct chela_schedule), __VA_ARGS__}

/* CHELA_EINVAL says what is wrong with it. */
CHELA_API int chela_schedule_check(const struct chela_schedule *s, struct chela_error *err);
/* The first time after `after` that it is due (ms since 1970, UTC); INT64_MAX:
 * never again. */
CHELA_API int chela_schedule_next(const struct chela_schedule *s, int64_t after, int64_t *out,
                                  struct chela_error *err);
/* A moment as people of its time zone write it, "2027-03-01T09:00:00+01:00"; yours
 * to chela_free. */
CHELA_API char *chela_schedule_time(const struct chela_schedule *s, int64_t ms);

/* Keep it in the store; of_session (may be NULL): it goes with that session.
 * CHELA_EEXIST: there is one of that name; CHELA_ELIMIT: there are too many;
 * CHELA_EINVAL, also if its time has passed. */
CHELA_API int chela_schedule_add(chela_store *store, const struct chela_schedule *s,
                                 const char *of_session, struct chela_error *err);
/* CHELA_ENOENT. */
CHELA_API int chela_schedule_remove(chela_store *store, const char *name,
                                    struct chela_error *err);

/* How far a schedule has come. */
struct chela_schedule_row {
    const struct chela_schedule *schedule;
    const char *of_session; /* "": of nobody; NULL: it is not in the store */
    int64_t last;           /* when it was due last, as far as anybody looked; 0: not yet */
    int64_t next;           /* INT64_MAX: never again */
    int64_t runs_today;
    int waiting; /* a run of it was accepted and has not begun */
};
typedef int chela_schedule_fn(const struct chela_schedule_row *row, void *user);
/* Those of the configuration (NULL-terminated; may be NULL), then those of the
 * store, by name. fn must not call the store. */
CHELA_API int chela_schedule_list(chela_store *store,
                                  const struct chela_schedule *const *configured,
                                  chela_schedule_fn *fn, void *user, struct chela_error *err);

/* {"name","when",...,"source":"config|store|session","last","next","runs_today",
 * "waiting"}; yours to chela_free. */
CHELA_API char *chela_schedule_row_json(const struct chela_schedule_row *row);

/* Give the agent a tool `schedule`, with which it makes schedules for its own
 * session, at most 20, lists and removes them. The store must outlive the agent. */
CHELA_API int chela_schedule_tool(chela_agent *agent, chela_store *store,
                                  struct chela_error *err);

CHELA_END_DECLS
#endif
