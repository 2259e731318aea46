/* file_in_use.h -- does a process use a file? */
#ifndef CH_GUARD_FILE_IN_USE_H
#define CH_GUARD_FILE_IN_USE_H
#include <stdbool.h>

/* True if a process has the file of the open directory open or locked, as far as this process can
 * see; for the log of a SQLite database, also if the database is in use. The file itself is not
 * opened: closing it would drop this process's own locks. */
bool ch_file_in_use(int dir, const char *name);

#endif
