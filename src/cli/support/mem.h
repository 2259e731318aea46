/* mem.h -- allocation for a program that has nothing to fall back to.
 *
 * The command line holds little and lives shortly: without memory it stops.
 * What comes from outside is bounded where it is read (input.h). */
#ifndef CH_CLI_MEM_H
#define CH_CLI_MEM_H
#include <stdlib.h>
#include <string.h>

static inline void *ch_must(void *p) {
    if (!p)
        abort();
    return p;
}

static inline char *ch_dup(const char *s) {
    return ch_must(strdup(s));
}

#endif
