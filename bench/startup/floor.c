/* floor.c -- what the start of a program costs before it does anything of its own.
 *
 *   floor                 loads the libraries that `chela` is linked with, and ends
 *   floor DATABASE KEY    also opens an SQLite database and stores what `chela run --session`
 *                         stores: four transactions, of which one waits for the disk
 *
 * `bench/startup/startup` compiles it; STORE adds the second form, which needs libsqlite3. */
#ifdef STORE
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void execute(sqlite3 *db, const char *sql) {
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) == SQLITE_OK)
        return;
    fprintf(stderr, "floor: %s: %s\n", sql, message);
    exit(1);
}

static void store(sqlite3 *db, const char *key, size_t n) {
    static char bytes[16384];
    sqlite3_stmt *insert;
    memset(bytes, 'x', n);
    if (sqlite3_prepare_v2(db, "INSERT INTO records(key, body) VALUES(?1, ?2)", -1, &insert, NULL))
        exit(1);
    sqlite3_bind_text(insert, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_blob(insert, 2, bytes, (int)n, SQLITE_STATIC);
    if (sqlite3_step(insert) != SQLITE_DONE)
        exit(1);
    sqlite3_finalize(insert);
}

static void update(sqlite3 *db, const char *format, const char *key) {
    char *sql = sqlite3_mprintf(format, key);
    execute(db, sql);
    sqlite3_free(sql);
}

static int run(const char *path, const char *key) {
    sqlite3 *db;
    int yes = 1;
    if (sqlite3_open(path, &db) != SQLITE_OK)
        return 1;
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, &yes); /* as chela closes */
    execute(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                "CREATE TABLE IF NOT EXISTS sessions(key TEXT PRIMARY KEY, status INT);"
                "CREATE TABLE IF NOT EXISTS records(key TEXT, body BLOB);"
                "CREATE INDEX IF NOT EXISTS records_key ON records(key)");
    execute(db, "BEGIN IMMEDIATE");
    update(db, "INSERT INTO sessions VALUES(%Q, 1)", key);
    execute(db, "COMMIT; PRAGMA synchronous=FULL; BEGIN IMMEDIATE");
    store(db, key, 400); /* the start of the run and the message */
    store(db, key, 300);
    execute(db, "COMMIT; PRAGMA synchronous=NORMAL; BEGIN IMMEDIATE");
    store(db, key, 14000); /* system prompt and tools, the request, the reply */
    store(db, key, 400);
    store(db, key, 900);
    execute(db, "COMMIT; BEGIN IMMEDIATE");
    update(db, "UPDATE sessions SET status = 2 WHERE key = %Q", key);
    execute(db, "COMMIT");
    return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}

int main(int argc, char **argv) {
    return argc == 3 ? run(argv[1], argv[2]) : 2;
}
#else
int main(void) {
    return 0;
}
#endif
