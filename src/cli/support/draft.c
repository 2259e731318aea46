/* draft.c -- see draft.h. */
#include "cli/support/draft.h"

#include <stdarg.h>
#include <stdlib.h>

#include "cli/support/mem.h"

void ch_draft_init(struct ch_draft *d) {
    *d = (struct ch_draft){0};
    d->f = ch_must(open_memstream(&d->p, &d->n));
}

void ch_draft_finish(struct ch_draft *d) {
    if (fclose(d->f) != 0)
        abort();
    d->f = NULL;
}

char *ch_format(const char *fmt, ...) {
    char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0)
        abort();
    return text;
}

void ch_draft_quote(FILE *out, const char *text) {
    fputc('"', out);
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p == '"' || *p == '\\')
            fprintf(out, "\\%c", *p);
        else if (*p < ' ')
            fprintf(out, "\\u%04x", *p);
        else
            fputc(*p, out);
    }
    fputc('"', out);
}
