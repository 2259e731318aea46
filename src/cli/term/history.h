/* history.h -- what was typed before: a bounded list, and its file.
 *
 * The file has one entry a line, newlines as \n and backslashes doubled; it is
 * readable by its owner alone. Several programs may append to it at once. */
#ifndef CH_CLI_HISTORY_H
#define CH_CLI_HISTORY_H
#include <stddef.h>

#include "cli/support/env.h"

enum {
    CH_HISTORY_ENTRIES = 1000,
    CH_HISTORY_ENTRY = 16384, /* bytes of one that is kept */
};

struct ch_history { /* zero: empty and without a file */
    char **list;    /* owned, the newest last */
    size_t n, cap;
    char *path;     /* owned; NULL: nowhere */
};

/* $XDG_STATE_HOME/chela/history; NULL when there is no home. The caller frees it. */
char *ch_history_path(const struct ch_env *env);

/* Read the file, if it is there, and remember it for what is added. path may be
 * NULL; it is copied. */
void ch_history_open(struct ch_history *h, const char *path);
/* Add a text, unless it is empty or what was added last. */
void ch_history_add(struct ch_history *h, const char *text);
void ch_history_release(struct ch_history *h);

#endif
