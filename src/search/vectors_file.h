/* vectors_file.h -- store embedding vectors in a file.
 *
 * Unchanged texts need no new embedding request after a restart: their vectors
 * are kept in a file, keyed by the digest of the text. A file belongs to one
 * model (the file name contains the model's name). The file is a cache: a
 * missing or damaged file, or one written with another byte order, is ignored.
 * The file is replaced atomically; of two concurrent writers the last one wins.
 * Each number is stored in 8 bits. Both functions block. */
#ifndef CH_SEARCH_VECTORS_FILE_H
#define CH_SEARCH_VECTORS_FILE_H
#include "search/vectors.h"

/* Add the vectors of the file, leaving room for CH_LIMIT_MEANT more. */
void ch_vectors_load(struct ch_vectors *vs, const char *path);

/* Vectors marked as used are written first, so that unused ones are dropped
 * when the limit is reached. Creates missing folders. Returns 0 or -errno. */
int ch_vectors_save(const struct ch_vectors *vs, const char *path);

#endif
