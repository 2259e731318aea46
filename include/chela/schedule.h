/* schedule.h -- runs that start at given times.
 *
 * A schedule states when an agent gets which prompt in which session. Schedules of the
 * configuration are passed to a gateway (chela/gateway.h). Other schedules are in the
 * store, where every program with the store sees them. Each due time of a schedule is an
 * event in the inbox of the store, named after the schedule and the time: the first
 * program that accepts the event runs it, and an event that was accepted is run even if
 * the program dies. docs/schedules.md has the details.
 *
 * Functions with a store wait for the database.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call; entries are borrowed until fn returns.
 *   Threads: any
 *   Callbacks: yes
 *   Errors: none */
#ifndef CHELA_SCHEDULE_H
#define CHELA_SCHEDULE_H
#include "chela/session.h"
#include "chela/store.h"
CHELA_BEGIN_DECLS

/* A schedule. */
struct chela_schedule {
    size_t size;             /* set by CHELA_SCHEDULE */
    const char *name;        /* 1 to 64 letters, digits, '-' and '_' */
    const char *when;        /* "0 9 * * mon-fri", "@daily", "every 30m", "at 2027-03-01T09:00" */
    const char *timezone;    /* "Europe/Berlin"; NULL: the machine's */
    const char *agent;       /* id of the agent; NULL: the first */
    const char *session;     /* key of the session; NULL: "schedule:NAME" */
    const char *prompt;      /* the input of the run */
    enum chela_missed missed;
    const char *quiet_hours; /* "22:00-07:00": no run is due then; NULL: none */
    int fresh;               /* nonzero: each run has a new session, KEY:TIME */
    /* Limits of each run, within those of the agent, and of runs in a day; 0: no further
     * limit */
    double cost_budget_usd;
    int64_t max_turns, timeout_ms, max_runs_per_day;
    /* A file in the agent's workspace that is the input instead of `prompt`. While the
     * file has no content, no run starts. If the answer is HEARTBEAT_OK, input and answer
     * are removed from the conversation. NULL: none. */
    const char *wake_file;
};
#define CHELA_SCHEDULE(...) {.size = sizeof(struct chela_schedule), __VA_ARGS__}

/* Check a schedule.
 * Errors: CHELA_EINVAL: the message states what is wrong. */
CHELA_API int chela_schedule_check(const struct chela_schedule *s, struct chela_error *err);

/* The first due time of a schedule after `after`, in milliseconds since 1970; INT64_MAX: the
 * schedule is never due again.
 * Errors: CHELA_EINVAL: the schedule is wrong. */
CHELA_API int chela_schedule_next(const struct chela_schedule *s, int64_t after, int64_t *out,
                                  struct chela_error *err);

/* A time in the time zone of a schedule: "2027-03-01T09:00:00+01:00"; "" if the schedule is
 * wrong.
 * Ownership: the caller frees the result with chela_free. */
CHELA_API char *chela_schedule_time(const struct chela_schedule *s, int64_t ms);

/* Add a schedule to the store. of_session (may be NULL): deleting that session deletes the
 * schedule.
 * Errors: CHELA_EINVAL: the schedule is wrong, or its time has passed. CHELA_EEXIST: there
 * is a schedule with this name. CHELA_ELIMIT: the store or the session has too many
 * schedules. CHELA_EIO, CHELA_ENET, CHELA_EBUSY, CHELA_EPERM: the database failed. */
CHELA_API int chela_schedule_add(chela_store *store, const struct chela_schedule *s,
                                 const char *of_session, struct chela_error *err);

/* Remove a schedule from the store.
 * Errors: CHELA_ENOENT: the store has no such schedule. CHELA_EIO, CHELA_ENET, CHELA_EBUSY,
 * CHELA_EPERM: the database failed. */
CHELA_API int chela_schedule_remove(chela_store *store, const char *name,
                                    struct chela_error *err);

/* The state of a schedule. Times are in milliseconds since 1970. */
struct chela_schedule_row {
    const struct chela_schedule *schedule;
    const char *of_session; /* "": none; NULL: the schedule is not in the store */
    int64_t last;           /* last due time that a program handled; 0: none */
    int64_t next;           /* next due time; INT64_MAX: none */
    int64_t runs_today;
    int waiting; /* nonzero: a run was accepted and has not started */
};
/* Receives schedules. A result other than 0 ends the listing. */
typedef int chela_schedule_fn(const struct chela_schedule_row *row, void *user);

/* List schedules: those of the configuration (NULL-terminated; may be NULL), then those of
 * the store, by name.
 * Errors: CHELA_EINVAL: a schedule is wrong. CHELA_EIO, CHELA_ENET, CHELA_EBUSY, CHELA_EPERM:
 * the database failed. */
CHELA_API int chela_schedule_list(chela_store *store,
                                  const struct chela_schedule *const *configured,
                                  chela_schedule_fn *fn, void *user, struct chela_error *err);

/* A row as a JSON object: {"name","when",...,"source":"config|store|session","last","next",
 * "runs_today","waiting"}.
 * Ownership: the caller frees the result with chela_free. */
CHELA_API char *chela_schedule_row_json(const struct chela_schedule_row *row);

/* Add the tool `schedule` to an agent. With the tool the model creates, lists and removes
 * schedules of its own session, at most 20.
 * Ownership: the store is borrowed; close it after the agent is freed.
 * Threads: loop
 * Errors: CHELA_EEXIST: the agent has a tool `schedule`. CHELA_ELIMIT: the agent has too many
 * tools. */
CHELA_API int chela_schedule_tool(chela_agent *agent, chela_store *store,
                                  struct chela_error *err);

CHELA_END_DECLS
#endif
