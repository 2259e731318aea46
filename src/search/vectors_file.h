/* vectors_file.h -- vectors that outlive their process.
 *
 * A text that did not change is not sent to an embedding model again: what came
 * of it is kept in a file, by the digest of the text. One file belongs to one
 * model (its name is in the file's), and is a cache: a file that is missing,
 * damaged or of another machine's byte order is as good as none. It is replaced
 * as a whole, so readers see the old one or the new one; of two writers the last
 * counts. Numbers are kept in 8 bits each. Blocking. */
#ifndef CH_SEARCH_VECTORS_FILE_H
#define CH_SEARCH_VECTORS_FILE_H
#include "search/vectors.h"

/* Add what is there, and leave room for CH_LIMIT_MEANT more. */
void ch_vectors_load(struct ch_vectors *vs, const char *path);

/* Those that were looked up come first: the others go when there are too many.
 * Missing folders are made. 0 or -errno. */
int ch_vectors_save(const struct ch_vectors *vs, const char *path);

#endif
