/* markup.h -- texts from outside in a page, a picture or a report (HTML, SVG,
 * XML): between tags and inside quoted values alike. */
#ifndef CH_CLI_MARKUP_H
#define CH_CLI_MARKUP_H
#include <stdio.h>

void ch_markup_write(FILE *out, const char *text, size_t n);
void ch_markup_str(FILE *out, const char *text);

#endif
