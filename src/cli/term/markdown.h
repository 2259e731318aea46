/* markdown.h -- an answer in Markdown, shown while it is written.
 *
 * Text comes in pieces. A block that is finished (a paragraph, a list, a table,
 * each line of a code block) is rendered once and never changes again; the one
 * that is still being written can be had as plain lines. Everything that comes
 * out is safe for a terminal, whatever went in.
 *
 * Blocks are found here, what they mean is md4c's to say. It is opened on use:
 * without it text is shown as it was written. */
#ifndef CH_CLI_MARKDOWN_H
#define CH_CLI_MARKDOWN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct ch_markdown;

/* color: style by escape sequences; without it the marks of Markdown stay. */
struct ch_markdown *ch_markdown_new(bool color);
void ch_markdown_free(struct ch_markdown *m);

/* A piece of the text; what is finished is written to out, as lines of at most
 * so many columns, except those of code. */
void ch_markdown_feed(struct ch_markdown *m, FILE *out, unsigned columns, const char *p, size_t n);
/* The text is over; the next piece begins another. */
void ch_markdown_finish(struct ch_markdown *m, FILE *out, unsigned columns);

/* The last of the lines that the unfinished block has, `rows` at most: how many,
 * and the lines, yours to free like their array. */
size_t ch_markdown_rest(const struct ch_markdown *m, unsigned columns, size_t rows, char ***out);

#endif
