/* draft.h -- text built in memory piece by piece. */
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
    char *p; /* owned by the creator of the draft, NUL-terminated */
    size_t n;
};

/* Initialized in place: the stream stores the addresses of p and n. */
void ch_draft_init(struct ch_draft *d);
void ch_draft_finish(struct ch_draft *d);
/* Write text as a JSON string. */
void ch_draft_quote(FILE *out, const char *text);

/* asprintf that aborts on failure. The caller frees the result. */
char *ch_format(const char *fmt, ...) CHELA_PRINTF(1, 2);

#endif
