/* catalog.h -- ranks tool definitions against a request.
 *
 * Tools are numbered from 0 in insertion order and never change. The ranking uses the text
 * that a model would see: name, description, and the names, descriptions and allowed values
 * of the parameters. */
#ifndef CH_TOOL_CATALOG_H
#define CH_TOOL_CATALOG_H
#include "json/json.h"
#include "search/bm25.h"

struct ch_catalog { /* zeroed: empty */
    struct ch_bm25 index;
    bool settled; /* nothing was added since the last pick */
    float *scores; /* owned scratch */
};

struct ch_catalog_hit {
    size_t tool;
    float score; /* above 0; comparable within one pick only */
};

void ch_catalog_release(struct ch_catalog *c);

/* schema: JSON Schema of the parameters, or NULL. Texts are not kept. */
void ch_catalog_add(struct ch_catalog *c, struct ch_sv name, struct ch_sv description,
                    const struct ch_json *schema);

/* The best k tools for a request, best first; ties go to the tool added first. allowed: per
 * tool, whether it may be picked; NULL: all may. Returns the number of tools picked; tools
 * with score 0 are omitted. */
size_t ch_catalog_pick(struct ch_catalog *c, struct ch_sv query, const bool *allowed, size_t k,
                       struct ch_catalog_hit *out);

#endif
