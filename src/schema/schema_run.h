/* schema_run.h -- the findings that a run passes to the report. */
#ifndef CH_SCHEMA_SCHEMA_RUN_H
#define CH_SCHEMA_SCHEMA_RUN_H
#include "schema/schema_program.h"

/* A check that failed. */
struct ch_schema_finding {
    const struct ch_sub *sub;    /* the subschema of the check */
    const struct ch_op *op;      /* NULL: a bound of the run */
    const struct ch_json *v;     /* the value */
    enum ch_keyword keyword;     /* more precise than the check's */
    const struct ch_json *other; /* a name, or the bound, depending on the keyword */
    struct ch_sv name;           /* name of a missing member, and */
    struct ch_sv because;        /* name of the member that requires it */
    uint64_t have, want;         /* counts; indexes of equal elements; bits of the
                                    alternatives that are valid */
    size_t closest;              /* index + 1 of the closest alternative; 0: none */
};

/* Collects findings; created by ch_schema_check. */
struct ch_report {
    struct ch_arena *arena;
    const struct ch_json *root; /* root of the value */
    struct ch_violations *out;
    bool counting; /* only count the findings */
    size_t count;
};

#endif
