/* markdown_block.h -- one block of Markdown that is whole, for a terminal. */
#ifndef CH_CLI_MARKDOWN_BLOCK_H
#define CH_CLI_MARKDOWN_BLOCK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Write it as lines of at most so many columns (those of code may be longer).
 * False: nothing here understands Markdown, and nothing was written. */
bool ch_markdown_block(FILE *out, bool color, unsigned columns, const char *p, size_t n);

#endif
