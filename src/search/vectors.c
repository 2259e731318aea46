/* vectors.c -- see vectors.h. A hash table with open addressing; entries are
 * never removed. */
#include "search/vectors.h"

#include <stdint.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/sha256.h"

static void digest_of(struct ch_sv text, unsigned char out[16]) {
    unsigned char whole[CH_SHA256_SIZE];
    ch_sha256_of(text, whole);
    memcpy(out, whole, 16);
}

void ch_vectors_release(struct ch_vectors *vs) {
    for (size_t i = 0; i < vs->cap; i++)
        ch_free(vs->slots[i].row);
    ch_free(vs->slots);
    ch_free(vs->question);
    *vs = (struct ch_vectors){0};
}

static struct ch_vector *vectors_slot_of(const struct ch_vectors *vs,
                                         const unsigned char digest[16]) {
    uint64_t h;

    memcpy(&h, digest, sizeof(h));
    for (size_t i = (size_t)h & (vs->cap - 1);; i = (i + 1) & (vs->cap - 1))
        if (!vs->slots[i].row || memcmp(vs->slots[i].digest, digest, 16) == 0)
            return &vs->slots[i];
}

static void vectors_grow(struct ch_vectors *vs) {
    struct ch_vector *old = vs->slots;
    size_t cap = vs->cap;

    vs->cap = cap ? 2 * cap : 64;
    vs->slots = ch_alloc(vs->cap * sizeof(*vs->slots));
    for (size_t i = 0; i < cap; i++)
        if (old[i].row)
            *vectors_slot_of(vs, old[i].digest) = old[i];
    ch_free(old);
}

static float *vectors_copy(const float *row, size_t dim) {
    float *out = ch_malloc(dim * sizeof(*out));

    memcpy(out, row, dim * sizeof(*out));
    return out;
}

static void agree(struct ch_vectors *vs, size_t dim) {
    if (vs->dim != dim)
        ch_vectors_release(vs);
    vs->dim = dim;
}

bool ch_vectors_full(const struct ch_vectors *vs) {
    return vs->n >= CH_LIMIT_VECTORS;
}

void ch_vectors_put(struct ch_vectors *vs, const unsigned char digest[16], const float *row,
                    size_t dim) {
    agree(vs, dim);
    if (ch_vectors_full(vs))
        return;
    if (2 * (vs->n + 1) > vs->cap)
        vectors_grow(vs);
    struct ch_vector *v = vectors_slot_of(vs, digest);
    if (v->row)
        return;
    memcpy(v->digest, digest, sizeof(v->digest));
    v->row = vectors_copy(row, dim);
    vs->n++;
}

void ch_vectors_add(struct ch_vectors *vs, struct ch_sv text, const float *row, size_t dim) {
    unsigned char digest[16];

    digest_of(text, digest);
    ch_vectors_put(vs, digest, row, dim);
}

void ch_vectors_ask(struct ch_vectors *vs, struct ch_sv question, const float *row, size_t dim) {
    agree(vs, dim);
    ch_free(vs->question);
    vs->question = vectors_copy(row, dim);
    digest_of(question, vs->asked);
}

const float *ch_vectors_find(const struct ch_vectors *vs, struct ch_sv text) {
    unsigned char digest[16];

    if (vs->n == 0)
        return NULL;
    digest_of(text, digest);
    return vectors_slot_of(vs, digest)->row;
}

const float *ch_vectors_use(struct ch_vectors *vs, struct ch_sv text) {
    unsigned char digest[16];

    if (vs->n == 0)
        return NULL;
    digest_of(text, digest);
    struct ch_vector *v = vectors_slot_of(vs, digest);
    v->used |= v->row != NULL;
    return v->row;
}

const float *ch_vectors_question(const struct ch_vectors *vs, struct ch_sv question) {
    unsigned char digest[16];

    if (!vs->question)
        return NULL;
    digest_of(question, digest);
    return memcmp(digest, vs->asked, sizeof(digest)) == 0 ? vs->question : NULL;
}
