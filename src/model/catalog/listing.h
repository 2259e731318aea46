/* listing.h -- parses model lists of servers.
 *
 * Formats differ: a list under data or models, sizes under a dozen names; local servers use
 * formats of their own. An unknown size is 0. */
#ifndef CH_MODEL_LISTING_H
#define CH_MODEL_LISTING_H
#include "json/json.h"

struct ch_listed {
    struct ch_sv id; /* borrowed from the parsed body */
    int64_t context_window, max_output;
    const char *wrong; /* a member of a size that is no number of tokens; NULL: none */
};

/* Parse GET /models of any protocol; fn is called once per model. CHELA_EPARSE: not a list
 * of models. */
int ch_listing_read(struct ch_sv body, void (*fn)(const struct ch_listed *m, void *user),
                    void *user, struct chela_error *err);

/* One element of such a list. */
struct ch_listed ch_listing_one(const struct ch_json *v);

/* The actual context size of a local server, from llama.cpp's GET /props or Ollama's POST
 * /api/show. */
int64_t ch_listing_props(struct ch_sv body);
int64_t ch_listing_show(struct ch_sv body);

#endif
