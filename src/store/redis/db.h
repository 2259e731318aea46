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

extern const char ch_redis_script[];

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

#endif
