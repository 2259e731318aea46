/* line_diff.h -- the difference of two texts, line by line. */
#ifndef CH_CLI_LINE_DIFF_H
#define CH_CLI_LINE_DIFF_H
#include <stdio.h>

/* Writes the lines that were removed (-) and added (+), with up to three common lines around them
 * ( ); lines in between that are left out are "...". Returns the number of changed lines. */
unsigned ch_line_diff(FILE *out, const char *before, const char *after);

#endif
