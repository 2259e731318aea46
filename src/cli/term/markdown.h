/* markdown.h -- renders an answer in Markdown while it is streamed.
 *
 * Text arrives in pieces. A finished block (a paragraph, a list, a table, each line of a
 * code block) is rendered once and never changes; the unfinished block is available as
 * plain lines. All output is safe for a terminal.
 *
 * This module finds the blocks; md4c parses them. md4c is loaded on first use; without it
 * text is shown unrendered. */
#ifndef CH_CLI_MARKDOWN_H
#define CH_CLI_MARKDOWN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct ch_markdown;

/* color: style by escape sequences; without color the Markdown marks are kept. */
struct ch_markdown *ch_markdown_new(bool color);
void ch_markdown_free(struct ch_markdown *m);

/* Add a piece of text; finished blocks are written to out, as lines of at most `columns`
 * columns, except code. */
void ch_markdown_feed(struct ch_markdown *m, FILE *out, unsigned columns, const char *p, size_t n);
/* End the text; the next piece begins another. */
void ch_markdown_finish(struct ch_markdown *m, FILE *out, unsigned columns);

/* The last lines of the unfinished block, at most `rows`: returns their number; the caller
 * frees the lines and their array. */
size_t ch_markdown_rest(const struct ch_markdown *m, unsigned columns, size_t rows, char ***out);

#endif
