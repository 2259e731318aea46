/* embed.h -- embedding vectors of texts, from a service with OpenAI's protocol.
 *
 * One request for a few texts: POST BASE/embeddings. Vectors are normalized to length 1, so
 * that the dot product of two is their similarity. Caching and timeouts are up to the
 * caller, such as the ranking of tools (agent/context/tool_embedding.c). Loop thread only. */
#ifndef CH_MODEL_EMBED_H
#define CH_MODEL_EMBED_H
#include "model/codec/codec.h"
#include "net/transport.h"

#define CH_EMBED_CONTEXT 56 /* bytes of a header `traceparent`, with its NUL */

struct ch_embed; /* a request in progress */
struct ch_embed_observer;

struct ch_embed_opts {
    struct ch_transport *transport;     /* borrowed until the request ends */
    /* borrowed until the request ends; codec openai or responses */
    const struct ch_endpoint *endpoint;
    struct ch_sv model;                 /* the service's model name */
    int64_t timeout_ms;                 /* 0: CH_DEFAULT_EMBED_MS */
    int64_t dimensions;                 /* dimensions of the vectors; 0: the model's default */
    bool whole;                         /* texts are not truncated */
    /* borrowed until the request ends; NULL, or NULL in it: none */
    struct ch_embed_observer *const *observer;
    /* for the observer: ids of the run that makes the request and of its call, NULL: none; else
     * the trace context of the cause, n 0: none */
    const char *run, *call;
    struct ch_sv trace;
};

/* A request for an observer. Texts are borrowed until the observer returns. */
struct ch_embed_record {
    const struct ch_endpoint *endpoint;
    struct ch_sv model;
    /* set by `begin` */
    int64_t start;                                           /* ms, wall clock */
    char parent[CH_EMBED_CONTEXT], inside[CH_EMBED_CONTEXT]; /* trace contexts; empty: none */
    /* at the end */
    int status;                    /* HTTP status; 0: no response */
    int64_t tokens;                /* as in struct ch_embedded */
    const struct chela_error *err; /* NULL: the request did not fail */
};

/* A part of a higher layer that follows requests. */
struct ch_embed_observer {
    /* A request begins. The service gets `inside` as the header `traceparent`. */
    void (*begin)(struct ch_embed_observer *w, const struct ch_embed_opts *o,
                  struct ch_embed_record *r);
    /* The request has ended, or is cancelled; called before ch_embed_fn. */
    void (*end)(struct ch_embed_observer *w, const struct ch_embed_record *r);
};

/* n rows of dim numbers, in the order of the texts; borrowed until the callback returns. */
struct ch_embedded {
    const float *rows;
    size_t n, dim;
    int64_t tokens; /* tokens consumed according to the service; 0: not reported */
};

/* Called exactly once, never from inside ch_embed_start, unless the request is cancelled.
 * Sets got, or err (CHELA_EPROTO for an invalid response, else the transport's error). The
 * request is already freed. */
typedef void ch_embed_fn(const struct ch_embedded *got, const struct chela_error *err, void *user);

/* True if this endpoint supports embeddings. */
bool ch_embed_possible(const struct ch_endpoint *ep);

/* At most CH_LIMIT_EMBED_BATCH texts, none empty, truncated to CH_LIMIT_EMBED_TEXT bytes
 * unless opts->whole is set; copied. */
int ch_embed_start(const struct ch_embed_opts *o, const struct ch_sv *texts, size_t n,
                   ch_embed_fn *fn, void *user, struct ch_embed **out, struct chela_error *err);
/* code: why, for the observer; CHELA_ECANCELED or CHELA_ETIMEOUT. e NULL is a no-op. */
void ch_embed_cancel(struct ch_embed *e, int code);

/* Similarity of two texts, -1 to 1. */
float ch_embed_product(const float *a, const float *b, size_t dim);

#endif
