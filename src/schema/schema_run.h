/* schema_run.h -- what a run tells the one who puts it into words. */
#ifndef CH_SCHEMA_SCHEMA_RUN_H
#define CH_SCHEMA_SCHEMA_RUN_H
#include "schema/schema_program.h"

/* A check that failed. */
struct ch_finding {
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

void ch_report_add(struct ch_report *r, const struct ch_finding *f);

/* Are all elements different? If not, *a and *b are two that are equal. Takes
 * from *fuel what the comparisons cost; below 0: given up. */
bool ch_all_unique(const struct ch_json *array, int64_t *fuel, uint64_t *a, uint64_t *b);

#endif
