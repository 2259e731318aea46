/* table.h -- formats database rows as text for a model. */
#ifndef CH_TOOL_TABLE_H
#define CH_TOOL_TABLE_H
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "chela/sys/database.h"

struct ch_cell {
    struct ch_sv text; /* valid UTF-8, one line, cut to CH_LIMIT_SQL_CELL characters */
    struct ch_sv json; /* the same as a JSON value */
    bool number;       /* right-aligned */
};

struct ch_result_table {
    struct ch_arena arena;
    struct ch_cell *names; /* unique */
    size_t ncolumns;       /* columns kept, at most CH_LIMIT_SQL_COLUMNS */
    size_t nall;           /* columns of the result set */
    struct ch_cell **rows;
    size_t nrows, cap;
};

void ch_result_table_release(struct ch_result_table *t);
void ch_result_table_columns(struct ch_result_table *t, const char *const *names, size_t n);
void ch_result_table_row(struct ch_result_table *t, const struct chela_db_value *values, size_t n);

/* Append as many rows as fit into max characters, aligned under the column names or as a
 * JSON array of objects. Returns the number of rows appended. */
size_t ch_result_table_text(const struct ch_result_table *t, size_t max, struct ch_buf *out);
size_t ch_result_table_json(const struct ch_result_table *t, size_t max, struct ch_buf *out);

#endif
