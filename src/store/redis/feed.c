/* feed.c -- see feed.h. The channel is PREFIXnews; a message is "i KEY" (an event was accepted)
 * or "r KEY" (a release). */
#include "store/redis/feed.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/error.h"
#include "store/redis/db.h"
#include "store/redis/link.h"

static int feed_subscribe(struct chela_store_db *db, struct chela_error *err) {
    struct ch_redis_cmd cmd = {0};

    if (db->hears)
        return 0;
    ch_redis_start(db);
    int rc = db->conn ? 0 : ch_redis_connect(db, err);
    if (rc < 0)
        return rc;
    ch_redis_add_words(&cmd, "SUBSCRIBE");
    ch_redis_addf(&cmd, "%snews", db->url.prefix);
    rc = ch_redis_call(db, &cmd, NULL, err);
    db->hears = rc == 0;
    return rc;
}

static void feed_tell_message(const redisReply *r, chela_store_news_fn *fn, void *user) {
    bool three = r->type == REDIS_REPLY_ARRAY && r->elements == 3;
    const redisReply *text = three ? r->element[2] : NULL;

    if (text && text->type == REDIS_REPLY_STRING && text->len > 2 && text->str[1] == ' ' &&
        (text->str[0] == 'i' || text->str[0] == 'r'))
        fn(text->str + 2, text->str[0] == 'r', user);
}

/* The messages that have arrived. *any: there was one. */
static int feed_tell(struct chela_store_db *db, chela_store_news_fn *fn, void *user, bool *any,
                     struct chela_error *err) {
    for (void *reply = NULL;; reply = NULL) {
        if (redisReaderGetReply(db->conn->reader, &reply) != REDIS_OK)
            return ch_redis_strange(db, err);
        if (!reply)
            return 0;
        feed_tell_message(reply, fn, user);
        freeReplyObject(reply);
        *any = true;
    }
}

static int feed_read(struct chela_store_db *db, struct chela_error *err) {
    char bytes[4096];
    ssize_t n = recv(db->conn->fd, bytes, sizeof(bytes), 0);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n > 0 && redisReaderFeed(db->conn->reader, bytes, (size_t)n) == REDIS_OK)
        return 0;
    ch_redis_drop(db);
    return ch_fail(err, CHELA_ENET, "store %s: the connection was lost", db->shown);
}

int ch_redis_hear(struct chela_store_db *db, int stop, chela_store_news_fn *fn, void *user,
                  struct chela_error *err) {
    int rc = feed_subscribe(db, err);
    bool any = false;

    if (rc < 0)
        ch_redis_drop(db);
    while (rc == 0 && (rc = feed_tell(db, fn, user, &any, err)) == 0 && !any) {
        struct pollfd p[] = {{.fd = db->conn->fd, .events = POLLIN},
                             {.fd = stop, .events = POLLIN}};
        if (poll(p, 2, -1) < 0 && errno != EINTR)
            return ch_fail(err, CHELA_EIO, "store %s: poll failed", db->shown);
        if (p[1].revents)
            return 0;
        if (p[0].revents)
            rc = feed_read(db, err);
    }
    return rc;
}
