/* decoder.h -- from the bytes of a response to one reply; see codec.h. */
#ifndef CH_MODEL_DECODER_H
#define CH_MODEL_DECODER_H
#include "model/codec/codec.h"

void ch_decoder_init(struct ch_decoder *d, const struct ch_codec *codec, ch_model_event_fn *fn,
                     void *user);

/* The same, heeding how this server departs from its protocol. */
void ch_decoder_init_for(struct ch_decoder *d, const struct ch_endpoint *ep, ch_model_event_fn *fn,
                         void *user);

void ch_decoder_release(struct ch_decoder *d);

/* Status and headers decide how the body is read: a non-2xx answer is an
 * error body whatever it was asked for. */
void ch_decoder_head(struct ch_decoder *d, const struct ch_http_head *head);

/* Bytes of the body. Never fails: what is wrong is in the reply. Returns false
 * when the reply has failed and no more bytes are wanted; after the terminal
 * marker still true, so that the connection drains and can be used again. */
bool ch_decoder_feed(struct ch_decoder *d, struct ch_sv bytes);

/* The body ended, or the transport failed (err != NULL; no matter once the
 * terminal marker was seen). Fills d->reply; its msg is then the caller's to
 * take (CH_TAKE), or is freed with the decoder. */
void ch_decoder_end(struct ch_decoder *d, const struct chela_error *err, int64_t ts);

#endif
