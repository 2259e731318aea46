/* embed.h -- texts as vectors, by a service that speaks OpenAI's protocol.
 *
 * One request for a handful of texts: POST BASE/embeddings. Vectors have length
 * 1, so that the product of two is how alike their texts are. What becomes of
 * them, what is kept, and how long anybody waits is up to the caller: ranking
 * tools (agent/context/tool_embedding.c) is one. */
#ifndef CH_MODEL_EMBED_H
#define CH_MODEL_EMBED_H
#include "model/codec/codec.h"
#include "net/transport.h"

struct ch_embed; /* a request under way */

struct ch_embed_opts {
    struct ch_transport *transport;     /* borrowed until the end */
    const struct ch_endpoint *endpoint; /* borrowed likewise; of codec openai or responses */
    struct ch_sv model;                 /* the service's name for it */
    int64_t timeout_ms;                 /* 0: CH_DEFAULT_EMBED_MS */
};

/* n rows of dim numbers, one after the other, in the order of the texts;
 * borrowed until the callback returns. */
struct ch_embedded {
    const float *rows;
    size_t n, dim;
    int64_t tokens; /* that the service says it read; 0: it does not say */
};

/* Exactly one, never from inside ch_embed_start, unless it is cancelled: got, or
 * err (CHELA_EPROTO for what is no such answer, else as transports have it). The
 * request is gone by then. */
typedef void ch_embed_fn(const struct ch_embedded *got, const struct chela_error *err, void *user);

/* Can this endpoint be asked at all? */
bool ch_embed_possible(const struct ch_endpoint *ep);

/* At most CH_LIMIT_EMBED_BATCH texts, none empty, of which the first
 * CH_LIMIT_EMBED_TEXT bytes count; copied. */
int ch_embed_start(const struct ch_embed_opts *o, const struct ch_sv *texts, size_t n,
                   ch_embed_fn *fn, void *user, struct ch_embed **out, struct chela_error *err);
void ch_embed_cancel(struct ch_embed *e); /* NULL is a no-op */

/* How alike two texts are, -1 to 1. */
float ch_embed_product(const float *a, const float *b, size_t dim);

#endif
