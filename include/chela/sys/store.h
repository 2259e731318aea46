/* store.h -- the vtable of a store: sessions and their journals in a database.
 *
 * A store keeps a row and a journal for every session. The row is what a list shows, and
 * names the writer. The journal consists of records that are only appended. A store also
 * keeps an inbox of events that were accepted from outside, unique by their id; an outbox
 * of messages to send, each under its idempotency key; notes: small texts under a name,
 * such as schedules; and texts that are kept for a while, such as answers to requests. A
 * store does not interpret records: data is UTF-8 without NUL, type and sum are numbers.
 *
 * The promises of a store, which tests/unit/store/conformance.c tests:
 *
 * - `commit` is one transaction: after a crash at any point it has taken effect completely
 *   or not at all. A commit that returned 0 survives the death of this process and, with
 *   `sync`, a loss of power. A commit that failed has not taken effect, or (CHELA_ENET only)
 *   the effect is unknown: the caller reads again.
 * - Transactions take effect in the order of the calls.
 * - A change that its guard forbids (the lease was lost, the id exists) fails alone: its rc
 *   states the reason, and the other changes take effect. So does a change whose rows another
 *   transaction has locked for long: CHELA_ETIMEOUT, and the caller tries again later.
 * - A session has one writer. `open_session` returns a token, which is higher each time.
 *   Changes with another token than the newest are refused with CHELA_EPERM, even after the
 *   lease has expired and nobody has taken it.
 * - Records are returned byte for byte, in the order of seq.
 * - The numbers of a key's records never come again. A deletion takes a number, too: the session
 *   that is created next with the key begins above it. Only the number is kept, under a digest of
 *   the key, for the 1,000 keys that were deleted last. Other keys that were deleted, and
 *   new ones, begin above the numbers of all keys that were forgotten.
 * - A database that is not the one that was opened takes no change: `commit` and `open_session`
 *   return CHELA_EPROTO if the database was emptied, replaced, restored or converted since, or if
 *   it lost a change that was reported as durable. Each open database keeps a mark in the
 *   database, which each of its transactions checks and raises.
 * - A function that only reads changes nothing.
 *
 * The functions block. They are called on any thread, one at a time for each database. */
#ifndef CHELA_SYS_STORE_H
#define CHELA_SYS_STORE_H
#include <stddef.h>
#include <stdint.h>

#include "chela/error.h"
CHELA_BEGIN_DECLS

/* The version of the layout, which is stored with the data. `open` converts an older layout
 * and refuses a newer one (CHELA_EPROTO). */
#define CHELA_STORE_VERSION 7
/* An index on `updated` need not be written at every append. */
#define CHELA_STORE_FRESH_MS 1000

struct chela_store_db; /* one open database; the module's own */

/* A record of a journal. */
struct chela_store_record {
    uint64_t seq;     /* number in its session: base + 1, base + 2 ... */
    int64_t ts;       /* milliseconds since 1970 */
    uint32_t type;    /* chela_store_record_name */
    uint32_t sum;     /* checksum, which the caller computes and verifies */
    const char *data; /* n bytes; not necessarily terminated by NUL */
    size_t n;
};

/* A session in a list. Texts are borrowed until fn returns; "": none. */
struct chela_store_session {
    const char *key, *agent, *title;
    const char *status;      /* "idle", "running", "paused", "parked" */
    const char *parent;      /* the session that this one was copied from */
    int64_t created, updated; /* milliseconds since 1970 */
    uint64_t last;           /* seq of the newest record; base: none */
    uint64_t window;         /* seq of the first record that is needed to continue */
    uint64_t turns, messages;
    const char *owner;       /* owner of the lease; "": none */
    uint64_t token;          /* token of the newest lease */
    int64_t until;           /* end of the lease, in milliseconds since 1970 */
    uint64_t base;           /* the number before its first record; 0: no session with this key
                                was deleted before */
};

/* The changes of APPEND to the row of a session. */
struct chela_store_head {
    const char *status, *title; /* NULL: unchanged */
    uint64_t window;            /* 0: unchanged */
    uint64_t turns, messages;   /* added to the values in the row */
};

/* The kinds of changes. The comments name the members of struct chela_store_change that a
 * kind uses. */
enum chela_store_change_kind {
    /* key, token, records, head, now: append records. records[0].seq must be the row's last
     * + 1 (otherwise CHELA_ESTATE). `updated` becomes now; it may stay as it is while it is
     * less than CHELA_STORE_FRESH_MS old and head changes neither status nor title. takes:
     * events that the records take up; they are settled. CHELA_EEXIST, and nothing is
     * written: one of them does not wait for this session. sends: messages for the outbox, as
     * INTENT; the rc of a message whose id exists already is CHELA_EEXIST. */
    CHELA_STORE_APPEND = 0,
    CHELA_STORE_RENEW = 1,   /* key, token, until: extend the lease */
    CHELA_STORE_RELEASE = 2, /* key, token: end the lease */
    /* key, agent (data), parent (id), now: create a session without a lease, with token 0.
     * CHELA_EEXIST. With token 0, APPEND writes to a session that nobody has opened: for
     * imports and copies, in the same transaction. */
    CHELA_STORE_CREATE = 3,
    CHELA_STORE_TITLE = 4,  /* key, data: set the title; needs no lease */
    /* key, now: delete the session with its records, inbox and outbox rows and notes, and empty
     * its texts of KEEP. The ids of its events are remembered, as digests: see ACCEPT. So is the
     * number last + 1, unless the session never had a record.
     * CHELA_EBUSY: a lease is valid; or the session was changed at `until` or later, unless
     * until is 0; or, with token 1, an event or an unsent message belongs to the session. With
     * token 2, the inbox and outbox rows stay: a session with the same key follows. */
    CHELA_STORE_DELETE = 5,
    /* id, key, data, now: accept an event. CHELA_EEXIST: the event was accepted before, even
     * if it was settled or, for a week, if its session was deleted. */
    CHELA_STORE_ACCEPT = 6,
    CHELA_STORE_SETTLE = 7, /* id: the event was handled; CHELA_ENOENT */
    /* id, key, data, now: a message to send under this idempotency key. CHELA_EEXIST. */
    CHELA_STORE_INTENT = 8,
    /* id, state, data, now: the outcome of sending a message. CHELA_ENOENT: there is no such
     * message. CHELA_EEXIST: the message has a receipt "sent". */
    CHELA_STORE_RECEIPT = 9,
    /* id, key ("": no session), data, now: write a note. An existing note is replaced or,
     * with token 1, kept (CHELA_EEXIST). */
    CHELA_STORE_NOTE = 10,
    CHELA_STORE_FORGET = 11, /* id: delete a note; CHELA_ENOENT */
    /* until: delete some of the events that were settled and messages that were sent before
     * this time. now: delete some of the texts of KEEP that have expired, and forget some of the
     * keys that were deleted. CHELA_ENOENT: there are none. */
    CHELA_STORE_EXPIRE = 12,
    /* id, key (NULL: no session), data, until, now: keep a text under a name until this time.
     * An existing text is replaced or, with token 1, kept (CHELA_EEXIST) if it has not expired.
     * until 0: delete the text (CHELA_ENOENT). When the session is deleted, the text becomes
     * empty; the name stays until its time has passed. */
    CHELA_STORE_KEEP = 13,
};

/* A message that is stored with the records that caused it. */
struct chela_store_send {
    const char *id; /* idempotency key */
    const char *data;
    size_t n;
    int rc; /* out: 0 or CHELA_EEXIST */
};

/* A change. */
struct chela_store_change {
    enum chela_store_change_kind kind;
    int rc; /* out: 0, or the reason why this change had no effect */
    const char *key;
    uint64_t token;
    int64_t until, now;
    const struct chela_store_record *records;
    size_t nrecords;
    struct chela_store_head head;
    const char *id, *state; /* state: "sent", "failed", "uncertain" */
    const char *data;       /* n bytes */
    size_t n;
    const char *const *takes; /* APPEND: ids of events */
    size_t ntakes;
    struct chela_store_send *sends; /* APPEND */
    size_t nsends;
};

/* A request for the lease of a session. */
struct chela_store_claim {
    const char *key, *agent;
    const char *owner; /* identifies the writer to others */
    int64_t now, until;
    uint64_t steal;    /* token of a lease whose holder is dead; 0: none */
    int create;        /* nonzero: create a session that does not exist; 0: CHELA_ENOENT */
    int judge;         /* nonzero: a lease that has expired is CHELA_EBUSY, too; the caller
                          examines the holder and calls again with `steal` */
};

/* An event of the inbox, a message of the outbox, or a note. */
struct chela_store_item {
    const char *id, *key;
    const char *state; /* inbox: "new"; outbox: "intent", "sent", "failed", "uncertain";
                          notes: "" */
    const char *data;
    size_t n;
    const char *receipt; /* outbox: text of the last receipt; "": none */
    int64_t ts;
    uint64_t attempts; /* outbox: number of receipts */
};

/* The collections of items. */
enum chela_store_box {
    CHELA_STORE_INBOX = 0,
    CHELA_STORE_OUTBOX = 1,
    CHELA_STORE_NOTES = 2
};

/* Selects sessions of a list. */
struct chela_store_filter {
    size_t size;        /* set by CHELA_STORE_FILTER */
    const char *prefix; /* prefix of keys; NULL: all */
    const char *status; /* NULL: any */
    int64_t before;     /* last change before this time; 0: any time */
    size_t limit;       /* maximum number; 0: all */
};
#define CHELA_STORE_FILTER(...) {.size = sizeof(struct chela_store_filter), __VA_ARGS__}

/* A search. */
struct chela_store_query {
    const char *text;  /* words */
    const char *key;   /* search in this session only; NULL: in all */
    size_t limit;      /* maximum number of hits */
    /* Passes the searchable text of a record to add(p, n, to), in pieces. */
    void (*text_of)(const struct chela_store_record *r,
                    void (*add)(const char *p, size_t n, void *to), void *to);
};

/* A hit of a search. */
struct chela_store_hit {
    const char *key, *title;
    uint64_t seq;
    int64_t ts;
    const char *excerpt; /* the match is between \x01 and \x02 */
    uint64_t turn;       /* set by chela_store_search; 0 in a module */
};

/* Receive entries. A result other than 0 ends the listing, which then returns 0. */
typedef int chela_store_record_fn(const struct chela_store_record *r, void *user);
typedef int chela_store_session_fn(const struct chela_store_session *s, void *user);
typedef int chela_store_item_fn(const struct chela_store_item *i, void *user);
typedef int chela_store_hit_fn(const struct chela_store_hit *h, void *user);
/* Receives the records of a scan, with the key and the agent of their session. */
typedef int chela_store_scan_fn(const char *key, const char *agent,
                                const struct chela_store_record *r, void *user);
/* Receives news: released 0: an event was accepted for the session; otherwise its lease was
 * released while events wait for it. */
typedef void chela_store_news_fn(const char *key, int released, void *user);

/* Properties of a store. */
enum chela_store_flags {
    CHELA_STORE_INSTANT = 1, /* no function waits: the library needs no thread */
    CHELA_STORE_LAZY = 2,    /* the death of the server may lose commits without `sync`: the
                                library uses `sync` before it reports anything */
    CHELA_STORE_SHARED = 4,  /* a server: programs on several machines can use the store */
};

/* What a database is. */
struct chela_store_identity {
    char store[40];  /* chosen when the database was created */
    uint64_t epoch;  /* raised when the database was restored */
    int64_t format;  /* version of the layout */
    char writer[40]; /* in: the writer whose mark is read; "": this one. out: this one's name */
    uint64_t mark;   /* of that writer; 0: none */
};

/* The functions of the module. */
struct chela_store_ops {
    const char *name; /* "sqlite" */
    unsigned flags;   /* enum chela_store_flags */

    /* Open a database. target: the text after "sqlite:", or a URL. read_only: the caller
     * only reads; nothing is created. Messages name the database. CHELA_ENOENT, CHELA_EPERM
     * (not writable), CHELA_EPROTO (newer, or not a store), CHELA_EPARSE (damaged),
     * CHELA_EBUSY, CHELA_EIO, CHELA_ENET, CHELA_EAUTH. *note, if set, is a line for people
     * about a promise that this database cannot keep; valid until `close`. */
    int (*open)(const char *target, int read_only, struct chela_store_db **out, const char **note,
                struct chela_error *err);
    void (*close)(struct chela_store_db *db);

    /* Make one transaction; see the promises. Returns 0 if the transaction is durable, also
     * if changes have failed alone (rc). CHELA_ELIMIT: the disk is full. CHELA_EIO,
     * CHELA_EBUSY, CHELA_EPERM, CHELA_EPARSE, CHELA_ENET. CHELA_EPROTO: the database is not the
     * one that was opened; so is each later call. n 0: only examines this, and whether the
     * settings of a server still keep data. */
    int (*commit)(struct chela_store_db *db, struct chela_store_change *changes, size_t n, int sync,
                  struct chela_error *err);

    /* Take the lease of a session: one that is free, has expired (unless `judge`), or has the
     * token `steal`. fn gets the row with the new token. CHELA_EBUSY: another writer holds
     * the lease, and fn gets the row that names the writer. */
    int (*open_session)(struct chela_store_db *db, const struct chela_store_claim *claim,
                        chela_store_session_fn *fn, void *user, struct chela_error *err);

    /* Pass the row of a session to fn. CHELA_ENOENT. */
    int (*session)(struct chela_store_db *db, const char *key, chela_store_session_fn *fn,
                   void *user, struct chela_error *err);
    int (*list)(struct chela_store_db *db, const struct chela_store_filter *filter,
                chela_store_session_fn *fn, void *user, struct chela_error *err);
    /* Pass the records with seq >= from to fn. */
    int (*records)(struct chela_store_db *db, const char *key, uint64_t from,
                   chela_store_record_fn *fn, void *user, struct chela_error *err);
    /* Pass items to fn, in the order in which they were stored, whatever the clocks said.
     * Inbox: the events that were not settled; outbox: the messages that were not sent.
     * Notes: all, by id. */
    int (*items)(struct chela_store_db *db, enum chela_store_box box, chela_store_item_fn *fn,
                 void *user, struct chela_error *err);
    /* Optional; NULL: the library searches all records. Finds what `index` has indexed. */
    int (*search)(struct chela_store_db *db, const struct chela_store_query *q,
                  chela_store_hit_fn *fn, void *user, struct chela_error *err);
    /* The events that wait for one session, in the order of `items`; at most limit. */
    int (*waiting)(struct chela_store_db *db, const char *key, size_t limit,
                   chela_store_item_fn *fn, void *user, struct chela_error *err);
    /* Pass a text of KEEP to fn; ts is the end of its time, which may have passed.
     * CHELA_ENOENT. */
    int (*kept)(struct chela_store_db *db, const char *id, chela_store_item_fn *fn, void *user,
                struct chela_error *err);
    /* Optional; NULL: the store has no notifications, and callers poll. Wait for
     * notifications and pass them to fn: the process that holds a session is notified of
     * events that others accept for the session, and every process is notified of a session
     * that is released while events wait. Returns 0 after news, or when the descriptor
     * `stop` is readable. CHELA_ENET and others: news may have been lost; the next call
     * connects again. The database is used for nothing else. */
    int (*hear)(struct chela_store_db *db, int stop, chela_store_news_fn *fn, void *user,
                struct chela_error *err);
    /* Optional; NULL: `search` needs no index. Brings a part of the index up to date, in a
     * short transaction. *at is 0 in the first call. Returns 1 while something is left, then
     * 0. CHELA_EPERM: the database was opened for reading only. */
    int (*index)(struct chela_store_db *db, const struct chela_store_query *q, uint64_t *at,
                 struct chela_error *err);
    /* Optional. Examine the whole database for damage: CHELA_EPARSE names the first. */
    int (*check)(struct chela_store_db *db, struct chela_error *err);
    /* Optional; NULL: the library reads session by session. Passes the records of a number
     * of further sessions to fn, session by session and in the order of seq: the records
     * whose type is a bit of `types`, of the sessions that were changed at `since` or later.
     * *at is 0 in the first call. Returns 1 while sessions are left, then 0. */
    int (*scan)(struct chela_store_db *db, int64_t since, uint64_t types, uint64_t *at,
                chela_store_scan_fn *fn, void *user, struct chela_error *err);
    /* Optional. Reads the identity of the database. raise: first begins a new epoch, so that each
     * process that has opened the database before is refused. */
    int (*identity)(struct chela_store_db *db, int raise, struct chela_store_identity *inout,
                    struct chela_error *err);
    /* Optional. Removes what deleted data has left in the files of the database. whole 0: only
     * if that is quick. *remains: what stays, a static text for people; "": nothing. */
    int (*purge)(struct chela_store_db *db, int whole, const char **remains,
                 struct chela_error *err);
};

CHELA_END_DECLS
#endif
