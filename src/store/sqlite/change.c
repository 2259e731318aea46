/* change.c -- see change.h.
 *
 * A change checks its guard before it writes: a refused change needs no undo,
 * and the other changes of the transaction remain. */
#include "store/sqlite/change.h"

#include "store/sqlite/db.h"

#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "store/sqlite/identity.h"
#include "store/sqlite/read.h"
#include "store/sqlite/search.h"

static void bind_text(sqlite3_stmt *stmt, int at, const char *text) {
    if (text)
        sqlite3_bind_text(stmt, at, text, -1, SQLITE_STATIC);
    else
        sqlite3_bind_null(stmt, at);
}

static void bind_data(sqlite3_stmt *stmt, int at, const char *p, size_t n) {
    sqlite3_bind_text64(stmt, at, p ? p : "", n, SQLITE_STATIC, SQLITE_UTF8);
}

struct row {
    int64_t id;
    uint64_t token, last, base;
    int64_t until, updated;
    bool held; /* the lease has an owner */
};

/* CHELA_ENOENT without an error of the database: no such session. */
static int sqlite_change_find(struct chela_store_db *db, const char *key, struct row *row,
                              bool *there, struct chela_error *err) {
    sqlite3_stmt *stmt = ch_sqlite_take(db, S_FIND, err);

    if (!stmt)
        return err->code;
    bind_text(stmt, 1, key);
    int rc = sqlite3_step(stmt);
    *there = rc == SQLITE_ROW;
    if (*there)
        *row = (struct row){.id = sqlite3_column_int64(stmt, 0),
                            .token = (uint64_t)sqlite3_column_int64(stmt, 1),
                            .last = (uint64_t)sqlite3_column_int64(stmt, 2),
                            .until = sqlite3_column_int64(stmt, 3),
                            .held = *ch_sqlite_text(stmt, 4),
                            .updated = sqlite3_column_int64(stmt, 5),
                            .base = (uint64_t)sqlite3_column_int64(stmt, 6)};
    sqlite3_reset(stmt);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : ch_sqlite_fail(db, rc, err);
}

/* --- changes: return 0 or an error of the database; c->rc is the change's own -------- */

static int sqlite_change_add_record(struct chela_store_db *db, int64_t session,
                                    const struct chela_store_record *r, struct chela_error *err) {
    sqlite3_stmt *stmt = ch_sqlite_take(db, S_ADD, err);

    if (!stmt)
        return err->code;
    sqlite3_bind_int64(stmt, 1, session << SEQ_BITS | (int64_t)r->seq);
    sqlite3_bind_int64(stmt, 2, r->type);
    sqlite3_bind_int64(stmt, 3, r->ts);
    sqlite3_bind_int64(stmt, 4, r->sum);
    bind_data(stmt, 5, r->data, r->n);
    return ch_sqlite_step(db, stmt, err);
}

static int update_head(struct chela_store_db *db, const struct row *row,
                       const struct chela_store_change *c, struct chela_error *err) {
    bool fresh = c->now >= row->updated && c->now - row->updated < CHELA_STORE_FRESH_MS;
    bool grows = fresh && !c->head.status && !c->head.title;
    sqlite3_stmt *stmt = ch_sqlite_take(db, grows ? S_GROW : S_HEAD, err);

    if (!stmt)
        return err->code;
    sqlite3_bind_int64(stmt, 1, row->id);
    sqlite3_bind_int64(stmt, 2, (int64_t)(row->last + c->nrecords));
    if (!grows) {
        sqlite3_bind_int64(stmt, 3, c->now);
        bind_text(stmt, 4, c->head.status);
        bind_text(stmt, 5, c->head.title);
    }
    sqlite3_bind_int64(stmt, 6, (int64_t)c->head.window);
    sqlite3_bind_int64(stmt, 7, (int64_t)c->head.turns);
    sqlite3_bind_int64(stmt, 8, (int64_t)c->head.messages);
    return ch_sqlite_step(db, stmt, err);
}

static int sqlite_change_insert_item(struct chela_store_db *db, struct chela_store_change *c,
                                     enum statement which, struct chela_error *err);
static int drop_by_key(struct chela_store_db *db, enum statement which, const char *key,
                       struct chela_error *err);

/* Sets c->rc to CHELA_EEXIST unless all events that the change takes up wait for its session. */
static int sqlite_change_check_takes(struct chela_store_db *db, struct chela_store_change *c,
                                     struct chela_error *err) {
    for (size_t i = 0; i < c->ntakes; i++) {
        sqlite3_stmt *stmt = ch_sqlite_take(db, S_FIND_EVENT, err);
        if (!stmt)
            return err->code;
        bind_text(stmt, 1, c->takes[i]);
        bind_text(stmt, 2, c->key);
        int rc = sqlite3_step(stmt);
        sqlite3_reset(stmt);
        if (rc == SQLITE_DONE)
            c->rc = CHELA_EEXIST;
        else if (rc != SQLITE_ROW)
            return ch_sqlite_fail(db, rc, err);
    }
    return 0;
}

static int sqlite_change_mail(struct chela_store_db *db, const struct chela_store_change *c,
                              struct chela_error *err) {
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < c->ntakes; i++)
        rc = drop_by_key(db, S_SETTLE, c->takes[i], err);
    for (size_t i = 0; rc == 0 && i < c->nsends; i++) {
        struct chela_store_send *m = &c->sends[i];
        struct chela_store_change intent = {
            .id = m->id, .key = c->key, .data = m->data, .n = m->n, .now = c->now};
        rc = sqlite_change_insert_item(db, &intent, S_INTENT, err);
        m->rc = intent.rc;
    }
    return rc;
}

static int sqlite_change_append(struct chela_store_db *db, struct chela_store_change *c,
                                struct chela_error *err) {
    struct row row;
    bool there;
    int rc = sqlite_change_find(db, c->key, &row, &there, err);

    if (rc < 0)
        return rc;
    c->rc = !there                                                 ? CHELA_ENOENT
            : row.token != c->token                                ? CHELA_EPERM
            : c->nrecords && c->records[0].seq != row.last + 1     ? CHELA_ESTATE
            : row.last + c->nrecords > (uint64_t)SEQ_MAX           ? CHELA_ELIMIT
                                                                   : 0;
    if (c->rc == 0)
        rc = sqlite_change_check_takes(db, c, err);
    if (rc < 0 || c->rc < 0)
        return rc;
    rc = sqlite_change_mail(db, c, err);
    for (size_t i = 0; rc == 0 && i < c->nrecords; i++)
        rc = sqlite_change_add_record(db, row.id, &c->records[i], err);
    return rc < 0 ? rc : update_head(db, &row, c, err);
}

static int sqlite_change_lease(struct chela_store_db *db, struct chela_store_change *c,
                               enum statement which, struct chela_error *err) {
    sqlite3_stmt *stmt = ch_sqlite_take(db, which, err);

    if (!stmt)
        return err->code;
    bind_text(stmt, 1, c->key);
    sqlite3_bind_int64(stmt, 2, (int64_t)c->token);
    if (which == S_RENEW)
        sqlite3_bind_int64(stmt, 3, c->until);
    int rc = ch_sqlite_step(db, stmt, err);
    c->rc = sqlite3_changes(db->db) == 1 ? 0 : CHELA_EPERM;
    return rc;
}

/* The row of a new session, with its first lease if the claim has an owner. */
static int sqlite_change_insert_session(struct chela_store_db *db,
                                        const struct chela_store_claim *c, size_t agent_n,
                                        const char *parent, uint64_t *base,
                                        struct chela_error *err) {
    sqlite3_stmt *stmt = ch_sqlite_take(db, S_CREATE, err);
    char past[CH_PAST_NAME];

    if (!stmt)
        return err->code;
    ch_past_name(c->key, past);
    bind_text(stmt, 1, c->key);
    bind_data(stmt, 2, c->agent, agent_n);
    bind_text(stmt, 3, parent ? parent : "");
    sqlite3_bind_int64(stmt, 4, c->now);
    bind_text(stmt, 5, c->owner ? c->owner : "");
    sqlite3_bind_int64(stmt, 6, c->until);
    sqlite3_bind_int64(stmt, 7, c->owner != NULL);
    bind_text(stmt, 8, past);
    int rc = sqlite3_step(stmt);
    *base = rc == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(stmt, 0) : 0;
    sqlite3_reset(stmt);
    return rc == SQLITE_ROW ? 0 : ch_sqlite_fail(db, rc, err);
}

static int sqlite_change_create(struct chela_store_db *db, struct chela_store_change *c,
                                struct chela_error *err) {
    struct row row;
    bool there;
    int rc = sqlite_change_find(db, c->key, &row, &there, err);

    if (rc < 0)
        return rc;
    c->rc = there ? CHELA_EEXIST : 0;
    struct chela_store_claim unheld = {.key = c->key, .agent = c->data, .now = c->now};
    uint64_t base;
    return there ? 0 : sqlite_change_insert_session(db, &unheld, c->n, c->id, &base, err);
}

static int sqlite_change_set_title(struct chela_store_db *db, struct chela_store_change *c,
                                   struct chela_error *err) {
    sqlite3_stmt *stmt = ch_sqlite_take(db, S_TITLE, err);

    if (!stmt)
        return err->code;
    bind_text(stmt, 1, c->key);
    bind_data(stmt, 2, c->data, c->n);
    int rc = ch_sqlite_step(db, stmt, err);
    c->rc = sqlite3_changes(db->db) == 1 ? 0 : CHELA_ENOENT;
    return rc;
}

static int drop_by_key(struct chela_store_db *db, enum statement which, const char *key,
                       struct chela_error *err) {
    sqlite3_stmt *stmt = ch_sqlite_take(db, which, err);

    if (!stmt)
        return err->code;
    bind_text(stmt, 1, key);
    return ch_sqlite_step(db, stmt, err);
}

static int drop_by_id(struct chela_store_db *db, enum statement which, int64_t from, int64_t to,
                      struct chela_error *err) {
    sqlite3_stmt *stmt = ch_sqlite_take(db, which, err);

    if (!stmt)
        return err->code;
    sqlite3_bind_int64(stmt, 1, from);
    if (which == S_DROP_RECORDS)
        sqlite3_bind_int64(stmt, 2, to);
    return ch_sqlite_step(db, stmt, err);
}

/* --- names in `kept` without a text: db.h */

#define GONE "gone/"
#define GONE_NAME (sizeof(GONE) + 2 * CH_SHA256_SIZE)

static void gone_name(const char *id, char out[GONE_NAME]) {
    unsigned char digest[CH_SHA256_SIZE];

    ch_sha256_of(ch_sv_str(id), digest);
    memcpy(out, GONE, sizeof(GONE));
    ch_sha256_hex(digest, out + sizeof(GONE) - 1);
}

static int add_name(struct chela_store_db *db, const char *name, int64_t until,
                    struct chela_error *err) {
    sqlite3_stmt *stmt = ch_sqlite_take(db, S_NAME, err);

    if (!stmt)
        return err->code;
    bind_text(stmt, 1, name);
    sqlite3_bind_int64(stmt, 2, until);
    return ch_sqlite_step(db, stmt, err);
}

static int remember_events(struct chela_store_db *db, const char *key, struct chela_error *err) {
    sqlite3_stmt *stmt = ch_sqlite_take(db, S_EVENTS_OF, err);
    char name[GONE_NAME];
    int rc = stmt ? 0 : err->code, row = SQLITE_DONE;

    if (stmt)
        bind_text(stmt, 1, key);
    while (rc == 0 && (row = sqlite3_step(stmt)) == SQLITE_ROW) {
        gone_name(ch_sqlite_text(stmt, 0), name);
        rc = add_name(db, name, sqlite3_column_int64(stmt, 1) + CH_DEFAULT_DONE_MS, err);
    }
    sqlite3_reset(stmt);
    return rc < 0 || row == SQLITE_DONE ? rc : ch_sqlite_fail(db, row, err);
}

/* The deletion of a session takes the number after its last record. */
static int remember_number(struct chela_store_db *db, const struct chela_store_change *c,
                           const struct row *row, struct chela_error *err) {
    sqlite3_stmt *stmt = row->last > row->base ? ch_sqlite_take(db, S_SET_PAST, err) : NULL;
    char name[CH_PAST_NAME];

    if (!stmt)
        return row->last > row->base ? err->code : 0;
    ch_past_name(c->key, name);
    bind_text(stmt, 1, name);
    sqlite3_bind_int64(stmt, 2, (int64_t)row->last + 1);
    sqlite3_bind_int64(stmt, 3, ch_past_until());
    return ch_sqlite_step(db, stmt, err);
}

static int trim_gone(struct chela_store_db *db, struct chela_error *err) {
    sqlite3_stmt *stmt = ch_sqlite_take(db, S_TRIM_GONE, err);

    if (!stmt)
        return err->code;
    sqlite3_bind_int64(stmt, 1, CH_LIMIT_GONE_EVENTS);
    return ch_sqlite_step(db, stmt, err);
}

static int empty_kept(struct chela_store_db *db, const char *key, struct chela_error *err) {
    static const enum statement steps[] = {S_EMPTY_KEPT, S_DROP_LINKS};
    CH_BUF_AUTO from = {0}, to = {0};
    int rc = 0;

    ch_buf_addf(&from, "of %s\n", key);
    ch_buf_addf(&to, "of %s\v", key);
    for (size_t i = 0; rc == 0 && i < CH_LEN(steps); i++) {
        sqlite3_stmt *stmt = ch_sqlite_take(db, steps[i], err);
        if (!stmt)
            return err->code;
        bind_text(stmt, 1, ch_buf_str(&from));
        bind_text(stmt, 2, ch_buf_str(&to));
        rc = ch_sqlite_step(db, stmt, err);
    }
    return rc;
}

/* Refuse the change if an event or an unsent message belongs to the session. */
static int check_owed(struct chela_store_db *db, struct chela_store_change *c,
                      struct chela_error *err) {
    sqlite3_stmt *stmt = ch_sqlite_take(db, S_OWED, err);

    if (!stmt)
        return err->code;
    bind_text(stmt, 1, c->key);
    int rc = sqlite3_step(stmt);
    sqlite3_reset(stmt);
    c->rc = rc == SQLITE_ROW ? CHELA_EBUSY : 0;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : ch_sqlite_fail(db, rc, err);
}

static int sqlite_change_drop(struct chela_store_db *db, struct chela_store_change *c,
                              struct chela_error *err) {
    struct row row;
    bool there;
    int rc = sqlite_change_find(db, c->key, &row, &there, err);

    if (rc < 0)
        return rc;
    c->rc = !there                                       ? CHELA_ENOENT
            : row.held && row.until > c->now             ? CHELA_EBUSY
            : c->until && row.updated >= c->until        ? CHELA_EBUSY
                                                         : 0;
    if (c->rc == 0 && c->token == 1)
        rc = check_owed(db, c, err);
    if (rc < 0 || c->rc < 0)
        return rc;
    int64_t first = row.id << SEQ_BITS;
    ch_sqlite_unindex(db, row.id);
    rc = drop_by_id(db, S_DROP_RECORDS, first, first | SEQ_MAX, err);
    if (rc == 0)
        rc = drop_by_id(db, S_DROP_SESSION, row.id, 0, err);
    if (rc == 0)
        rc = empty_kept(db, c->key, err);
    if (rc == 0)
        rc = remember_number(db, c, &row, err);
    if (rc == 0 && c->token != 2)
        rc = remember_events(db, c->key, err);
    if (rc == 0 && c->token != 2)
        rc = drop_by_key(db, S_DROP_INBOX, c->key, err);
    if (rc == 0 && c->token != 2)
        rc = drop_by_key(db, S_DROP_OUTBOX, c->key, err);
    if (rc == 0)
        rc = drop_by_key(db, S_DROP_NOTES, c->key, err);
    return rc;
}

static int sqlite_change_insert_item(struct chela_store_db *db, struct chela_store_change *c,
                                     enum statement which, struct chela_error *err) {
    sqlite3_stmt *stmt = ch_sqlite_take(db, which, err);
    char gone[GONE_NAME];

    if (!stmt)
        return err->code;
    bind_text(stmt, 1, c->id);
    bind_text(stmt, 2, c->key ? c->key : "");
    bind_data(stmt, 3, c->data, c->n);
    sqlite3_bind_int64(stmt, 4, c->now);
    if (which == S_ACCEPT) {
        gone_name(c->id, gone);
        bind_text(stmt, 5, gone);
    }
    int rc = ch_sqlite_step(db, stmt, err);
    c->rc = sqlite3_changes(db->db) == 1 ? 0 : CHELA_EEXIST;
    return rc;
}

/* Change the one row that the change's id names. */
static int alter(struct chela_store_db *db, struct chela_store_change *c, enum statement which,
                 struct chela_error *err) {
    int rc = drop_by_key(db, which, c->id, err);

    c->rc = sqlite3_changes(db->db) == 1 ? 0 : CHELA_ENOENT;
    return rc;
}

static int sqlite_change_receipt(struct chela_store_db *db, struct chela_store_change *c,
                                 struct chela_error *err) {
    sqlite3_stmt *stmt = ch_sqlite_take(db, S_FIND_INTENT, err);

    if (!stmt)
        return err->code;
    bind_text(stmt, 1, c->id);
    int rc = sqlite3_step(stmt);
    c->rc = rc != SQLITE_ROW ? CHELA_ENOENT
            : strcmp(ch_sqlite_text(stmt, 0), "sent") == 0 ? CHELA_EEXIST : 0;
    sqlite3_reset(stmt);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return ch_sqlite_fail(db, rc, err);
    if (c->rc < 0)
        return 0;
    stmt = ch_sqlite_take(db, S_RECEIPT, err);
    if (!stmt)
        return err->code;
    bind_text(stmt, 1, c->id);
    bind_text(stmt, 2, c->state);
    bind_data(stmt, 3, c->data, c->n);
    return ch_sqlite_step(db, stmt, err);
}

static int sqlite_change_keep(struct chela_store_db *db, struct chela_store_change *c,
                              struct chela_error *err) {
    if (!c->until)
        return alter(db, c, S_UNKEEP, err);
    sqlite3_stmt *stmt = ch_sqlite_take(db, S_KEEP, err);
    if (!stmt)
        return err->code;
    bind_text(stmt, 1, c->id);
    bind_data(stmt, 2, c->data, c->n);
    sqlite3_bind_int64(stmt, 3, c->until);
    sqlite3_bind_int64(stmt, 4, (int64_t)c->token);
    sqlite3_bind_int64(stmt, 5, c->now);
    int rc = ch_sqlite_step(db, stmt, err);
    c->rc = sqlite3_changes(db->db) == 1 ? 0 : CHELA_EEXIST;
    if (rc < 0 || c->rc < 0 || !c->key)
        return rc;
    CH_BUF_AUTO link = {0};
    ch_buf_addf(&link, "of %s\n%s", c->key, c->id);
    return add_name(db, ch_buf_str(&link), c->until, err);
}

/* Forgets keys of deleted sessions, if there are too many. */
static int trim_past(struct chela_store_db *db, bool *any, struct chela_error *err) {
    static const enum statement steps[] = {S_RAISE_PAST, S_TRIM_PAST};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < CH_LEN(steps); i++) {
        sqlite3_stmt *stmt = ch_sqlite_take(db, steps[i], err);
        if (!stmt)
            return err->code;
        sqlite3_bind_int64(stmt, 1, CH_LIMIT_PAST);
        sqlite3_bind_int64(stmt, 2, CH_LIMIT_EXPIRED);
        rc = ch_sqlite_step(db, stmt, err);
    }
    *any = sqlite3_changes(db->db) > 0;
    return rc;
}

static int sqlite_change_expire(struct chela_store_db *db, struct chela_store_change *c,
                                struct chela_error *err) {
    static const enum statement boxes[] = {S_EXPIRE_INBOX, S_EXPIRE_OUTBOX, S_EXPIRE_KEPT};
    int rc = 0;

    c->rc = CHELA_ENOENT;
    for (size_t i = 0; rc == 0 && i < CH_LEN(boxes); i++) {
        sqlite3_stmt *stmt = ch_sqlite_take(db, boxes[i], err);
        if (!stmt)
            return err->code;
        sqlite3_bind_int64(stmt, 1, boxes[i] == S_EXPIRE_KEPT ? c->now : c->until);
        sqlite3_bind_int64(stmt, 2, CH_LIMIT_EXPIRED);
        rc = ch_sqlite_step(db, stmt, err);
        if (sqlite3_changes(db->db) > 0)
            c->rc = 0;
    }
    bool past = false;
    if (rc == 0)
        rc = trim_past(db, &past, err);
    if (past)
        c->rc = 0;
    if (rc == 0 && (ch_sqlite_tidy_index(db) || ch_sqlite_shrink(db)))
        c->rc = 0;
    return rc;
}

static int sqlite_change_apply(struct chela_store_db *db, struct chela_store_change *c,
                               struct chela_error *err) {
    switch (c->kind) {
    case CHELA_STORE_APPEND:
        return sqlite_change_append(db, c, err);
    case CHELA_STORE_RENEW:
        return sqlite_change_lease(db, c, S_RENEW, err);
    case CHELA_STORE_RELEASE:
        return sqlite_change_lease(db, c, S_RELEASE, err);
    case CHELA_STORE_CREATE:
        return sqlite_change_create(db, c, err);
    case CHELA_STORE_TITLE:
        return sqlite_change_set_title(db, c, err);
    case CHELA_STORE_DELETE:
        return sqlite_change_drop(db, c, err);
    case CHELA_STORE_ACCEPT:
        return sqlite_change_insert_item(db, c, S_ACCEPT, err);
    case CHELA_STORE_SETTLE:
        return alter(db, c, S_SETTLE, err);
    case CHELA_STORE_INTENT:
        return sqlite_change_insert_item(db, c, S_INTENT, err);
    case CHELA_STORE_RECEIPT:
        return sqlite_change_receipt(db, c, err);
    case CHELA_STORE_NOTE:
        return sqlite_change_insert_item(db, c, c->token ? S_NOTE : S_RENOTE, err);
    case CHELA_STORE_FORGET:
        return alter(db, c, S_FORGET, err);
    case CHELA_STORE_EXPIRE:
        return sqlite_change_expire(db, c, err);
    case CHELA_STORE_KEEP:
        return sqlite_change_keep(db, c, err);
    }
    return ch_fail(err, CHELA_EINVAL, "store %s: unknown change", db->path);
}

int ch_sqlite_commit(struct chela_store_db *db, struct chela_store_change *changes, size_t n,
                     int sync, struct chela_error *err) {
    if (n == 0)
        return ch_sqlite_verify(db, err);
    int rc = ch_sqlite_begin(db, sync, err);
    bool deleted = false;

    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        rc = sqlite_change_apply(db, &changes[i], err);
        deleted |= changes[i].kind == CHELA_STORE_DELETE && changes[i].rc == 0;
    }
    if (rc == 0 && deleted)
        rc = trim_gone(db, err);
    if (rc == 0 && deleted)
        ch_sqlite_shrink(db);
    return ch_sqlite_end(db, rc, err);
}

/* --- opening a session -------------------------------------------------------- */

static int sqlite_change_take_lease(struct chela_store_db *db, const struct chela_store_claim *c,
                                    struct chela_error *err) {
    sqlite3_stmt *stmt = ch_sqlite_take(db, S_LEASE, err);

    if (!stmt)
        return err->code;
    bind_text(stmt, 1, c->key);
    bind_text(stmt, 2, c->owner);
    sqlite3_bind_int64(stmt, 3, c->until);
    return ch_sqlite_step(db, stmt, err);
}

/* Creates a session and passes its row to fn: reading the row would prepare one more query. */
static int sqlite_change_claim_new(struct chela_store_db *db, const struct chela_store_claim *c,
                                   chela_store_session_fn *fn, void *user,
                                   struct chela_error *err) {
    if (!c->create)
        return ch_fail(err, CHELA_ENOENT, "there is no session '%s'", c->key);
    struct chela_store_session row = {.key = c->key,
                                      .agent = c->agent,
                                      .title = "",
                                      .status = "idle",
                                      .parent = "",
                                      .created = c->now,
                                      .updated = c->now,
                                      .owner = c->owner,
                                      .token = 1,
                                      .until = c->until};
    int rc = sqlite_change_insert_session(db, c, strlen(c->agent), "", &row.base, err);
    row.last = row.base;
    row.window = row.base + 1;
    if (rc == 0)
        fn(&row, user);
    return rc;
}

static int sqlite_change_claim_it(struct chela_store_db *db, const struct chela_store_claim *c,
                                  chela_store_session_fn *fn, void *user, bool *busy,
                                  struct chela_error *err) {
    struct row row = {0};
    bool there;
    int rc = sqlite_change_find(db, c->key, &row, &there, err);

    if (rc < 0)
        return rc;
    if (!there)
        return sqlite_change_claim_new(db, c, fn, user, err);
    bool holds = row.held && (c->judge || row.until > c->now);
    *busy = holds && !(c->steal && c->steal == row.token);
    if (!*busy)
        rc = sqlite_change_take_lease(db, c, err);
    /* in the transaction: reading after it would lock the file once more */
    return rc == 0 ? ch_sqlite_session(db, c->key, fn, user, err) : rc;
}

int ch_sqlite_open_session(struct chela_store_db *db, const struct chela_store_claim *claim,
                           chela_store_session_fn *fn, void *user, struct chela_error *err) {
    bool busy = false;
    int rc = ch_sqlite_begin(db, false, err);

    if (rc == 0)
        rc = ch_sqlite_end(db, sqlite_change_claim_it(db, claim, fn, user, &busy, err), err);
    if (rc == 0 && busy)
        rc = ch_fail(err, CHELA_EBUSY, "session '%s' is in use", claim->key);
    return rc;
}
