/* store.h -- stores: databases of sessions.
 *
 * A store holds sessions as journals (chela/sys/store.h). A runtime with a store keeps its
 * sessions: after a crash, opening a session with the same key continues the session. The
 * other functions of this header inspect and maintain a store. They wait for the
 * database. A lock protects a store, so that threads may use one store at the same time.
 *
 * A function that the library calls for each entry of a listing (fn, line) runs while the
 * lock is held: it must return soon, must not call functions of this header with the same
 * store, and must not wait for a session or a run. If it returns a value other than 0, the
 * listing ends.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call; entries are borrowed until fn returns.
 *   Threads: any
 *   Callbacks: yes
 *   Errors: CHELA_EIO, CHELA_ENET, CHELA_EBUSY, CHELA_EPERM, CHELA_EPARSE, CHELA_ELIMIT: the
 *   database failed (struct chela_store_ops) */
#ifndef CHELA_STORE_H
#define CHELA_STORE_H
#include "chela/session.h"
#include "chela/sys/store.h"
CHELA_BEGIN_DECLS

typedef struct chela_store chela_store;

/* A store. */
struct chela_store_opts {
    size_t size;             /* set by CHELA_STORE_OPTS */
    const char *module_path; /* searched first for libchela-store-*.so; may be NULL */
    int read_only;           /* create and change nothing */
};
#define CHELA_STORE_OPTS(...) {.size = sizeof(struct chela_store_opts), __VA_ARGS__}

/* Open a store: "memory:" (its content ends with the handle), "sqlite:PATH",
 * "postgres://HOST/DATABASE" or "redis://HOST". opts may be NULL.
 * Ownership: the caller owns *out and closes it with chela_store_close; url and opts are
 * copied.
 * Errors: also CHELA_EINVAL: the URL is wrong. CHELA_EMODULE: the module of the database is
 * missing. CHELA_ENOENT: there is no database, and read_only is set. CHELA_EAUTH: the
 * database refuses the user. CHELA_EPROTO: the database belongs to a newer version, or is
 * not a store. */
CHELA_API int chela_store_open(const char *url, const struct chela_store_opts *opts,
                               chela_store **out, struct chela_error *err);

/* Close a store. NULL is allowed. A runtime with the store keeps the store open.
 * Ownership: store becomes invalid for the caller.
 * Errors: none */
CHELA_API void chela_store_close(chela_store *store);

/* A line, for people, about a promise that this store cannot keep; NULL if it keeps all of
 * them.
 * Ownership: the result is borrowed from the store.
 * Errors: none */
CHELA_API const char *chela_store_note(const chela_store *store);

/* Keep the sessions that rt opens from now on in the store. If only the process dies,
 * nothing that was accepted or started is lost; durability states what may be lost when
 * the machine loses power.
 * Ownership: rt keeps the store open; the caller may close its handle.
 * Threads: loop
 * Errors: CHELA_EEXIST: rt has a store. CHELA_EINVAL: there is no such durability. */
CHELA_API int chela_runtime_store(chela_runtime *rt, chela_store *store,
                                  enum chela_durability durability, struct chela_error *err);

/* List sessions, newest first. filter may be NULL: all.
 * Errors: also CHELA_EINVAL: the size of filter is wrong. */
CHELA_API int chela_store_list(chela_store *store, const struct chela_store_filter *filter,
                               chela_store_session_fn *fn, void *user, struct chela_error *err);

#ifdef __cplusplus /* a function with the name of a struct is legal in C++, too */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif
/* Call fn with one session.
 * Errors: also CHELA_ENOENT: there is no such session. */
CHELA_API int chela_store_session(chela_store *store, const char *key, chela_store_session_fn *fn,
                                  void *user, struct chela_error *err);
#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

/* Call fn with the records of a session, beginning with number `from` (0 or 1: the first).
 * Checksums are verified.
 * Errors: also CHELA_ENOENT: there is no such session, or `from` is a number of one that was
 * deleted before this one was created. CHELA_EPARSE: a record is missing or was changed. */
CHELA_API int chela_store_records(chela_store *store, const char *key, uint64_t from,
                                  chela_store_record_fn *fn, void *user, struct chela_error *err);

/* The name of a type of records: "message".
 * Ownership: the result is static text.
 * Errors: none */
CHELA_API const char *chela_store_record_name(uint32_t type);

/* Set the title of a session. A title that is too long is cut.
 * Errors: also CHELA_ENOENT: there is no such session. */
CHELA_API int chela_store_title(chela_store *store, const char *key, const char *title,
                                struct chela_error *err);

/* Delete a session and the sessions of the agents that it called.
 * Errors: also CHELA_ENOENT: there is no such session. CHELA_EBUSY: the session is in use. */
CHELA_API int chela_store_delete(chela_store *store, const char *key, struct chela_error *err);

/* Delete the sessions that were last changed before a time (milliseconds since 1970) and
 * are not in use. *n (may be NULL) becomes their number. */
CHELA_API int chela_store_prune(chela_store *store, int64_t before, size_t *n,
                                struct chela_error *err);

/* What chela_store_erase removes. */
struct chela_erase_opts {
    size_t size;        /* set by CHELA_ERASE_OPTS */
    const char *key;    /* this session; may be NULL */
    const char *sender; /* the sessions that have a message of this sender; may be NULL */
    int64_t before;     /* the sessions that were last changed before this time; 0: none */
    const char *const *workspaces; /* directories that may hold files of the sessions, besides the
                                      one that a session names; NULL at the end; may be NULL */
    const char *undo_dir; /* directory of chela_undo_open; may be NULL */
    int quick; /* nonzero: a large database keeps the deleted text in free pages, which the
                  receipt says */
};
#define CHELA_ERASE_OPTS(...) {.size = sizeof(struct chela_erase_opts), __VA_ARGS__}

/* Delete sessions and the sessions of the agents that they called, and remove their text for good:
 * kept answers, the search index, files of long results and of messages, copies for undo, free
 * pages and the log of the database, as far as the program can. *receipt becomes a JSON object:
 * {"ts","backend","store","complete","erased":[{"session","records","bytes","from","to",
 * "senders"}],"refused":[{"session","why"}],"files","files_left","undo_records","remains":
 * [texts]}. A session that cannot be deleted is refused, and the others are erased; the error
 * is that of the first, and the receipt is written all the same. A call that was cut off can be
 * made again.
 * Ownership: the caller frees *receipt with chela_free.
 * Errors: also CHELA_EINVAL: nothing was chosen. CHELA_ENOENT: there is no such session.
 * CHELA_EBUSY: a session is in use. */
CHELA_API int chela_store_erase(chela_store *store, const struct chela_erase_opts *opts,
                                char **receipt, struct chela_error *err);

/* Go on with a store that was restored, or that lost commits. A new epoch begins, so that each
 * other process that uses the store is refused. What may have happened already in what the store
 * does not know waits for a person: each session with a run in progress, a paused run, a timer, an
 * event that was not taken up or a message that was not sent is held, and occurrences of schedules
 * that are past are passed over. *n (may be NULL) becomes the number of sessions that are held. */
CHELA_API int chela_store_recovered(chela_store *store, size_t *n, struct chela_error *err);

/* Write what the store is, and what this process has committed, to a file of the directory `dir`,
 * which is created. For chela_store_compare of a later process. The file's name is a digest of the
 * URL.
 * Errors: also CHELA_EIO: the file cannot be written. */
CHELA_API int chela_store_remember(chela_store *store, const char *dir, struct chela_error *err);

/* Compare the store of a URL with what chela_store_remember wrote last. 0: it is the same, or it
 * was not used before.
 * Errors: also CHELA_EPROTO: the store is an older copy, or another one. CHELA_ENOENT: it is
 * another one, and empty. */
CHELA_API int chela_store_compare(const char *url, const struct chela_store_opts *opts,
                                  const char *dir, struct chela_error *err);

/* The sessions that are held after chela_store_recovered, as a JSON array: {"session","agent",
 * "status","updated","calls":[{"name","effect","ts"}],"events":[{"id","ts","text"}],"messages":
 * [{"id","state","text"}]}. calls: calls of tools that began and have no result.
 * Ownership: the caller frees *out with chela_free. */
CHELA_API int chela_store_held(chela_store *store, char **out, struct chela_error *err);

/* End the holding of a session: a gateway continues its run, takes its events up and sends its
 * messages. drop, nonzero: they are given up, and the run is cancelled. A call that was cut off can
 * be made again.
 * Errors: also CHELA_ENOENT: there is no such session. CHELA_ESTATE: the session is not held. */
CHELA_API int chela_store_release(chela_store *store, const char *key, int drop,
                                  struct chela_error *err);

/* Examine a store for damage: the database, as far as its module can, and the checksums of
 * all records. *sessions (may be NULL) becomes the number of sessions.
 * Errors: also CHELA_EPARSE: something is damaged; the message names the first. */
CHELA_API int chela_store_check(chela_store *store, size_t *sessions, struct chela_error *err);

/* Search for words in all sessions, or in session `key` only. limit: maximum number of
 * hits. fn may use the store. */
CHELA_API int chela_store_search(chela_store *store, const char *text, const char *key,
                                 size_t limit, chela_store_hit_fn *fn, void *user,
                                 struct chela_error *err);

/* Call fn with the events that were accepted and not settled, with the messages that were
 * not sent, or with the notes; oldest first. For mailbox.h.
 * Errors: also CHELA_EINVAL: there is no such box. */
CHELA_API int chela_store_items(chela_store *store, enum chela_store_box box,
                                chela_store_item_fn *fn, void *user, struct chela_error *err);

/* What was spent of a budget of a gateway in a day (struct chela_budget in gateway.h). */
struct chela_budget_use {
    const char *name; /* of the budget */
    const char *of;   /* agent, channel or sender that the budget is for; "": one budget for all */
    double cost_usd;
    int64_t tokens;
    double limit_usd;     /* the limit when the budget was used last; 0: no limit */
    int64_t limit_tokens; /* likewise */
    int64_t resets;       /* milliseconds since 1970: when the use is reset to zero */
};
/* Receives the use of budgets; use is borrowed until the function returns. Nonzero ends the
 * listing. */
typedef int chela_budget_use_fn(const struct chela_budget_use *use, void *user);

/* List the use of budgets by all gateways of the store on the day of `now` (milliseconds
 * since 1970), by name. Budgets that were not used are not listed. */
CHELA_API int chela_store_budgets(chela_store *store, int64_t now, chela_budget_use_fn *fn,
                                  void *user, struct chela_error *err);

/* An entry of chela_store_list or chela_store_search as a JSON object.
 * Ownership: the caller frees the result with chela_free.
 * Errors: none */
CHELA_API char *chela_store_session_json(const struct chela_store_session *s);
CHELA_API char *chela_store_hit_json(const struct chela_store_hit *h);

/* A session as a JSON object: {"key",..., "waiting":[{"approval_id","id","name","arguments",
 * "summary"}], "transcript":[messages]}.
 * Ownership: the caller frees *out with chela_free.
 * Errors: also CHELA_ENOENT: there is no such session. */
CHELA_API int chela_store_show(chela_store *store, const char *key, char **out,
                               struct chela_error *err);

/* Copy session `from` to a new session `to`, up to the end of turn `turn`. Turns are
 * counted over the whole session. turn negative: the whole session; 0: up to the first
 * model call.
 * Errors: also CHELA_ENOENT: there is no such session or turn. CHELA_EEXIST: session `to`
 * exists. CHELA_EINVAL: a key is wrong. */
CHELA_API int chela_store_fork(chela_store *store, const char *from, int64_t turn, const char *to,
                               struct chela_error *err);

/* Copy session `from` to a new session `to`, up to the model call of turn `turn`, from 1.
 * The copy contains the input of the call and not its reply: chela_run_resume makes the
 * call again.
 * Errors: also CHELA_ENOENT: there is no such session or turn. CHELA_EEXIST: session `to`
 * exists. CHELA_EINVAL: a key is wrong, or turn is less than 1. */
CHELA_API int chela_store_fork_before(chela_store *store, const char *from, int64_t turn,
                                      const char *to, struct chela_error *err);

/* A decision of a run, as recorded and as the agent would decide now. */
struct chela_replay_step {
    uint64_t seq;           /* seq of the record that holds the decision */
    unsigned turn;          /* of its run */
    const char *then, *now; /* for people: state, reason, counters */
    int same;               /* nonzero: the decisions agree */
};
/* Receives the steps of chela_replay; step is borrowed until the function returns. */
typedef void chela_replay_fn(const struct chela_replay_step *step, void *user);

/* Replay the journal of a session: repeat the decisions of its runs with the recorded
 * replies and results, and with the limits of this agent. fn gets each decision, the
 * parameters of each model call then and now, and each result that has no place any more.
 * No model and no tool is called.
 * Threads: loop
 * Errors: also CHELA_ENOENT: there is no such session. CHELA_ESTATE: the agent is closed. */
CHELA_API int chela_replay(chela_agent *agent, chela_store *store, const char *key,
                           chela_replay_fn *fn, void *user, struct chela_error *err);

/* Write a session as lines of JSON: the session, then its records. If `line` returns a
 * negative code, the export ends with the code.
 * Errors: also CHELA_ENOENT: there is no such session. */
CHELA_API int chela_store_export(chela_store *store, const char *key,
                                 int (*line)(const char *p, size_t n, void *user), void *user,
                                 struct chela_error *err);

/* Create a session from the text that chela_store_export wrote. key NULL: the key in the
 * text. *out (may be NULL) becomes the key.
 * Ownership: the caller frees *out with chela_free.
 * Errors: also CHELA_EEXIST: the session exists. CHELA_EPARSE: the text is wrong; the
 * message names the line. CHELA_EINVAL: the key is wrong. */
CHELA_API int chela_store_import(chela_store *store, const char *text, size_t n, const char *key,
                                 char **out, struct chela_error *err);

/* The length of the part of a session's key that names the conversation. The session of an
 * agent that another agent called has the key CALLER~AGENT-DIGITS; the conversation is the
 * session of the first caller.
 * Errors: none */
CHELA_API size_t chela_session_root(const char *key);

CHELA_END_DECLS
#endif
