/* sqlite_search.c -- see sqlite_search.h. */
#include "tool/builtin/data/sqlite/sqlite_search.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/sv.h"
#include "base/utf8.h"

#define LOOK_BYTES (16 * CH_MB) /* bytes compared between two questions to stop */

struct ch_sqlite_search {
    int (*stop)(void *user);
    void *user;
};

static bool search_stops(sqlite3_context *c) {
    const struct ch_sqlite_search *s = sqlite3_user_data(c);

    if (!s->stop(s->user))
        return false;
    sqlite3_result_error_code(c, SQLITE_INTERRUPT);
    return true;
}

static bool search_has_null(sqlite3_value **v, int n) {
    for (int i = 0; i < n; i++)
        if (sqlite3_value_type(v[i]) == SQLITE_NULL)
            return true;
    return false;
}

static struct ch_sv search_text(sqlite3_value *v) {
    const char *text = (const char *)sqlite3_value_text(v);

    return ch_sv(text, text ? (size_t)sqlite3_value_bytes(v) : 0);
}

static bool is_continuation(char c) {
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* --- instr ------------------------------------------------------------------ */

static void search_instr(sqlite3_context *c, int n, sqlite3_value **v) {
    bool blobs = sqlite3_value_type(v[0]) == SQLITE_BLOB && sqlite3_value_type(v[1]) == SQLITE_BLOB;
    struct ch_sv s, part;
    sqlite3_int64 at = 1;

    if (search_has_null(v, n) || search_stops(c))
        return;
    if (blobs) {
        s = ch_sv(sqlite3_value_blob(v[0]), (size_t)sqlite3_value_bytes(v[0]));
        part = ch_sv(sqlite3_value_blob(v[1]), (size_t)sqlite3_value_bytes(v[1]));
    } else {
        s = search_text(v[0]);
        part = search_text(v[1]);
    }
    const char *found = part.n && s.n ? memmem(s.p, s.n, part.p, part.n) : part.n ? NULL : s.p;
    for (const char *p = s.p; found && p < found; p++)
        at += blobs || !is_continuation(p[1]);
    sqlite3_result_int64(c, found || !part.n ? at : 0);
}

/* --- replace ---------------------------------------------------------------- */

static void search_replace(sqlite3_context *c, int n, sqlite3_value **v) {
    struct ch_sv s = search_text(v[0]), old = search_text(v[1]), new = search_text(v[2]);
    sqlite3_str *out;
    const char *found;

    if (search_has_null(v, n) || search_stops(c))
        return;
    if (old.n == 0) {
        sqlite3_result_value(c, v[0]);
        return;
    }
    out = sqlite3_str_new(sqlite3_context_db_handle(c));
    while (s.n && (found = memmem(s.p, s.n, old.p, old.n)) && !sqlite3_str_errcode(out)) {
        size_t before = (size_t)(found - s.p);
        sqlite3_str_append(out, s.p, (int)before);
        sqlite3_str_append(out, new.p, (int)new.n);
        s = ch_sv(found + old.n, s.n - before - old.n);
    }
    sqlite3_str_append(out, s.p, (int)s.n);
    int rc = sqlite3_str_errcode(out), size = sqlite3_str_length(out);
    char *text = sqlite3_str_finish(out); /* NULL: empty, or an error */
    if (rc != SQLITE_OK)
        sqlite3_result_error_code(c, rc);
    else
        sqlite3_result_text(c, text ? text : "", size, text ? sqlite3_free : NULL);
}

/* --- trim ------------------------------------------------------------------- */

enum { LEFT = 1, RIGHT = 2 };

struct trim {
    struct ch_sv set;
    bool ascii[128];
    size_t compared;
};

/* Is the character one of the set? */
static bool trim_has(struct trim *t, struct ch_sv character) {
    if (character.n == 1 && !((unsigned char)*character.p & 0x80))
        return t->ascii[(unsigned char)*character.p];
    t->compared += t->set.n;
    return t->set.n && memmem(t->set.p, t->set.n, character.p, character.n);
}

static struct ch_sv trim_end_character(struct ch_sv s, int side) {
    size_t n = 1;

    if (side == LEFT) {
        while (n < s.n && is_continuation(s.p[n]))
            n++;
        return ch_sv(s.p, n);
    }
    while (n < s.n && is_continuation(s.p[s.n - n]))
        n++;
    return ch_sv(s.p + s.n - n, n);
}

/* False if the statement was ended. */
static bool trim_side(sqlite3_context *c, struct trim *t, struct ch_sv *s, int side) {
    while (s->n) {
        struct ch_sv character = trim_end_character(*s, side);
        if (!trim_has(t, character))
            return true;
        s->p += side == LEFT ? character.n : 0;
        s->n -= character.n;
        if (t->compared > LOOK_BYTES) {
            t->compared = 0;
            if (search_stops(c))
                return false;
        }
    }
    return true;
}

static void trim_sides(sqlite3_context *c, int n, sqlite3_value **v, int sides) {
    struct ch_sv s = search_text(v[0]);
    struct trim t = {.set = n > 1 ? search_text(v[1]) : CH_SV(" ")};

    if (search_has_null(v, n) || search_stops(c))
        return;
    for (size_t i = 0; i < t.set.n; i++)
        if (!((unsigned char)t.set.p[i] & 0x80))
            t.ascii[(unsigned char)t.set.p[i]] = true;
    if ((sides & LEFT) && !trim_side(c, &t, &s, LEFT))
        return;
    if ((sides & RIGHT) && !trim_side(c, &t, &s, RIGHT))
        return;
    sqlite3_result_text(c, s.n ? s.p : "", (int)s.n, SQLITE_TRANSIENT);
}

static void search_trim(sqlite3_context *c, int n, sqlite3_value **v) {
    trim_sides(c, n, v, LEFT | RIGHT);
}

static void search_ltrim(sqlite3_context *c, int n, sqlite3_value **v) {
    trim_sides(c, n, v, LEFT);
}

static void search_rtrim(sqlite3_context *c, int n, sqlite3_value **v) {
    trim_sides(c, n, v, RIGHT);
}

/* --- like, glob ------------------------------------------------------------- */

/* In some builds of SQLite a BLOB matches nothing. */
static bool search_skips_blob(sqlite3_context *c, sqlite3_value **v) {
    bool blob = sqlite3_value_type(v[0]) == SQLITE_BLOB || sqlite3_value_type(v[1]) == SQLITE_BLOB;

    if (!blob || !sqlite3_compileoption_used("LIKE_DOESNT_MATCH_BLOBS"))
        return false;
    sqlite3_result_int(c, 0);
    return true;
}

/* The pattern is the first argument. True if the texts can be compared. */
static bool search_accepts(sqlite3_context *c, sqlite3_value *pattern, sqlite3_value *text) {
    uint64_t n = (uint64_t)sqlite3_value_bytes(pattern);
    int most = sqlite3_limit(sqlite3_context_db_handle(c), SQLITE_LIMIT_LIKE_PATTERN_LENGTH, -1);

    if (n <= (uint64_t)most && n * (uint64_t)sqlite3_value_bytes(text) <= CH_LIMIT_SQL_MATCH)
        return !search_stops(c);
    sqlite3_result_error(c, "LIKE or GLOB pattern too long for this value", -1);
    return false;
}

static void search_like(sqlite3_context *c, int n, sqlite3_value **v) {
    uint32_t character = 0;

    if (search_skips_blob(c, v) || search_has_null(v, n))
        return;
    struct ch_sv pattern = search_text(v[0]), text = search_text(v[1]);
    struct ch_sv escape = n > 2 ? search_text(v[2]) : CH_SV("");
    if (!search_accepts(c, v[0], v[1]))
        return;
    if (n > 2 && (escape.n == 0 || ch_utf8_next(escape, &character) != escape.n)) {
        sqlite3_result_error(c, "ESCAPE expression must be a single character", -1);
        return;
    }
    sqlite3_result_int(c, sqlite3_strlike(pattern.p, text.p, character) == 0);
}

static void search_glob(sqlite3_context *c, int n, sqlite3_value **v) {
    if (search_skips_blob(c, v) || search_has_null(v, n))
        return;
    struct ch_sv pattern = search_text(v[0]), text = search_text(v[1]);
    if (search_accepts(c, v[0], v[1]))
        sqlite3_result_int(c, sqlite3_strglob(pattern.p, text.p) == 0);
}

/* --- the table -------------------------------------------------------------- */

int ch_sqlite_search_add(sqlite3 *db, int (*stop)(void *user), void *user) {
    static const struct {
        const char *name;
        int arguments;
        void (*call)(sqlite3_context *c, int n, sqlite3_value **v);
    } functions[] = {
        {"instr", 2, search_instr}, {"replace", 3, search_replace}, {"trim", 1, search_trim},
        {"trim", 2, search_trim},   {"ltrim", 1, search_ltrim},     {"ltrim", 2, search_ltrim},
        {"rtrim", 1, search_rtrim}, {"rtrim", 2, search_rtrim},     {"like", 2, search_like},
        {"like", 3, search_like},   {"glob", 2, search_glob},
    };
    int rc = SQLITE_OK;

    for (size_t i = 0; i < CH_LEN(functions) && rc == SQLITE_OK; i++) {
        struct ch_sqlite_search *s = ch_alloc(sizeof(*s));
        *s = (struct ch_sqlite_search){stop, user};
        rc = sqlite3_create_function_v2(
            db, functions[i].name, functions[i].arguments,
            SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, s, functions[i].call, NULL, NULL,
            ch_free);
    }
    return rc;
}
