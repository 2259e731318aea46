/* keys.c -- see keys.h. */
#include "cli/term/keys.h"

#include <string.h>

#include "cli/term/term.h"

enum { ESC = 0x1B };

static struct ch_key key(enum ch_key_code code) {
    return (struct ch_key){.code = code};
}

static struct ch_key keys_text(const char *p, size_t n) {
    struct ch_key k = {.code = CH_KEY_TEXT};
    memcpy(k.text, p, n);
    return k;
}

/* --- sequences ----------------------------------------------------------------- */

static const struct {
    const char *sequence; /* bytes after ESC [ */
    enum ch_key_code code;
} sequences[] = {
    {"A", CH_KEY_UP},
    {"B", CH_KEY_DOWN},
    {"C", CH_KEY_RIGHT},
    {"D", CH_KEY_LEFT},
    {"H", CH_KEY_HOME},
    {"F", CH_KEY_END},
    {"1~", CH_KEY_HOME},
    {"7~", CH_KEY_HOME},
    {"4~", CH_KEY_END},
    {"8~", CH_KEY_END},
    {"3~", CH_KEY_DELETE},
    {"1;5C", CH_KEY_WORD_RIGHT}, /* with Ctrl */
    {"1;5D", CH_KEY_WORD_LEFT},
    {"1;3C", CH_KEY_WORD_RIGHT}, /* with Alt */
    {"1;3D", CH_KEY_WORD_LEFT},
    {"3;5~", CH_KEY_KILL_WORD},
    {"13;2u", CH_KEY_NEWLINE}, /* Shift-Enter, on terminals that report it */
    {"13;3u", CH_KEY_NEWLINE},
    {"27;2;13~", CH_KEY_NEWLINE},
};

static struct ch_key sequence(struct ch_keys *k) {
    k->held[k->n] = '\0';
    k->n = 0;
    k->state = CH_KEYS_GROUND;
    if (k->too_long)
        return key(CH_KEY_NONE);
    if (strcmp(k->held, "200~") == 0) {
        k->pasting = true;
        k->after_cr = false;
        return key(CH_KEY_PASTE_BEGIN);
    }
    if (strcmp(k->held, "201~") == 0 && k->pasting) {
        k->pasting = false;
        return key(CH_KEY_PASTE_END);
    }
    if (k->pasting)
        return key(CH_KEY_NONE);
    for (size_t i = 0; i < sizeof(sequences) / sizeof(sequences[0]); i++)
        if (strcmp(sequences[i].sequence, k->held) == 0)
            return key(sequences[i].code);
    return key(CH_KEY_NONE);
}

static struct ch_key in_sequence(struct ch_keys *k, char byte) {
    if (byte == ESC) { /* an aborted sequence */
        k->n = 0;
        k->state = CH_KEYS_ESC;
        return key(CH_KEY_NONE);
    }
    if (k->n < sizeof(k->held) - 1)
        k->held[k->n++] = byte;
    else
        k->too_long = true;
    bool ends = k->state == CH_KEYS_SS3 || (byte >= 0x40 && byte <= 0x7E);
    return ends ? sequence(k) : key(CH_KEY_NONE);
}

static struct ch_key after_escape(struct ch_keys *k, char byte) {
    k->state = CH_KEYS_GROUND;
    k->n = 0;
    k->too_long = false;
    switch (byte) {
    case '[':
        k->state = CH_KEYS_CSI;
        return key(CH_KEY_NONE);
    case 'O':
        k->state = CH_KEYS_SS3;
        return key(CH_KEY_NONE);
    case ESC:
        k->state = CH_KEYS_ESC;
        return k->pasting ? key(CH_KEY_NONE) : key(CH_KEY_ESCAPE);
    }
    if (k->pasting)
        return ch_keys_feed(k, byte);
    switch (byte) {
    case '\r':
    case '\n':
        return key(CH_KEY_NEWLINE);
    case 'b':
        return key(CH_KEY_WORD_LEFT);
    case 'f':
        return key(CH_KEY_WORD_RIGHT);
    case 'd':
        return key(CH_KEY_KILL_WORD);
    case 0x7F:
    case '\b':
        return key(CH_KEY_KILL_WORD_BACK);
    }
    return key(CH_KEY_NONE);
}

/* --- single bytes ---------------------------------------------------------------- */

static const enum ch_key_code controls[32] = {
    [0x01] = CH_KEY_HOME,      [0x02] = CH_KEY_LEFT,     [0x03] = CH_KEY_INTERRUPT,
    [0x04] = CH_KEY_EOF,       [0x05] = CH_KEY_END,      [0x06] = CH_KEY_RIGHT,
    [0x07] = CH_KEY_EDITOR,    [0x16] = CH_KEY_CLIPBOARD,
    [0x08] = CH_KEY_BACKSPACE, [0x09] = CH_KEY_TAB,      [0x0A] = CH_KEY_NEWLINE,
    [0x0B] = CH_KEY_KILL_LINE, [0x0C] = CH_KEY_REDRAW,   [0x0D] = CH_KEY_ENTER,
    [0x0E] = CH_KEY_NEXT,      [0x0F] = CH_KEY_UNFOLD,   [0x10] = CH_KEY_PREVIOUS,
    [0x12] = CH_KEY_SEARCH,    [0x14] = CH_KEY_TRANSPOSE, [0x15] = CH_KEY_KILL_BACK,
    [0x17] = CH_KEY_KILL_WORD_BACK, [0x19] = CH_KEY_YANK, [0x1A] = CH_KEY_SUSPEND,
};

static struct ch_key pasted_control(struct ch_keys *k, char byte) {
    bool second = byte == '\n' && k->after_cr;
    k->after_cr = byte == '\r';
    if (byte == '\t')
        return keys_text("\t", 1);
    if ((byte == '\n' && !second) || byte == '\r')
        return keys_text("\n", 1);
    return key(CH_KEY_NONE);
}

static bool keys_is_control(uint32_t cp) {
    return cp < 0x20 || (cp >= 0x7F && cp < 0xA0);
}

/* A byte of a multi-byte character, or a stray byte. */
static struct ch_key in_character(struct ch_keys *k, char byte) {
    uint32_t cp;
    k->held[k->n++] = byte;
    int len = ch_term_char(k->held, k->n, &cp);
    if (len == 0)
        return key(CH_KEY_NONE);
    size_t n = k->n;
    k->n = 0;
    if (len > 0)
        return keys_is_control(cp) ? key(CH_KEY_NONE) : keys_text(k->held, (size_t)len);
    /* the bytes held are invalid; the last byte may begin a character */
    return n > 1 ? ch_keys_feed(k, byte) : key(CH_KEY_NONE);
}

struct ch_key ch_keys_feed(struct ch_keys *k, char byte) {
    if (k->state == CH_KEYS_ESC)
        return after_escape(k, byte);
    if (k->state != CH_KEYS_GROUND)
        return in_sequence(k, byte);
    if (byte == ESC) {
        k->state = CH_KEYS_ESC;
        k->n = 0;
        return key(CH_KEY_NONE);
    }
    if ((unsigned char)byte >= 0x80)
        return in_character(k, byte);
    k->n = 0; /* an incomplete character is dropped */
    if (k->pasting && (unsigned char)byte < 0x20)
        return pasted_control(k, byte);
    k->after_cr = false;
    if (byte == 0x7F)
        return key(k->pasting ? CH_KEY_NONE : CH_KEY_BACKSPACE);
    if ((unsigned char)byte < 0x20)
        return key(controls[(unsigned char)byte]);
    return keys_text(&byte, 1);
}

bool ch_keys_waiting(const struct ch_keys *k) {
    return k->state == CH_KEYS_ESC && !k->pasting;
}

struct ch_key ch_keys_flush(struct ch_keys *k) {
    if (!ch_keys_waiting(k))
        return key(CH_KEY_NONE);
    k->state = CH_KEYS_GROUND;
    return key(CH_KEY_ESCAPE);
}
