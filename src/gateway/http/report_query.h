/* report_query.h -- the parameters of a report, read on the worker thread that makes the report.
 *
 * query: as in the request, not decoded. Errors are CHELA_EINVAL and name the parameter. */
#ifndef CH_GATEWAY_REPORT_QUERY_H
#define CH_GATEWAY_REPORT_QUERY_H
#include "base/arena.h"
#include "base/sv.h"
#include "chela/error.h"

/* A decoded value, in the arena; NULL: absent. */
const char *ch_report_text(struct ch_arena *a, struct ch_sv query, const char *name);
/* A time: a date of ISO 8601 (UTC, unless the text has an offset), or seconds or milliseconds since
 * 1970. Absent: *out stays. */
int ch_report_time(struct ch_arena *a, struct ch_sv query, const char *name, int64_t *out,
                   struct chela_error *err);
/* A number that is not negative. Absent: *out stays. */
int ch_report_number(struct ch_arena *a, struct ch_sv query, const char *name, double *out,
                     struct chela_error *err);
/* The index of a word in a list that ends with NULL. Absent: *out stays. */
int ch_report_choice(struct ch_arena *a, struct ch_sv query, const char *name,
                     const char *const *words, int *out, struct chela_error *err);
/* Fails for a parameter that is not in a list that ends with NULL. */
int ch_report_known(struct ch_arena *a, struct ch_sv query, const char *const *names,
                    struct chela_error *err);

#endif
