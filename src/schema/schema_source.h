/* schema_source.h -- documents, the schemas inside them, and who they are.
 *
 * A document is one JSON text. A *resource* is a schema with an address: a
 * document's root, or a schema inside it with an `$id`. Every place in a
 * document that holds a schema is indexed, so that `$id` and anchors count
 * there and nowhere else (not inside `enum`, not in unknown keywords).
 * Addresses lead to places; documents come from the caller or are the
 * meta-schemas that are built in. */
#ifndef CH_SCHEMA_SCHEMA_SOURCE_H
#define CH_SCHEMA_SCHEMA_SOURCE_H
#include "schema/schema.h"
#include "schema/schema_keyword.h"

struct ch_dialect {
    enum ch_draft draft;
    unsigned vocabularies; /* enum ch_vocabulary */
    bool assert_format;
};

struct ch_document {
    struct ch_document *next;
    struct ch_sv uri; /* where it was found */
    const struct ch_json *root;
    struct ch_schema_place *places; /* one for each node of root */
};

/* A schema's dynamic anchors, which a run looks for from outside in. */
struct ch_anchor {
    struct ch_anchor *next;
    unsigned name; /* ch_sources_intern */
    const struct ch_json *at;
    const struct ch_sub *sub; /* the compiler's: how to enter it; NULL: never needed */
};

struct ch_resource {
    struct ch_resource *next;
    struct ch_sv uri; /* absolute, no fragment */
    const struct ch_json *root;
    struct ch_document *document;
    struct ch_dialect dialect;
    struct ch_anchor *dynamic;
    bool entered; /* the compiler's: some part of it is in the program */
};

struct ch_schema_place {
    struct ch_resource *resource; /* NULL: no schema is known to be here */
    uint32_t part;                /* the compiler's, plus one */
};

/* A schema found by its address. */
struct ch_schema_target {
    const struct ch_json *at;
    struct ch_resource *resource;
    bool dynamic;        /* reached by the name of a dynamic anchor */
    struct ch_sv anchor; /* that name */
};

struct ch_sources {
    struct ch_arena *arena; /* of the schema being compiled */
    const struct ch_schema_opts *opts;
    struct chela_error *err;
    struct ch_document *documents;
    struct ch_resource *resources;
    struct ch_name_entry *buckets[256]; /* full addresses */
    struct ch_sv *names;                /* of dynamic anchors, interned; owned */
    size_t nnames, ndocuments, nplaces;
    unsigned meta_chain; /* meta-schemas being looked up */
};

void ch_sources_init(struct ch_sources *s, struct ch_arena *arena,
                     const struct ch_schema_opts *opts, struct chela_error *err);
void ch_sources_release(struct ch_sources *s);

/* Add and index a document; root lives as long as the arena. The dialect is
 * the one to assume where no $schema speaks. */
int ch_sources_add(struct ch_sources *s, struct ch_sv uri, const struct ch_json *root,
                   const struct ch_dialect *dialect, struct ch_resource **out);

/* What `ref` means inside resource `from`. */
int ch_sources_resolve(struct ch_sources *s, struct ch_resource *from, struct ch_sv ref,
                       struct ch_schema_target *out);

static inline struct ch_schema_place *ch_place_of(const struct ch_document *d,
                                                  const struct ch_json *at) {
    return &d->places[at - d->root];
}

/* Does the dialect know the keyword? */
static inline bool ch_dialect_has(const struct ch_dialect *d, enum ch_keyword k) {
    return (ch_keywords[k].drafts & d->draft) && (ch_keywords[k].vocabulary & d->vocabularies);
}

unsigned ch_sources_intern(struct ch_sources *s, struct ch_sv name);

#endif
