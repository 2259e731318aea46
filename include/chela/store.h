/* store.h -- where sessions are kept.
 *
 * A store holds sessions as journals (chela/sys/store.h has the details). Give
 * one to a runtime, and its sessions survive: after any crash opening a session
 * under its key again continues it. The other calls here are for looking after
 * a store; they block, and come from any thread. */
#ifndef CHELA_STORE_H
#define CHELA_STORE_H
#include "chela/session.h"
#include "chela/sys/store.h"
CHELA_BEGIN_DECLS

typedef struct chela_store chela_store;

struct chela_store_opts {
    size_t size;
    const char *module_path; /* where libchela-store-*.so is looked for first */
    int read_only;           /* nothing is created or changed */
};
#define CHELA_STORE_OPTS(...) {.size = sizeof(struct chela_store_opts), __VA_ARGS__}

/* "memory:" (gone with the handle), "sqlite:PATH", "postgres://HOST/DATABASE" or
 * "redis://HOST". opts may be NULL. */
CHELA_API int chela_store_open(const char *url, const struct chela_store_opts *opts,
                               chela_store **out, struct chela_error *err);
/* Give the handle back; a runtime that uses the store keeps it. NULL: no-op. */
CHELA_API void chela_store_close(chela_store *store);
/* NULL, or a line about a promise that this store cannot keep. */
CHELA_API const char *chela_store_note(const chela_store *store);

/* Keep the sessions that rt opens from now on. The death of the process takes
 * nothing that was accepted or begun; durability says what a loss of power may
 * take. CHELA_EEXIST: rt has a store. */
CHELA_API int chela_runtime_store(chela_runtime *rt, chela_store *store,
                                  enum chela_durability durability, struct chela_error *err);

/* The newest first. */
CHELA_API int chela_store_list(chela_store *store, const struct chela_store_filter *filter,
                               chela_store_session_fn *fn, void *user, struct chela_error *err);
CHELA_API int chela_store_session(chela_store *store, const char *key, chela_store_session_fn *fn,
                                  void *user, struct chela_error *err);
/* The records from `from` on; their checksums are looked at (CHELA_EPARSE). */
CHELA_API int chela_store_records(chela_store *store, const char *key, uint64_t from,
                                  chela_store_record_fn *fn, void *user, struct chela_error *err);
CHELA_API const char *chela_store_record_name(uint32_t type); /* "message" */

CHELA_API int chela_store_title(chela_store *store, const char *key, const char *title,
                                struct chela_error *err);
/* With the sessions of agents that were called in it. CHELA_EBUSY: somebody is at
 * work in it. */
CHELA_API int chela_store_delete(chela_store *store, const char *key, struct chela_error *err);
/* Delete what was last changed before then (ms, wall clock) and is not in use;
 * *n (may be NULL) counts them. */
CHELA_API int chela_store_prune(chela_store *store, int64_t before, size_t *n,
                                struct chela_error *err);
CHELA_API int chela_store_search(chela_store *store, const char *text, const char *key,
                                 size_t limit, chela_store_hit_fn *fn, void *user,
                                 struct chela_error *err);

/* Events that were accepted and not settled, or messages that were not sent;
 * the oldest first. fn must not call the store. For mailbox.h. */
CHELA_API int chela_store_items(chela_store *store, enum chela_store_box box,
                                chela_store_item_fn *fn, void *user, struct chela_error *err);

/* As JSON objects; yours to chela_free. The last has everything: {"key",...,
 * "waiting":[{"approval_id","id","name","arguments","summary"}],
 * "transcript":[messages]}. */
CHELA_API char *chela_store_session_json(const struct chela_store_session *s);
CHELA_API char *chela_store_hit_json(const struct chela_store_hit *h);
CHELA_API int chela_store_show(chela_store *store, const char *key, char **out,
                               struct chela_error *err);

/* A new session `to` with all of `from` up to the end of turn `turn` (negative:
 * all; 0: before the first model call). Turns are counted over the session. */
CHELA_API int chela_store_fork(chela_store *store, const char *from, int64_t turn, const char *to,
                               struct chela_error *err);

/* The same up to the model call of turn `turn`, from 1: what it is asked is
 * there, what it said is not, so that chela_run_resume asks again. */
CHELA_API int chela_store_fork_before(chela_store *store, const char *from, int64_t turn,
                                      const char *to, struct chela_error *err);

/* Drive a session's journal through the machine again, with what the models
 * said and the tools gave then, and the limits of this agent. fn is told each
 * decision, what the model was asked with and what this agent would ask with,
 * and each result that has no place any more. Nothing is called. */
struct chela_replay_step {
    uint64_t seq;           /* of the record that holds the decision */
    unsigned turn;          /* of its run */
    const char *then, *now; /* for people: state, reason, counters */
    int same;
};
typedef void chela_replay_fn(const struct chela_replay_step *step, void *user);
CHELA_API int chela_replay(chela_agent *agent, chela_store *store, const char *key,
                           chela_replay_fn *fn, void *user, struct chela_error *err);

/* One JSON object a line: the session, then its records. */
CHELA_API int chela_store_export(chela_store *store, const char *key,
                                 int (*line)(const char *p, size_t n, void *user), void *user,
                                 struct chela_error *err);
/* What chela_store_export wrote. key NULL: its own. CHELA_EEXIST. *out (may be
 * NULL): the key, yours to chela_free. */
CHELA_API int chela_store_import(chela_store *store, const char *text, size_t n, const char *key,
                                 char **out, struct chela_error *err);

/* The session of an agent that another one called has a key of this form:
 * CALLER~AGENT-DIGITS. How much of key is that of the conversation it began in:
 * all of it, if nobody called. */
CHELA_API size_t chela_session_root(const char *key);

CHELA_END_DECLS
#endif
