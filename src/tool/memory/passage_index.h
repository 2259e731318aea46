/* passage_index.h -- passages of texts, ranked by words and by embedding vectors.
 *
 * A text is split into passages at headings and blank lines. Words rank passages by BM25
 * (bm25.h). A passage also gets a share of its neighbours' scores, because an answer often
 * stands beside the words of the question. With vectors of an embedding model, passages are
 * ranked by similarity as well, and the two rankings are merged by reciprocal rank, because
 * their scores are not comparable. */
#ifndef CH_TOOL_PASSAGE_INDEX_H
#define CH_TOOL_PASSAGE_INDEX_H
#include "base/arena.h"
#include "search/bm25.h"
#include "tool/memory/notes.h"
#include "search/vectors.h"

struct ch_passage {
    const char *source;         /* in the arena; includes the line number if `lines` was set */
    struct ch_sv heading, text; /* in the arena */
    size_t section;             /* neighbours in the list have the same number */
    size_t order;               /* of two equally good passages the lower one comes first */
    bool gone;                  /* not found any more */
};

struct ch_shelf { /* zeroed: empty */
    struct ch_arena arena;
    struct ch_bm25 index;
    struct ch_passage *list; /* owned */
    size_t n, cap;
    size_t section; /* number of the current section */
    size_t bytes;   /* total size of all texts */
};

void ch_shelf_release(struct ch_shelf *s);

/* Begin a section. Passages of different sections are not neighbours. A heading within a text
 * begins a section too. */
void ch_shelf_begin(struct ch_shelf *s);

/* All texts are copied. lines: append the line number to the source of a passage,
 * "MEMORY.md:8". */
void ch_shelf_add(struct ch_shelf *s, const char *source, bool lines, struct ch_sv text);

/* Append a passage with its heading, as shown to the model and to the embedding model. */
void ch_passage_write(const struct ch_passage *p, struct ch_buf *out);

/* Fill out with the indices of all passages that are not gone: those that share words with the
 * query and their neighbours first, best first; then the others in their order. out has room
 * for s->n. Returns how many there are. */
size_t ch_shelf_order(struct ch_shelf *s, struct ch_sv query, size_t *out);

/* Append the best passages. vs, query: the vectors, and the query's vector among them; both
 * NULL: rank by words alone. */
void ch_shelf_best(struct ch_shelf *s, struct ch_sv query, const struct ch_vectors *vs,
                   const float *meaning, size_t limit, struct ch_notes *out);

#endif
