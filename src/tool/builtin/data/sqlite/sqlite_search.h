/* sqlite_search.h -- instr, replace, trim, ltrim, rtrim, like and glob for one connection.
 *
 * SQLite's own functions take time in the product of the lengths of their arguments, and no
 * progress handler runs meanwhile: one call with long texts would outlast every deadline. These
 * functions give the same results. They ask `stop` before and, where the work can be long, during a
 * call; true ends the statement. */
#ifndef CH_SQLITE_SEARCH_H
#define CH_SQLITE_SEARCH_H
#include <sqlite3.h>

/* stop has the type of a progress handler and gets user; both must outlive the connection.
 * Returns a code of SQLite. */
int ch_sqlite_search_add(sqlite3 *db, int (*stop)(void *user), void *user);

#endif
