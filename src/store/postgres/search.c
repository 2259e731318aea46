/* search.c -- see search.h.
 *
 * The server selects the records whose JSON contains the words. This file then
 * checks that the words are in the text of a message, and not in a name or an
 * argument. Words that JSON may encode in several ways, and texts with numeric
 * escapes, are only checked here. */
#include "store/postgres/search.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "store/postgres/db.h"
#include "store/postgres/link.h"
#include "store/postgres/read.h"

#define WORDS_MAX 16
#define EXCERPT_BYTES 80 /* on each side of the match */

struct searching {
    const struct chela_store_query *q;
    chela_store_hit_fn *fn;
    void *user;
    char *words[WORDS_MAX]; /* owned */
    size_t nwords;
    size_t seen; /* rows inspected */
    size_t left; /* hits wanted */
    struct ch_buf text;
};

static void postgres_search_split(struct searching *s) {
    struct ch_sv rest = ch_sv_trim(ch_sv_str(s->q->text));

    while (rest.n && s->nwords < WORDS_MAX) {
        struct ch_sv word = ch_sv_trim(ch_sv_split(&rest, ' '));
        if (word.n)
            s->words[s->nwords++] = ch_strndup(word.p, word.n);
    }
}

/* The pattern for LIKE; NULL: JSON may escape the word. */
static char *pattern(const char *word) {
    CH_BUF_AUTO out = {0};

    ch_buf_addc(&out, '%');
    for (; *word; word++) {
        if (strchr("\"\\/", *word) || (unsigned char)*word < ' ')
            return NULL;
        if (strchr("%_", *word))
            ch_buf_addc(&out, '\\');
        ch_buf_addc(&out, *word);
    }
    ch_buf_addc(&out, '%');
    return ch_buf_take(&out);
}

static void postgres_search_add_text(const char *p, size_t n, void *to) {
    ch_buf_add(to, p, n);
}

static void postgres_search_cut_out(struct ch_buf *out, const char *text, const char *at,
                                    size_t n) {
    size_t before = (size_t)(at - text), from = 0;

    if (before > EXCERPT_BYTES)
        for (from = before - EXCERPT_BYTES; ((unsigned char)text[from] & 0xc0) == 0x80;)
            from--;
    struct ch_sv after = ch_utf8_cut(ch_sv_str(at + n), EXCERPT_BYTES);
    ch_buf_addf(out, "%s%.*s\x01%.*s\x02%.*s", from ? "…" : "", (int)(before - from), text + from,
                (int)n, at, CH_SV_FMT(after));
}

static int postgres_search_on_row(const PGresult *row, void *user) {
    struct searching *s = user;
    struct chela_store_record r = {
        .seq = (uint64_t)ch_pg_int(row, 2),
        .ts = ch_pg_int(row, 3),
        .type = (uint32_t)ch_pg_int(row, 4),
        .data = PQgetvalue(row, 0, 5),
        .n = (size_t)PQgetlength(row, 0, 5),
    };
    CH_BUF_AUTO excerpt = {0};

    s->seen++;
    ch_buf_clear(&s->text);
    s->q->text_of(&r, postgres_search_add_text, &s->text);
    const char *text = ch_buf_str(&s->text);
    for (size_t i = 0; i < s->nwords; i++)
        if (!strcasestr(text, s->words[i]))
            return 0;
    postgres_search_cut_out(&excerpt, text, strcasestr(text, s->words[0]), strlen(s->words[0]));
    struct chela_store_hit hit = {.key = PQgetvalue(row, 0, 0),
                                  .title = PQgetvalue(row, 0, 1),
                                  .seq = r.seq,
                                  .ts = r.ts,
                                  .excerpt = ch_buf_str(&excerpt)};
    return s->fn(&hit, s->user) || --s->left == 0;
}

static int postgres_search_ask(struct chela_store_db *db, struct searching *s,
                               struct chela_error *err) {
    struct ch_pg_arg args[WORDS_MAX + 1] = {ch_pg_text(s->q->key)};
    char *patterns[WORDS_MAX];
    size_t n = 0;
    CH_BUF_AUTO sql = {0};

    ch_buf_add_str(&sql, "SELECT s.key, s.title, r.seq, r.ts, r.type, r.data"
                         " FROM chela.records r JOIN chela.sessions s ON s.id = r.session"
                         " WHERE ($1 IS NULL OR s.key = $1)");
    for (size_t i = 0; i < s->nwords; i++) {
        patterns[n] = pattern(s->words[i]);
        if (!patterns[n])
            continue;
        args[n + 1] = ch_pg_text(patterns[n]);
        n++;
        ch_buf_addf(&sql, " AND (r.data ILIKE $%zu OR strpos(r.data, E'\\\\u') > 0)", n + 1);
    }
    ch_buf_add_str(&sql, " ORDER BY r.ts DESC, r.session DESC, r.seq DESC");
    struct ch_pg_reading r = {ch_buf_str(&sql), args, n + 1, postgres_search_on_row, s};
    int rc = ch_pg_read(db, &r, &s->seen, err);
    for (size_t i = 0; i < n; i++)
        ch_free(patterns[i]);
    return rc;
}

int ch_pg_search(struct chela_store_db *db, const struct chela_store_query *q,
                 chela_store_hit_fn *fn, void *user, struct chela_error *err) {
    struct searching s = {
        .q = q, .fn = fn, .user = user, .left = q->limit ? q->limit : SIZE_MAX};

    postgres_search_split(&s);
    int rc = s.nwords ? postgres_search_ask(db, &s, err) : 0;
    for (size_t i = 0; i < s.nwords; i++)
        ch_free(s.words[i]);
    ch_buf_release(&s.text);
    return rc;
}
