/* similar.h -- finds the names closest to one that does not exist.
 *
 * A model that mistypes a name usually corrects itself when it is shown the right one. Used
 * for tools and for files. */
#ifndef CH_TOOL_SIMILAR_H
#define CH_TOOL_SIMILAR_H
#include "base/arena.h"
#include "base/buf.h"

#define CH_SIMILAR_MAX 3

struct ch_similar {
    struct ch_sv wanted;    /* borrowed */
    struct ch_arena *arena; /* borrowed; names are copied into it */
    struct {
        struct ch_sv name;
        unsigned cost;
    } best[CH_SIMILAR_MAX]; /* the closest first */
    size_t n;
};

/* Consider one name. */
void ch_similar_offer(struct ch_similar *s, struct ch_sv name);

/* Append "a, b, c". */
void ch_similar_list(const struct ch_similar *s, struct ch_buf *out);

#endif
