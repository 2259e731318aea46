/* database.h -- the vtable of a database module: one read-only query.
 *
 * A query opens a connection of its own and closes it, so that nothing a query
 * does to its session reaches the next. The module must see to it that nothing
 * can be changed by the query, by how it opens and runs it and not by looking
 * at its text. Calls block and come from any thread, several at once. */
#ifndef CHELA_SYS_DATABASE_H
#define CHELA_SYS_DATABASE_H
#include <stddef.h>
#include <stdint.h>

#include "chela/error.h"
CHELA_BEGIN_DECLS

enum chela_db_type {
    CHELA_DB_NULL = 0,
    CHELA_DB_INT = 1,    /* integer */
    CHELA_DB_REAL = 2,   /* real */
    CHELA_DB_NUMBER = 3, /* text: a number of any size, as the database writes it */
    CHELA_DB_BOOL = 4,   /* integer: 0 or 1 */
    CHELA_DB_TEXT = 5,   /* text */
    CHELA_DB_BLOB = 6    /* text: its bytes */
};

struct chela_db_value {
    enum chela_db_type type;
    int64_t integer;
    double real;
    const char *text; /* borrowed; NUL-terminated when it is a parameter */
    size_t length;
};

struct chela_db_query {
    size_t size; /* of this struct */
    const char *sql;
    const struct chela_db_value *params; /* bound to the query's placeholders */
    size_t nparams;
    size_t max_rows;    /* that are handed over */
    uint64_t max_count; /* and counted, the first ones included */
    size_t max_value;   /* bytes of one value, as far as the database lets one choose */
    int64_t timeout_ms;
    void *user; /* for the functions below */

    /* Asked now and then: non-zero ends the query. */
    int (*stop)(void *user);
    /* Once, before the first row; names are borrowed. Required. */
    void (*columns)(const char *const *names, size_t n, void *user);
    /* Values are borrowed until it returns. Required. */
    void (*row)(const struct chela_db_value *values, size_t n, void *user);
};

struct chela_db_outcome {
    uint64_t rows; /* there are at least this many */
    int more;      /* non-zero: there are more than max_count */
};

struct chela_database_ops {
    const char *name; /* "sqlite" */

    /* target: what follows "sqlite:", or a whole postgres:// URL. CHELA_ENOENT:
     * there is no such database; CHELA_EINVAL: the query is wrong; CHELA_EPERM:
     * it would change something or is otherwise not allowed; CHELA_ETIMEOUT,
     * CHELA_ECANCELED; CHELA_ELIMIT: it takes too much memory; CHELA_ENET,
     * CHELA_EAUTH, CHELA_EBUSY, CHELA_EIO: the database. */
    int (*query)(const char *target, const struct chela_db_query *q, struct chela_db_outcome *out,
                 struct chela_error *err);
};

CHELA_END_DECLS
#endif
