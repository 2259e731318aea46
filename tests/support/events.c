/* events.c -- see events.h. */
#include "support/events.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/crc32.h"

static void add_u32(struct ch_buf *out, uint32_t n) {
    for (int shift = 24; shift >= 0; shift -= 8)
        ch_buf_addc(out, (char)(n >> shift));
}

void events_message(struct ch_buf *out, struct ch_sv headers, struct ch_sv payload) {
    CH_BUF_AUTO m = {0};
    add_u32(&m, (uint32_t)(16 + headers.n + payload.n));
    add_u32(&m, (uint32_t)headers.n);
    add_u32(&m, ch_crc32(0, m.p, m.n));
    ch_buf_add_sv(&m, headers);
    ch_buf_add_sv(&m, payload);
    add_u32(&m, ch_crc32(0, m.p, m.n));
    ch_buf_add_sv(out, ch_buf_sv(&m));
}

static void add_name(struct ch_buf *headers, const char *name, char type) {
    ch_buf_addc(headers, (char)strlen(name));
    ch_buf_add_str(headers, name);
    ch_buf_addc(headers, type);
}

void events_header(struct ch_buf *headers, const char *name, struct ch_sv value) {
    add_name(headers, name, 7);
    ch_buf_addc(headers, (char)(value.n >> 8));
    ch_buf_addc(headers, (char)value.n);
    ch_buf_add_sv(headers, value);
}

static void add_other_types(struct ch_buf *headers) {
    static const char zeros[16];
    static const struct {
        char type;
        size_t size;
    } types[] = {{0, 0}, {1, 0}, {2, 1}, {3, 2}, {4, 4}, {5, 8}, {8, 8}, {9, 16}};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        add_name(headers, "x", types[i].type);
        ch_buf_add(headers, zeros, types[i].size);
    }
    add_name(headers, ":event-type", 6); /* bytes, not a string: this header must be ignored */
    ch_buf_add(headers, "\0\3abc", 5);
}

static void add_hex(struct ch_buf *out, struct ch_sv hex) {
    for (size_t i = 0; i + 1 < hex.n; i += 2) {
        char two[3] = {hex.p[i], hex.p[i + 1], 0};
        ch_buf_addc(out, (char)strtol(two, NULL, 16));
    }
}

static void assemble_line(struct ch_buf *out, struct ch_sv line) {
    CH_BUF_AUTO headers = {0};
    struct ch_sv rest = line, word = ch_sv_split(&rest, ' ');
    const char *kind = "event";
    if (ch_sv_is(word, "hex")) {
        add_hex(out, rest);
        return;
    }
    if (ch_sv_is(word, "error")) {
        struct ch_sv code = ch_sv_split(&rest, ' ');
        events_header(&headers, ":message-type", CH_SV("error"));
        events_header(&headers, ":error-code", code);
        events_header(&headers, ":error-message", rest);
        events_message(out, ch_buf_sv(&headers), CH_SV(""));
        return;
    }
    if (ch_sv_is(word, "exception") || ch_sv_is(word, "headers")) {
        kind = ch_sv_is(word, "exception") ? "exception" : "event";
        if (ch_sv_is(word, "headers"))
            add_other_types(&headers);
        word = ch_sv_split(&rest, ' ');
    }
    events_header(&headers, *kind == 'e' && kind[1] == 'x' ? ":exception-type" : ":event-type",
                  word);
    events_header(&headers, ":content-type", CH_SV("application/json"));
    events_header(&headers, ":message-type", ch_sv_str(kind));
    events_message(out, ch_buf_sv(&headers), rest.p ? rest : CH_SV(""));
}

void events_assemble(struct ch_buf *out, struct ch_sv text) {
    while (text.n) {
        struct ch_sv line = ch_sv_split(&text, '\n');
        if (line.n)
            assemble_line(out, line);
    }
}
