/* history.h -- the input history: a bounded list, and its file.
 *
 * The file has one entry per line, with newlines as \n and backslashes doubled, readable by
 * its owner alone. Several programs may append at once. */
#ifndef CH_CLI_HISTORY_H
#define CH_CLI_HISTORY_H
#include <stddef.h>

#include "cli/support/env.h"

enum {
    CH_HISTORY_ENTRIES = 1000,
    CH_HISTORY_ENTRY = 16384, /* maximum bytes of a stored entry */
};

struct ch_history { /* zeroed: empty and without a file */
    char **list;    /* owned, newest last */
    size_t n, cap;
    char *path;     /* owned; NULL: no file */
};

/* $XDG_STATE_HOME/chela/history; NULL without a home directory. The caller frees it. */
char *ch_history_path(const struct ch_env *env);

/* Read the file, if it exists, and append later entries to it. path may be NULL; it is
 * copied. */
void ch_history_open(struct ch_history *h, const char *path);
/* Add a text, unless it is empty or equals the last entry. */
void ch_history_add(struct ch_history *h, const char *text);
void ch_history_release(struct ch_history *h);

#endif
