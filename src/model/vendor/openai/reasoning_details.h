/* reasoning_details.h -- OpenRouter's reasoning_details, put together.
 *
 * Models behind a router want their reasoning back as it came: signed,
 * summarised or encrypted. It is streamed as arrays of objects; consecutive
 * pieces of text or summary with the same index are one object, others are
 * kept whole. */
#ifndef CH_MODEL_REASONING_DETAILS_H
#define CH_MODEL_REASONING_DETAILS_H
#include "base/buf.h"
#include "base/sv.h"

struct ch_detail;
struct ch_details {
    struct ch_detail *items; /* owned */
    size_t n, cap;
    size_t bytes;
    struct ch_sv said; /* all that the array added last says, as it is written
                          there, if that is one text without end; else {NULL,0} */
};

void ch_details_release(struct ch_details *d);

/* Add one streamed array. CHELA_ELIMIT past the reply's limits. */
int ch_details_add(struct ch_details *d, struct ch_sv array);

/* Add an array like the last one, which said this text in its place. */
int ch_details_add_like(struct ch_details *d, struct ch_sv text);

/* The whole as a JSON array. */
void ch_details_write(const struct ch_details *d, struct ch_buf *out);

/* Append the readable text of one streamed array. */
void ch_details_text(struct ch_sv array, struct ch_buf *out);

#endif
