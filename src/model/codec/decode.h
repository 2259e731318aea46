/* decode.h -- what the decoding half of every codec needs. */
#ifndef CH_MODEL_DECODE_H
#define CH_MODEL_DECODE_H
#include "model/codec/codec.h"

/* What is wrong with an answer as a whole. They return the code. */
int ch_decode_malformed(struct chela_error *err);
int ch_decode_too_large(struct chela_error *err);

/* A vendor's words for why a reply ended. One that is not listed is an ordinary
 * end: vendors add new ones. */
struct ch_stop_word {
    const char *word;
    enum ch_stop stop;
};
enum ch_stop ch_decode_stop(const struct ch_stop_word *words, size_t n, struct ch_sv raw);

/* The answer, or an event of it, may be an error in a form that errors.h knows:
 * then the reply has failed with it. CHELA_EPARSE: it is no JSON. */
int ch_decode_error(struct ch_decoder *d, struct ch_sv json, struct chela_error *err);

#endif
