/* db.c -- create and open the file, check its version, run transactions.
 *
 * A new database is created under another name and then linked to its final
 * name, so an existing file is never incomplete. An empty or truncated file is
 * damage and is rejected, never treated as new.
 *
 * The journal mode is WAL. A transaction that must survive a power failure is
 * committed with synchronous=FULL (one fsync), others with NORMAL (none). The
 * latter survive the death of the process at once, and reach the disk with the
 * next synced transaction, because a WAL is sequential. */
#include "store/sqlite/db.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "store/sqlite/feed.h"
#include "store/sqlite/identity.h"

#define APPLICATION 0x63686c61 /* "chla" */
#define BUSY_MS 5000           /* wait for another process */
#define BUSY_LOOK_MS 2         /* between attempts */
#define WAL_BYTES (16 << 20)   /* size of the WAL that is kept for reuse */
#define WAL_FRAMES 1000        /* pages in the WAL after which a commit copies them to the file */
#define CLOSE_FRAMES 128       /* pages in the WAL after which closing copies them to the file */
#define CLOSE_BYTES (1 << 20)  /* size of the WAL that is kept when the database is closed */
#define SPARE_PAGES 1024       /* free pages that are kept for reuse */
#define QUICK_PAGES 4096       /* pages of a file that is rewritten after each deletion */
#define SHRINK_PAGES 2048      /* pages that one transaction gives back */

#define NOTES_TABLE /* from format 2 on */                                             \
    "CREATE TABLE IF NOT EXISTS notes(id TEXT PRIMARY KEY, key TEXT NOT NULL,"        \
    " data TEXT NOT NULL, ts INTEGER NOT NULL);"

#define INDEXES /* from format 3 on */                                                 \
    "CREATE INDEX IF NOT EXISTS inbox_waiting ON inbox(key) WHERE state <> 'done';"   \
    "CREATE INDEX IF NOT EXISTS outbox_waiting ON outbox(key) WHERE state <> 'sent';" \
    "CREATE INDEX IF NOT EXISTS outbox_key ON outbox(key);"                           \
    "CREATE INDEX IF NOT EXISTS inbox_key ON inbox(key);"                             \
    "CREATE INDEX IF NOT EXISTS notes_key ON notes(key);"

#define KEPT_TABLE /* from format 4 on */                                               \
    "CREATE TABLE IF NOT EXISTS kept(id TEXT PRIMARY KEY, data TEXT NOT NULL,"         \
    " until INTEGER NOT NULL);"                                                        \
    "CREATE INDEX IF NOT EXISTS kept_until ON kept(until);"

#define QUERY_INDEXES /* from format 5 on */                                                 \
    "CREATE INDEX IF NOT EXISTS sessions_active ON sessions(status) WHERE status <> 'idle';" \
    "CREATE INDEX IF NOT EXISTS sessions_updated ON sessions(updated);"                     \
    "CREATE INDEX IF NOT EXISTS inbox_done ON inbox(ts) WHERE state = 'done';"              \
    "CREATE INDEX IF NOT EXISTS outbox_sent ON outbox(ts) WHERE state = 'sent';"

#define IDENTITY_TABLES /* from format 6 on */                                           \
    "CREATE TABLE IF NOT EXISTS identity(store TEXT NOT NULL, epoch INTEGER NOT NULL);" \
    "INSERT INTO identity SELECT lower(hex(randomblob(16))), 1"                         \
    " WHERE NOT EXISTS (SELECT 1 FROM identity);"                                       \
    "CREATE TABLE IF NOT EXISTS writers(id INTEGER PRIMARY KEY, number INTEGER NOT NULL," \
    " seen INTEGER NOT NULL);"

#define BASE_COLUMN /* from format 7 on; processes that know format 6 end */ \
    "ALTER TABLE sessions ADD COLUMN base INTEGER NOT NULL DEFAULT 0;"  \
    "UPDATE identity SET epoch = epoch + 1;"

static const char schema[] =
    "CREATE TABLE sessions(id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE,"
    " agent TEXT NOT NULL DEFAULT '', title TEXT NOT NULL DEFAULT '',"
    " status TEXT NOT NULL DEFAULT 'idle', parent TEXT NOT NULL DEFAULT '',"
    " created INTEGER NOT NULL, updated INTEGER NOT NULL, last INTEGER NOT NULL DEFAULT 0,"
    " window INTEGER NOT NULL DEFAULT 1, turns INTEGER NOT NULL DEFAULT 0,"
    " messages INTEGER NOT NULL DEFAULT 0, owner TEXT NOT NULL DEFAULT '',"
    " token INTEGER NOT NULL DEFAULT 0, until INTEGER NOT NULL DEFAULT 0);"
    "CREATE TABLE records(id INTEGER PRIMARY KEY, type INTEGER NOT NULL, ts INTEGER NOT NULL,"
    " sum INTEGER NOT NULL, data TEXT NOT NULL);"
    "CREATE TABLE inbox(id TEXT PRIMARY KEY, key TEXT NOT NULL, state TEXT NOT NULL,"
    " data TEXT NOT NULL, ts INTEGER NOT NULL);"
    "CREATE TABLE outbox(id TEXT PRIMARY KEY, key TEXT NOT NULL, state TEXT NOT NULL,"
    " data TEXT NOT NULL, receipt TEXT NOT NULL DEFAULT '', ts INTEGER NOT NULL,"
    " attempts INTEGER NOT NULL DEFAULT 0);" NOTES_TABLE INDEXES KEPT_TABLE QUERY_INDEXES
    IDENTITY_TABLES BASE_COLUMN;

/* --- errors ------------------------------------------------------------------ */

static int sqlite_db_code_of(int rc) {
    switch (rc & 0xff) {
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
        return CHELA_EPERM;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return CHELA_EBUSY;
    case SQLITE_FULL:
    case SQLITE_TOOBIG:
    case SQLITE_NOMEM:
        return CHELA_ELIMIT;
    case SQLITE_CANTOPEN:
        return CHELA_ENOENT;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
        return CHELA_EPARSE;
    }
    return CHELA_EIO;
}

/* The reason why a file cannot be used; NULL: none visible. The file is not
 * opened: closing it would release this process's locks. */
static const char *trouble_with(const char *file, bool read_only, const char **verb) {
    struct stat st;

    *verb = "read";
    if (stat(file, &st) < 0)
        return errno == ENOENT ? NULL : strerror(errno);
    if (!S_ISREG(st.st_mode))
        return "it is not a file";
    if (faccessat(AT_FDCWD, file, R_OK, AT_EACCESS) < 0)
        return strerror(errno);
    *verb = "written";
    return !read_only && faccessat(AT_FDCWD, file, W_OK, AT_EACCESS) < 0 ? strerror(errno) : NULL;
}

/* SQLite does not report which of its files is inaccessible. */
static bool name_culprit(struct chela_store_db *db, struct chela_error *err) {
    static const char *const ends[] = {"", "-wal", "-shm"};

    for (size_t i = 0; i < CH_LEN(ends); i++) {
        CH_BUF_AUTO name = {0};
        const char *verb;
        ch_buf_addf(&name, "%s%s", db->path, ends[i]);
        const char *why = trouble_with(ch_buf_str(&name), db->read_only, &verb);
        if (!why)
            continue;
        ch_fail(err, CHELA_EPERM, "store %s: %s cannot be %s: %s", db->path, ch_buf_str(&name),
                verb, why);
        return true;
    }
    return false;
}

int ch_sqlite_fail(struct chela_store_db *db, int rc, struct chela_error *err) {
    switch (rc & 0xff) {
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY:
        if (name_culprit(db, err))
            return err->code;
        break;
    }
    switch (rc & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
        return ch_fail(err, CHELA_EPARSE, "store %s is damaged: %s", db->path,
                       sqlite3_errstr(rc));
    case SQLITE_FULL:
        return ch_fail(err, CHELA_ELIMIT, "store %s: no space left on the disk", db->path);
    case SQLITE_BUSY:
        return ch_fail(err, CHELA_EBUSY, "store %s: another process has kept it locked for %d s",
                       db->path, BUSY_MS / 1000);
    case SQLITE_READONLY:
        return ch_fail(err, CHELA_EPERM, "store %s cannot be written", db->path);
    }
    return ch_fail(err, sqlite_db_code_of(rc), "store %s: %s", db->path, sqlite3_errstr(rc));
}

/* --- statements and transactions ------------------------------------------------ */

static const char *const sql[] = {
#define STATEMENT_SQL(name, text) text,
    STATEMENTS(STATEMENT_SQL)
#undef STATEMENT_SQL
};

/* A file of an earlier format, opened for reading only, has no column `base`. */
static char *without_base(const char *text) {
    CH_BUF_AUTO out = {0};
    const char *at = strstr(text, ", base");

    ch_buf_addf(&out, "%.*s%s%s", (int)(at ? at - text : (ptrdiff_t)strlen(text)), text,
                at ? ", 0" : "", at ? at + strlen(", base") : "");
    return ch_buf_take(&out);
}

sqlite3_stmt *ch_sqlite_take(struct chela_store_db *db, enum statement which,
                             struct chela_error *err) {
    sqlite3_stmt **stmt = &db->statements[which];
    int rc = SQLITE_OK;

    if (!*stmt) {
        CH_AUTOFREE char *earlier = db->version < 7 ? without_base(sql[which]) : NULL;
        rc = sqlite3_prepare_v3(db->db, earlier ? earlier : sql[which], -1,
                                SQLITE_PREPARE_PERSISTENT, stmt, NULL);
    }
    if (rc != SQLITE_OK)
        ch_sqlite_fail(db, rc, err);
    return rc == SQLITE_OK ? *stmt : NULL;
}

int ch_sqlite_step(struct chela_store_db *db, sqlite3_stmt *stmt, struct chela_error *err) {
    int rc = sqlite3_step(stmt);

    sqlite3_reset(stmt);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : ch_sqlite_fail(db, rc, err);
}

static int sqlite_db_run(struct chela_store_db *db, enum statement which, struct chela_error *err) {
    sqlite3_stmt *stmt = ch_sqlite_take(db, which, err);

    return stmt ? ch_sqlite_step(db, stmt, err) : err->code;
}

static int execute(struct chela_store_db *db, const char *text, struct chela_error *err) {
    int rc = sqlite3_exec(db->db, text, NULL, NULL, NULL);

    return rc == SQLITE_OK ? 0 : ch_sqlite_fail(db, rc, err);
}

int ch_sqlite_begin(struct chela_store_db *db, bool sync, struct chela_error *err) {
    if (db->read_only)
        return ch_fail(err, CHELA_EPERM, "store %s was opened for reading only", db->path);
    if (sync != db->synced) {
        int rc = execute(db, sync ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL", err);
        if (rc < 0)
            return rc;
        db->synced = sync;
    }
    int rc = ch_sqlite_check_file(db, err);
    if (rc == 0)
        rc = sqlite_db_run(db, S_BEGIN, err);
    return rc < 0 ? rc : ch_sqlite_raise_mark(db, err);
}

int ch_sqlite_end(struct chela_store_db *db, int rc, struct chela_error *err) {
    if (rc == 0)
        rc = sqlite_db_run(db, S_COMMIT, err);
    if (rc == 0)
        ch_sqlite_mark_committed(db);
    if (rc < 0 && !sqlite3_get_autocommit(db->db)) {
        struct chela_error ignored = {0};
        sqlite_db_run(db, S_ROLLBACK, &ignored); /* err holds the first error */
    }
    return rc;
}

/* --- the WAL ------------------------------------------------------------------- */

/* A failed checkpoint, such as one that another process is making, is no failure of the commit:
 * the result of this function would be reported as one. */
static int on_commit(void *user, sqlite3 *handle, const char *name, int frames) {
    struct chela_store_db *db = user;

    db->wal_frames = frames;
    if (frames >= WAL_FRAMES)
        sqlite3_wal_checkpoint(handle, name);
    return SQLITE_OK;
}

/* A checkpoint at every close would cost short-lived processes more syncs than their work.
 * Without any, each of them would read a long WAL when it opens the database. The write after
 * the checkpoint changes no data and makes the WAL begin again in its file. Writing and syncing
 * a file of constant size is cheaper. */
static void close_wal(struct chela_store_db *db) {
    struct chela_error ignored = {0}; /* the WAL stays long, and the next process tries */
    int frames, copied;
    char restart[96];

    sqlite3_db_config(db->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
    if (db->wal_frames < CLOSE_FRAMES)
        return;
    sqlite3_busy_handler(db->db, NULL, NULL); /* closing does not wait for another process */
    int rc = sqlite3_wal_checkpoint_v2(db->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &frames, &copied);
    if (rc != SQLITE_OK || copied < frames)
        return; /* another process reads or copies these pages */
    snprintf(restart, sizeof(restart), "PRAGMA journal_size_limit=%d; PRAGMA application_id=%d",
             CLOSE_BYTES, APPLICATION);
    execute(db, restart, &ignored);
}

/* --- opening ------------------------------------------------------------------- */

/* A name such as "file:x?mode=rw" counts as a URI; a path never does. */
static char *as_path(const char *target) {
    CH_BUF_AUTO path = {0};

    ch_buf_addf(&path, "%s%s", target[0] == '/' ? "" : "./", target);
    return ch_buf_take(&path);
}

/* SQLite's own handler soon looks every 100 ms. A process that writes one transaction after the
 * other leaves the file unlocked for moments only, and would keep others waiting for too long. */
static int sqlite_db_on_busy(void *user, int looks) {
    (void)user;
    poll(NULL, 0, BUSY_LOOK_MS);
    return looks < BUSY_MS / BUSY_LOOK_MS;
}

static int sqlite_db_open_file(struct chela_store_db *db, const char *path, int flags,
                               struct chela_error *err) {
    int rc = sqlite3_open_v2(path, &db->db, flags | SQLITE_OPEN_NOMUTEX, NULL);

    if (rc != SQLITE_OK)
        return ch_sqlite_fail(db, rc, err);
    sqlite3_extended_result_codes(db->db, 1);
    sqlite3_busy_handler(db->db, sqlite_db_on_busy, NULL);
    sqlite3_db_config(db->db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
    sqlite3_db_config(db->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)NULL);
    sqlite3_limit(db->db, SQLITE_LIMIT_LENGTH, (int)CH_LIMIT_RECORD);
    char settings[160];
    snprintf(settings, sizeof(settings),
             "PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY; PRAGMA mmap_size=0;"
             " PRAGMA journal_size_limit=%d",
             WAL_BYTES);
    return execute(db, settings, err);
}

static int sqlite_db_write_schema(struct chela_store_db *db, struct chela_error *err) {
    char version[128];
    int rc = execute(db, "PRAGMA auto_vacuum=INCREMENTAL; BEGIN", err);

    if (rc == 0)
        rc = execute(db, schema, err);
    snprintf(version, sizeof(version), "PRAGMA application_id=%d; PRAGMA user_version=%d",
             APPLICATION, CHELA_STORE_VERSION);
    if (rc == 0)
        rc = execute(db, version, err);
    if (rc == 0)
        rc = execute(db, "COMMIT", err);
    return rc == 0 ? execute(db, "PRAGMA journal_mode=WAL", err) : rc;
}

static void sync_directory(const char *path) {
    const char *slash = strrchr(path, '/');
    CH_AUTOFREE char *dir = ch_strndup(path, slash ? (size_t)(slash - path) + 1 : 0);
    int fd = open(*dir ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return;
    fsync(fd); /* may fail on some file systems; the file itself is synced */
    close(fd);
}

/* Readable only by its owner: conversations are private. */
static int make_file(const char *name, const char *shown, struct chela_error *err) {
    int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0)
        return ch_fail(err, errno == ENOSPC ? CHELA_ELIMIT : errno == ENOENT ? CHELA_ENOENT
                                                                             : CHELA_EPERM,
                       "store %s cannot be created: %s", shown, strerror(errno));
    close(fd);
    return 0;
}

/* Another process may create the file at the same time: the first one wins. */
static int sqlite_db_create(struct chela_store_db *db, const char *path, struct chela_error *err) {
    CH_BUF_AUTO name = {0};

    ch_buf_addf(&name, "%s.new-%ld", path, (long)getpid());
    unlink(ch_buf_str(&name)); /* left by a dead process with the same pid */
    int rc = make_file(ch_buf_str(&name), db->path, err);
    if (rc < 0)
        return rc;
    rc = sqlite_db_open_file(db, ch_buf_str(&name), SQLITE_OPEN_READWRITE, err);
    if (rc == 0)
        rc = sqlite_db_write_schema(db, err);
    int closed = sqlite3_close(db->db);
    db->db = NULL;
    if (rc == 0 && closed != SQLITE_OK)
        rc = ch_sqlite_fail(db, closed, err);
    if (rc == 0 && link(ch_buf_str(&name), path) < 0 && errno != EEXIST)
        rc = ch_fail(err, CHELA_EIO, "store %s cannot be created: %s", db->path, strerror(errno));
    unlink(ch_buf_str(&name));
    if (rc == 0)
        sync_directory(path);
    return rc;
}

int ch_sqlite_number(struct chela_store_db *db, const char *question, int64_t *out,
                     struct chela_error *err) {
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db->db, question, -1, &stmt, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        *out = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return rc == SQLITE_ROW ? 0 : ch_sqlite_fail(db, rc, err);
}

bool ch_sqlite_shrink(struct chela_store_db *db) {
    struct chela_error ignored = {0}; /* the commit reports a transaction that failed */
    int64_t before = 0, after = 0;
    char text[64];

    if (ch_sqlite_number(db, "PRAGMA freelist_count", &before, &ignored) < 0 ||
        before <= SPARE_PAGES)
        return false;
    snprintf(text, sizeof(text), "PRAGMA incremental_vacuum(%lld)",
             (long long)CH_MIN(before - SPARE_PAGES, (int64_t)SHRINK_PAGES));
    return execute(db, text, &ignored) == 0 &&
           ch_sqlite_number(db, "PRAGMA freelist_count", &after, &ignored) == 0 && after < before;
}

/* The text of a deleted row may be in free pages, in unused parts of pages in use, in the index
 * whose parts are merged later, and in the WAL. VACUUM writes each page anew. */
int ch_sqlite_purge(struct chela_store_db *db, int whole, const char **remains,
                    struct chela_error *err) {
    int64_t pages = 0;
    int busy = 0;
    int rc = ch_sqlite_check_file(db, err);

    if (rc == 0)
        rc = ch_sqlite_number(db, "PRAGMA page_count", &pages, err);
    if (rc == 0 && !whole && pages > QUICK_PAGES) {
        *remains = "deleted text in free pages of the SQLite file and in its log, until they are "
                   "used again: `chela sessions erase` removes it";
        return 0;
    }
    /* a temporary copy of a large file does not fit into memory */
    if (rc == 0)
        rc = execute(db, "DROP TABLE IF EXISTS words; DROP TABLE IF EXISTS indexed;"
                         " PRAGMA temp_store=FILE; VACUUM; PRAGMA temp_store=MEMORY", err);
    if (rc == 0)
        rc = sqlite3_wal_checkpoint_v2(db->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, &busy, NULL);
    if (rc == SQLITE_BUSY) {
        *remains = "the log of the SQLite file, which another process is reading: erase again";
        return 0;
    }
    return rc > 0 ? ch_sqlite_fail(db, rc, err) : rc;
}

int ch_sqlite_check(struct chela_store_db *db, struct chela_error *err) {
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db->db, "PRAGMA integrity_check(1)", -1, &stmt, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    if (rc != SQLITE_ROW)
        rc = ch_sqlite_fail(db, rc, err);
    else if (strcmp(ch_sqlite_text(stmt, 0), "ok") != 0)
        rc = ch_fail(err, CHELA_EPARSE, "store %s is damaged: %s", db->path,
                     ch_sqlite_text(stmt, 0));
    else
        rc = 0;
    sqlite3_finalize(stmt);
    return rc;
}

/* Run one step per version in one transaction; another process may have been
 * first. */
static int sqlite_db_migrate(struct chela_store_db *db, struct chela_error *err) {
    static const char *const steps[CHELA_STORE_VERSION] = {
        [1] = NOTES_TABLE, [2] = INDEXES, [3] = KEPT_TABLE, [4] = QUERY_INDEXES,
        [5] = IDENTITY_TABLES, [6] = BASE_COLUMN};
    int64_t version = 0;
    char text[64];
    int rc = execute(db, "BEGIN IMMEDIATE", err);

    if (rc == 0)
        rc = ch_sqlite_number(db, "PRAGMA user_version", &version, err);
    for (; rc == 0 && version < CHELA_STORE_VERSION; version++)
        rc = execute(db, steps[version], err);
    snprintf(text, sizeof(text), "PRAGMA user_version=%d", CHELA_STORE_VERSION);
    if (rc == 0)
        rc = execute(db, text, err);
    if (rc == 0)
        rc = execute(db, "COMMIT", err);
    if (rc < 0)
        sqlite3_exec(db->db, "ROLLBACK", NULL, NULL, NULL);
    else
        db->version = CHELA_STORE_VERSION;
    return rc;
}

static int sqlite_db_check_version(struct chela_store_db *db, struct chela_error *err) {
    int64_t application = 0, version = 0;

    if (ch_sqlite_number(db, "PRAGMA application_id", &application, err) < 0 ||
        ch_sqlite_number(db, "PRAGMA user_version", &version, err) < 0)
        return err->code;
    if (application != APPLICATION)
        return ch_fail(err, CHELA_EPROTO, "%s is a database, but no store of chela", db->path);
    if (version > CHELA_STORE_VERSION)
        return ch_fail(err, CHELA_EPROTO,
                       "store %s has format %lld, this chela knows up to %d: use a newer chela",
                       db->path, (long long)version, CHELA_STORE_VERSION);
    if (version < 1)
        return ch_fail(err, CHELA_EPARSE, "store %s is damaged: it has no format", db->path);
    db->version = version;
    return 0;
}

static int check_size(struct chela_store_db *db, const char *path, struct chela_error *err) {
    struct stat st;

    if (stat(path, &st) < 0)
        return ch_fail(err, errno == ENOENT ? CHELA_ENOENT : CHELA_EPERM, "store %s: %s", db->path,
                       strerror(errno));
    if (!S_ISREG(st.st_mode))
        return ch_fail(err, CHELA_EPROTO, "store %s is not a file", db->path);
    if (st.st_size == 0)
        return ch_fail(err, CHELA_EPARSE, "store %s is damaged: the file is empty", db->path);
    return 0;
}

static bool has_wal(const char *path) {
    CH_BUF_AUTO name = {0};
    struct stat st;

    ch_buf_addf(&name, "%s-wal", path);
    return stat(ch_buf_str(&name), &st) == 0 && st.st_size > 0;
}

/* A file in a directory that cannot be written, as on a read-only file system: SQLite can
 * create neither of the files beside it. Nobody else can write it either. */
static int open_immutable(struct chela_store_db *db, const char *path, struct chela_error *err) {
    CH_BUF_AUTO uri = {0};

    ch_buf_add_str(&uri, "file:");
    for (const char *c = path; *c; c++)
        if (strchr("?#%", *c))
            ch_buf_addf(&uri, "%%%02x", (unsigned)*c);
        else
            ch_buf_addc(&uri, *c);
    ch_buf_add_str(&uri, "?immutable=1");
    sqlite3_close(db->db);
    db->db = NULL;
    *err = (struct chela_error){0};
    return sqlite_db_open_file(db, ch_buf_str(&uri), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, err);
}

static int open_existing(struct chela_store_db *db, const char *path, struct chela_error *err) {
    int rc = check_size(db, path, err);

    if (rc == 0)
        rc = sqlite_db_open_file(db, path, SQLITE_OPEN_READWRITE, err);
    if (rc == 0)
        rc = sqlite_db_check_version(db, err);
    if ((rc == CHELA_EPERM || rc == CHELA_ENOENT) && db->read_only && db->db && !has_wal(path)) {
        rc = open_immutable(db, path, err);
        if (rc == 0)
            rc = sqlite_db_check_version(db, err);
    }
    if (rc == 0 && !db->read_only && sqlite3_db_readonly(db->db, "main") == 1)
        rc = ch_fail(err, CHELA_EPERM, "store %s cannot be written", db->path);
    if (rc == 0 && !db->read_only && db->version < CHELA_STORE_VERSION)
        rc = sqlite_db_migrate(db, err);
    if (rc == 0 && !db->read_only)
        rc = ch_sqlite_identify(db, err);
    if (rc == 0)
        sqlite3_wal_hook(db->db, on_commit, db);
    if (rc == 0)
        rc = execute(db, "PRAGMA synchronous=NORMAL", err);
    return rc;
}

int ch_sqlite_open(const char *target, int read_only, struct chela_store_db **out,
                   const char **note, struct chela_error *err) {
    CH_AUTOFREE char *path = as_path(target);
    struct chela_store_db *db = ch_alloc(sizeof(*db));
    int rc = 0;

    (void)note;
    db->path = ch_strdup(target);
    db->read_only = read_only;
    if (!read_only && access(path, F_OK) < 0 && errno == ENOENT)
        rc = sqlite_db_create(db, path, err);
    if (rc == 0)
        rc = open_existing(db, path, err);
    if (rc < 0)
        ch_sqlite_close(db);
    else
        *out = db;
    return rc;
}

void ch_sqlite_close(struct chela_store_db *db) {
    if (!db)
        return;
    for (size_t i = 0; i < S_COUNT; i++)
        sqlite3_finalize(db->statements[i]);
    if (db->db)
        close_wal(db);
    sqlite3_close(db->db);
    ch_sqlite_feed_free(db->feed);
    ch_free(db->identity);
    ch_free(db->path);
    ch_free(db);
}
