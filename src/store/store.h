/* store.h -- an open store: a backend's database, for one caller at a time. All functions may be
 * called from any thread and may block. */
#ifndef CH_STORE_STORE_H
#define CH_STORE_STORE_H
#include <pthread.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/key_table.h"
#include "chela/store.h"
#include "tool/memory/notes.h"

struct ch_paused_sessions {
    struct ch_paused_session **list; /* owned, in the order of the store's list */
    size_t n, bytes;                 /* bytes: of the texts in memory */
    struct ch_key_table by_key;
};

struct chela_store {
    atomic_uint refs;
    const struct chela_store_ops *ops;
    struct chela_store_db *db; /* owned; used by the call in progress */
    pthread_mutex_t lock;      /* protects the members up to url */
    pthread_cond_t ended;      /* signalled when a call ends */
    bool busy;                 /* a call is in progress */
    bool gone;                 /* the last call that ended was CHELA_ENET */
    unsigned failures;         /* calls that ended with CHELA_ENET; wraps around */
    unsigned waits;            /* calls that wait */
    char *url;
    const char *target; /* in url: the text that the backend opens */
    const char *note;
    pthread_mutex_t paused_lock;      /* taken before lock */
    struct ch_paused_sessions paused; /* paused_calls.h; under paused_lock */
};

extern const struct chela_store_ops ch_store_memory; /* memory.c */

void ch_store_ref(chela_store *store);

/* True if chela_store_open knows this kind of URL. */
bool ch_store_known(const char *url);

/* Begins a call of the backend, when the one in progress has ended. CHELA_ENET: the server is gone,
 * and another call is trying; or a call got no answer while this one waited. */
int ch_store_enter(chela_store *store, struct chela_error *err);
/* Ends the call, whose outcome is rc; returns rc. */
int ch_store_leave(chela_store *store, int rc);

/* Call the backend. err must not be NULL. */
int ch_store_commit(chela_store *store, struct chela_store_change *changes, size_t n, bool sync,
                    struct chela_error *err);
/* As ch_store_commit, for a writer. As ch_store_open_session, it waits for other calls, whatever
 * their outcome. */
int ch_store_write(chela_store *store, struct chela_store_change *changes, size_t n, bool sync,
                   struct chela_error *err);
/* True if a commit of n changes failed because of some of them, not because of the store. After
 * CHELA_ENET the effect is unknown, so nothing may be repeated. */
bool ch_store_may_split(int rc, size_t n);
/* Makes each change in a separate transaction; rc and errs[i] hold its outcome. A locked
 * store gives CHELA_ETIMEOUT. */
void ch_store_commit_apart(chela_store *store, struct chela_store_change *changes, size_t n,
                           bool sync, struct chela_error *errs);
int ch_store_open_session(chela_store *store, const struct chela_store_claim *claim,
                          chela_store_session_fn *fn, void *user, struct chela_error *err);

/* The events that wait for one session, in the order in which they were accepted; at most
 * limit, which is not 0. */
int ch_store_waiting(chela_store *store, const char *key, size_t limit, chela_store_item_fn *fn,
                     void *user, struct chela_error *err);

/* A text of CHELA_STORE_KEEP; ts is the end of its time, which may have passed.
 * CHELA_ENOENT. err must not be NULL. */
int ch_store_kept(chela_store *store, const char *id, chela_store_item_fn *fn, void *user,
                  struct chela_error *err);

/* As chela_store_delete, but events that wait for the session, and its outgoing messages, stay. */
int ch_store_delete_records(chela_store *store, const char *key, struct chela_error *err);

/* CHELA_EBUSY: a process has the session; CHELA_ENOENT. err must not be NULL. */
int ch_store_check_unused(chela_store *store, const char *key, struct chela_error *err);

/* Removes what deleted sessions have left in the files of the database; see struct
 * chela_store_ops. err must not be NULL. */
int ch_store_purge(chela_store *store, bool whole, const char **remains, struct chela_error *err);

/* As chela_store_prune, but only for sessions at rest without waiting events or
 * outgoing messages. err must not be NULL. */
int ch_store_prune_idle(chela_store *store, int64_t before, size_t *n, struct chela_error *err);

/* Let other threads use the store, between two parts of a long task. */
void ch_store_give_way(void);

/* Commit one change of a session; the error states why it had no effect. */
int ch_store_change(chela_store *store, struct chela_store_change *c, struct chela_error *err);

/* Delete processed events and sent messages that are older than `before`, and
 * expired texts. err must not be NULL. */
int ch_store_expire(chela_store *store, int64_t before, struct chela_error *err);

/* A record as a JSON object {"seq","type","ts","data"}, as in an export. */
void ch_store_record_write(const struct chela_store_record *r, struct ch_buf *out);

/* As chela_store_show, with at most `limit` messages of the transcript, after the first
 * `after` ones. If more follow, the member "next" is the number of the last message. */
int ch_store_show_page(chela_store *store, const char *key, size_t after, size_t limit, char **out,
                       struct chela_error *err);

/* Checksum over seq, type and data. */
uint32_t ch_record_sum(const struct chela_store_record *r);
/* The error of a record with a wrong checksum. */
int ch_record_damaged(const char *key, uint64_t seq, struct chela_error *err);

/* --- scan.c: records of many sessions */
struct ch_store_scan {
    int64_t since;  /* only sessions that were changed at this time or later */
    uint64_t types; /* bits: only records of these types */
    size_t limit;   /* only the sessions that were changed last; 0: all */
};
/* Passes the records of a session in the order of seq. err may be NULL. */
int ch_store_scan(chela_store *store, const struct ch_store_scan *scan, chela_store_scan_fn *fn,
                  void *user, struct chela_error *err);

int64_t ch_store_now(void); /* ms, wall clock */

struct ch_store_keys {     /* keys of sessions; zeroed: empty */
    char **list, **titles; /* owned */
    size_t n;
};
int ch_keys_add(const struct chela_store_session *row, void *keys); /* for chela_store_list */
void ch_keys_release(struct ch_store_keys *keys);

#define CH_OWNER_SERVES " gateway"        /* suffix of a gateway's owner text */
#define CH_OWNER_HELD "held after a restore" /* the session waits for a person: owner.h */

/* --- writer.c: a runtime's journal over a store */
struct ch_journal;
struct ch_loop;

#endif
