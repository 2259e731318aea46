/* reasoning_details.h -- assembles OpenRouter's reasoning_details.
 *
 * Models behind a router require their reasoning back unchanged: signed, summarized or
 * encrypted. It is streamed as arrays of objects. Consecutive pieces of text or summary
 * with the same index are merged to one object; other objects are kept whole. */
#ifndef CH_MODEL_REASONING_DETAILS_H
#define CH_MODEL_REASONING_DETAILS_H
#include "base/buf.h"
#include "base/sv.h"

struct ch_detail;
struct ch_details {
    struct ch_detail *items; /* owned */
    size_t n, cap;
    size_t bytes;
    /* undecoded text of the array added last, if the array contains one unfinished text and
     * nothing else; else {NULL,0} */
    struct ch_sv sole;
};

void ch_details_release(struct ch_details *d);

/* Add one streamed array. CHELA_ELIMIT past the reply's limits. */
int ch_details_add(struct ch_details *d, struct ch_sv array);

/* Add an array that equals the last one except for this text. */
int ch_details_add_like(struct ch_details *d, struct ch_sv text);

/* Write everything as a JSON array. */
void ch_details_write(const struct ch_details *d, struct ch_buf *out);

/* Append the readable text of one streamed array. */
void ch_details_text(struct ch_sv array, struct ch_buf *out);

#endif
