/* listing.h -- what servers say about the models they have.
 *
 * Each says it in its own way: a list under data or models, sizes under a dozen
 * names, and on this machine in places of their own. A size that is not told
 * is 0. */
#ifndef CH_MODEL_LISTING_H
#define CH_MODEL_LISTING_H
#include "json/json.h"

struct ch_listed {
    struct ch_sv id; /* borrowed from the body's tree */
    int64_t context_window, max_output;
};

/* GET /models of any protocol: fn once for each model. CHELA_EPARSE: this is no
 * list of models. */
int ch_listing_read(struct ch_sv body, void (*fn)(const struct ch_listed *m, void *user),
                    void *user, struct chela_error *err);

/* The context a server really has, from what only it answers: llama.cpp's
 * GET /props, Ollama's POST /api/show. */
int64_t ch_listing_props(struct ch_sv body);
int64_t ch_listing_show(struct ch_sv body);

#endif
