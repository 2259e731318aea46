/* quick.h -- the short way through a stream's deltas.
 *
 * Nearly all events of a stream differ in one string only. A template keeps
 * the bytes around that string of an event that was read in full; an event
 * with the same bytes around a sound string needs no reading: it says the same
 * about another piece of text. What differs in any other byte does not match
 * and is read in full. */
#ifndef CH_MODEL_QUICK_H
#define CH_MODEL_QUICK_H
#include "base/buf.h"
#include "base/sv.h"

/* The JSON string whose contents begin at `at`: its decoded contents, a slice
 * of the text or in scratch, and where it ends, past the quote. NULL when it
 * has no end or is malformed. */
const char *ch_quick_string(const char *at, const char *end, struct ch_buf *scratch,
                            struct ch_sv *out);

struct ch_template {
    struct ch_buf before, after; /* the string's quotes included */
    size_t pad;                  /* in `after`: where a padding string's contents are left out */
};

void ch_template_release(struct ch_template *t);
void ch_template_clear(struct ch_template *t);

/* data is an event that was read in full and is all said by the string whose
 * contents are [at, at + n) of it. */
void ch_template_learn(struct ch_template *t, struct ch_sv data, size_t at, size_t n);

/* The string of an event like the one learnt; false: read it in full. */
bool ch_template_match(const struct ch_template *t, struct ch_sv data, struct ch_buf *scratch,
                       struct ch_sv *out);

#endif
