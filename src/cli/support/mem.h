/* mem.h -- memory allocation that aborts on failure.
 *
 * The command line program uses little memory and is short-lived: it exits when memory runs
 * out. External input is bounded where it is read (input.h). */
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
