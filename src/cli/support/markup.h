/* markup.h -- escapes untrusted text for HTML, SVG and XML, between tags and in quoted
 * values. */
#ifndef CH_CLI_MARKUP_H
#define CH_CLI_MARKUP_H
#include <stdio.h>

void ch_markup_write(FILE *out, const char *text, size_t n);
void ch_markup_str(FILE *out, const char *text);

#endif
