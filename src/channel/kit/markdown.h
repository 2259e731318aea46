/* markdown.h -- Markdown for services that support a part of it. Pure. */
#ifndef CH_CHANNEL_KIT_MARKDOWN_H
#define CH_CHANNEL_KIT_MARKDOWN_H
#include "base/buf.h"

/* The fence of an open block of code; n 0: none. */
struct ch_kit_fence {
    char mark;
    size_t n;
};
enum ch_kit_line { CH_KIT_TEXT, CH_KIT_OPENS, CH_KIT_CODE, CH_KIT_CLOSES };
/* Tells what a line is, and follows the state. A block ends with a fence of the same character
 * that is at least as long, so that a block can hold shorter fences; a line of code between
 * three backticks opens no block. */
enum ch_kit_line ch_kit_line(struct ch_kit_fence *open, struct ch_sv line);
/* The language after an opening fence. */
struct ch_sv ch_kit_info(struct ch_sv line);
/* Appends a text for a block between three backticks: a zero-width space separates backticks
 * that would end the block. */
void ch_kit_add_code(struct ch_buf *out, struct ch_sv text);
/* The length of the code span at the start of s, which begins and ends with equally many
 * backticks; 0: none. *code: the text between the backticks. */
size_t ch_kit_code_span(struct ch_sv s, struct ch_sv *code);
/* True for a row of a table. */
bool ch_kit_is_row(struct ch_sv line);

/* Appends Markdown with tables as blocks of code. A line break inside a paragraph, which the
 * service would drop, gets two spaces before it. */
void ch_kit_format(struct ch_buf *out, struct ch_sv markdown);

/* Appends Markdown with images as links: a client fetches an image unasked, from any host, and its
 * address can carry data. In code, and where exact is true, a zero-width space separates the two
 * marks instead, since services disagree about what is code. Tags of images are separated too. */
void ch_kit_images_as_links(struct ch_buf *out, struct ch_sv markdown, bool exact);

#endif
