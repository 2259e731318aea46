/* db.h -- the connection shared by the files of libchela-store-redis.so.
 *
 * Keys, each after the prefix ("chela:" unless the URL sets another):
 *
 *   format         the version
 *   identity       the name of the store, a space, its epoch
 *   s:KEY          a session's row (hash); r:KEY its records (list, seq 1 first)
 *   sessions       session keys by the time of their last change (sorted set);
 *                  active: those whose status is not idle (sorted set)
 *   i:ID, o:ID     an event of the inbox, a message of the outbox (hashes)
 *   inbox, outbox  unprocessed items, the oldest first (sorted sets of
 *                  NUMBER:ID); i-of:KEY, o-of:KEY a session's own (sets of ids)
 *   done           processed items by their time (sorted set of i:ID, o:ID)
 *   k:ID           a text that is kept for a while (hash); k-of:KEY the texts that go
 *                  with a session (sorted set of ids by the end of their time)
 *   past           the ids in k: of the numbers of deleted keys (past.h), by age (sorted set)
 *   gone           events of deleted sessions (sorted set of the SHA-1 of their ids, by
 *                  the end of the time for which they are remembered)
 *   number         counter for the items of both boxes
 *   w:WRITER       an open store's newest transaction and its result
 *
 * Times are milliseconds; times of leases are of the server's clock. */
#ifndef CH_STORE_REDIS_DB_H
#define CH_STORE_REDIS_DB_H
#include <hiredis/hiredis.h>
#include <stdbool.h>

#include "base/buf.h"
#include "chela/sys/store.h"
#include "store/past.h"

struct ch_redis_url { /* all owned */
    char *host, *user, *password; /* "" where not given */
    char *prefix;
    int port, index;
    int64_t ttl; /* seconds to keep an unchanged session; 0: forever */
};

struct chela_store_db {
    redisContext *conn; /* owned; NULL after a lost connection, until the next call */
    struct ch_redis_url url;
    char *shown; /* owned: the URL for messages, without its password */
    char *note;  /* owned: guarantees that do not hold; NULL: none */
    bool read_only;
    bool hears;      /* the connection has subscribed to news */
    bool again;      /* the last failure may be temporary: worth a retry */
    bool starting;   /* the server reports that it is not ready yet */
    char id[33];     /* id of this writer */
    char script[41]; /* SHA-1 of ch_redis_script */
    char identity[64]; /* of the database, with its epoch; "": opened for reading only */
    char *lost;      /* owned: why the database may not be used any more; this is final */
    unsigned faults; /* settings that lose data: when the store was opened */
    int64_t judged;  /* monotonic: when the settings were read */
    uint64_t number; /* number of the newest transaction */
    uint64_t answered; /* number of the newest transaction whose answer arrived */
    int64_t skew;    /* server time minus local time, ms */
    int64_t due;     /* monotonic: when the current call gives up */
    redisReplyObjectFunctions *plain;  /* hiredis's own */
    redisReplyObjectFunctions bounded; /* the same, with a limit on arrays */
};

/* A command being built, in the format of the protocol. */
struct ch_redis_cmd {
    struct ch_buf args;
    size_t count;
};

extern const char ch_redis_script[];
/* Brings data of an older format up to date. ARGV: prefix, new version. */
extern const char ch_redis_migration[];

int ch_redis_open(const char *target, int read_only, struct chela_store_db **out,
                  const char **note, struct chela_error *err);
void ch_redis_close(struct chela_store_db *db);
/* changes: the script's arguments after the first four. *results belongs to the
 * caller: one word per change. The transaction takes effect once, however often
 * it is sent. */
int ch_redis_transact(struct chela_store_db *db, const struct ch_redis_cmd *changes,
                      char **results, struct chela_error *err);
/* See the vtable. */
int ch_redis_identity(struct chela_store_db *db, int raise, struct chela_store_identity *inout,
                      struct chela_error *err);
/* See the vtable: rewrite the append-only file. */
int ch_redis_purge(struct chela_store_db *db, int whole, const char **remains,
                   struct chela_error *err);
/* Examines whether the database is still the one that was opened, and whether the server's
 * settings keep data as they did then: CHELA_EPROTO. */
int ch_redis_verify(struct chela_store_db *db, struct chela_error *err);
/* Measure the difference between the server's clock and the local one. */
int ch_redis_set_clock(struct chela_store_db *db, struct chela_error *err);
int64_t ch_redis_server_time(const struct chela_store_db *db, int64_t ours);
int64_t ch_redis_local_time(const struct chela_store_db *db, int64_t theirs);

#endif
