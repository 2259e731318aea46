/* memory_search.c -- see memory_search.h. */
#include "tool/memory/memory_search.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "tool/memory/note_index.h"
#include "tool/memory/passage_index.h"
#include "tool/process/sandbox_policy.h"
#include "search/vectors_file.h"

enum { NOTES, TURNS, KINDS };

struct ch_seeking {
    struct ch_work work;
    bool working; /* a job is on the worker thread */
    ch_seek_fn *fn; /* NULL: cancelled */
    void *user;
    struct ch_loop *loop;
    struct ch_workers *workers;
    struct ch_tool_settings *settings;              /* a reference */
    char *workspace, *session, *run, *call, *query; /* owned */
    bool sessions;
    size_t limits[KINDS];
    struct ch_shelf turns;
    struct ch_notes found;

    struct ch_embedder *embedder; /* NULL: rank by words alone */
    void (*used)(int64_t tokens, void *user);
    void *used_user;
    char *file;                   /* owned; NULL: vectors are not cached */
    struct ch_vectors vectors;
    size_t kept; /* dimension of the vectors in the file; 0: none */
    const char *const *hide; /* in the arena */
    struct ch_arena arena; /* arena of `missing` and `hide` */
    struct ch_sv missing[1 + CH_LIMIT_MEANT]; /* texts to embed; the query first */
    size_t nmissing, asked;                   /* asked: answered, or in the current request */
    size_t batch;                             /* number of texts in the current request */
    struct ch_embed *embed;
    struct ch_timer patience;
    struct ch_buf warning;
};

static void free_seeking(struct ch_seeking *k) {
    ch_settings_unref(k->settings);
    ch_free(k->workspace);
    ch_free(k->session);
    ch_free(k->run);
    ch_free(k->call);
    ch_free(k->query);
    ch_free(k->file);
    ch_shelf_release(&k->turns);
    ch_notes_release(&k->found);
    ch_vectors_release(&k->vectors);
    ch_arena_release(&k->arena);
    ch_buf_release(&k->warning);
    ch_free(k);
}

static void memory_search_dropped(struct ch_work *w) {
    free_seeking(CH_CONTAINER(w, struct ch_seeking, work));
}

static void memory_search_submit(struct ch_seeking *k, void (*run)(struct ch_work *),
                                 void (*done)(struct ch_work *)) {
    k->working = true;
    k->work = (struct ch_work){.run = run, .done = done, .dropped = memory_search_dropped};
    ch_work_submit(k->workers, &k->work);
}

/* --- on the worker thread ----------------------------------------------------------------- */

static void memory_search_gather(struct ch_seeking *k) {
    const struct ch_tool_settings *s = k->settings;
    const char *reach = s->memory_sessions ? s->memory_sessions : "own";
    bool all = strcmp(reach, "all") == 0, own = strcmp(reach, "own") == 0 && k->session;

    if (k->sessions && s->recall && (all || own))
        ch_notes_recall(s->recall, all ? NULL : k->session, k->run, ch_sv_str(k->query),
                        &k->turns);
}

/* Per kind, only the first passages get vectors, independent of the query. All their
 * vectors fit the cache, so none is requested repeatedly. */
#define MEANT_OF_A_KIND ((CH_LIMIT_VECTORS - CH_LIMIT_MEANT) / KINDS)

/* Passages that share words with the query come first, in case time runs out. */
static void list_missing(struct ch_seeking *k, struct ch_shelf *s, size_t most) {
    CH_AUTOFREE size_t *order = ch_malloc((s->n + 1) * sizeof(*order));
    CH_BUF_AUTO text = {0};

    size_t n = ch_shelf_order(s, ch_sv_str(k->query), order);
    for (size_t i = 0; i < n; i++) {
        if (s->list[order[i]].order >= MEANT_OF_A_KIND)
            continue;
        ch_buf_clear(&text);
        ch_passage_write(&s->list[order[i]], &text);
        if (!ch_vectors_use(&k->vectors, ch_buf_sv(&text)) && k->nmissing < most)
            k->missing[k->nmissing++] = ch_arena_sv(&k->arena, ch_buf_sv(&text));
    }
}

static void memory_search_rank(struct ch_seeking *k) {
    struct ch_sv query = ch_sv_str(k->query);
    const float *meaning = ch_vectors_question(&k->vectors, query);

    struct ch_shelf *notes = ch_note_index_lock(k->settings->notes, k->workspace, k->hide);
    ch_shelf_best(notes, query, &k->vectors, meaning, k->limits[NOTES], &k->found);
    ch_note_index_unlock(k->settings->notes);
    ch_shelf_best(&k->turns, query, &k->vectors, meaning, k->limits[TURNS], &k->found);
}

static void seek_by_words(struct ch_work *w) {
    struct ch_seeking *k = CH_CONTAINER(w, struct ch_seeking, work);

    memory_search_gather(k);
    memory_search_rank(k);
}

static void seek_what_is_there(struct ch_work *w) {
    struct ch_seeking *k = CH_CONTAINER(w, struct ch_seeking, work);

    memory_search_gather(k);
    if (k->file)
        ch_vectors_load(&k->vectors, k->file);
    k->kept = k->vectors.dim;
    k->missing[k->nmissing++] = ch_sv_str(k->query);
    list_missing(k, ch_note_index_lock(k->settings->notes, k->workspace, k->hide),
                 1 + CH_LIMIT_MEANT / 2);
    ch_note_index_unlock(k->settings->notes);
    list_missing(k, &k->turns, 1 + CH_LIMIT_MEANT);
}

/* True if the cache must be written: vectors were added, or the dimension changed, which
 * makes the cached ones useless; the next search requests those again. */
static bool must_save(const struct ch_seeking *k) {
    return k->file && k->vectors.dim && (k->asked > 1 || k->vectors.dim != k->kept);
}

static void seek_by_both(struct ch_work *w) {
    struct ch_seeking *k = CH_CONTAINER(w, struct ch_seeking, work);
    int rc = 0;

    memory_search_rank(k);
    if (must_save(k))
        rc = ch_vectors_save(&k->vectors, k->file);
    if (rc < 0)
        ch_log(CH_LOG_WARN, "tool", "vectors are not kept: %s: %s", k->file, strerror(-rc));
}

/* --- on the loop --------------------------------------------------------------------------- */

static void memory_search_tell(struct ch_work *w) {
    struct ch_seeking *k = CH_CONTAINER(w, struct ch_seeking, work);

    k->working = false;
    if (k->fn)
        k->fn(&k->found, k->warning.n ? ch_buf_str(&k->warning) : NULL, k->user);
    free_seeking(k);
}

static void memory_search_stop_asking(struct ch_seeking *k) {
    ch_embed_cancel(CH_TAKE(k->embed), CHELA_ECANCELED);
    ch_timer_stop(k->loop, &k->patience);
}

static void end_asking(struct ch_seeking *k) {
    memory_search_stop_asking(k);
    memory_search_submit(k, seek_by_both, memory_search_tell);
}

static void memory_search_give_up(struct ch_seeking *k, const char *why) {
    bool known = ch_vectors_question(&k->vectors, ch_sv_str(k->query)) != NULL;

    k->asked -= k->batch; /* the request failed */
    k->embedder->again = ch_mono_ms(ch_loop_clock(k->loop)) + CH_EMBEDDER_REST_MS;
    ch_buf_addf(&k->warning, "embedding %s: %s; %s", k->embedder->spec, why,
                known ? "some notes are found by words alone" : "notes are found by words alone");
    end_asking(k);
}

static void memory_search_on_patience(struct ch_timer *t) {
    struct ch_seeking *k = CH_CONTAINER(t, struct ch_seeking, patience);

    ch_embed_cancel(CH_TAKE(k->embed), CHELA_ETIMEOUT);
    memory_search_give_up(k, "no answer in time");
}

static void memory_search_ask(struct ch_seeking *k);

static void memory_search_on_embedded(const struct ch_embedded *got, const struct chela_error *err,
                                      void *user) {
    struct ch_seeking *k = user;
    size_t first = k->asked - k->batch;

    k->embed = NULL;
    if (err) {
        memory_search_give_up(k, err->message);
        return;
    }
    if (k->used)
        k->used(got->tokens, k->used_user);
    for (size_t i = 0; i < k->batch; i++) {
        const float *row = got->rows + i * got->dim;
        if (first + i == 0)
            ch_vectors_ask(&k->vectors, k->missing[0], row, got->dim);
        else
            ch_vectors_add(&k->vectors, k->missing[first + i], row, got->dim);
    }
    memory_search_ask(k);
}

static void memory_search_ask(struct ch_seeking *k) {
    struct ch_embed_opts opts = k->embedder->opts;
    struct chela_error err = {0};
    const struct ch_sv *texts = k->missing + k->asked;

    k->batch = CH_MIN(k->nmissing - k->asked, CH_LIMIT_EMBED_BATCH);
    k->asked += k->batch;
    opts.run = k->run;
    opts.call = k->call;
    if (k->batch == 0)
        end_asking(k);
    else if (ch_embed_start(&opts, texts, k->batch, memory_search_on_embedded, k, &k->embed,
                            &err) < 0)
        memory_search_give_up(k, err.message);
}

static void gathered(struct ch_work *w) {
    struct ch_seeking *k = CH_CONTAINER(w, struct ch_seeking, work);

    k->working = false;
    if (!k->fn) {
        free_seeking(k);
        return;
    }
    ch_timer_start(k->loop, &k->patience, CH_DEFAULT_EMBED_MS, memory_search_on_patience);
    memory_search_ask(k);
}

/* --- start and cancel ----------------------------------------------------------------------- */

/* Cache file of this workspace and model: DIR/0123456789abcdef0123456789abcdef */
static char *memory_search_file_of(const struct ch_embedder *e, const char *workspace) {
    unsigned char digest[CH_SHA256_SIZE];
    char hex[2 * CH_SHA256_SIZE + 1];
    struct ch_sha256 h;
    CH_BUF_AUTO path = {0};

    if (!e->cache)
        return NULL;
    ch_sha256_init(&h);
    ch_sha256_add(&h, workspace, strlen(workspace) + 1);
    ch_sha256_add(&h, e->spec, strlen(e->spec));
    ch_sha256_end(&h, digest);
    ch_sha256_hex(digest, hex);
    ch_buf_addf(&path, "%s/%.32s", e->cache, hex);
    return ch_buf_take(&path);
}

struct ch_seeking *ch_seek_start(const struct ch_seek_opts *o, ch_seek_fn *fn, void *user) {
    struct ch_seeking *k = ch_alloc(sizeof(*k));
    struct ch_embedder *e = o->settings->embedder;

    k->fn = fn;
    k->user = user;
    k->used = o->used;
    k->used_user = o->used_user;
    k->loop = o->loop;
    k->workers = o->workers;
    k->settings = ch_settings_ref(o->settings);
    if (!k->settings->notes) {
        k->settings->notes = ch_note_index_new();
        k->settings->notes_free = ch_note_index_free;
    }
    k->workspace = ch_strdup(o->workspace);
    k->hide = ch_sandbox_copy_list(&k->arena, o->hide);
    k->session = ch_strdup(o->session);
    k->run = ch_strdup(o->run);
    k->call = ch_strdup(o->call);
    k->query = ch_strndup(o->query.p, o->query.n);
    k->sessions = o->sessions;
    k->limits[NOTES] = o->notes;
    k->limits[TURNS] = o->turns;
    if (e && ch_mono_ms(ch_loop_clock(o->loop)) >= e->again)
        k->embedder = e;
    if (k->embedder)
        k->file = memory_search_file_of(e, o->workspace);
    memory_search_submit(k, k->embedder ? seek_what_is_there : seek_by_words,
                         k->embedder ? gathered : memory_search_tell);
    return k;
}

void ch_seek_cancel(struct ch_seeking *k) {
    if (!k)
        return;
    k->fn = NULL;
    memory_search_stop_asking(k);
    if (!k->working)
        free_seeking(k);
}
