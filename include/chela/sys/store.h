/* store.h -- the vtable of a store: sessions and their journals in a database.
 *
 * A store keeps, for every session, one row (what a list shows, who may write)
 * and a journal: records that are only ever appended. Beside them an inbox of
 * events that were accepted from outside, unique by their id, and an outbox of
 * what is to be sent, each under its idempotency key, and notes: small texts
 * under a name, such as schedules. What the records mean is
 * no business of the store: data is UTF-8 text without NUL, type and sum are
 * numbers to be given back.
 *
 * What a store promises, and what tests/unit/store/conformance.c tests:
 *
 *   1. `commit` is one transaction: after a crash at any point all of it is
 *      there or nothing. When it returned 0 it survives the death of this
 *      process; with `sync` also that of the machine. On failure nothing of it
 *      is there, or (CHELA_ENET alone) it is unknown: the caller reads again.
 *   2. Transactions take effect in the order of the calls.
 *   3. A change that its guard forbids (a lease that was lost, an id that is
 *      there already) fails alone: its rc says so, the others take effect.
 *   4. A session has one writer. `open_session` hands out a token, higher each
 *      time; changes with another token than the newest are refused with
 *      CHELA_EPERM, also after the lease expired and nobody took it.
 *   5. Records come back byte for byte, in the order of seq.
 *   6. Nothing is altered by a call that only reads.
 *
 * Calls block. They come from any thread, one at a time for each database. */
#ifndef CHELA_SYS_STORE_H
#define CHELA_SYS_STORE_H
#include <stddef.h>
#include <stdint.h>

#include "chela/error.h"
CHELA_BEGIN_DECLS

/* The layout of the data, stored with it. A store that is older is brought up
 * to date when it is opened; a newer one is refused (CHELA_EPROTO). */
#define CHELA_STORE_VERSION 3

struct chela_store_db; /* one open database; the module's own */

struct chela_store_record {
    uint64_t seq;     /* 1, 2, 3 ... in its session */
    int64_t ts;       /* ms, wall clock */
    uint32_t type;    /* as in agent/journal/journal.h */
    uint32_t sum;     /* checksum, made and checked by the caller */
    const char *data; /* n bytes; not necessarily NUL-terminated */
    size_t n;
};

/* A session as a list shows it. Texts are "" when there is none; they are
 * borrowed until the function they are handed to returns. */
struct chela_store_session {
    const char *key, *agent, *title;
    const char *status;      /* idle running paused parked */
    const char *parent;      /* the session it was forked from */
    int64_t created, updated; /* ms, wall clock */
    uint64_t last;           /* seq of the newest record, 0: none */
    uint64_t window;         /* seq of the first record that is still needed to go on */
    uint64_t turns, messages;
    const char *owner;       /* of the lease; "" when nobody holds one */
    uint64_t token;          /* of the newest lease */
    int64_t until;           /* ms, wall clock: when the lease ends unless renewed */
};

/* What APPEND changes in the session's row. */
struct chela_store_head {
    const char *status, *title; /* NULL: keep */
    uint64_t window;            /* 0: keep */
    uint64_t turns, messages;   /* added to what is there */
};

enum chela_store_change_kind {
    /* key, token, records, head, now: records[0].seq must be the row's last + 1
     * (CHELA_ESTATE otherwise), `updated` becomes now. takes: the session takes up
     * these events, which are settled. CHELA_EEXIST, and nothing is written: one of
     * them does not wait for this session. sends: messages for the outbox, as
     * INTENT; the rc of a message whose id exists already is CHELA_EEXIST. */
    CHELA_STORE_APPEND = 0,
    CHELA_STORE_RENEW = 1,   /* key, token, until: the lease lasts until then */
    CHELA_STORE_RELEASE = 2, /* key, token: nobody holds the lease any more */
    /* key, agent (data), parent (id), now: a new session without a lease, token
     * 0. CHELA_EEXIST. With token 0, APPEND writes to a session that nobody has
     * opened yet: for imports and forks, in the same transaction. */
    CHELA_STORE_CREATE = 3,
    CHELA_STORE_TITLE = 4,  /* key, data: its title; no lease is needed */
    CHELA_STORE_DELETE = 5, /* key: the session with its records, its inbox and outbox
                           rows and its notes; CHELA_EBUSY while a lease lasts (now) */
    /* id, key, data, now: an event from outside. CHELA_EEXIST: it was accepted
     * before, whatever became of it. */
    CHELA_STORE_ACCEPT = 6,
    CHELA_STORE_SETTLE = 7, /* id: the event was dealt with; CHELA_ENOENT */
    /* id, key, data, now: to be sent under this idempotency key. CHELA_EEXIST. */
    CHELA_STORE_INTENT = 8,
    /* id, state, data, now: what became of it. CHELA_ENOENT: no such intent;
     * CHELA_EEXIST: it has a receipt that says "sent". */
    CHELA_STORE_RECEIPT = 9,
    /* id, key ("": of no session), data, now: a note; another of this name is
     * replaced, or with token 1 stays (CHELA_EEXIST). */
    CHELA_STORE_NOTE = 10,
    CHELA_STORE_FORGET = 11, /* id: the note is gone; CHELA_ENOENT */
    /* until: some of the events that were settled and the messages that were sent,
     * of those that came before then, are gone. CHELA_ENOENT: there is none. */
    CHELA_STORE_EXPIRE = 12,
};

/* A message that is stored with the records that caused it. */
struct chela_store_send {
    const char *id; /* idempotency key */
    const char *data;
    size_t n;
    int rc; /* out: 0 or CHELA_EEXIST */
};

struct chela_store_change {
    enum chela_store_change_kind kind;
    int rc; /* out: 0, or why this change alone had no effect */
    const char *key;
    uint64_t token;
    int64_t until, now;
    const struct chela_store_record *records;
    size_t nrecords;
    struct chela_store_head head;
    const char *id, *state; /* state: sent failed uncertain */
    const char *data;       /* n bytes */
    size_t n;
    const char *const *takes; /* APPEND: ids of events */
    size_t ntakes;
    struct chela_store_send *sends; /* APPEND */
    size_t nsends;
};

/* Who wants to write to a session. */
struct chela_store_claim {
    const char *key, *agent;
    const char *owner; /* says who it is, for others to judge */
    int64_t now, until;
    uint64_t steal;    /* the token of a lease whose holder is known to be dead; 0: none */
    int create;        /* make the session if there is none; else CHELA_ENOENT */
    int judge;         /* a lease that has expired is CHELA_EBUSY too: the caller knows better
                          than a clock, and comes back with `steal` */
};

/* An event of the inbox, a message of the outbox, or a note. */
struct chela_store_item {
    const char *id, *key;
    const char *state; /* inbox: new; outbox: intent sent failed uncertain; notes: "" */
    const char *data;
    size_t n;
    const char *receipt; /* outbox; "" without */
    int64_t ts;
    uint64_t attempts; /* outbox: receipts so far */
};

enum chela_store_box { CHELA_STORE_INBOX = 0, CHELA_STORE_OUTBOX = 1, CHELA_STORE_NOTES = 2 };

struct chela_store_filter {
    size_t size;        /* set by CHELA_STORE_FILTER */
    const char *prefix; /* of keys; NULL: all */
    const char *status; /* NULL: any */
    int64_t before;     /* updated before then; 0: any time */
    size_t limit;       /* 0: all; the newest are given first */
};
#define CHELA_STORE_FILTER(...) {.size = sizeof(struct chela_store_filter), __VA_ARGS__}

struct chela_store_query {
    const char *text;  /* words to be found */
    const char *key;   /* in this session alone; NULL: in all */
    size_t limit;
    /* The text of a record that can be searched, "" if there is none: appended
     * by calling add(p, n, to). */
    void (*text_of)(const struct chela_store_record *r,
                    void (*add)(const char *p, size_t n, void *to), void *to);
};

struct chela_store_hit {
    const char *key, *title;
    uint64_t seq;
    int64_t ts;
    const char *excerpt; /* with the match between \x01 and \x02 */
    uint64_t turn;       /* left 0 by a backend: chela_store_search counts */
};

/* Each returns non-zero to stop the walk, which then ends with 0. */
typedef int chela_store_record_fn(const struct chela_store_record *r, void *user);
typedef int chela_store_session_fn(const struct chela_store_session *s, void *user);
typedef int chela_store_item_fn(const struct chela_store_item *i, void *user);
typedef int chela_store_hit_fn(const struct chela_store_hit *h, void *user);

enum chela_store_flags {
    CHELA_STORE_INSTANT = 1, /* no call ever waits: needs no thread */
    CHELA_STORE_LAZY = 2,    /* the death of its server may take what was committed
                                without `sync`: what somebody is told is synced */
    CHELA_STORE_SHARED = 4,  /* a server: programs on several machines may use it */
};

struct chela_store_ops {
    const char *name; /* "sqlite" */
    unsigned flags;   /* enum chela_store_flags */

    /* target: what follows "sqlite:", or a whole URL. read_only: a caller that
     * will only read; nothing is created. Errors name what was opened.
     * CHELA_ENOENT, CHELA_EPERM (cannot be written), CHELA_EPROTO (newer, or no
     * store of ours), CHELA_EPARSE (damaged), CHELA_EBUSY, CHELA_EIO,
     * CHELA_ENET, CHELA_EAUTH. *note, if set, is a line that its user should
     * read (it lives as long as the database): a promise that does not hold. */
    int (*open)(const char *target, int read_only, struct chela_store_db **out, const char **note,
                struct chela_error *err);
    void (*close)(struct chela_store_db *db);

    /* One transaction; see the promises. Returns 0 when it was made durable,
     * whatever the changes' own rc say. CHELA_ELIMIT: no room left (the disk);
     * CHELA_EIO, CHELA_EBUSY, CHELA_EPERM, CHELA_EPARSE, CHELA_ENET. */
    int (*commit)(struct chela_store_db *db, struct chela_store_change *changes, size_t n, int sync,
                  struct chela_error *err);

    /* Take the lease: free, expired (unless `judge`), or of `steal`. The row is handed to fn with
     * the new token. CHELA_EBUSY: somebody holds it, and fn was given the row
     * that says who. */
    int (*open_session)(struct chela_store_db *db, const struct chela_store_claim *claim,
                        chela_store_session_fn *fn, void *user, struct chela_error *err);

    /* The row; CHELA_ENOENT. */
    int (*session)(struct chela_store_db *db, const char *key, chela_store_session_fn *fn,
                   void *user, struct chela_error *err);
    int (*list)(struct chela_store_db *db, const struct chela_store_filter *filter,
                chela_store_session_fn *fn, void *user, struct chela_error *err);
    /* Records with seq >= from. */
    int (*records)(struct chela_store_db *db, const char *key, uint64_t from,
                   chela_store_record_fn *fn, void *user, struct chela_error *err);
    /* Inbox: what was not settled; outbox: what was not sent. In the order in which
     * they were stored, whatever the clocks said. Notes: all, by id. */
    int (*items)(struct chela_store_db *db, enum chela_store_box box, chela_store_item_fn *fn,
                 void *user, struct chela_error *err);
    /* Optional: NULL, and the caller looks through all records. */
    int (*search)(struct chela_store_db *db, const struct chela_store_query *q,
                  chela_store_hit_fn *fn, void *user, struct chela_error *err);
    /* The events that wait for one session, in the order of `items`; at most limit. */
    int (*waiting)(struct chela_store_db *db, const char *key, size_t limit,
                   chela_store_item_fn *fn, void *user, struct chela_error *err);
};

CHELA_END_DECLS
#endif
