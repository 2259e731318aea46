/* flow.h -- styled text, folded into lines of a width.
 *
 * Text is safe when it comes in here: ch_flow_add makes it so. It breaks at
 * spaces and beside wide characters; a word that is longer than a line is cut,
 * never lost. */
#ifndef CH_CLI_FLOW_H
#define CH_CLI_FLOW_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum ch_style {
    CH_STYLE_BOLD = 1,
    CH_STYLE_DIM = 2,
    CH_STYLE_ITALIC = 4,
    CH_STYLE_UNDERLINE = 8,
    CH_STYLE_STRIKE = 16,
    CH_STYLE_CODE = 32,
    CH_STYLE_HEAD = 64,
};

struct ch_flow { /* zero: empty */
    char *text;  /* owned; a newline ends a line */
    uint8_t *styles; /* owned: one for each byte */
    size_t n, cap;
};

struct ch_flow_line {
    char *text;       /* owned: with sequences of style, if asked for */
    unsigned columns; /* it takes */
};

void ch_flow_add(struct ch_flow *f, unsigned style, const char *p, size_t n);
void ch_flow_clear(struct ch_flow *f);
void ch_flow_release(struct ch_flow *f);

/* Its lines; how many. Give them back with ch_flow_free_lines. */
size_t ch_flow_lines(const struct ch_flow *f, unsigned columns, bool color,
                     struct ch_flow_line **out);
void ch_flow_free_lines(struct ch_flow_line *lines, size_t n);

/* The sequence that begins this style after any other. */
void ch_style_put(FILE *out, unsigned style);

#endif
