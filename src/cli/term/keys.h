/* keys.h -- decodes terminal input to keys.
 *
 * A pure state machine without terminal and clock. Bytes may arrive in any pieces. Bytes
 * alone cannot tell whether an ESC is a key or begins a sequence; the owner of the clock
 * calls ch_keys_flush if nothing followed the ESC.
 *
 * Pasted text (bracketed paste) is reported as CH_KEY_TEXT only, including newlines and
 * tabs, so that no pasted byte can act as a key. */
#ifndef CH_CLI_KEYS_H
#define CH_CLI_KEYS_H
#include <stdbool.h>
#include <stddef.h>

enum ch_key_code {
    CH_KEY_NONE,
    CH_KEY_TEXT, /* one character, in text */
    CH_KEY_ENTER,
    CH_KEY_NEWLINE, /* Alt-Enter, Ctrl-J: a line break without submit */
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
    CH_KEY_EDITOR,      /* Ctrl-G */
    CH_KEY_CLIPBOARD,   /* Ctrl-V */
    CH_KEY_PASTE_BEGIN, /* pasted characters follow */
    CH_KEY_PASTE_END,
};

struct ch_key {
    enum ch_key_code code;
    char text[5]; /* CH_KEY_TEXT: UTF-8, NUL-terminated */
};

struct ch_keys { /* zeroed: initial state */
    enum { CH_KEYS_GROUND, CH_KEYS_ESC, CH_KEYS_CSI, CH_KEYS_SS3 } state;
    bool pasting;
    bool after_cr;  /* in a paste: CR LF is one newline */
    char held[16];  /* the incomplete sequence or character */
    unsigned n;
    bool too_long;  /* the sequence is too long: skip to its end */
};

/* Feed one byte; returns the completed key, or CH_KEY_NONE. */
struct ch_key ch_keys_feed(struct ch_keys *k, char byte);
/* True if an ESC is pending, which may be a key. */
bool ch_keys_waiting(const struct ch_keys *k);
/* Report the pending ESC as a key. */
struct ch_key ch_keys_flush(struct ch_keys *k);

#endif
