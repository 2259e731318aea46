/* feed.c -- see feed.h. */
#include "store/postgres/feed.h"

#include <errno.h>
#include <poll.h>

#include "base/error.h"
#include "store/postgres/db.h"
#include "store/postgres/link.h"

static int feed_listen(struct chela_store_db *db, struct chela_error *err) {
    if (db->hears)
        return 0;
    ch_pg_start(db);
    int rc = db->conn ? 0 : ch_pg_connect(db, err);
    if (rc == 0)
        rc = ch_pg_script(db, "LISTEN " CH_PG_CHANNEL, NULL, err);
    db->hears = rc == 0;
    return rc;
}

static bool feed_tell(struct chela_store_db *db, chela_store_news_fn *fn, void *user) {
    bool any = false;

    for (PGnotify *n; (n = PQnotifies(db->conn)); any = true) {
        if ((n->extra[0] == 'i' || n->extra[0] == 'r') && n->extra[1] == ' ')
            fn(n->extra + 2, n->extra[0] == 'r', user);
        PQfreemem(n);
    }
    return any;
}

int ch_pg_hear(struct chela_store_db *db, int stop, chela_store_news_fn *fn, void *user,
               struct chela_error *err) {
    int rc = feed_listen(db, err);

    if (rc < 0) {
        ch_pg_drop(db);
        return rc;
    }
    while (!feed_tell(db, fn, user)) {
        struct pollfd p[] = {{.fd = PQsocket(db->conn), .events = POLLIN},
                             {.fd = stop, .events = POLLIN}};
        if (poll(p, 2, -1) < 0 && errno != EINTR)
            return ch_fail(err, CHELA_EIO, "store %s: poll failed", db->shown);
        if (p[1].revents)
            return 0;
        if (p[0].revents && !PQconsumeInput(db->conn)) {
            ch_pg_drop(db);
            return ch_fail(err, CHELA_ENET, "store %s: the connection was lost", db->shown);
        }
    }
    return 0;
}
