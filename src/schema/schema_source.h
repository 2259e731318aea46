/* schema_source.h -- schema documents, the schemas inside them, and their
 * addresses.
 *
 * A document is one JSON text. A *resource* is a schema with an address: a
 * document's root, or a schema inside it with an `$id`. Every schema of a
 * document is indexed, so that `$id` and anchors count only inside schemas (not
 * inside `enum` or unknown keywords). Documents come from the caller or are
 * built-in meta-schemas. */
#ifndef CH_SCHEMA_SCHEMA_SOURCE_H
#define CH_SCHEMA_SCHEMA_SOURCE_H
#include "base/key_table.h"
#include "schema/schema.h"
#include "schema/schema_keyword.h"

struct ch_dialect {
    enum ch_schema_draft draft;
    unsigned vocabularies; /* enum ch_vocabulary */
    bool assert_format;
};

struct ch_document {
    struct ch_document *next;
    struct ch_sv uri; /* address under which it was loaded */
    const struct ch_json *root;
    struct ch_schema_place *places; /* one for each node of root */
};

/* A dynamic anchor of a schema. A run searches dynamic anchors from the
 * outermost resource inwards. */
struct ch_anchor {
    struct ch_anchor *next;
    unsigned name; /* ch_sources_intern */
    const struct ch_json *at;
    const struct ch_sub *sub; /* set by the compiler: the entry; NULL: not needed */
};

struct ch_resource {
    struct ch_resource *next;
    struct ch_sv uri; /* absolute, no fragment */
    const struct ch_json *root;
    struct ch_document *document;
    struct ch_dialect dialect;
    struct ch_anchor *dynamic;
    bool entered; /* set by the compiler: a part of it is in the program */
};

struct ch_schema_place {
    struct ch_resource *resource; /* NULL: no known schema here */
    uint32_t part;                /* set by the compiler: index + 1 of the part */
    uint32_t children;            /* index + 1 in the sources' children; 0: not listed */
};

/* The schema that an address leads to. */
struct ch_schema_target {
    const struct ch_json *at;
    struct ch_resource *resource;
    bool dynamic;        /* reached through the name of a dynamic anchor */
    struct ch_sv anchor; /* name of that anchor */
};

struct ch_sources {
    struct ch_arena *arena; /* arena of the schema being compiled */
    const struct ch_schema_opts *opts;
    struct chela_error *err;
    struct ch_document *documents;
    struct ch_resource *resources;
    struct ch_key_table addresses; /* struct ch_name_entry by full address */
    struct ch_sv *names;           /* interned names of dynamic anchors; owned */
    const struct ch_json ***children; /* of large values: keys sorted by name, or elements; owned */
    size_t nnames, nchildren, ndocuments, nplaces;
    unsigned meta_chain; /* nested lookups of meta-schemas */
};

void ch_sources_init(struct ch_sources *s, struct ch_arena *arena,
                     const struct ch_schema_opts *opts, struct chela_error *err);
void ch_sources_release(struct ch_sources *s);

/* Add and index a document; root lives as long as the arena. The dialect
 * applies unless the document has a $schema. */
int ch_sources_add(struct ch_sources *s, struct ch_sv uri, const struct ch_json *root,
                   const struct ch_dialect *dialect, struct ch_resource **out);

/* Resolve the reference `ref` of resource `from`. */
int ch_sources_resolve(struct ch_sources *s, struct ch_resource *from, struct ch_sv ref,
                       struct ch_schema_target *out);

static inline struct ch_schema_place *ch_place_of(const struct ch_document *d,
                                                  const struct ch_json *at) {
    return &d->places[at - d->root];
}

/* Whether the dialect defines the keyword. */
static inline bool ch_dialect_has(const struct ch_dialect *d, enum ch_keyword k) {
    return (ch_keywords[k].drafts & d->draft) && (ch_keywords[k].vocabulary & d->vocabularies);
}

unsigned ch_sources_intern(struct ch_sources *s, struct ch_sv name);

#endif
