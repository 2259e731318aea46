/* decoder.h -- decodes the bytes of a response to one reply; see codec.h. */
#ifndef CH_MODEL_DECODER_H
#define CH_MODEL_DECODER_H
#include "model/codec/codec.h"

void ch_decoder_init(struct ch_decoder *d, const struct ch_codec *codec, ch_model_event_fn *fn,
                     void *user);

/* The same for a request to an endpoint, with its quirks, and to a model. server_tools: as in
 * the request. The endpoint and the texts are borrowed; the reply's message records the names of
 * the provider and the model. */
void ch_decoder_init_for(struct ch_decoder *d, const struct ch_endpoint *ep, struct ch_sv model,
                         struct ch_sv server_tools, ch_model_event_fn *fn, void *user);

void ch_decoder_release(struct ch_decoder *d);

/* Who writes the reply, as far as known; the texts live as long as the decoder. */
struct ch_msg_author ch_decoder_author(struct ch_decoder *d);

/* Status and headers decide how the body is read: the body of a non-2xx response is an
 * error body in any case. */
void ch_decoder_head(struct ch_decoder *d, const struct ch_http_head *head);

/* The stream has ended before its reply; the next bytes are a response that continues it. */
void ch_decoder_resume(struct ch_decoder *d);

/* Process bytes of the body. Errors are stored in the reply. Returns false if the reply has
 * failed and no more bytes are needed. After the end marker it returns true, so that the
 * connection is drained and can be reused. */
bool ch_decoder_feed(struct ch_decoder *d, struct ch_sv bytes);

/* The body ended, or the transport failed (err != NULL; ignored after the end marker).
 * Fills d->reply. The caller may take reply.msg (CH_TAKE); otherwise the decoder frees it. */
void ch_decoder_end(struct ch_decoder *d, const struct chela_error *err, int64_t ts);

#endif
