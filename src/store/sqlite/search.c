/* search.c -- see search.h.
 *
 * The index holds trigrams, so that it finds parts of words and works for
 * languages without spaces. It is updated before a search, from where the last
 * update ended. It does not contain words of one or two characters: these are
 * searched in the texts that the other words match, or else in every text. */
#include "store/sqlite/search.h"

#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "store/sqlite/db.h"

#define WORDS_MAX 16
#define EXCERPT_BYTES 80 /* on each side of the match */

static int sqlite_search_prepare(struct chela_store_db *db, const char *text, sqlite3_stmt **out,
                                 struct chela_error *err) {
    int rc = sqlite3_prepare_v2(db->db, text, -1, out, NULL);

    return rc == SQLITE_OK ? 0 : ch_sqlite_fail(db, rc, err);
}

/* --- the index ------------------------------------------------------------------ */

static void sqlite_search_add_text(const char *p, size_t n, void *to) {
    ch_buf_add(to, p, n);
}

static int index_records(struct chela_store_db *db, const struct chela_store_query *q,
                         sqlite3_stmt *from, sqlite3_stmt *to, struct chela_error *err) {
    CH_BUF_AUTO text = {0};
    int rc = 0, step;

    while (rc == 0 && (step = sqlite3_step(from)) == SQLITE_ROW) {
        struct chela_store_record r = {
            .seq = (uint64_t)(sqlite3_column_int64(from, 0) & SEQ_MAX),
            .type = (uint32_t)sqlite3_column_int64(from, 1),
            .data = ch_sqlite_text(from, 2),
            .n = (size_t)sqlite3_column_bytes(from, 2),
        };
        ch_buf_clear(&text);
        q->text_of(&r, sqlite_search_add_text, &text);
        if (text.n == 0)
            continue;
        sqlite3_bind_int64(to, 1, sqlite3_column_int64(from, 0));
        sqlite3_bind_text64(to, 2, text.p, text.n, SQLITE_STATIC, SQLITE_UTF8);
        rc = ch_sqlite_step(db, to, err);
    }
    return rc == 0 && step != SQLITE_DONE ? ch_sqlite_fail(db, step, err) : rc;
}

static int catch_up(struct chela_store_db *db, const struct chela_store_query *q,
                    struct chela_error *err) {
    sqlite3_stmt *from = NULL, *to = NULL;
    int rc =
        sqlite_search_prepare(db,
                              "SELECT r.id, r.type, r.data FROM sessions s LEFT JOIN indexed i"
                              " ON i.session = s.id JOIN records r ON r.id BETWEEN"
                              " (s.id << 40) + coalesce(i.last, 0) + 1 AND (s.id << 40) + s.last"
                              " WHERE coalesce(i.last, 0) < s.last",
                              &from, err);
    if (rc == 0)
        rc = sqlite_search_prepare(db, "INSERT INTO words(rowid, text) VALUES(?1, ?2)", &to, err);
    if (rc == 0)
        rc = index_records(db, q, from, to, err);
    sqlite3_finalize(from);
    sqlite3_finalize(to);
    int done = rc == 0 ? sqlite3_exec(db->db,
                                      "INSERT INTO indexed(session, last) SELECT id, last FROM"
                                      " sessions WHERE true ON CONFLICT(session) DO UPDATE SET"
                                      " last = excluded.last WHERE last < excluded.last",
                                      NULL, NULL, NULL)
                       : SQLITE_OK;
    return done == SQLITE_OK ? rc : ch_sqlite_fail(db, done, err);
}

static int update_index(struct chela_store_db *db, const struct chela_store_query *q,
                        struct chela_error *err) {
    int rc = ch_sqlite_begin(db, false, err);

    if (rc < 0)
        return rc;
    int made = sqlite3_exec(db->db,
                            "CREATE VIRTUAL TABLE IF NOT EXISTS words USING"
                            " fts5(text, tokenize = 'trigram');"
                            "CREATE TABLE IF NOT EXISTS indexed(session INTEGER PRIMARY KEY,"
                            " last INTEGER NOT NULL)",
                            NULL, NULL, NULL);
    rc = made == SQLITE_OK ? catch_up(db, q, err) : ch_sqlite_fail(db, made, err);
    return ch_sqlite_end(db, rc, err);
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
    int rc = sqlite_search_prepare(db, ch_buf_str(&sql), out, err);
    if (rc < 0)
        return rc;
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
    int step = SQLITE_DONE, rc = update_index(db, q, err);

    sqlite_search_split(q->text, &w);
    if (rc == 0 && (w.match.n || w.nrest))
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
