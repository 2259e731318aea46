/* fuzz_markdown.c -- any text as an answer in Markdown at the terminal, whole and in pieces.
 *
 * Input: one byte that says how to split and whether there are colours, then the text. No
 * control character of the text reaches the terminal: without colours none at all, with them
 * only the sequences for colours. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/term/markdown.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

/* Length of a sequence that sets a style, "\e[1;31m"; 0: it is another one. */
static size_t style(const char *p, size_t n) {
    size_t i = 2;
    if (n < 3 || p[1] != '[')
        return 0;
    while (i < n && ((p[i] >= '0' && p[i] <= '9') || p[i] == ';'))
        i++;
    return i < n && p[i] == 'm' ? i + 1 : 0;
}

static void check(const char *p, size_t n, bool color) {
    for (size_t i = 0; i < n; i++) {
        size_t skip = color && p[i] == '\x1b' ? style(p + i, n - i) : 0;
        bool control = ((unsigned char)p[i] < ' ' && p[i] != '\n' && p[i] != '\t') || p[i] == 0x7f;
        bool c1 = p[i] == '\xc2' && i + 1 < n && (unsigned char)p[i + 1] < 0xa0;
        if (!skip && (control || c1))
            abort();
        i += skip ? skip - 1 : 0;
    }
}

static void play(const uint8_t *p, size_t n, size_t piece, bool color) {
    struct ch_markdown *m = ch_markdown_new(color);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (size_t at = 0; at < n; at += piece)
        ch_markdown_feed(m, out, 40, (const char *)p + at, n - at < piece ? n - at : piece);
    ch_markdown_finish(m, out, 40);
    fclose(out);
    check(text, size, color);
    free(text);
    ch_markdown_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    if (n < 1 || n > 4096)
        return 0;
    play(p + 1, n - 1, n, p[0] & 1);
    play(p + 1, n - 1, 1 + p[0] / 2, p[0] & 1);
    return 0;
}
