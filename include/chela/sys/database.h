/* database.h -- the vtable of a database module: one read-only query.
 *
 * Each query has its own connection, so that a query cannot affect the next one. The module
 * must ensure that a query changes nothing, by the way it opens the connection and not by
 * inspecting the text. The functions block. They are called on any thread, also on several
 * at once. */
#ifndef CHELA_SYS_DATABASE_H
#define CHELA_SYS_DATABASE_H
#include <stddef.h>
#include <stdint.h>

#include "chela/error.h"
CHELA_BEGIN_DECLS

/* The types of values. The comments name the member that holds the value. */
enum chela_db_type {
    CHELA_DB_NULL = 0,
    CHELA_DB_INT = 1,    /* integer */
    CHELA_DB_REAL = 2,   /* real */
    CHELA_DB_NUMBER = 3, /* text: a number of any size, in the form of the database */
    CHELA_DB_BOOL = 4,   /* integer: 0 or 1 */
    CHELA_DB_TEXT = 5,   /* text */
    CHELA_DB_BLOB = 6    /* text: its bytes */
};

/* A value. */
struct chela_db_value {
    enum chela_db_type type;
    int64_t integer;
    double real;
    const char *text; /* borrowed; a parameter ends with NUL */
    size_t length;
};

/* A query. */
struct chela_db_query {
    size_t size; /* size of this struct */
    const char *sql;
    const struct chela_db_value *params; /* bound to the placeholders of the query */
    size_t nparams;
    size_t max_rows;    /* rows that are passed to `row` */
    uint64_t max_count; /* rows that are counted, including those */
    size_t max_value;   /* bytes of one value, if the database supports a limit */
    int64_t timeout_ms;
    void *user; /* for the functions below */

    /* Called repeatedly: a result other than 0 ends the query. */
    int (*stop)(void *user);
    /* Called once, before the first row; names are borrowed. Required. */
    void (*columns)(const char *const *names, size_t n, void *user);
    /* Called for each row; values are borrowed until the function returns. Required. */
    void (*row)(const struct chela_db_value *values, size_t n, void *user);
};

/* The number of rows that a query found. */
struct chela_db_outcome {
    uint64_t rows; /* rows that were counted */
    int more;      /* nonzero: there are more than max_count */
};

/* The functions of the module. */
struct chela_database_ops {
    const char *name; /* "sqlite" */

    /* Run a query. target: the text after "sqlite:", or a postgres:// URL. CHELA_ENOENT:
     * there is no such database. CHELA_EINVAL: the query is wrong. CHELA_EPERM: the query
     * would change something, or is not allowed. CHELA_ETIMEOUT, CHELA_ECANCELED.
     * CHELA_ELIMIT: the query needs too much memory. CHELA_ENET, CHELA_EAUTH, CHELA_EBUSY,
     * CHELA_EIO: the database failed. */
    int (*query)(const char *target, const struct chela_db_query *q, struct chela_db_outcome *out,
                 struct chela_error *err);
};

CHELA_END_DECLS
#endif
