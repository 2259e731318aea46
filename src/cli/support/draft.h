/* draft.h -- text that is made in memory, piece by piece, and then used whole. */
#ifndef CH_CLI_DRAFT_H
#define CH_CLI_DRAFT_H
#include <stddef.h>
#include <stdio.h>

#include "chela/error.h"

/*     struct ch_draft d;
 *     ch_draft_init(&d);
 *     fprintf(d.f, ...);
 *     ch_draft_finish(&d);  now p and n are valid
 *     free(d.p); */
struct ch_draft {
    FILE *f;
    char *p; /* owned by who made the draft, NUL-terminated */
    size_t n;
};

/* Filled in place: the stream remembers where p and n are. */
void ch_draft_init(struct ch_draft *d);
void ch_draft_finish(struct ch_draft *d);
/* As a JSON string. */
void ch_draft_quote(struct ch_draft *d, const char *text);

/* asprintf that cannot fail. The caller frees it. */
char *ch_format(const char *fmt, ...) CHELA_PRINTF(1, 2);

#endif
