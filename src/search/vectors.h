/* vectors.h -- a cache of embedding vectors, keyed by the digest of the text.
 *
 * A tool's description is sent to the embedding model once, however often the
 * registry changes. The vector of the last query is kept separately. All
 * vectors have one size; when a model returns another size, the cache is
 * emptied. */
#ifndef CH_SEARCH_VECTORS_H
#define CH_SEARCH_VECTORS_H
#include <stdbool.h>

#include "base/buf.h"

struct ch_vector {
    unsigned char digest[16]; /* digest of the text */
    bool used;                /* ch_vectors_use found it */
    float *row;               /* owned; NULL: the slot is free */
};

struct ch_vectors { /* zeroed: empty */
    struct ch_vector *slots; /* owned hash table */
    size_t n, cap;
    size_t dim;
    unsigned char asked[16]; /* digest of the last query */
    float *question;         /* vector of that query; owned; NULL: none */
};

void ch_vectors_release(struct ch_vectors *vs);

/* The row is copied. At most CH_LIMIT_VECTORS rows are kept; further ones are
 * ignored. */
void ch_vectors_add(struct ch_vectors *vs, struct ch_sv text, const float *row, size_t dim);
void ch_vectors_put(struct ch_vectors *vs, const unsigned char digest[16], const float *row,
                    size_t dim);
void ch_vectors_ask(struct ch_vectors *vs, struct ch_sv question, const float *row, size_t dim);

/* The result is borrowed until the next change; NULL: not cached. */
const float *ch_vectors_find(const struct ch_vectors *vs, struct ch_sv text);
const float *ch_vectors_use(struct ch_vectors *vs, struct ch_sv text); /* also marks it as used */
const float *ch_vectors_question(const struct ch_vectors *vs, struct ch_sv question);
bool ch_vectors_full(const struct ch_vectors *vs);

#endif
