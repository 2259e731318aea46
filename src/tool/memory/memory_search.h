/* memory_search.h -- one search of notes and past turns, by words and by meaning.
 *
 *   thread: read notes and turns, and vectors that are kept
 *   loop:   ask the embedding model for those that are missing, and the query's
 *   thread: rank, and keep the new vectors
 *   loop:   tell
 *
 * Without an embedding model it is one visit of the thread. A model that fails,
 * or takes longer than CH_DEFAULT_EMBED_MS in all, is done without, and what it
 * gave until then counts; it is left alone for a minute. */
#ifndef CH_TOOL_MEMORY_SEARCH_H
#define CH_TOOL_MEMORY_SEARCH_H
#include "io/loop.h"
#include "io/worker.h"
#include "model/wire/embed.h"
#include "tool/memory/notes.h"
#include "tool/registry/settings.h"

#define CH_EMBEDDER_REST_MS 60000

struct ch_embedder { /* of an agent; loop thread only */
    struct ch_embed_opts opts;
    const char *spec;  /* for people; borrowed */
    const char *cache; /* folder where vectors are kept; borrowed; NULL: nowhere */
    int64_t again;     /* monotonic: until then nobody asks */
};

struct ch_seek_opts { /* texts are copied */
    struct ch_loop *loop;
    struct ch_workers *workers;
    struct ch_tool_settings *settings; /* a reference is taken */
    const char *workspace;
    const char *session, *run; /* who asks */
    bool sessions;             /* also past turns, as far as settings allow */
    struct ch_sv query;
    size_t notes, turns; /* so many of each kind at most */
    /* The embedding model has read so many tokens; before ch_seek_fn. NULL: nobody counts. */
    void (*used)(int64_t tokens, void *user);
    void *used_user;
};

struct ch_seeking; /* under way */

/* Exactly once, never from inside ch_seek_start, unless it is cancelled. warning:
 * why meaning did not count; NULL: it did, or there is no embedding model. */
typedef void ch_seek_fn(const struct ch_notes *found, const char *warning, void *user);

struct ch_seeking *ch_seek_start(const struct ch_seek_opts *opts, ch_seek_fn *fn, void *user);
void ch_seek_cancel(struct ch_seeking *k); /* NULL is a no-op */

#endif
