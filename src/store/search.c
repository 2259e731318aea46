/* search.c -- see search.h.
 *
 * A turn is a reply of the model, counted over the session as in `fork`; a
 * user's message belongs to the turn that it causes. A session's row has the
 * number of turns, so they are counted from the end: only records after the one
 * in question are read. */
#include "store/search.h"

#include "agent/journal/journal.h"
#include "base/arena.h"
#include "base/entry.h"
#include "base/grow.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "json/pull.h"
#include "json/writer.h"
#include "store/store.h"

#define EXCERPT_BYTES 80 /* on each side of the match */

/* --- records ---------------------------------------------------------------------- */

static bool can_say(const struct chela_store_record *r) {
    return r->type == CH_REC_INBOUND || r->type == CH_REC_MESSAGE;
}

/* The texts of a message, without calls. */
static void store_search_add_texts(const struct ch_json *v,
                                   void (*add)(const char *p, size_t n, void *to), void *to) {
    for (CH_JSON_EACH(block, ch_json_path(v, "message", "content", NULL))) {
        struct ch_sv text = ch_json_get_str(block, "text");
        if (!ch_sv_is(ch_json_get_str(block, "type"), "text") || text.n == 0)
            continue;
        add(text.p, text.n, to);
        add("\n", 1, to);
    }
}

/* The calls of a message: the tool and its arguments. */
static void store_search_add_calls(const struct ch_json *v,
                                   void (*add)(const char *p, size_t n, void *to), void *to) {
    for (CH_JSON_EACH(block, ch_json_path(v, "message", "content", NULL))) {
        CH_BUF_AUTO line = {0};
        struct ch_jw w = ch_jw(&line);
        if (!ch_sv_is(ch_json_get_str(block, "type"), "tool_call"))
            continue;
        ch_buf_addf(&line, "%.*s ", CH_SV_FMT(ch_json_get_str(block, "name")));
        if (ch_json_get(block, "arguments"))
            ch_jw_value(&w, ch_json_get(block, "arguments"));
        ch_buf_addc(&line, '\n');
        add(line.p, line.n, to);
    }
}

/* Adds the searched texts of a message. Results of tools are not searched. */
static void store_search_text_of(const struct chela_store_record *r,
                                 void (*add)(const char *p, size_t n, void *to), void *to) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;

    if (!can_say(r) ||
        ch_json_parse(&arena, ch_sv(r->data, r->n), CH_JSON_STRICT, &v, NULL, NULL) < 0)
        return;
    store_search_add_texts(v, add, to);
    store_search_add_calls(v, add, to);
}

static void store_search_add_words(const char *p, size_t n, void *to) {
    ch_buf_add(to, p, n);
}

/* --- search without an index --------------------------------------------------------------- */

struct scan {
    const char *key, *title, *text;
    chela_store_hit_fn *fn;
    void *user;
    size_t left;
    struct ch_buf words;
};

/* The first match if the text contains every word; else NULL. */
static const char *first_match(const char *hay, const char *text, size_t *n) {
    struct ch_sv rest = ch_sv_str(text);
    const char *first = NULL;

    while (rest.n) {
        struct ch_sv word = ch_sv_trim(ch_sv_split(&rest, ' '));
        if (word.n == 0)
            continue;
        CH_AUTOFREE char *w = ch_strndup(word.p, word.n);
        const char *at = strcasestr(hay, w);
        if (!at)
            return NULL;
        if (!first) {
            first = at;
            *n = word.n;
        }
    }
    return first;
}

static int scan_record(const struct chela_store_record *r, void *user) {
    struct scan *s = user;
    size_t n = 0;

    ch_buf_clear(&s->words);
    store_search_text_of(r, store_search_add_words, &s->words);
    const char *text = ch_buf_str(&s->words), *at = first_match(text, s->text, &n);
    if (!at)
        return 0;
    CH_BUF_AUTO excerpt = {0};
    size_t before = CH_MIN((size_t)(at - text), (size_t)EXCERPT_BYTES);
    while (before < (size_t)(at - text) && ((unsigned char)at[-(ptrdiff_t)before] & 0xc0) == 0x80)
        before++; /* do not split a character */
    struct ch_sv after = ch_utf8_cut(ch_sv_str(at + n), EXCERPT_BYTES);
    ch_buf_addf(&excerpt, "%.*s\x01%.*s\x02%.*s", (int)before, at - before, (int)n, at,
                CH_SV_FMT(after));
    struct chela_store_hit hit = {.key = s->key,
                                  .title = s->title,
                                  .seq = r->seq,
                                  .ts = r->ts,
                                  .excerpt = ch_buf_str(&excerpt)};
    s->left--;
    return s->fn(&hit, s->user) || s->left == 0;
}

static int scan_all(chela_store *s, const struct chela_store_query *q, chela_store_hit_fn *fn,
                    void *user, struct chela_error *err) {
    struct scan scan = {.text = q->text, .fn = fn, .user = user, .left = q->limit ? q->limit : -1u};
    struct ch_store_keys keys = {0};

    int rc = chela_store_list(s, NULL, ch_keys_add, &keys, err);
    for (size_t i = 0; rc == 0 && scan.left && i < keys.n; i++) {
        scan.key = keys.list[i];
        scan.title = keys.titles[i];
        if (!q->key || strcmp(q->key, scan.key) == 0)
            rc = chela_store_records(s, scan.key, 1, scan_record, &scan, err);
        if (rc == CHELA_ENOENT) /* deleted since the list was made */
            rc = 0;
    }
    ch_buf_release(&scan.words);
    ch_keys_release(&keys);
    return rc;
}

/* --- turns --------------------------------------------------------------------------- */

struct hit {
    char *key, *title, *excerpt; /* owned */
    uint64_t seq, turn;
    int64_t ts;
    bool unwanted; /* a text of the searching run, which is skipped */
};

struct hits {
    struct hit *list; /* owned */
    size_t n, cap;
};

static struct hit *new_hit(struct hits *h) {
    CH_GROW(h->list, h->n, h->cap, 16);
    h->list[h->n] = (struct hit){0};
    return &h->list[h->n++];
}

static int keep_hit(const struct chela_store_hit *h, void *user) {
    *new_hit(user) = (struct hit){.key = ch_strdup(h->key),
                                  .title = ch_strdup(h->title),
                                  .excerpt = ch_strdup(h->excerpt),
                                  .seq = h->seq,
                                  .ts = h->ts};
    return 0;
}

static void hits_release(struct hits *h) {
    for (size_t i = 0; i < h->n; i++) {
        ch_free(h->list[i].key);
        ch_free(h->list[i].title);
        ch_free(h->list[i].excerpt);
    }
    ch_free(h->list);
}

/* A walk over a session's records from some record to the last one of its row. */
struct walk {
    const char *key, *run; /* run: run whose texts are skipped; NULL: none */
    uint64_t last, base, turns; /* from the row */
    uint64_t replies;      /* replies so far */
    bool texts;            /* make each text a hit; else only fill in existing hits */
    const char *words;     /* hits whose text lacks one of them are unwanted; NULL: none is */
    struct hits *hits;
    size_t from; /* index of this session's first hit */
    struct ch_arena arena;
    struct ch_buf text, scratch;
};

static int store_search_read_row(const struct chela_store_session *row, void *user) {
    struct walk *w = user;

    w->last = row->last;
    w->base = row->base;
    w->turns = row->turns;
    return 0;
}

/* Whether the record is a reply of the model. Called for most records, so it
 * builds no tree and stops reading after the answer. */
static bool store_search_is_reply(struct walk *w, const struct chela_store_record *r) {
    struct ch_sv key, role = CH_SV("");
    struct ch_pull p;

    if (r->type != CH_REC_MESSAGE)
        return false;
    ch_pull_init(&p, ch_sv(r->data, r->n), &w->scratch);
    bool found = ch_pull_enter(&p, '{');
    while (found && (found = ch_pull_key(&p, &key)) && !ch_sv_is(key, "message"))
        ch_pull_skip(&p);
    found = found && ch_pull_enter(&p, '{');
    while (found && (found = ch_pull_key(&p, &key)) && !ch_sv_is(key, "role"))
        ch_pull_skip(&p);
    return found && ch_pull_str(&p, &role) && ch_sv_is(role, "assistant");
}

static struct hit *known_hit(const struct walk *w, uint64_t seq) {
    for (size_t i = w->from; i < w->hits->n; i++)
        if (w->hits->list[i].seq == seq && strcmp(w->hits->list[i].key, w->key) == 0)
            return &w->hits->list[i];
    return NULL;
}

static struct hit *store_search_add_text(struct walk *w, const struct chela_store_record *r,
                                         const struct ch_json *v) {
    ch_buf_clear(&w->text);
    store_search_add_texts(v, store_search_add_words, &w->text);
    if (w->text.n == 0)
        return NULL;
    struct hit *h = new_hit(w->hits);
    *h = (struct hit){.key = ch_strdup(w->key),
                      .title = ch_strdup(""),
                      .excerpt = ch_buf_take(&w->text),
                      .seq = r->seq,
                      .ts = r->ts};
    return h;
}

/* Whether the texts of a message contain the words, and not its calls alone. */
static bool is_said(struct walk *w, const struct ch_json *v) {
    size_t n;

    if (!w->words)
        return true;
    ch_buf_clear(&w->text);
    store_search_add_texts(v, store_search_add_words, &w->text);
    return first_match(ch_buf_str(&w->text), w->words, &n) != NULL;
}

static void store_search_look_at(struct walk *w, const struct chela_store_record *r) {
    struct hit *h = w->texts ? NULL : known_hit(w, r->seq);
    const struct ch_json *v;

    if (!h && !w->texts)
        return;
    ch_arena_clear(&w->arena);
    if (ch_json_parse(&w->arena, ch_sv(r->data, r->n), CH_JSON_STRICT, &v, NULL, NULL) < 0 ||
        (!h && !(h = store_search_add_text(w, r, v))))
        return;
    h->turn = w->replies + 1; /* counted from the start of the walk */
    h->unwanted = (w->run && ch_sv_is(ch_json_get_str(v, "run"), w->run)) || !is_said(w, v);
}

static int walk_record(const struct chela_store_record *r, void *user) {
    struct walk *w = user;

    if (r->seq > w->last)
        return 1;
    if (!can_say(r))
        return 0;
    store_search_look_at(w, r);
    w->replies += store_search_is_reply(w, r);
    return 0;
}

/* Set the turns of this session's hits from `first` on. */
static int store_search_walk(chela_store *s, struct walk *w, uint64_t first,
                             struct chela_error *err) {
    int rc = chela_store_records(s, w->key, first, walk_record, w, err);
    uint64_t before = w->turns > w->replies ? w->turns - w->replies : 0;

    for (size_t i = w->from; i < w->hits->n; i++)
        if (w->hits->list[i].turn && strcmp(w->hits->list[i].key, w->key) == 0)
            w->hits->list[i].turn += before;
    ch_arena_release(&w->arena);
    ch_buf_release(&w->text);
    ch_buf_release(&w->scratch);
    return rc;
}

/* Hits of a session that is deleted or damaged keep turn 0. */
static void store_search_count_turns(chela_store *s, struct hits *h, const char *run,
                                     const char *words) {
    struct chela_error ignored = {0};

    for (size_t i = 0; i < h->n; i++) {
        struct walk w = {
            .key = h->list[i].key, .run = run, .words = words, .hits = h, .from = i};
        uint64_t first = h->list[i].seq;
        if (h->list[i].turn)
            continue; /* done with an earlier hit */
        for (size_t k = i; k < h->n; k++)
            if (strcmp(h->list[k].key, w.key) == 0)
                first = CH_MIN(first, h->list[k].seq);
        if (chela_store_session(s, w.key, store_search_read_row, &w, &ignored) == 0)
            store_search_walk(s, &w, first, &ignored);
    }
}

/* --- searching -------------------------------------------------------------------------- */

static int store_search_update_index(chela_store *s, const struct chela_store_query *q,
                                     struct chela_error *err) {
    uint64_t at = 0;
    int more = s->ops->index ? 1 : 0;

    while (more > 0) {
        more = ch_store_enter(s, err);
        if (more == 0)
            more = ch_store_leave(s, s->ops->index(s->db, q, &at, err));
        if (more > 0)
            ch_store_give_way();
    }
    return more;
}

static int store_search_find(chela_store *s, const struct chela_store_query *q, const char *run,
                             struct hits *out, struct chela_error *err) {
    int rc = store_search_update_index(s, q, err);

    if (rc == 0 && s->ops->search) {
        rc = ch_store_enter(s, err);
        if (rc == 0)
            rc = ch_store_leave(s, s->ops->search(s->db, q, keep_hit, out, err));
    } else if (rc == 0 || rc == CHELA_EPERM) { /* EPERM: the index cannot be written */
        *err = (struct chela_error){0};
        rc = scan_all(s, q, keep_hit, out, err);
    }
    if (rc == 0)
        store_search_count_turns(s, out, run, run ? q->text : NULL);
    return rc;
}

int chela_store_search(chela_store *s, const char *text, const char *key, size_t limit,
                       chela_store_hit_fn *fn, void *user, struct chela_error *err) {
    CH_NEEDS(s, err);
    struct chela_error why = {0};
    struct chela_store_query q = {
        .text = text, .key = key, .limit = limit, .text_of = store_search_text_of};
    struct hits found = {0};
    int rc = store_search_find(s, &q, NULL, &found, err ? err : &why);

    for (size_t i = 0; rc == 0 && i < found.n; i++) {
        const struct hit *h = &found.list[i];
        struct chela_store_hit hit = {.key = h->key,
                                      .title = h->title,
                                      .seq = h->seq,
                                      .ts = h->ts,
                                      .excerpt = h->excerpt,
                                      .turn = h->turn};
        if (fn(&hit, user))
            break;
    }
    hits_release(&found);
    return rc;
}

/* --- searches of agents --------------------------------------------------------------------- */

#define RECORDS_A_TEXT 2 /* records read per wanted text */
#define SESSIONS 16      /* newest sessions read when all may be searched */

static int add_newest(chela_store *s, const struct ch_recall_query *q, const char *key,
                      struct hits *out, struct chela_error *err) {
    struct walk w = {.key = key, .run = q->run, .texts = true, .hits = out, .from = out->n};
    int rc = chela_store_session(s, key, store_search_read_row, &w, err);
    uint64_t reach = (uint64_t)q->limit * RECORDS_A_TEXT;

    if (rc == 0)
        rc = store_search_walk(s, &w, w.last > w.base + reach ? w.last - reach : 1, err);
    return rc == CHELA_ENOENT ? 0 : rc; /* not stored yet, or deleted since the list was made */
}

static int find_newest(chela_store *s, const struct ch_recall_query *q, struct hits *out,
                       struct chela_error *err) {
    struct chela_store_filter filter = CHELA_STORE_FILTER(.limit = SESSIONS);
    struct ch_store_keys keys = {0};

    if (q->session)
        return add_newest(s, q, q->session, out, err);
    int rc = chela_store_list(s, &filter, ch_keys_add, &keys, err);
    for (size_t i = keys.n; rc == 0 && i > 0; i--) /* the newest is last */
        rc = add_newest(s, q, keys.list[i - 1], out, err);
    ch_keys_release(&keys);
    return rc;
}

int ch_store_recall(chela_store *s, const struct ch_recall_query *q, ch_recall_fn *fn, void *to,
                    struct chela_error *err) {
    struct chela_store_query words = {
        .text = q->text, .key = q->session, .limit = q->limit, .text_of = store_search_text_of};
    struct hits found = {0};
    int rc = q->text ? store_search_find(s, &words, q->run, &found, err)
                     : find_newest(s, q, &found, err);
    size_t left = q->limit;

    for (size_t i = 0; rc == 0 && i < found.n && left; i++) {
        const struct hit *h = &found.list[q->text ? i : found.n - 1 - i];
        struct ch_recalled what = {h->key, h->seq, h->turn, h->excerpt};
        if (h->unwanted)
            continue;
        left--;
        if (fn(&what, to))
            break;
    }
    hits_release(&found);
    return rc;
}
