/* db.h -- the connection shared by the files of libchela-store-sqlite.so.
 *
 * Tables: `sessions`, one row each; `records`, whose rowid is session * 2^40 +
 * seq, so that the records of a journal are adjacent and need no index;
 * `inbox`, `outbox`, `notes`, `kept`. `words`, the full text index, is created by the
 * first search and updated by later searches, so that appending does not pay
 * for it. Times are milliseconds.
 *
 * Two kinds of names in `kept` have no text. "gone/DIGEST" is the id of an event whose session
 * was deleted. "of KEY\nID", with the time of the text ID, is a link: the text goes with the
 * session. The names of past.h have a number. */
#ifndef CH_STORE_SQLITE_DB_H
#define CH_STORE_SQLITE_DB_H
#include <sqlite3.h>
#include <stdbool.h>

#include "chela/sys/store.h"
#include "store/past.h"

#define SEQ_BITS 40
#define SEQ_MAX (((int64_t)1 << SEQ_BITS) - 1)

/* The keys that are forgotten: ?1 keys stay, at most ?2 are forgotten. */
#define IS_PAST "id > '" CH_PAST "' AND id < '" CH_PAST_END "'"
#define OLD_PAST                                                                  \
    "SELECT id FROM kept WHERE " IS_PAST " ORDER BY until, id LIMIT max(0, min(?2, " \
    "(SELECT count(*) FROM kept WHERE " IS_PAST ") - ?1))"

/* X(name, sql): prepared at first use, kept until the database is closed */
#define STATEMENTS(X)                                                                          \
    X(BEGIN, "BEGIN IMMEDIATE")                                                                \
    X(COMMIT, "COMMIT")                                                                        \
    X(MARK, /* ?2: the new mark, ?3: the last one */                                           \
      "UPDATE writers SET number = ?2 WHERE id = ?1 AND number >= ?3 AND "                     \
      "(SELECT epoch = ?4 AND store = ?5 FROM identity)")                                      \
    X(FIRST_MARK, "INSERT INTO writers(id, number, seen) SELECT ?1, ?2, ?3 FROM identity "     \
                  "WHERE epoch = ?4 AND store = ?5")                                           \
    X(DROP_MARKS, "DELETE FROM writers WHERE seen < ?1")                                       \
    X(VERIFY, "SELECT 1 FROM identity WHERE epoch = ?4 AND store = ?5 AND (?3 = 0 OR EXISTS "  \
              "(SELECT 1 FROM writers WHERE id = ?1 AND number >= ?3))")                       \
    X(ROLLBACK, "ROLLBACK")                                                                    \
    X(FIND, "SELECT id, token, last, until, owner, updated, base FROM sessions WHERE key = ?1") \
    X(ROW, "SELECT key, agent, title, status, parent, created, updated, last, window, turns, " \
           "messages, owner, token, until, base FROM sessions WHERE key = ?1") \
    X(LIST, "SELECT key, agent, title, status, parent, created, updated, last, window, turns, " \
            "messages, owner, token, until, base FROM sessions WHERE " \
            "(?2 IS NULL OR status = ?2) AND updated < ?3 "                                     \
            "ORDER BY updated DESC, id DESC LIMIT ?4")                                          \
    X(LIST_PREFIX, /* ?1 <= key < ?5 */                                                         \
      "SELECT key, agent, title, status, parent, created, updated, last, window, turns, "       \
      "messages, owner, token, until, base FROM sessions WHERE key >= ?1 AND key < ?5 AND " \
      "(?2 IS NULL OR status = ?2) AND +updated < ?3 ORDER BY +updated DESC, id DESC LIMIT ?4") \
    X(LIST_ACTIVE, /* the same for a status other than idle, with its index */                  \
      "SELECT key, agent, title, status, parent, created, updated, last, window, turns, "       \
      "messages, owner, token, until, base FROM sessions WHERE status <> 'idle' AND "           \
      "status = ?2 AND (?1 IS NULL OR (key >= ?1 AND key < ?5)) AND +updated < ?3 " \
      "ORDER BY +updated DESC, id DESC LIMIT ?4")                                               \
    X(CREATE, "INSERT INTO sessions(key, agent, parent, created, updated, owner, until, "      \
              "token, base, last, window) SELECT ?1, ?2, ?3, ?4, ?4, ?5, ?6, ?7, p.n, p.n, "   \
              "p.n + 1 FROM (SELECT coalesce(max(CAST(data AS INTEGER)), 0) AS n FROM kept "   \
              "WHERE id IN (?8, '" CH_PAST "')) AS p WHERE true RETURNING base")                \
    X(LEASE, "UPDATE sessions SET owner = ?2, until = ?3, token = token + 1 WHERE key = ?1")   \
    X(RENEW, "UPDATE sessions SET until = ?3 WHERE key = ?1 AND token = ?2")                   \
    X(RELEASE, "UPDATE sessions SET until = 0, owner = '' WHERE key = ?1 AND token = ?2")      \
    X(ADD, "INSERT INTO records(id, type, ts, sum, data) VALUES(?1, ?2, ?3, ?4, ?5)")          \
    X(HEAD, "UPDATE sessions SET last = ?2, updated = ?3, status = coalesce(?4, status), "     \
            "title = coalesce(?5, title), window = max(window, ?6), turns = turns + ?7, "      \
            "messages = messages + ?8 WHERE id = ?1")                                          \
    X(GROW, /* HEAD without the indexed columns: no page of an index is written */             \
      "UPDATE sessions SET last = ?2, window = max(window, ?6), turns = turns + ?7, "          \
      "messages = messages + ?8 WHERE id = ?1")                                                \
    X(TITLE, "UPDATE sessions SET title = ?2 WHERE key = ?1")                                  \
    X(DROP_SESSION, "DELETE FROM sessions WHERE id = ?1")                                      \
    X(DROP_RECORDS, "DELETE FROM records WHERE id BETWEEN ?1 AND ?2")                          \
    X(EVENTS_OF, "SELECT id, ts FROM inbox WHERE key = ?1")                                    \
    X(DROP_INBOX, "DELETE FROM inbox WHERE key = ?1")                                          \
    X(DROP_OUTBOX, "DELETE FROM outbox WHERE key = ?1")                                        \
    X(RECORDS, "SELECT id, type, ts, sum, data FROM records WHERE id BETWEEN ?1 AND ?2")       \
    X(SCAN, "SELECT id, type, ts, sum, data FROM records WHERE id >= ?1 AND ?2 >> type & 1 "   \
            "ORDER BY id")                                                                     \
    X(SCAN_SESSIONS, "SELECT id, key, agent FROM sessions WHERE id > ?1 AND id <= ?2 "         \
                     "AND +updated >= ?3 ORDER BY id")                                         \
    X(LAG, /* sessions whose journal is longer than their part of the index */                 \
      "SELECT s.id, s.last, coalesce(i.last, 0) FROM sessions s LEFT JOIN indexed i "          \
      "ON i.session = s.id WHERE s.last > coalesce(i.last, 0) AND s.id > ?1 AND s.id <= ?2 "   \
      "ORDER BY s.id LIMIT 1")                                                                 \
    X(LAG_OF, /* the same for one session */                                                   \
      "SELECT s.id, s.last, coalesce(i.last, 0) FROM sessions s LEFT JOIN indexed i "          \
      "ON i.session = s.id WHERE s.last > coalesce(i.last, 0) AND s.id > ?1 AND s.key = ?2")   \
    X(INDEX, "INSERT INTO words(rowid, text) VALUES(?1, ?2)")                                  \
    X(INDEXED, "INSERT INTO indexed(session, last) VALUES(?1, ?2) "                            \
               "ON CONFLICT(session) DO UPDATE SET last = excluded.last")                      \
    X(ACCEPT, /* ?5: see GONE */                                                               \
      "INSERT INTO inbox(id, key, state, data, ts) SELECT ?1, ?2, 'new', ?3, ?4 "              \
      "WHERE NOT EXISTS (SELECT 1 FROM kept WHERE id = ?5 AND until > ?4) "                    \
      "ON CONFLICT DO NOTHING")                                                                \
    X(SETTLE, "UPDATE inbox SET state = 'done', data = '' WHERE id = ?1")                      \
    X(EXPIRE_INBOX, "DELETE FROM inbox WHERE id IN (SELECT id FROM inbox "                     \
                    "WHERE state = 'done' AND ts < ?1 LIMIT ?2)")                              \
    X(EXPIRE_OUTBOX, "DELETE FROM outbox WHERE id IN (SELECT id FROM outbox "                  \
                     "WHERE state = 'sent' AND ts < ?1 LIMIT ?2)")                             \
    X(INBOX, "SELECT id, key, state, data, '', ts, 0 FROM inbox WHERE state <> 'done' "        \
             "ORDER BY +rowid")                                                                 \
    X(WAITING, "SELECT id, key, state, data, '', ts, 0 FROM inbox WHERE key = ?1 AND "         \
               "state <> 'done' ORDER BY rowid LIMIT ?2")                                      \
    X(FEED, /* sessions with waiting events: holder, newest event */                          \
      "SELECT i.key, coalesce(s.owner, ''), max(i.rowid) FROM inbox i LEFT JOIN sessions s ON " \
      "s.key = i.key WHERE i.state <> 'done' GROUP BY i.key LIMIT ?1")                          \
    X(FIND_EVENT, "SELECT 1 FROM inbox WHERE id = ?1 AND key = ?2 AND state <> 'done'")        \
    X(INTENT, "INSERT INTO outbox(id, key, state, data, ts) VALUES(?1, ?2, 'intent', ?3, ?4) " \
              "ON CONFLICT DO NOTHING")                                                        \
    X(OWED, "SELECT 1 FROM inbox WHERE key = ?1 AND state <> 'done' UNION ALL SELECT 1 FROM "  \
            "outbox WHERE key = ?1 AND state <> 'sent' AND state <> 'failed' LIMIT 1")         \
    X(FIND_INTENT, "SELECT state FROM outbox WHERE id = ?1")                                   \
    X(RECEIPT, "UPDATE outbox SET state = ?2, receipt = ?3, attempts = attempts + 1 "          \
               "WHERE id = ?1")                                                                \
    X(OUTBOX, "SELECT id, key, state, data, receipt, ts, attempts FROM outbox "                \
              "WHERE state <> 'sent' ORDER BY +rowid")                                          \
    X(NOTE, "INSERT INTO notes(id, key, data, ts) VALUES(?1, ?2, ?3, ?4) "                     \
            "ON CONFLICT DO NOTHING")                                                          \
    X(RENOTE, "INSERT OR REPLACE INTO notes(id, key, data, ts) VALUES(?1, ?2, ?3, ?4)")        \
    X(FORGET, "DELETE FROM notes WHERE id = ?1")                                               \
    X(DROP_NOTES, "DELETE FROM notes WHERE key = ?1")                                          \
    X(NOTES, "SELECT id, key, '', data, '', ts, 0 FROM notes ORDER BY id")                     \
    X(KEEP, "INSERT INTO kept(id, data, until) VALUES(?1, ?2, ?3) ON CONFLICT(id) DO UPDATE "  \
            "SET data = ?2, until = ?3 WHERE ?4 = 0 OR until <= ?5")                           \
    X(UNKEEP, "DELETE FROM kept WHERE id = ?1")                                                \
    X(EXPIRE_KEPT, "DELETE FROM kept WHERE id IN (SELECT id FROM kept WHERE until < ?1 "       \
                   "LIMIT ?2)")                                                                \
    X(NAME, "INSERT OR REPLACE INTO kept(id, data, until) VALUES(?1, '', ?2)")                 \
    X(EMPTY_KEPT, /* links of a session: ?1 <= id < ?2 */                                      \
      "UPDATE kept SET data = '' WHERE (id, until) IN (SELECT substr(id, length(?1) + 1), "    \
      "until FROM kept WHERE id >= ?1 AND id < ?2)")                                           \
    X(DROP_LINKS, "DELETE FROM kept WHERE id >= ?1 AND id < ?2")                               \
    X(TRIM_GONE, "DELETE FROM kept WHERE id IN (SELECT id FROM kept WHERE id >= 'gone/' "      \
                 "AND id < 'gone0' ORDER BY until LIMIT max(0, (SELECT count(*) FROM kept "    \
                 "WHERE id >= 'gone/' AND id < 'gone0') - ?1))")                               \
    X(SET_PAST, "INSERT OR REPLACE INTO kept(id, data, until) VALUES(?1, ?2, ?3)")             \
    X(RAISE_PAST, "INSERT OR REPLACE INTO kept(id, data, until) "                              \
                  "SELECT '" CH_PAST "', max(CAST(data AS INTEGER)), max(until) FROM kept "     \
                  "WHERE id = '" CH_PAST "' OR id IN (" OLD_PAST ") HAVING count(*) > 0")       \
    X(TRIM_PAST, "DELETE FROM kept WHERE id IN (" OLD_PAST ")")                                \
    X(KEPT, "SELECT id, '', '', data, '', until, 0 FROM kept WHERE id = ?1")

enum statement {
#define STATEMENT_ENUM(name, sql) S_##name,
    STATEMENTS(STATEMENT_ENUM)
#undef STATEMENT_ENUM
        S_COUNT
};

struct chela_store_db {
    sqlite3 *db; /* owned */
    char *path;  /* owned: as the user gave it, for messages */
    bool read_only;
    int64_t version; /* version of the file's format */
    bool synced; /* synchronous is FULL now */
    int wal_frames; /* pages in the WAL after the last commit */
    size_t unindexed; /* sessions that were removed from the index since it was tidied */
    struct ch_sqlite_identity *identity; /* owned: identity.c; NULL: opened for reading only */
    struct ch_sqlite_feed *feed; /* owned: feed.c; NULL: nobody has asked for news */
    sqlite3_stmt *statements[S_COUNT]; /* owned */
};

int ch_sqlite_open(const char *target, int read_only, struct chela_store_db **out,
                   const char **note, struct chela_error *err);
void ch_sqlite_close(struct chela_store_db *db);
/* Convert SQLite's error rc to a struct chela_error that names the file. */
int ch_sqlite_fail(struct chela_store_db *db, int rc, struct chela_error *err);
/* A statement ready to be bound; NULL: see err. The caller resets it. */
sqlite3_stmt *ch_sqlite_take(struct chela_store_db *db, enum statement which,
                             struct chela_error *err);
/* Run a statement that returns no row, and reset it. */
int ch_sqlite_step(struct chela_store_db *db, sqlite3_stmt *stmt, struct chela_error *err);
/* The number that a query gives. */
int ch_sqlite_number(struct chela_store_db *db, const char *question, int64_t *out,
                     struct chela_error *err);
/* A write transaction, which raises this writer's mark (identity.h); end commits it if rc is 0,
 * otherwise rolls it back. */
int ch_sqlite_begin(struct chela_store_db *db, bool sync, struct chela_error *err);
int ch_sqlite_end(struct chela_store_db *db, int rc, struct chela_error *err);
/* Give free pages at the end of the file back to the file system, some in one call. Part of
 * a transaction. Returns whether there were any. */
bool ch_sqlite_shrink(struct chela_store_db *db);
/* See the vtable: rewrite the file without its free pages and the index, and empty the WAL. */
int ch_sqlite_purge(struct chela_store_db *db, int whole, const char **remains,
                    struct chela_error *err);
/* See the vtable: examine the whole file. */
int ch_sqlite_check(struct chela_store_db *db, struct chela_error *err);

static inline const char *ch_sqlite_text(sqlite3_stmt *stmt, int column) {
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    return text ? text : "";
}

#endif
