/* cluster.h -- characters that consist of several code points: letters with accents, emoji
 * that are joined or have a skin tone, flags, syllables of Hangul and of the scripts of India.
 *
 * The rules of Unicode (UAX 29) in a short form. The ranges of marks may hold single letters: a
 * cut is then a little earlier. Pure. */
#ifndef CH_BASE_CLUSTER_H
#define CH_BASE_CLUSTER_H
#include "base/sv.h"

/* The prefix of s of at most n bytes that splits no such character; at least the first code
 * point if s is not empty. A character that is longer than half of the prefix is split between
 * code points. */
struct ch_sv ch_cluster_cut(struct ch_sv s, size_t n);

#endif
