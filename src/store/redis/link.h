/* link.h -- the connection to the server: commands, answers, errors.
 *
 * All functions block, for one caller at a time (chela/sys/store.h). A call of the store begins
 * with ch_redis_start, which sets the time by which the call ends. A function that fails sets
 * db->again if the failure may be temporary; after a lost connection db->conn is NULL, and
 * ch_redis_connect opens a new one. */
#ifndef CH_STORE_REDIS_LINK_H
#define CH_STORE_REDIS_LINK_H
#include "store/redis/db.h"

/* Append one word; ch_redis_call releases the command. */
void ch_redis_add(struct ch_redis_cmd *cmd, const char *p, size_t n);
void ch_redis_addf(struct ch_redis_cmd *cmd, const char *fmt, ...) CHELA_PRINTF(2, 3);
void ch_redis_add_words(struct ch_redis_cmd *cmd, const char *words); /* space-separated */

void ch_redis_start(struct chela_store_db *db);
/* Connect, unless the connection is open. */
int ch_redis_connect(struct chela_store_db *db, struct chela_error *err);
/* Close the connection. */
void ch_redis_drop(struct chela_store_db *db);

/* Wait before the call that failed is repeated. False, at once: the call must not be repeated,
 * because the failure will last or too little time is left. */
bool ch_redis_try_again(struct chela_store_db *db, unsigned attempt);

/* Send a command. Several may be sent before the first answer is received. */
int ch_redis_send(struct chela_store_db *db, struct ch_redis_cmd *cmd, struct chela_error *err);

/* Receive an answer. *out belongs to the caller (freeReplyObject); an error of
 * the server goes to err. */
int ch_redis_receive(struct chela_store_db *db, redisReply **out, struct chela_error *err);

/* Send a command, release it and receive its answer. out NULL: the answer is not needed. */
int ch_redis_call(struct chela_store_db *db, struct ch_redis_cmd *cmd, redisReply **out,
                  struct chela_error *err);

/* The same for a command without data, given as words. */
int ch_redis_ask(struct chela_store_db *db, const char *words, redisReply **out,
                 struct chela_error *err);

/* Fail because of an answer of unexpected form. */
int ch_redis_strange(struct chela_store_db *db, struct chela_error *err);

#endif
