/* markup.c -- see markup.h. */
#include "cli/support/markup.h"

#include <string.h>

void ch_markup_write(FILE *out, const char *text, size_t n) {
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '<')
            fputs("&lt;", out);
        else if (c == '>')
            fputs("&gt;", out);
        else if (c == '&')
            fputs("&amp;", out);
        else if (c == '"')
            fputs("&quot;", out);
        else if (c == '\n' || c == '\t') /* attribute values would lose them */
            fprintf(out, "&#%d;", c);
        else /* XML cannot represent most control characters */
            fputc(c < 0x20 || c == 0x7f ? '?' : c, out);
    }
}

void ch_markup_str(FILE *out, const char *text) {
    ch_markup_write(out, text, strlen(text));
}
