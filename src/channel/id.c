/* id.c -- see id.h. */
#include "channel/id.h"

void ch_id_add(struct ch_buf *out, struct ch_sv id) {
    for (size_t i = 0; i < id.n; i++) {
        unsigned char c = (unsigned char)id.p[i];
        if (c <= ' ' || c == 0x7f || strchr(":%/\\~", c))
            ch_buf_addf(out, "~%02X", c);
        else
            ch_buf_addc(out, (char)c);
    }
}

static int id_digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

void ch_id_read(struct ch_buf *out, struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++) {
        int high = s.p[i] == '~' && i + 2 < s.n ? id_digit(s.p[i + 1]) : -1;
        int low = high >= 0 ? id_digit(s.p[i + 2]) : -1;
        ch_buf_addc(out, low >= 0 ? (char)(high << 4 | low) : s.p[i]);
        i += low >= 0 ? 2 : 0;
    }
}
