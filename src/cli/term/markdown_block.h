/* markdown_block.h -- renders one complete Markdown block for a terminal. */
#ifndef CH_CLI_MARKDOWN_BLOCK_H
#define CH_CLI_MARKDOWN_BLOCK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Write the block as lines of at most `columns` columns (code may be wider). False: md4c is
 * unavailable, and nothing was written. number: of the first item, if the block is a list with
 * numbers; 0: as written. */
bool ch_markdown_block(FILE *out, bool color, unsigned columns, unsigned number, const char *p,
                       size_t n);

#endif
