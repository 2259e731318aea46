/* flow.h -- styled text, wrapped to a width.
 *
 * ch_flow_add makes text safe. Lines break at spaces and beside wide characters; a word
 * longer than a line is split, never dropped. */
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

struct ch_flow { /* zeroed: empty */
    char *text;  /* owned; a newline ends a line */
    uint8_t *styles; /* owned: one for each byte */
    size_t n, cap;
};

struct ch_flow_line {
    char *text;       /* owned: with style sequences, if requested */
    unsigned columns; /* width in columns */
};

void ch_flow_add(struct ch_flow *f, unsigned style, const char *p, size_t n);
void ch_flow_clear(struct ch_flow *f);
void ch_flow_release(struct ch_flow *f);

/* The wrapped lines; returns their number. Free them with ch_flow_free_lines. */
size_t ch_flow_lines(const struct ch_flow *f, unsigned columns, bool color,
                     struct ch_flow_line **out);
void ch_flow_free_lines(struct ch_flow_line *lines, size_t n);

/* Write the escape sequence that sets this style, whatever the current one. */
void ch_style_put(FILE *out, unsigned style);

#endif
