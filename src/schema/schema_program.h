/* schema_program.h -- the compiled form of a schema, shared by the files that
 * build, run and explain it.
 *
 * Every subschema becomes a struct ch_sub: for each type of value, a list of
 * checks (NULL: every value of that type is valid). So no check runs twice, and
 * most answers are one load: {"type": "string"} has no checks for strings and a
 * failing one for every other type. Subschemas that apply to the same value
 * (allOf, $ref, if ...) contain no cycles, except through $dynamicRef.
 *
 * Everything is in the schema's arena and never changes after compilation. */
#ifndef CH_SCHEMA_SCHEMA_PROGRAM_H
#define CH_SCHEMA_SCHEMA_PROGRAM_H
#include "schema/schema.h"
#include "schema/schema_keyword.h"
#include "schema/schema_names.h"
#include "schema/schema_pattern.h"
#include "schema/schema_source.h"

#define CH_TYPES 7 /* values of enum ch_json_type */

/* Sets of types, bits by enum ch_json_type. */
enum {
    CH_BIT_NULL = 1 << CH_JSON_NULL,
    CH_BIT_BOOLEAN = 1 << CH_JSON_FALSE | 1 << CH_JSON_TRUE,
    CH_BIT_NUMBER = 1 << CH_JSON_NUMBER,
    CH_BIT_STRING = 1 << CH_JSON_STRING,
    CH_BIT_ARRAY = 1 << CH_JSON_ARRAY,
    CH_BIT_OBJECT = 1 << CH_JSON_OBJECT,
    CH_BIT_ALL = (1 << CH_TYPES) - 1,
};

enum ch_op_code {
    CH_OP_END,
    CH_OP_TYPE,     /* fails: the type is not allowed */
    CH_OP_FALSE,    /* fails: no value is allowed */
    CH_OP_INTEGER,  /* no fraction */
    CH_OP_RANGE,    /* range */
    CH_OP_MULTIPLE, /* value */
    CH_OP_LENGTH,   /* least, most: characters */
    CH_OP_PATTERN,  /* pattern */
    CH_OP_FORMAT,   /* format */
    CH_OP_ENUM,     /* choices */
    CH_OP_COUNT,    /* least, most: elements */
    CH_OP_ITEMS,    /* items */
    CH_OP_CONTAINS, /* contains */
    CH_OP_UNIQUE,
    CH_OP_SIZE,        /* least, most: members */
    CH_OP_MEMBERS,     /* members */
    CH_OP_NEEDS,       /* needs: a member that requires other members */
    CH_OP_WITH,        /* needs: a member that applies a subschema */
    CH_OP_ALL,         /* sub: must be valid too */
    CH_OP_ANY,         /* subs */
    CH_OP_ONE,         /* subs */
    CH_OP_NOT,         /* sub */
    CH_OP_IF,          /* subs: if, then, else; the last two may be NULL */
    CH_OP_SCOPE,       /* door: as CH_OP_ALL, entering another resource */
    CH_OP_DYNAMIC,     /* dynamic */
    CH_OP_TRACK,       /* from here on, record evaluated members */
    CH_OP_UNEVALUATED, /* sub: for the members that were not evaluated */
};

struct ch_op {
    uint16_t code;    /* enum ch_op_code */
    uint16_t keyword; /* enum ch_keyword to report */
    uint32_t least;
    union {
        uint64_t most;
        const struct ch_sub *sub;
        const struct ch_subs *subs;
        const struct ch_range *range;
        const struct ch_json *value;
        struct ch_pattern *pattern;
        const struct ch_format *format;
        const struct ch_choices *choices;
        const struct ch_items *items;
        const struct ch_contains *contains;
        const struct ch_members *members;
        const struct ch_needs *needs;
        const struct ch_schema_entry *door;
        const struct ch_dynamic *dynamic;
    };
};

struct ch_sub {
    const struct ch_op *checks[CH_TYPES]; /* by type of value; ended by CH_OP_END */
    uint8_t types;                        /* types that `type` allows */
    bool integer;                         /* numbers must be integers */
    const struct ch_json *at;             /* the schema, for messages */
    const struct ch_document *document;
};

struct ch_subs {
    size_t n;
    const struct ch_sub *list[];
};

/* The four bounds of a number. Short integers are compared with least and most,
 * which include the exclusive bounds; other numbers are compared as text. */
struct ch_range {
    bool quick; /* least and most are complete for short integers */
    int64_t least, most;
    const struct ch_json *minimum, *maximum, *above, *below; /* NULL: no bound */
};

/* enum and const. */
struct ch_choices {
    const struct ch_names *strings;
    const struct ch_json *list; /* the keyword's value, for messages */
    size_t n;
    const struct ch_json *others[]; /* values that are not strings */
};

struct ch_items {
    const struct ch_sub *rest; /* NULL: anything */
    size_t n;
    const struct ch_sub *first[];
};

struct ch_contains {
    const struct ch_sub *sub;
    uint64_t least, most;
    bool marks; /* elements that match count as evaluated */
};

/* Data of a member name. The name itself holds the subschema (NULL: any value)
 * and the bit among the first 64 required names. */
struct ch_schema_member {
    uint32_t order; /* position among the required names */
    bool declared;  /* in `properties` */
};
#define CH_NOT_REQUIRED UINT32_MAX

struct ch_matching {
    struct ch_pattern *pattern;
    const struct ch_sub *sub;
};

/* All constraints on an object's members, checked in one walk over them. */
struct ch_members {
    const struct ch_names *names;       /* NULL: no member is named */
    const struct ch_schema_member *list; /* by the names' index */
    uint64_t required;                  /* bits of the first 64 required names */
    uint32_t nrequired;                 /* of all */
    uint32_t nmatching;                 /* patternProperties */
    const struct ch_matching *matching; /* patternProperties */
    const struct ch_sub *rest;          /* additionalProperties; NULL: anything */
    const struct ch_sub *each_name;     /* propertyNames; NULL: any */
    bool simple;                        /* up to 64 required names, neither rest nor each_name */
};

struct ch_needs {
    struct ch_sv name;
    const struct ch_sub *sub; /* CH_OP_WITH */
    size_t n;                 /* CH_OP_NEEDS */
    struct ch_sv names[];
};

struct ch_schema_entry {
    const struct ch_resource *resource;
    const struct ch_sub *sub;
};

struct ch_dynamic {
    unsigned name;
    const struct ch_sub *otherwise; /* static target of the reference */
};

struct ch_schema {
    struct ch_arena arena;
    struct ch_patterns patterns;
    const struct ch_sub *root;
    const struct ch_resource *resource; /* the outermost */
    int64_t spent;                      /* fuel used by the last report */
};

/* Whether no value of the type passes the check. */
static inline bool ch_op_refuses(const struct ch_op *op) {
    return op && (op->code == CH_OP_TYPE || op->code == CH_OP_FALSE);
}

/* The types of values that have checks. */
static inline unsigned ch_sub_concerned(const struct ch_sub *sub) {
    unsigned types = 0;
    for (unsigned t = 0; t < CH_TYPES; t++)
        types |= (unsigned)(sub->checks[t] != NULL) << t;
    return types;
}

#endif
