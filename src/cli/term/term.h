/* term.h -- what a terminal can do, and what must not reach it.
 *
 * Text of a model or a tool may hold escape sequences that move the cursor,
 * set the title or answer questions in the user's name. Nothing of the kind
 * passes ch_escape: what is left is characters that only take room. */
#ifndef CH_CLI_TERM_H
#define CH_CLI_TERM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct ch_term {
    int fd;
    bool tty;
    bool color; /* a terminal that wants colour */
    bool live;  /* a terminal whose current line can be rewritten */
};

struct ch_term ch_term_probe(int fd, bool dumb, bool no_color);
unsigned ch_term_columns(const struct ch_term *t); /* 80 when it does not say */
unsigned ch_term_rows(const struct ch_term *t);    /* 24 when it does not say */

enum ch_escape_mode {
    CH_ESCAPE_TEXT, /* newlines and tabs pass */
    CH_ESCAPE_LINE, /* the result is one line: they are shown as \n and \t */
};

/* A filter for text that comes in pieces; zero is a fresh one. Control
 * characters (C0, DEL, C1) and those that reorder text (bidirectional
 * overrides) come out as \u001b, which is also what JSON would write; CR LF
 * as LF; bytes that are not UTF-8 as U+FFFD. */
struct ch_escape {
    enum ch_escape_mode mode;
    unsigned n; /* bytes held back: an unfinished character or a CR */
    char held[4];
};

/* Append the safe form of n bytes to out. */
void ch_escape_feed(struct ch_escape *e, FILE *out, const char *p, size_t n);
/* The text is over: what is held back is no character. */
void ch_escape_finish(struct ch_escape *e, FILE *out);

/* Bytes of the UTF-8 character at p (n > 0); negative when none starts there, 0
 * when the n bytes are the beginning of one. */
int ch_term_char(const char *p, size_t n, uint32_t *cp);
/* Columns that one character takes; 0: it joins the one before it. */
unsigned ch_term_char_columns(uint32_t cp);

/* How many bytes of safe one-line text fit into so many columns. */
size_t ch_term_fit(const char *p, size_t n, unsigned columns);
/* Columns the whole text takes. */
unsigned ch_term_text_columns(const char *p, size_t n);

#endif
