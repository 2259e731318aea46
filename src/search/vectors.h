/* vectors.h -- what an embedding model made of texts, kept by the text.
 *
 * A tool's description is sent once, however often the registry changes. The
 * last question asked has a place of its own. All vectors are of one size; when
 * a model answers with another, what there was is forgotten. */
#ifndef CH_SEARCH_VECTORS_H
#define CH_SEARCH_VECTORS_H
#include <stdbool.h>

#include "base/buf.h"

struct ch_vector {
    unsigned char digest[16]; /* of the text */
    bool used;                /* it was looked up */
    float *row;               /* owned; NULL: the slot is free */
};

struct ch_vectors { /* zeroed: empty */
    struct ch_vector *slots; /* owned hash table */
    size_t n, cap;
    size_t dim;
    unsigned char asked[16]; /* digest of the last question */
    float *question;         /* owned; NULL: none */
};

void ch_vectors_release(struct ch_vectors *vs);

/* Copied. More than CH_LIMIT_VECTORS are not kept. */
void ch_vectors_add(struct ch_vectors *vs, struct ch_sv text, const float *row, size_t dim);
void ch_vectors_put(struct ch_vectors *vs, const unsigned char digest[16], const float *row,
                    size_t dim);
void ch_vectors_ask(struct ch_vectors *vs, struct ch_sv question, const float *row, size_t dim);

/* Borrowed until the next change; NULL: it is not there. */
const float *ch_vectors_find(const struct ch_vectors *vs, struct ch_sv text);
const float *ch_vectors_use(struct ch_vectors *vs, struct ch_sv text); /* and remember that */
const float *ch_vectors_question(const struct ch_vectors *vs, struct ch_sv question);
bool ch_vectors_full(const struct ch_vectors *vs);

#endif
