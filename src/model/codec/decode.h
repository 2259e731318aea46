/* decode.h -- shared helpers of the decoding halves of codecs. */
#ifndef CH_MODEL_DECODE_H
#define CH_MODEL_DECODE_H
#include "model/codec/codec.h"

/* Errors of a response as a whole. They return the error code. */
int ch_decode_malformed(struct chela_error *err);
int ch_decode_too_large(struct chela_error *err);

/* A vendor's stop reason. A reason that is not listed counts as a normal stop, because
 * vendors add new ones. */
struct ch_stop_word {
    const char *word;
    enum ch_stop stop;
};
enum ch_stop ch_decode_stop(const struct ch_stop_word *words, size_t n, struct ch_sv raw);

/* If json is an error in a format that errors.h knows, the reply fails with it.
 * CHELA_EPARSE: not JSON. */
int ch_decode_error(struct ch_decoder *d, struct ch_sv json, struct chela_error *err);

/* The id of a reply that the service makes in the background, in the decoder's arena; empty if it
 * cannot be a part of a URL. */
struct ch_sv ch_decode_job_id(struct ch_decoder *d, struct ch_sv id);
/* The service has not made the reply yet: r.pending and an error. */
void ch_decode_pending(struct ch_decoder *d, struct ch_sv id, struct ch_sv status);

#endif
