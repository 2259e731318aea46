/* schema_compile.h -- data shared by the two halves of the compiler.
 *
 * schema_compile.c finds every reachable subschema, orders the subschemas and
 * builds their lists of checks. schema_emit.c turns the keywords of one
 * subschema into checks. */
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
    struct ch_schema_target ref;  /* target of $ref; at NULL: none */
    struct ch_schema_target dynamic_ref; /* target of $dynamicRef or $recursiveRef */
    enum ch_part_state state;
};

struct ch_compiler {
    struct ch_schema *schema;
    struct ch_sources sources;
    const struct ch_schema_opts *opts;
    struct chela_error *err;
    struct ch_part *parts; /* owned; moves when it grows */
    size_t n, cap;
    bool dynamic;  /* a reference needs the dynamic scope */
    bool tracks;   /* an unevaluated* keyword exists */
    unsigned open; /* nested subschemas being compiled */
};

/* A check and the types of values it applies to. */
struct ch_draft_op {
    struct ch_op op;
    uint8_t types;
};

struct ch_builder {
    struct ch_compiler *c;
    size_t part; /* an index, since parts move */
    struct ch_resource *resource;
    struct ch_sub *sub;
    const struct ch_json *kw[CH_KW_COUNT]; /* the keywords of this schema; NULL: absent */
    struct ch_draft_op *ops;               /* owned */
    size_t n, cap;
};

void ch_builder_add(struct ch_builder *b, unsigned types, struct ch_op op);

/* Fail with "#/properties/a: minLength must be ...". */
int ch_builder_fail(struct ch_builder *b, enum ch_keyword k, int code, const char *fmt, ...)
    CHELA_PRINTF(4, 5);

/* The subschema at v, for values inside the value. Returns NULL only if v is
 * not a schema; the caller reports the error. */
const struct ch_sub *ch_builder_child(struct ch_builder *b, const struct ch_json *v);

/* The target of a reference, compiled or not yet compiled. */
const struct ch_sub *ch_builder_entry(struct ch_builder *b, const struct ch_schema_target *target);

/* The subschema at v, for the value itself. It is compiled on return. */
int ch_builder_same(struct ch_builder *b, enum ch_keyword k, const struct ch_json *v,
                    const struct ch_sub **out);
int ch_builder_target(struct ch_builder *b, enum ch_keyword k,
                      const struct ch_schema_target *target, const struct ch_sub **out);

/* Append the location of the subschema's keyword: "URI#/properties/a/type".
 * Appends nothing for CH_KW_NONE. */
void ch_sub_location(const struct ch_sub *sub, enum ch_keyword k, struct ch_buf *out);

#endif
