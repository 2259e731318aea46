/* term.h -- terminal capabilities, and the filter for untrusted text.
 *
 * Text of a model or a tool may contain escape sequences that move the cursor, set the
 * title or answer queries on behalf of the user. ch_escape removes all of them: only
 * printable characters remain. */
#ifndef CH_CLI_TERM_H
#define CH_CLI_TERM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct ch_term {
    int fd;
    bool tty;
    bool color; /* a terminal with color enabled */
    bool live;  /* a terminal whose current line can be rewritten */
};

struct ch_term ch_term_probe(int fd, bool dumb, bool no_color);
unsigned ch_term_columns(const struct ch_term *t); /* 80 if unknown */
unsigned ch_term_rows(const struct ch_term *t);    /* 24 if unknown */

enum ch_escape_mode {
    CH_ESCAPE_TEXT, /* newlines and tabs pass */
    CH_ESCAPE_LINE, /* one line: newlines and tabs are shown as \n and \t */
};

/* A filter for text in pieces; zeroed: initial state. Control characters (C0, DEL, C1) and
 * bidirectional overrides become \u001b, as in JSON; CR LF becomes LF; invalid UTF-8
 * becomes U+FFFD. */
struct ch_escape {
    enum ch_escape_mode mode;
    unsigned n; /* bytes held back: an incomplete character or a CR */
    char held[4];
};

/* Append the safe form of n bytes to out. */
void ch_escape_feed(struct ch_escape *e, FILE *out, const char *p, size_t n);
/* End of the text: bytes held back are invalid. */
void ch_escape_finish(struct ch_escape *e, FILE *out);

/* The same for a whole text; ch_escape_whole returns its safe form, which the caller frees. n_out:
 * may be NULL. */
void ch_escape_write(FILE *out, enum ch_escape_mode mode, const char *p, size_t n);
char *ch_escape_whole(enum ch_escape_mode mode, const char *p, size_t n, size_t *n_out);

/* Length of the UTF-8 character at p (n > 0); negative if invalid, 0 if incomplete. */
int ch_term_char(const char *p, size_t n, uint32_t *cp);
/* Width of one character in columns; 0: it combines with the preceding one. */
unsigned ch_term_char_columns(uint32_t cp);

/* Number of bytes of safe one-line text that fit into `columns` columns. */
size_t ch_term_fit(const char *p, size_t n, unsigned columns);
/* Width of the whole text in columns. */
unsigned ch_term_text_columns(const char *p, size_t n);

#endif
