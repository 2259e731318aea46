/* schema_run.h -- what a run tells the one who puts it into words. */
#ifndef CH_SCHEMA_SCHEMA_RUN_H
#define CH_SCHEMA_SCHEMA_RUN_H
#include "schema/schema_program.h"

/* A check that failed. */
struct ch_schema_finding {
    const struct ch_sub *sub;    /* whose check it is */
    const struct ch_op *op;      /* NULL: a bound of the run */
    const struct ch_json *v;     /* the value */
    enum ch_keyword keyword;     /* more precise than the check's */
    const struct ch_json *other; /* a name; or the bound, see the keyword */
    struct ch_sv name;           /* of a member that is missing, and of */
    struct ch_sv because;        /* the one that asks for it */
    uint64_t have, want;         /* counts; indexes of equal elements; the
                                    alternatives that hold, bits */
    size_t closest;              /* alternative, plus one; 0: none */
};

/* Collects findings; made by ch_schema_check. */
struct ch_report {
    struct ch_arena *arena;
    struct ch_schema *schema;
    const struct ch_json *root; /* of the value */
    struct ch_violations *out;
    bool counting; /* only how many */
    size_t count;
};

#endif
