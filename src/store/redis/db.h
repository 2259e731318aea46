/* db.h -- the parts of libchela-store-redis.so share one connection.
 *
 * Keys, each behind the prefix ("chela:" unless the URL says otherwise):
 *
 *   format         the version
 *   s:KEY          a session's row (hash); r:KEY its records (list, seq 1 first)
 *   sessions       their keys by the time of their last change (sorted set)
 *   i:ID, o:ID     an event of the inbox, a message of the outbox (hashes)
 *   inbox, outbox  those that are not done, the oldest first (sorted sets of
 *                  NUMBER:ID); i-of:KEY, o-of:KEY a session's own (sets of ids)
 *   done           those that are, by the time they came (sorted set of i:ID, o:ID)
 *   number         counts what came into either box
 *   w:WRITER       an open store's newest transaction, and what became of it
 *
 * Times are milliseconds; those of leases are of the server's clock. */
#ifndef CH_STORE_REDIS_DB_H
#define CH_STORE_REDIS_DB_H
#include <hiredis/hiredis.h>
#include <stdbool.h>

#include "base/buf.h"
#include "chela/sys/store.h"

struct ch_redis_url { /* all owned */
    char *host, *user, *password; /* "" where there is none */
    char *prefix;
    int port, index;
    int64_t ttl; /* seconds that an unchanged session is kept; 0: for good */
};

struct chela_store_db {
    redisContext *conn; /* owned; NULL after a loss, until the next call */
    struct ch_redis_url url;
    char *shown; /* owned: the URL for messages, without its password */
    char *note;  /* owned: what does not hold here; NULL: nothing */
    bool read_only;
    bool again;      /* the last failure may pass: worth another attempt */
    bool starting;   /* the server says that it is not ready yet */
    char id[33];     /* of this writer */
    char script[41]; /* the server's name for ch_redis_script */
    uint64_t number; /* of the newest transaction */
    int64_t skew;    /* add it to our time to get the server's, ms */
    int64_t due;     /* monotonic: when the call under way gives up */
    redisReplyObjectFunctions *plain;  /* hiredis's own */
    redisReplyObjectFunctions bounded; /* the same, but for large arrays */
};

/* A command while it is being put together, as the protocol has it. */
struct ch_redis_cmd {
    struct ch_buf args;
    size_t count;
};
void ch_redis_add(struct ch_redis_cmd *cmd, const char *p, size_t n);
void ch_redis_addf(struct ch_redis_cmd *cmd, const char *fmt, ...) CHELA_PRINTF(2, 3);
void ch_redis_add_words(struct ch_redis_cmd *cmd, const char *words); /* between spaces */

/* --- url.c */
int ch_redis_url_parse(const char *text, struct ch_redis_url *out, struct chela_error *err);
void ch_redis_url_release(struct ch_redis_url *url);

/* --- link.c: one connection, and no wait without an end */
void ch_redis_start(struct chela_store_db *db); /* a call begins: set due */
int ch_redis_connect(struct chela_store_db *db, struct chela_error *err);
void ch_redis_drop(struct chela_store_db *db);
/* May the failed call be tried once more? Waits a little first. */
bool ch_redis_try_again(struct chela_store_db *db, unsigned attempt);
/* Several may be sent before the first answer is taken. */
int ch_redis_send(struct chela_store_db *db, struct ch_redis_cmd *cmd, struct chela_error *err);
/* *out is the caller's to freeReplyObject; an error of the server is err. */
int ch_redis_receive(struct chela_store_db *db, redisReply **out, struct chela_error *err);
/* Words of a command without data, sent and answered. */
int ch_redis_ask(struct chela_store_db *db, const char *words, redisReply **out,
                 struct chela_error *err);
/* An answer that is none of what was asked for. */
int ch_redis_strange(struct chela_store_db *db, struct chela_error *err);

/* --- script.c: what runs in the server */
extern const char ch_redis_script[];

/* --- db.c: the database, and transactions in it */
int ch_redis_open(const char *target, int read_only, struct chela_store_db **out,
                  const char **note, struct chela_error *err);
void ch_redis_close(struct chela_store_db *db);
/* changes: arguments of the script behind its first four. *results is owned by
 * the caller: a word for each change. It takes effect once, however often it
 * has to be sent. */
int ch_redis_transact(struct chela_store_db *db, const struct ch_redis_cmd *changes,
                      char **results, struct chela_error *err);
/* Learn how far the server's clock is from ours. */
int ch_redis_set_clock(struct chela_store_db *db, struct chela_error *err);
int64_t ch_redis_server_time(const struct chela_store_db *db, int64_t ours);

/* --- change.c */
int ch_redis_commit(struct chela_store_db *db, struct chela_store_change *changes, size_t n,
                    int sync, struct chela_error *err);
int ch_redis_open_session(struct chela_store_db *db, const struct chela_store_claim *claim,
                          chela_store_session_fn *fn, void *user, struct chela_error *err);

/* --- read.c */
/* token, unless 0, is shown instead of the row's. */
int ch_redis_row(struct chela_store_db *db, const char *key, uint64_t token,
                 chela_store_session_fn *fn, void *user, struct chela_error *err);
int ch_redis_session(struct chela_store_db *db, const char *key, chela_store_session_fn *fn,
                     void *user, struct chela_error *err);
int ch_redis_list(struct chela_store_db *db, const struct chela_store_filter *filter,
                  chela_store_session_fn *fn, void *user, struct chela_error *err);
int ch_redis_records(struct chela_store_db *db, const char *key, uint64_t from,
                     chela_store_record_fn *fn, void *user, struct chela_error *err);
int ch_redis_items(struct chela_store_db *db, enum chela_store_box box, chela_store_item_fn *fn,
                   void *user, struct chela_error *err);

#endif
