/* passage_index.h -- passages of texts, ranked by their words and by what they mean.
 *
 * A text is cut into passages at headings and blank lines. Words rank them by
 * BM25 (bm25.h); with vectors of an embedding model they are ranked by meaning
 * as well, and the two orders are put together by reciprocal ranks: scores of
 * the two kinds cannot be compared, places can. */
#ifndef CH_TOOL_PASSAGE_INDEX_H
#define CH_TOOL_PASSAGE_INDEX_H
#include "base/arena.h"
#include "search/bm25.h"
#include "tool/memory/notes.h"
#include "search/vectors.h"

struct ch_passage {
    const char *source;         /* in the arena, with its line if it has lines */
    struct ch_sv heading, text; /* likewise */
};

struct ch_shelf { /* zeroed: empty */
    struct ch_arena arena;
    struct ch_bm25 index;
    struct ch_passage *list; /* owned */
    size_t n, cap;
    size_t bytes; /* of all texts */
};

void ch_shelf_release(struct ch_shelf *s);

/* All is copied. lines: the source of a passage names its line, "MEMORY.md:8". */
void ch_shelf_add(struct ch_shelf *s, const char *source, bool lines, struct ch_sv text);

/* A passage with its heading: what is shown, and what an embedding model is told. */
void ch_passage_write(const struct ch_passage *p, struct ch_buf *out);

/* Indices of all passages, those that share words with the query first, the
 * best of them before the others; then as they were added. out has room for
 * s->n. Returns how many share words. */
size_t ch_shelf_order(struct ch_shelf *s, struct ch_sv query, size_t *out);

/* Append the best. query: the vector of it among vs; both NULL: by words alone. */
void ch_shelf_best(struct ch_shelf *s, struct ch_sv query, const struct ch_vectors *vs,
                   const float *meaning, size_t limit, struct ch_notes *out);

#endif
