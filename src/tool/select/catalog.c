/* catalog.c -- see catalog.h. */
#include "tool/select/catalog.h"

#include "base/limits.h"
#include "base/mem.h"

enum { DEEPEST = 6 }; /* deeper parts of a schema say little about the tool's purpose */

void ch_catalog_release(struct ch_catalog *c) {
    ch_bm25_release(&c->index);
    ch_free(c->scores);
    *c = (struct ch_catalog){.settled = false};
}

static void add_parameters(struct ch_bm25 *ix, const struct ch_json *schema, int depth);

static void add_parameter(struct ch_bm25 *ix, const struct ch_json *p, int depth) {
    if (p->type != CH_JSON_OBJECT)
        return;
    ch_bm25_text(ix, CH_FIELD_PARAMETER_TEXTS, ch_json_get_str(p, "description"));
    for (CH_JSON_EACH(value, ch_json_get(p, "enum")))
        ch_bm25_text(ix, CH_FIELD_VALUES, ch_json_str(value));
    add_parameters(ix, p, depth + 1);
    add_parameters(ix, ch_json_get(p, "items"), depth + 1);
}

static void add_parameters(struct ch_bm25 *ix, const struct ch_json *schema, int depth) {
    if (!schema || depth > DEEPEST)
        return;
    for (CH_JSON_MEMBERS(name, p, ch_json_get(schema, "properties"))) {
        ch_bm25_text(ix, CH_FIELD_PARAMETERS, ch_json_str(name));
        add_parameter(ix, p, depth);
    }
}

void ch_catalog_add(struct ch_catalog *c, struct ch_sv name, struct ch_sv description,
                    const struct ch_json *schema) {
    ch_bm25_begin(&c->index);
    ch_bm25_text(&c->index, CH_FIELD_NAME, name);
    ch_bm25_text(&c->index, CH_FIELD_DESCRIPTION, description);
    add_parameters(&c->index, schema, 0);
    c->settled = false;
}

static void catalog_settle(struct ch_catalog *c) {
    if (c->settled)
        return;
    ch_bm25_settle(&c->index);
    c->scores = ch_realloc(c->scores, (c->index.ndocs + 1) * sizeof(*c->scores));
    c->settled = true;
}

/* Insert a pick into the n best so far; returns the new number of picks. */
static size_t catalog_insert(struct ch_catalog_hit *out, size_t n, size_t k,
                             struct ch_catalog_hit pick) {
    size_t at = n;

    while (at > 0 && pick.score > out[at - 1].score)
        at--;
    if (at == k)
        return n;
    n = CH_MIN(n + 1, k);
    memmove(out + at + 1, out + at, (n - 1 - at) * sizeof(*out));
    out[at] = pick;
    return n;
}

size_t ch_catalog_pick(struct ch_catalog *c, struct ch_sv query, const bool *allowed, size_t k,
                       struct ch_catalog_hit *out) {
    size_t n = 0;

    catalog_settle(c);
    query.n = CH_MIN(query.n, CH_LIMIT_SELECT_QUERY);
    ch_bm25_score(&c->index, query, c->scores);
    for (size_t i = 0; i < c->index.ndocs; i++)
        if (c->scores[i] > 0 && (!allowed || allowed[i]))
            n = catalog_insert(out, n, k, (struct ch_catalog_hit){i, c->scores[i]});
    return n;
}
