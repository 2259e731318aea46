/* identity.c -- see identity.h. */
#include "store/sqlite/identity.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"

struct ch_sqlite_identity {
    char store[40];
    int64_t epoch;
    int64_t writer; /* this process's row in `writers` */
    int64_t mark;   /* of the last transaction that was committed; 0: none */
    dev_t device;   /* of the file that was opened */
    ino_t inode;
    const char *lost; /* why the file is not the one that was opened: this is final */
};

/* The error of a file that is not the one that was opened. */
static int sqlite_identity_lose(struct chela_store_db *db, const char *why,
                                struct chela_error *err) {
    db->identity->lost = why;
    return ch_fail(err, CHELA_EPROTO,
                   "store %s is not the one that this process opened: %s. Nothing more is written. "
                   "Restart the program if this is the right store", db->path,
                   why);
}

#define REPLACED "the file was emptied, replaced, restored or converted"

static int read_identity(struct chela_store_db *db, struct ch_sqlite_identity *out,
                         struct chela_error *err) {
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db->db, "SELECT store, epoch FROM identity", -1, &stmt, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        snprintf(out->store, sizeof(out->store), "%s", ch_sqlite_text(stmt, 0));
        out->epoch = sqlite3_column_int64(stmt, 1);
    }
    sqlite3_finalize(stmt);
    if (rc == SQLITE_DONE)
        return ch_fail(err, CHELA_EPARSE, "store %s is damaged: it has no identity", db->path);
    return rc == SQLITE_ROW ? 0 : ch_sqlite_fail(db, rc, err);
}

int ch_sqlite_identify(struct chela_store_db *db, struct chela_error *err) {
    struct ch_sqlite_identity *id = db->identity = ch_alloc(sizeof(*id));
    const char *file = sqlite3_db_filename(db->db, "main");
    struct stat st = {0};

    if (file && stat(file, &st) == 0) {
        id->device = st.st_dev;
        id->inode = st.st_ino;
    }
    while (id->writer <= 0) {
        if (getrandom(&id->writer, sizeof(id->writer), 0) != (ssize_t)sizeof(id->writer))
            abort();
        id->writer &= INT64_MAX >> 1;
    }
    return read_identity(db, id, err);
}

int ch_sqlite_check_file(struct chela_store_db *db, struct chela_error *err) {
    const struct ch_sqlite_identity *id = db->identity;
    const char *file = sqlite3_db_filename(db->db, "main");
    struct stat st;

    if (id->lost)
        return sqlite_identity_lose(db, id->lost, err);
    if (!id->inode || !file)
        return 0;
    if (stat(file, &st) < 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? sqlite_identity_lose(db, "the file was removed", err)
                   : 0; /* the transaction says why */
    if (st.st_dev != id->device || st.st_ino != id->inode)
        return sqlite_identity_lose(db, "another file has its name", err);
    return 0;
}

static sqlite3_stmt *take_marked(struct chela_store_db *db, enum statement which,
                                 struct chela_error *err) {
    const struct ch_sqlite_identity *id = db->identity;
    sqlite3_stmt *stmt = ch_sqlite_take(db, which, err);

    if (!stmt)
        return NULL;
    sqlite3_bind_int64(stmt, 1, id->writer);
    sqlite3_bind_int64(stmt, 2, id->mark + 1);
    sqlite3_bind_int64(stmt, 3,
                       which == S_FIRST_MARK ? ch_now_ms(&ch_clock_system) : id->mark);
    sqlite3_bind_int64(stmt, 4, id->epoch);
    sqlite3_bind_text(stmt, 5, id->store, -1, SQLITE_STATIC);
    return stmt;
}

static int drop_old_marks(struct chela_store_db *db, struct chela_error *err) {
    sqlite3_stmt *stmt = ch_sqlite_take(db, S_DROP_MARKS, err);

    if (!stmt)
        return err->code;
    sqlite3_bind_int64(stmt, 1, ch_now_ms(&ch_clock_system) - CH_DEFAULT_MARK_MS);
    return ch_sqlite_step(db, stmt, err);
}

int ch_sqlite_raise_mark(struct chela_store_db *db, struct chela_error *err) {
    bool first = db->identity->mark == 0;
    sqlite3_stmt *stmt = take_marked(db, first ? S_FIRST_MARK : S_MARK, err);
    int rc = stmt ? ch_sqlite_step(db, stmt, err) : err->code;

    if (rc == 0 && sqlite3_changes(db->db) != 1)
        rc = sqlite_identity_lose(db, REPLACED, err);
    if (rc == 0 && first)
        rc = drop_old_marks(db, err);
    return rc < 0 ? ch_sqlite_end(db, rc, err) : 0;
}

void ch_sqlite_mark_committed(struct chela_store_db *db) {
    db->identity->mark++;
}

int ch_sqlite_verify(struct chela_store_db *db, struct chela_error *err) {
    if (db->read_only)
        return 0;
    int rc = ch_sqlite_check_file(db, err);
    sqlite3_stmt *stmt = rc == 0 ? take_marked(db, S_VERIFY, err) : NULL;

    if (!stmt)
        return err->code;
    rc = sqlite3_step(stmt);
    sqlite3_reset(stmt);
    if (rc == SQLITE_DONE)
        return sqlite_identity_lose(db, REPLACED, err);
    return rc == SQLITE_ROW ? 0 : ch_sqlite_fail(db, rc, err);
}

/* --- for people ------------------------------------------------------------------------ */

static int read_mark(struct chela_store_db *db, int64_t writer, uint64_t *out,
                     struct chela_error *err) {
    char sql[96];
    int64_t mark = 0;

    snprintf(sql, sizeof(sql), "SELECT coalesce(max(number), 0) FROM writers WHERE id = %" PRId64,
             writer);
    int rc = ch_sqlite_number(db, sql, &mark, err);
    *out = (uint64_t)mark;
    return rc;
}

static int raise_epoch(struct chela_store_db *db, struct chela_error *err) {
    int rc = ch_sqlite_begin(db, true, err);

    if (rc < 0)
        return rc;
    int failed = sqlite3_exec(db->db, "UPDATE identity SET epoch = epoch + 1", NULL, NULL, NULL);
    rc = ch_sqlite_end(db, failed == SQLITE_OK ? 0 : ch_sqlite_fail(db, failed, err), err);
    db->identity->epoch += rc == 0;
    return rc;
}

int ch_sqlite_identity(struct chela_store_db *db, int raise, struct chela_store_identity *inout,
                       struct chela_error *err) {
    struct ch_sqlite_identity id = {0};
    int64_t writer = db->identity ? db->identity->writer : 0;
    int rc = raise ? raise_epoch(db, err) : 0;

    if (rc == 0 && db->version < 6) /* opened for reading only */
        return ch_fail(err, CHELA_ENOENT, "store %s has format %lld, without an identity",
                       db->path, (long long)db->version);
    if (rc == 0)
        rc = read_identity(db, &id, err);
    if (rc == 0)
        rc = read_mark(db, *inout->writer ? strtoll(inout->writer, NULL, 10) : writer,
                       &inout->mark, err);
    if (rc < 0)
        return rc;
    memcpy(inout->store, id.store, sizeof(inout->store));
    inout->epoch = (uint64_t)id.epoch;
    inout->format = db->version;
    snprintf(inout->writer, sizeof(inout->writer), "%" PRId64, writer);
    return 0;
}
