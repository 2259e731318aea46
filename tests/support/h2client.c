/* h2client.c -- see h2client.h. */
#include <nghttp2/nghttp2.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "support/guests.h"
#include "support/h2client.h"

static void add_number(struct ch_buf *out, uint32_t n, unsigned bytes) {
    while (bytes--)
        ch_buf_addc(out, (char)(n >> 8 * bytes));
}

void h2_add_frame(struct ch_buf *out, unsigned type, unsigned flags, uint32_t id,
                  struct ch_sv payload) {
    add_number(out, (uint32_t)payload.n, 3);
    ch_buf_addc(out, (char)type);
    ch_buf_addc(out, (char)flags);
    add_number(out, id, 4);
    ch_buf_add_sv(out, payload);
}

/* A length with a prefix of 7 bits, no Huffman code (RFC 7541, 5.1). */
static void add_text(struct ch_buf *out, struct ch_sv text) {
    size_t n = text.n;
    if (n < 127) {
        ch_buf_addc(out, (char)n);
    } else {
        ch_buf_addc(out, 127);
        for (n -= 127; n >= 128; n /= 128)
            ch_buf_addc(out, (char)(128 + n % 128));
        ch_buf_addc(out, (char)n);
    }
    ch_buf_add_sv(out, text);
}

void h2_add_field(struct ch_buf *out, const char *name, struct ch_sv value) {
    ch_buf_addc(out, 0); /* literal, not kept in the table */
    add_text(out, ch_sv_str(name));
    add_text(out, value);
}

void h2_add_kept(struct ch_buf *out, const char *name, struct ch_sv value) {
    ch_buf_addc(out, 0x40);
    add_text(out, ch_sv_str(name));
    add_text(out, value);
}

void h2_add_head(struct ch_buf *out, const char *method, const char *path) {
    h2_add_field(out, ":method", ch_sv_str(method));
    h2_add_field(out, ":scheme", CH_SV("http"));
    h2_add_field(out, ":path", ch_sv_str(path));
    h2_add_field(out, ":authority", CH_SV("localhost"));
}

void h2_say(struct h2_client *c, struct ch_sv bytes) {
    while (bytes.n) {
        ssize_t n = send(c->fd, bytes.p, bytes.n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n <= 0)
            return; /* the peer has closed: the received frames decide */
        bytes = ch_sv(bytes.p + n, bytes.n - (size_t)n);
    }
}

void h2_say_frame(struct h2_client *c, unsigned type, unsigned flags, uint32_t id,
                  struct ch_sv payload) {
    CH_BUF_AUTO out = {0};
    h2_add_frame(&out, type, flags, id, payload);
    h2_say(c, ch_buf_sv(&out));
}

void h2_ask(struct h2_client *c, uint32_t id, unsigned flags, const char *method, const char *path,
            struct ch_sv more) {
    CH_BUF_AUTO block = {0};
    h2_add_head(&block, method, path);
    ch_buf_add_sv(&block, more);
    h2_say_frame(c, H2_HEADERS, flags, id, ch_buf_sv(&block));
}

void h2_begin(struct h2_client *c, int fd, uint32_t window) {
    CH_BUF_AUTO settings = {0};
    nghttp2_hd_inflater *inflater;
    *c = (struct h2_client){.fd = fd};
    assert_int_equal(nghttp2_hd_inflate_new(&inflater), 0);
    c->inflater = inflater;
    if (window) {
        add_number(&settings, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 2);
        add_number(&settings, window - 1, 4);
    }
    h2_say(c, CH_SV(NGHTTP2_CLIENT_MAGIC));
    h2_say_frame(c, H2_SETTINGS, 0, 0, ch_buf_sv(&settings));
}

void h2_end(struct h2_client *c) {
    nghttp2_hd_inflate_del(c->inflater);
    ch_buf_release(&c->in);
    close(c->fd);
}

/* --- hearing */

static uint32_t number(const unsigned char *p, unsigned bytes) {
    uint32_t n = 0;
    while (bytes--)
        n = n << 8 | *p++;
    return n;
}

static int read_status(struct h2_client *c, const unsigned char *p, size_t n) {
    int status = 0, flags = 0;
    while (!(flags & NGHTTP2_HD_INFLATE_FINAL)) {
        nghttp2_nv nv;
        ssize_t taken = nghttp2_hd_inflate_hd2(c->inflater, &nv, &flags, p, n, 1);
        assert_true(taken >= 0);
        p += taken;
        n -= (size_t)taken;
        if (!(flags & NGHTTP2_HD_INFLATE_EMIT))
            continue;
        if (ch_sv_is(ch_sv((char *)nv.name, nv.namelen), ":status"))
            status = (int)strtol((char *)nv.value, NULL, 10);
    }
    nghttp2_hd_inflate_end_headers(c->inflater);
    return status;
}

void h2_hear(struct h2_client *c) {
    guests_hear(c->fd, &c->in, &c->ended);
    while (c->in.n - c->read >= 9) {
        const unsigned char *p = (const unsigned char *)c->in.p + c->read;
        struct h2_frame f = {.type = p[3],
                             .flags = p[4],
                             .id = number(p + 5, 4),
                             .at = c->read + 9,
                             .n = number(p, 3)};
        if (c->in.n - c->read < 9 + f.n)
            return;
        if (f.type == H2_HEADERS)
            f.status = read_status(c, p + 9, f.n);
        if (f.type == H2_RST_STREAM || f.type == H2_GOAWAY)
            f.code = number(p + (f.type == H2_GOAWAY ? 13 : 9), 4);
        assert_true(c->nframes < CH_LEN(c->frames));
        c->frames[c->nframes++] = f;
        c->read += 9 + f.n;
    }
}

const struct h2_frame *h2_find(const struct h2_client *c, enum h2_type type, uint32_t id) {
    for (size_t i = 0; i < c->nframes; i++)
        if (c->frames[i].type == type && c->frames[i].id == id)
            return &c->frames[i];
    return NULL;
}

int h2_status(struct h2_client *c, uint32_t id) {
    h2_hear(c);
    const struct h2_frame *f = h2_find(c, H2_HEADERS, id);
    return f ? f->status : 0;
}

size_t h2_body(const struct h2_client *c, uint32_t id) {
    size_t n = 0;
    for (size_t i = 0; i < c->nframes; i++)
        if (c->frames[i].type == H2_DATA && c->frames[i].id == id)
            n += c->frames[i].n;
    return n;
}
