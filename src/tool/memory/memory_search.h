/* memory_search.h -- one search of notes and past turns, by words and by embedding vectors.
 *
 *     thread: read notes, turns and cached vectors
 *     loop:   ask the embedding model for missing vectors and the query's vector
 *     thread: rank, and cache the new vectors
 *     loop:   call back
 *
 * Without an embedding model, all of the search is one job on a thread. If the embedding
 * model fails or takes longer than CH_DEFAULT_EMBED_MS in total, the search continues with
 * the vectors received so far, and the model is not used for a minute. */
#ifndef CH_TOOL_MEMORY_SEARCH_H
#define CH_TOOL_MEMORY_SEARCH_H
#include "io/loop.h"
#include "io/worker.h"
#include "model/wire/embed.h"
#include "tool/memory/notes.h"
#include "tool/registry/settings.h"

#define CH_EMBEDDER_REST_MS 60000

struct ch_embedder { /* belongs to an agent; loop thread only */
    struct ch_embed_opts opts;
    const char *spec;  /* model name for messages; borrowed */
    const char *cache; /* folder of cached vectors; borrowed; NULL: no cache */
    int64_t again;     /* monotonic time; the model is not used before */
};

struct ch_seek_opts { /* texts are copied */
    struct ch_loop *loop;
    struct ch_workers *workers;
    struct ch_tool_settings *settings; /* a reference is taken */
    const char *workspace;
    const char *const *hide;   /* files that tools do not read (struct ch_path_guard); or NULL */
    const char *session, *run, *call; /* of the caller; call NULL: no call of a tool */
    bool sessions;             /* search past turns too, as far as settings permit */
    struct ch_sv query;
    size_t notes, turns; /* maximum number of results of each kind */
    /* Number of tokens that the embedding model consumed; called before ch_seek_fn. May be
     * NULL. */
    void (*used)(int64_t tokens, void *user);
    void *used_user;
};

struct ch_seeking; /* a search in progress */

/* Called exactly once, never from inside ch_seek_start, unless the search is cancelled.
 * warning: why vectors were not used; NULL if they were, or if there is no embedding model. */
typedef void ch_seek_fn(const struct ch_notes *found, const char *warning, void *user);

struct ch_seeking *ch_seek_start(const struct ch_seek_opts *opts, ch_seek_fn *fn, void *user);
void ch_seek_cancel(struct ch_seeking *k); /* NULL is a no-op */

#endif
