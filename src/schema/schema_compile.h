/* schema_compile.h -- what the two halves of the compiler share.
 *
 * schema_compile.c finds every subschema that can be reached, puts them in
 * order and makes their lists of checks; schema_emit.c turns one keyword after
 * the other into checks. */
#ifndef CH_SCHEMA_SCHEMA_COMPILE_H
#define CH_SCHEMA_SCHEMA_COMPILE_H
#include "schema/schema_program.h"

enum ch_part_state { CH_PART_NEW, CH_PART_OPEN, CH_PART_DONE };

/* A subschema that is part of the program. */
struct ch_part {
    const struct ch_json *at;
    struct ch_resource *resource;
    struct ch_sub *sub;
    struct ch_sub *door;          /* made when needed */
    struct ch_schema_target ref;  /* of $ref; at NULL: none */
    struct ch_schema_target dynamic_ref; /* of $dynamicRef or $recursiveRef */
    enum ch_part_state state;
};

struct ch_compiler {
    struct ch_schema *schema;
    struct ch_sources sources;
    const struct ch_schema_opts *opts;
    struct chela_error *err;
    struct ch_part *parts; /* owned; moves when it grows */
    size_t n, cap;
    bool dynamic;  /* there is a reference that needs the dynamic scope */
    bool tracks;   /* there is an unevaluated* somewhere */
    unsigned open; /* subschemas being compiled, one inside the other */
};

/* A check and the types of values it is for. */
struct ch_draft_op {
    struct ch_op op;
    uint8_t types;
};

struct ch_builder {
    struct ch_compiler *c;
    size_t part; /* index: parts move */
    struct ch_resource *resource;
    struct ch_sub *sub;
    const struct ch_json *kw[CH_KW_COUNT]; /* of this schema; NULL: not there */
    struct ch_draft_op *ops;               /* owned */
    size_t n, cap;
};

void ch_builder_add(struct ch_builder *b, unsigned types, struct ch_op op);

/* "#/properties/a: minLength must be ..." */
int ch_builder_fail(struct ch_builder *b, enum ch_keyword k, int code, const char *fmt, ...)
    CHELA_PRINTF(4, 5);

/* The subschema at v, for values inside the value. NULL only for what is no
 * schema: the caller says so. */
const struct ch_sub *ch_builder_child(struct ch_builder *b, const struct ch_json *v);

/* The subschema a reference leads to, compiled or not yet. */
const struct ch_sub *ch_builder_entry(struct ch_builder *b, const struct ch_schema_target *target);

/* The subschema at v, for the value itself; compiled on return. */
int ch_builder_same(struct ch_builder *b, enum ch_keyword k, const struct ch_json *v,
                    const struct ch_sub **out);
int ch_builder_target(struct ch_builder *b, enum ch_keyword k,
                      const struct ch_schema_target *target, const struct ch_sub **out);

/* Where in its document the subschema's keyword is: "URI#/properties/a/type".
 * Nothing is appended for CH_KW_NONE. */
void ch_sub_location(const struct ch_sub *sub, enum ch_keyword k, struct ch_buf *out);

#endif
