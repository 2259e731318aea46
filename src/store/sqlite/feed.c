/* feed.c -- see feed.h.
 *
 * SQLite tells nobody of a commit. A commit writes to the WAL, and inotify tells of that: the
 * process looks at the inbox. Writes that follow one another closely cause one look. Without
 * inotify the process looks at an interval. */
#include "store/sqlite/feed.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/mem.h"
#include "store/sqlite/db.h"

#define GATHER_MS 5    /* between a write and the look */
#define LOOK_MS 1000   /* between looks without a write */
#define BLIND_MS 100   /* between looks without inotify */
#define HELD 256       /* sessions with waiting events that are remembered */

struct ch_sqlite_feed {
    int watch;         /* inotify; -1: none */
    int64_t last;      /* rowid of the newest event that was seen */
    uint64_t held[HELD]; /* digests of sessions that a process had at the last look while events
                            waited */
    size_t nheld;
};

void ch_sqlite_feed_free(struct ch_sqlite_feed *f) {
    if (f && f->watch >= 0)
        close(f->watch);
    ch_free(f);
}

static int feed_open(struct chela_store_db *db, struct chela_error *err) {
    int64_t last = 0;
    CH_BUF_AUTO wal = {0};
    int rc = ch_sqlite_number(db, "SELECT coalesce(max(rowid), 0) FROM inbox", &last, err);

    if (rc < 0)
        return rc;
    struct ch_sqlite_feed *f = db->feed = ch_alloc(sizeof(*f));
    f->last = last;
    ch_buf_addf(&wal, "%s-wal", db->path);
    f->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (f->watch >= 0 && inotify_add_watch(f->watch, ch_buf_str(&wal), IN_MODIFY) < 0) {
        close(f->watch);
        f->watch = -1;
    }
    return 0;
}

static uint64_t feed_digest(const char *key) {
    size_t n = strlen(key);

    return (uint64_t)ch_checksum(0, key, n) << 32 | ch_checksum(1, key, n);
}

static bool feed_was_held(const struct ch_sqlite_feed *f, uint64_t digest) {
    for (size_t i = 0; i < f->nheld; i++)
        if (f->held[i] == digest)
            return true;
    return false;
}

/* Sessions for which events wait: a process has the session and gets a new event, or a process
 * had it at the last look and has released it. Returns whether there were news. */
static int feed_look(struct chela_store_db *db, chela_store_news_fn *fn, void *user, bool *news,
                     struct chela_error *err) {
    struct ch_sqlite_feed *f = db->feed, before = *f;
    sqlite3_stmt *stmt = ch_sqlite_take(db, S_FEED, err);
    int64_t newest = 0;
    int rc;

    if (!stmt)
        return err->code;
    f->nheld = 0;
    sqlite3_bind_int64(stmt, 1, HELD);
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *key = ch_sqlite_text(stmt, 0);
        uint64_t digest = feed_digest(key);
        bool held = *ch_sqlite_text(stmt, 1), fresh = sqlite3_column_int64(stmt, 2) > before.last;
        bool released = !held && feed_was_held(&before, digest);
        newest = CH_MAX(newest, sqlite3_column_int64(stmt, 2));
        if (held)
            f->held[f->nheld++] = digest;
        if ((held && fresh) || released) {
            fn(key, released, user);
            *news = true;
        }
    }
    sqlite3_reset(stmt);
    if (rc != SQLITE_DONE)
        return ch_sqlite_fail(db, rc, err);
    f->last = newest;
    return 0;
}

/* True: `stop` is readable. */
static bool feed_wait(const struct ch_sqlite_feed *f, int stop) {
    char events[1024];
    struct pollfd p[] = {{.fd = stop, .events = POLLIN}, {.fd = f->watch, .events = POLLIN}};

    if (poll(p, 2, f->watch < 0 ? BLIND_MS : LOOK_MS) > 0 && !p[0].revents)
        poll(p, 1, GATHER_MS);
    while (f->watch >= 0 && read(f->watch, events, sizeof(events)) > 0)
        continue;
    return p[0].revents;
}

int ch_sqlite_hear(struct chela_store_db *db, int stop, chela_store_news_fn *fn, void *user,
                   struct chela_error *err) {
    bool news = false;
    int rc = db->feed ? 0 : feed_open(db, err);

    while (rc == 0 && !news && !feed_wait(db->feed, stop))
        rc = feed_look(db, fn, user, &news, err);
    return rc;
}
