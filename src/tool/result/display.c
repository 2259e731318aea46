/* display.c -- see display.h. */
#include "tool/result/display.h"

#include "base/mem.h"
#include "base/utf8.h"

/* Sorted ranges, selected by visibility, not by category: a combining accent is visible, a
 * Hangul filler is a letter but invisible. */
static const struct {
    uint32_t first, last;
} hidden[] = {
    {0x0000, 0x001f},   /* C0 */
    {0x007f, 0x00a0},   /* DEL, C1, no-break space */
    {0x00ad, 0x00ad},   /* soft hyphen */
    {0x034f, 0x034f},   /* grapheme joiner */
    {0x061c, 0x061c},   /* Arabic letter mark */
    {0x115f, 0x1160},   /* Hangul fillers */
    {0x1680, 0x1680},   /* Ogham space */
    {0x17b4, 0x17b5},   /* Khmer inherent vowels */
    {0x180b, 0x180f},   /* Mongolian selectors and separator */
    {0x2000, 0x200f},   /* spaces, zero width characters, direction marks */
    {0x2028, 0x202f},   /* separators, bidirectional embeddings, narrow space */
    {0x205f, 0x206f},   /* spaces, invisible operators, isolates */
    {0x2800, 0x2800},   /* blank braille */
    {0x3000, 0x3000},   /* ideographic space */
    {0x3164, 0x3164},   /* Hangul filler */
    {0xd800, 0xf8ff},   /* surrogates, private use */
    {0xfe00, 0xfe0f},   /* variation selectors */
    {0xfeff, 0xfeff},   /* byte order mark */
    {0xffa0, 0xffa0},   /* Hangul filler */
    {0xfff0, 0xfffc},   /* annotation characters */
    {0xfffe, 0xffff},   /* noncharacters */
    {0x1bca0, 0x1bca3}, /* shorthand format controls */
    {0x1d173, 0x1d17a}, /* musical format controls */
    {0xe0000, 0x10ffff} /* tags, selectors, private use */
};

bool ch_display_hidden(uint32_t cp) {
    for (size_t i = 0; i < CH_LEN(hidden) && cp >= hidden[i].first; i++)
        if (cp <= hidden[i].last)
            return true;
    return false;
}

static void name_character(struct ch_buf *out, uint32_t cp) {
    ch_buf_addf(out, "<U+%04X>", cp);
}

void ch_display_add(struct ch_buf *out, struct ch_sv text, enum ch_display_mode mode) {
    while (text.n) {
        uint32_t cp = 0;
        unsigned n = ch_utf8_next(text, &cp);
        if (!n)
            ch_buf_addf(out, "<0x%02X>", (unsigned char)*text.p);
        else if (cp == '\n' && mode == CH_DISPLAY_TEXT)
            ch_buf_add_str(out, "\n    ");
        else if (ch_display_hidden(cp) || ch_sv_starts(text, "<U+") || ch_sv_starts(text, "<0x"))
            name_character(out, cp);
        else
            ch_buf_add(out, text.p, n);
        n = n ? n : 1;
        text = ch_sv(text.p + n, text.n - n);
    }
}
