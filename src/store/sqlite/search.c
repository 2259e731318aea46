/* search.c -- see search.h.
 *
 * The index holds trigrams, so that it finds parts of words and works for
 * languages without spaces. It is updated before a search, from where the last
 * update ended, in transactions of some records each, so that other writers do
 * not wait long. It does not contain words of one or two characters: these are
 * searched in the texts that the other words match, or else in every text. */
#include "store/sqlite/search.h"

#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "store/sqlite/db.h"

#define WORDS_MAX 16
#define WINDOW 10000     /* numbers of sessions examined in one call */
#define UNINDEXED 500     /* removed sessions after which the index is tidied */
#define MERGE_PAGES "250" /* pages of the index that one transaction merges */
#define RECORD_COST 64   /* cost of reading a record, in bytes of text */
#define EXCERPT_BYTES 80 /* on each side of the match */

/* --- the index ------------------------------------------------------------------ */

static void sqlite_search_add_text(const char *p, size_t n, void *to) {
    ch_buf_add(to, p, n);
}

/* A session whose journal is longer than its part of the index. */
struct lag {
    int64_t session, last, indexed;
};

/* The next such session after session `at`, among WINDOW numbers of sessions. Returns 1 if
 * there is none. */
static int find_lag(struct chela_store_db *db, const char *key, uint64_t at, struct lag *out,
                    struct chela_error *err) {
    sqlite3_stmt *stmt = ch_sqlite_take(db, key ? S_LAG_OF : S_LAG, err);

    if (!stmt)
        return err->code;
    sqlite3_bind_int64(stmt, 1, (int64_t)at);
    if (key)
        sqlite3_bind_text(stmt, 2, key, -1, SQLITE_STATIC);
    else
        sqlite3_bind_int64(stmt, 2, (int64_t)at + WINDOW);
    int step = sqlite3_step(stmt);
    if (step == SQLITE_ROW)
        *out = (struct lag){sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1),
                            sqlite3_column_int64(stmt, 2)};
    sqlite3_reset(stmt);
    return step == SQLITE_ROW ? 0 : step == SQLITE_DONE ? 1 : ch_sqlite_fail(db, step, err);
}

struct indexing {
    const struct chela_store_query *q;
    sqlite3_stmt *from, *to, *mark; /* of the connection */
    struct ch_buf text;
    size_t left; /* bytes of text for this transaction */
};

static int index_record(struct chela_store_db *db, struct indexing *x, struct chela_error *err) {
    int64_t id = sqlite3_column_int64(x->from, 0);
    struct chela_store_record r = {
        .seq = (uint64_t)(id & SEQ_MAX),
        .type = (uint32_t)sqlite3_column_int64(x->from, 1),
        .data = ch_sqlite_text(x->from, 4),
        .n = (size_t)sqlite3_column_bytes(x->from, 4),
    };

    ch_buf_clear(&x->text);
    x->q->text_of(&r, sqlite_search_add_text, &x->text);
    x->left -= CH_MIN(x->left, x->text.n + RECORD_COST);
    if (x->text.n == 0)
        return 0;
    sqlite3_bind_int64(x->to, 1, id);
    sqlite3_bind_text64(x->to, 2, x->text.p, x->text.n, SQLITE_STATIC, SQLITE_UTF8);
    return ch_sqlite_step(db, x->to, err);
}

/* Index records of a session until the transaction is large enough. */
static int index_session(struct chela_store_db *db, struct indexing *x, struct lag *lag,
                         struct chela_error *err) {
    int rc = 0, step = SQLITE_DONE;

    sqlite3_bind_int64(x->from, 1, (lag->session << SEQ_BITS) + lag->indexed + 1);
    sqlite3_bind_int64(x->from, 2, (lag->session << SEQ_BITS) + lag->last);
    while (rc == 0 && x->left && (step = sqlite3_step(x->from)) == SQLITE_ROW) {
        rc = index_record(db, x, err);
        lag->indexed = sqlite3_column_int64(x->from, 0) & SEQ_MAX;
    }
    sqlite3_reset(x->from);
    if (rc == 0 && step == SQLITE_DONE)
        lag->indexed = lag->last;
    else if (rc == 0 && step != SQLITE_ROW)
        rc = ch_sqlite_fail(db, step, err);
    sqlite3_bind_int64(x->mark, 1, lag->session);
    sqlite3_bind_int64(x->mark, 2, lag->indexed);
    return rc == 0 ? ch_sqlite_step(db, x->mark, err) : rc;
}

/* Index from the session after *at on. */
static int index_some(struct chela_store_db *db, struct indexing *x, uint64_t *at,
                      struct chela_error *err) {
    struct lag lag;
    int rc = 0;

    while (rc == 0 && x->left && (rc = find_lag(db, x->q->key, *at, &lag, err)) == 0) {
        rc = index_session(db, x, &lag, err);
        *at = (uint64_t)(lag.indexed < lag.last ? lag.session - 1 : lag.session);
    }
    return rc < 0 ? rc : 0;
}

static int index_batch(struct chela_store_db *db, const struct chela_store_query *q, uint64_t *at,
                       struct chela_error *err) {
    struct indexing x = {.q = q, .left = CH_LIMIT_INDEX_BATCH};
    uint64_t from = *at;
    int rc = ch_sqlite_begin(db, false, err);

    if (rc < 0)
        return rc;
    if ((x.from = ch_sqlite_take(db, S_RECORDS, err)) &&
        (x.to = ch_sqlite_take(db, S_INDEX, err)) && (x.mark = ch_sqlite_take(db, S_INDEXED, err)))
        rc = index_some(db, &x, &from, err);
    else
        rc = err->code;
    ch_buf_release(&x.text);
    rc = ch_sqlite_end(db, rc, err);
    if (rc == 0)
        *at = from;
    return rc;
}

/* The column `calls` says that the index has the calls of tools; an older one is made again. */
static int make_index(struct chela_store_db *db, struct chela_error *err) {
    int64_t there = 0;
    int rc = ch_sqlite_number(db,
                              "SELECT count(*) FROM sqlite_master, pragma_table_info('indexed') c"
                              " WHERE sqlite_master.name = 'words' AND c.name = 'calls'",
                              &there, err);

    if (rc < 0 || there)
        return rc;
    rc = ch_sqlite_begin(db, false, err);
    if (rc < 0)
        return rc;
    int made = sqlite3_exec(db->db,
                            "DROP TABLE IF EXISTS words; DROP TABLE IF EXISTS indexed;"
                            "CREATE VIRTUAL TABLE IF NOT EXISTS words USING"
                            " fts5(text, tokenize = 'trigram');"
                            "CREATE TABLE IF NOT EXISTS indexed(session INTEGER PRIMARY KEY,"
                            " last INTEGER NOT NULL, calls INTEGER NOT NULL DEFAULT 1)",
                            NULL, NULL, NULL);
    return ch_sqlite_end(db, made == SQLITE_OK ? 0 : ch_sqlite_fail(db, made, err), err);
}

int ch_sqlite_index(struct chela_store_db *db, const struct chela_store_query *q, uint64_t *at,
                    struct chela_error *err) {
    int64_t newest = 0;
    struct lag lag;

    if (db->read_only)
        return ch_fail(err, CHELA_EPERM, "store %s was opened for reading only", db->path);
    int rc = *at == 0 ? make_index(db, err) : 0;
    if (rc == 0)
        rc = ch_sqlite_number(db, "SELECT coalesce(max(id), 0) FROM sessions", &newest, err);
    if (rc == 0)
        rc = find_lag(db, q->key, *at, &lag, err);
    if (rc < 0)
        return rc;
    if (rc == 0)
        return index_batch(db, q, at, err) < 0 ? err->code : 1;
    *at += WINDOW;
    return !q->key && *at < (uint64_t)newest;
}

void ch_sqlite_unindex(struct chela_store_db *db, int64_t session) {
    char *text = sqlite3_mprintf("DELETE FROM words WHERE rowid BETWEEN %lld AND %lld;"
                                 "DELETE FROM indexed WHERE session = %lld",
                                 (long long)(session << SEQ_BITS),
                                 (long long)(session << SEQ_BITS | SEQ_MAX), (long long)session);
    if (sqlite3_exec(db->db, text, NULL, NULL, NULL) == SQLITE_OK)
        db->unindexed++;
    sqlite3_free(text);
}

/* The words of a removed text stay in the index until the parts of the index that hold them
 * are merged. An index without texts is dropped; the next search creates it again. */
bool ch_sqlite_tidy_index(struct chela_store_db *db) {
    struct chela_error ignored = {0}; /* the commit reports a transaction that failed */
    int64_t used = 0;

    if (db->unindexed < UNINDEXED)
        return false;
    if (ch_sqlite_number(db, "SELECT EXISTS(SELECT 1 FROM indexed)", &used, &ignored) == 0 &&
        !used) {
        db->unindexed = 0;
        return sqlite3_exec(db->db, "DROP TABLE words; DROP TABLE indexed", NULL, NULL, NULL) ==
               SQLITE_OK;
    }
    int before = sqlite3_total_changes(db->db);
    int rc = sqlite3_exec(db->db,
                          "INSERT INTO words(words, rank) VALUES('usermerge', 2);"
                          "INSERT INTO words(words, rank) VALUES('merge', " MERGE_PAGES ")",
                          NULL, NULL, NULL);
    /* the two statements alone count as two changes */
    bool more = rc == SQLITE_OK && sqlite3_total_changes(db->db) - before > 3;
    if (!more)
        db->unindexed = 0;
    return more;
}

/* --- queries -------------------------------------------------------------------------- */

struct words {
    struct ch_buf match; /* FTS5 query: the words of three or more characters */
    char *rest[WORDS_MAX]; /* owned: "%w%" for LIKE, for shorter words */
    size_t nrest;
};

static size_t characters(struct ch_sv s) {
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

static void sqlite_search_add_quoted(struct ch_buf *out, struct ch_sv word) {
    ch_buf_add_str(out, out->n ? " AND \"" : "\"");
    for (size_t i = 0; i < word.n; i++) {
        ch_buf_addc(out, word.p[i]);
        if (word.p[i] == '"')
            ch_buf_addc(out, '"');
    }
    ch_buf_addc(out, '"');
}

static char *like(struct ch_sv word) {
    CH_BUF_AUTO out = {0};

    ch_buf_addc(&out, '%');
    for (size_t i = 0; i < word.n; i++) {
        if (strchr("%_\\", word.p[i]))
            ch_buf_addc(&out, '\\');
        ch_buf_addc(&out, word.p[i]);
    }
    ch_buf_addc(&out, '%');
    return ch_buf_take(&out);
}

static void sqlite_search_split(const char *text, struct words *w) {
    struct ch_sv rest = ch_sv_trim(ch_sv_str(text));

    while (rest.n) {
        struct ch_sv word = ch_sv_trim(ch_sv_split(&rest, ' '));
        if (word.n == 0)
            continue;
        if (characters(word) >= 3)
            sqlite_search_add_quoted(&w->match, word);
        else if (w->nrest < WORDS_MAX)
            w->rest[w->nrest++] = like(word);
    }
}

static void words_release(struct words *w) {
    ch_buf_release(&w->match);
    for (size_t i = 0; i < w->nrest; i++)
        ch_free(w->rest[i]);
}

static int sqlite_search_ask(struct chela_store_db *db, const struct chela_store_query *q,
                             const struct words *w, sqlite3_stmt **out, struct chela_error *err) {
    CH_BUF_AUTO sql = {0};

    ch_buf_addf(&sql,
                "SELECT s.key, s.title, w.rowid & %lld, r.ts, %s FROM words w"
                " JOIN sessions s ON s.id = w.rowid >> 40 JOIN records r ON r.id = w.rowid"
                " WHERE (?1 IS NULL OR s.key = ?1)",
                (long long)SEQ_MAX,
                w->match.n ? "snippet(words, 0, char(1), char(2), '…', 40)" : "w.text");
    if (w->match.n)
        ch_buf_add_str(&sql, " AND words MATCH ?3");
    for (size_t i = 0; i < w->nrest; i++)
        ch_buf_addf(&sql, " AND w.text LIKE ?%zu ESCAPE '\\'", i + 4);
    ch_buf_addf(&sql, " ORDER BY %s LIMIT ?2", w->match.n ? "rank" : "w.rowid DESC");
    int rc = sqlite3_prepare_v2(db->db, ch_buf_str(&sql), -1, out, NULL);
    if (rc != SQLITE_OK)
        return ch_sqlite_fail(db, rc, err);
    sqlite3_bind_text(*out, 1, q->key, -1, SQLITE_STATIC);
    sqlite3_bind_int64(*out, 2, q->limit ? (int64_t)q->limit : -1);
    if (w->match.n)
        sqlite3_bind_text(*out, 3, ch_buf_str(&w->match), -1, SQLITE_STATIC);
    for (size_t i = 0; i < w->nrest; i++)
        sqlite3_bind_text(*out, (int)i + 4, w->rest[i], -1, SQLITE_STATIC);
    return 0;
}

/* Without an index match FTS5 gives no snippet: cut out the text around the
 * word. */
static void sqlite_search_cut_out(struct ch_buf *out, const char *text, const char *pattern) {
    CH_AUTOFREE char *word = ch_strndup(pattern + 1, strlen(pattern) - 2);
    const char *at = strcasestr(text, word);
    size_t before = at ? (size_t)(at - text) : 0, from = before;

    if (!at) {
        struct ch_sv head = ch_utf8_cut(ch_sv_str(text), 2 * EXCERPT_BYTES);
        ch_buf_add(out, head.p, head.n);
        return;
    }
    from = before > EXCERPT_BYTES ? before - EXCERPT_BYTES : 0;
    while (from && ((unsigned char)text[from] & 0xc0) == 0x80)
        from--;
    struct ch_sv after = ch_utf8_cut(ch_sv_str(at + strlen(word)), EXCERPT_BYTES);
    ch_buf_addf(out, "%s%.*s\x01%.*s\x02%.*s", from ? "…" : "", (int)(before - from), text + from,
                (int)strlen(word), at, CH_SV_FMT(after));
}

int ch_sqlite_search(struct chela_store_db *db, const struct chela_store_query *q,
                     chela_store_hit_fn *fn, void *user, struct chela_error *err) {
    struct words w = {0};
    sqlite3_stmt *stmt = NULL;
    CH_BUF_AUTO excerpt = {0};
    int step = SQLITE_DONE, rc = 0;

    sqlite_search_split(q->text, &w);
    if ((w.match.n || w.nrest))
        rc = sqlite_search_ask(db, q, &w, &stmt, err);
    while (rc == 0 && stmt && (step = sqlite3_step(stmt)) == SQLITE_ROW) {
        ch_buf_clear(&excerpt);
        if (w.match.n)
            ch_buf_add_str(&excerpt, ch_sqlite_text(stmt, 4));
        else
            sqlite_search_cut_out(&excerpt, ch_sqlite_text(stmt, 4), w.rest[0]);
        struct chela_store_hit hit = {.key = ch_sqlite_text(stmt, 0),
                                      .title = ch_sqlite_text(stmt, 1),
                                      .seq = (uint64_t)sqlite3_column_int64(stmt, 2),
                                      .ts = sqlite3_column_int64(stmt, 3),
                                      .excerpt = ch_buf_str(&excerpt)};
        if (fn(&hit, user))
            break;
    }
    if (rc == 0 && step != SQLITE_DONE && step != SQLITE_ROW)
        rc = ch_sqlite_fail(db, step, err);
    sqlite3_finalize(stmt);
    words_release(&w);
    return rc;
}
