/* keys.h -- bytes of a terminal become keys.
 *
 * A pure machine: no terminal, no clock. Bytes may come in any pieces. The one
 * thing that bytes cannot tell is whether an ESC is a key or the beginning of a
 * sequence; who owns the clock calls ch_keys_flush when nothing followed it.
 *
 * What is pasted (bracketed paste) comes as CH_KEY_TEXT alone, newlines and
 * tabs included, so that no pasted byte can ever act as a key. */
#ifndef CH_CLI_KEYS_H
#define CH_CLI_KEYS_H
#include <stdbool.h>
#include <stddef.h>

enum ch_key_code {
    CH_KEY_NONE,
    CH_KEY_TEXT, /* one character, in text */
    CH_KEY_ENTER,
    CH_KEY_NEWLINE, /* Alt-Enter, Ctrl-J: a line break, not the end */
    CH_KEY_TAB,
    CH_KEY_BACKSPACE,
    CH_KEY_DELETE,
    CH_KEY_LEFT,
    CH_KEY_RIGHT,
    CH_KEY_UP,
    CH_KEY_DOWN,
    CH_KEY_HOME,
    CH_KEY_END,
    CH_KEY_WORD_LEFT,
    CH_KEY_WORD_RIGHT,
    CH_KEY_KILL_LINE,      /* Ctrl-K: to the end of the line */
    CH_KEY_KILL_BACK,      /* Ctrl-U: to its beginning */
    CH_KEY_KILL_WORD,      /* Alt-D */
    CH_KEY_KILL_WORD_BACK, /* Ctrl-W, Alt-Backspace */
    CH_KEY_YANK,           /* Ctrl-Y */
    CH_KEY_TRANSPOSE,      /* Ctrl-T */
    CH_KEY_PREVIOUS,       /* Ctrl-P */
    CH_KEY_NEXT,           /* Ctrl-N */
    CH_KEY_SEARCH,         /* Ctrl-R */
    CH_KEY_UNFOLD,         /* Ctrl-O */
    CH_KEY_REDRAW,         /* Ctrl-L */
    CH_KEY_INTERRUPT,      /* Ctrl-C */
    CH_KEY_EOF,            /* Ctrl-D */
    CH_KEY_SUSPEND,        /* Ctrl-Z */
    CH_KEY_ESCAPE,
};

struct ch_key {
    enum ch_key_code code;
    char text[5]; /* CH_KEY_TEXT: UTF-8, NUL-terminated */
};

struct ch_keys { /* zero is a fresh one */
    enum { CH_KEYS_GROUND, CH_KEYS_ESC, CH_KEYS_CSI, CH_KEYS_SS3 } state;
    bool pasting;
    bool after_cr;  /* of a paste: a CR LF is one newline */
    char held[16];  /* the sequence or the character so far */
    unsigned n;
    bool too_long;  /* the sequence: it is skipped to its end */
};

/* One byte; the key that it completes, or CH_KEY_NONE. */
struct ch_key ch_keys_feed(struct ch_keys *k, char byte);
/* An ESC waits: it may be a key of its own. */
bool ch_keys_waiting(const struct ch_keys *k);
/* It is. */
struct ch_key ch_keys_flush(struct ch_keys *k);

#endif
