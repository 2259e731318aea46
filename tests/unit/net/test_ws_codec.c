/* test_ws_codec.c -- WebSocket frames and the handshake. Every case is read
 * whole, at every split and byte by byte, with the same messages and verdict. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "net/ws_codec.h"

struct outcome {
    struct ch_buf log;
    int rc;
};

static bool record(enum ch_ws_kind kind, struct ch_sv payload, void *user) {
    struct outcome *o = user;
    ch_buf_addf(&o->log, "%d:", (int)kind);
    if (payload.n > 40)
        ch_buf_addf(&o->log, "%zu bytes", payload.n);
    else
        ch_buf_add_sv(&o->log, payload);
    ch_buf_addc(&o->log, ';');
    return !ch_sv_is(payload, "stop");
}

/* In two pieces, then in pieces of a size; each in memory of its own. */
static void read_all(struct outcome *o, struct ch_sv bytes, size_t first, size_t piece) {
    struct chela_error err = {0};
    struct ch_ws_reader r;
    ch_ws_reader_init(&r, record, o);
    for (size_t at = 0, n = first; at < bytes.n && o->rc == 0; at += n, n = piece) {
        n = CH_MIN(n, bytes.n - at);
        char *copy = ch_memdup(bytes.p + at, n);
        o->rc = ch_ws_feed(&r, ch_sv(copy, n), &err);
        ch_free(copy);
    }
    assert_int_equal(o->rc, err.code);
    ch_ws_reader_release(&r);
}

static void check(const char *name, struct ch_sv bytes, const char *want, int rc) {
    for (size_t split = 0; split <= bytes.n; split++) {
        struct outcome o = {0};
        read_all(&o, bytes, split ? split : 1, split ? CH_MAX(bytes.n, 1) : 1);
        if (strcmp(ch_buf_str(&o.log), want) != 0 || o.rc != rc)
            fail_msg("%s, split at %zu: got %d %s", name, split, o.rc, ch_buf_str(&o.log));
        ch_buf_release(&o.log);
    }
}

#define BYTES(literal) {literal, sizeof(literal) - 1}

static void test_frames(void **state) {
    (void)state;
    static const struct {
        const char *name;
        struct ch_sv bytes;
        const char *want;
        int rc;
    } cases[] = {
        {"nothing", BYTES(""), "", 0},
        {"a text", BYTES("\x81\x05Hello"), "1:Hello;", 0},
        {"an empty one", BYTES("\x82\x00"), "2:;", 0},
        {"two", BYTES("\x81\x01" "a" "\x82\x01" "b"), "1:a;2:b;", 0},
        {"in fragments", BYTES("\x01\x03Hel\x80\x02lo"), "1:Hello;", 0},
        {"in three", BYTES("\x02\x01" "a" "\x00\x00" "\x00\x01" "b" "\x80\x01" "c"), "2:abc;", 0},
        {"a ping between them", BYTES("\x01\x01" "a" "\x89\x02hi" "\x80\x01" "b"), "9:hi;1:ab;", 0},
        {"a character cut in two", BYTES("\x01\x01\xc3\x80\x01\xa9"), "1:\xc3\xa9;", 0},
        {"a goodbye", BYTES("\x88\x02\x03\xe8"), "8:\x03\xe8;", 0},
        {"a goodbye without a word", BYTES("\x88\x00"), "8:;", 0},
        {"a pong", BYTES("\x8a\x00"), "10:;", 0},
        {"who stops", BYTES("\x81\x04stop\x81\x01" "a"), "1:stop;", 0},
        {"an end in the middle", BYTES("\x81\x05Hel"), "", 0},
        {"a mask", BYTES("\x81\x81" "aaaab"), "", CHELA_EPROTO},
        {"an extension", BYTES("\xc1\x01" "a"), "", CHELA_EPROTO},
        {"an unknown kind", BYTES("\x83\x01" "a"), "", CHELA_EPROTO},
        {"an unknown control", BYTES("\x8b\x01" "a"), "", CHELA_EPROTO},
        {"a ping in parts", BYTES("\x09\x01" "a"), "", CHELA_EPROTO},
        {"a long ping", BYTES("\x89\x7e\x00\x7e"), "", CHELA_EPROTO},
        {"half a reason", BYTES("\x88\x01" "a"), "", CHELA_EPROTO},
        {"the rest of nothing", BYTES("\x80\x01" "a"), "", CHELA_EPROTO},
        {"a message within one", BYTES("\x01\x01" "a" "\x81\x01" "b"), "", CHELA_EPROTO},
        {"not UTF-8", BYTES("\x81\x01\xff"), "", CHELA_EPROTO},
        {"bytes need not be", BYTES("\x82\x01\xff"), "2:\xff;", 0},
        {"a long form of a short length", BYTES("\x81\x7e\x00\x05Hello"), "", CHELA_EPROTO},
        {"the longest form of it", BYTES("\x81\x7f\0\0\0\0\0\0\0\x05Hello"), "", CHELA_EPROTO},
        {"a negative length", BYTES("\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff"), "", CHELA_EPROTO},
        {"too long", BYTES("\x82\x7f\0\0\0\0\x7f\0\0\0"), "", CHELA_ELIMIT},
        {"too long together", BYTES("\x02\x01" "a" "\x00\x7f\0\0\0\0\0\x40\0\0"), "", CHELA_ELIMIT},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++)
        check(cases[i].name, cases[i].bytes, cases[i].want, cases[i].rc);
}

/* A frame of ours, turned into one of a server's. */
static void unmask(struct ch_buf *frame) {
    unsigned char *p = (unsigned char *)frame->p, mask[4];
    size_t at = 2 + ((p[1] & 0x7f) == 126 ? 2 : (p[1] & 0x7f) == 127 ? 8 : 0);
    assert_true(p[1] & 0x80);
    memcpy(mask, p + at, 4);
    memmove(p + at, p + at + 4, frame->n - at - 4);
    frame->n -= 4;
    for (size_t i = at; i < frame->n; i++)
        p[i] ^= mask[(i - at) % 4];
    p[1] &= 0x7f;
}

static void test_sizes(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 125, 126, 127, 65535, 65536, 70000};
    for (size_t i = 0; i < CH_LEN(sizes); i++) {
        CH_AUTOFREE char *payload = ch_alloc(sizes[i] + 1);
        CH_BUF_AUTO frame = {0}, want = {0};
        struct outcome o = {0};
        memset(payload, 'x', sizes[i]);
        ch_ws_add_frame(&frame, CH_WS_BINARY, ch_sv(payload, sizes[i]),
                        (const unsigned char *)"\x37\xfa\x21\x3d");
        unmask(&frame);
        read_all(&o, ch_buf_sv(&frame), 3, 1000);
        if (sizes[i] > 40)
            ch_buf_addf(&want, "2:%zu bytes;", sizes[i]);
        else
            ch_buf_addf(&want, "2:%.*s;", (int)sizes[i], payload);
        assert_int_equal(o.rc, 0);
        assert_string_equal(ch_buf_str(&o.log), ch_buf_str(&want));
        ch_buf_release(&o.log);
    }
}

/* RFC 6455, section 5.7. */
static void test_masked(void **state) {
    (void)state;
    CH_BUF_AUTO frame = {0};
    ch_ws_add_frame(&frame, CH_WS_TEXT, CH_SV("Hello"), (const unsigned char *)"\x37\xfa\x21\x3d");
    assert_int_equal(frame.n, 11);
    assert_memory_equal(frame.p, "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", 11);
}

#define GOOD "Upgrade: websocket\r\nConnection: Upgrade\r\n" \
             "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"

static void test_answers(void **state) {
    (void)state;
    static const struct {
        const char *name, *head;
        int rc, status;
    } cases[] = {
        {"the standard's", "HTTP/1.1 101 Switching Protocols\r\n" GOOD, 0, 0},
        {"in other letters", "HTTP/1.1 101 X\r\nupgrade: WebSocket\r\nCONNECTION: keep-alive, "
                             "upgrade\r\nsec-websocket-accept:s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
         0, 0},
        {"a refusal", "HTTP/1.1 403 Forbidden\r\nHandshake-Msg: no\r\n\r\n", CHELA_EPROTO, 403},
        {"another protocol", "SSH-2.0-x\r\n\r\n", CHELA_EPROTO, 0},
        {"an older one", "HTTP/1.0 101 X\r\n" GOOD, CHELA_EPROTO, 0},
        {"another key", "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        "Sec-WebSocket-Accept: t3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
         CHELA_EPROTO, 0},
        {"no key", "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
         CHELA_EPROTO, 0},
        {"an extension", "HTTP/1.1 101 X\r\nSec-WebSocket-Extensions: permessage-deflate\r\n" GOOD,
         CHELA_EPROTO, 0},
        {"a protocol", "HTTP/1.1 101 X\r\nSec-WebSocket-Protocol: chat\r\n" GOOD, CHELA_EPROTO, 0},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct chela_error err = {0};
        struct ch_sv head = ch_sv_str(cases[i].head);
        assert_int_equal(ch_ws_head_size(head), head.n);
        assert_int_equal(ch_ws_head_size(ch_sv(head.p, head.n - 1)), 0);
        int rc = ch_ws_accepted(head, "dGhlIHNhbXBsZSBub25jZQ==", &err);
        if (rc != cases[i].rc || err.http_status != cases[i].status)
            fail_msg("%s: got %d, status %d", cases[i].name, rc, err.http_status);
    }
    assert_true(ch_sv_is(ch_ws_header(ch_sv_str(cases[2].head), "handshake-msg"), "no"));
}

static void test_request(void **state) {
    (void)state;
    struct ch_url url;
    char key[25];
    CH_BUF_AUTO out = {0};
    assert_int_equal(ch_url_parse(CH_SV("https://h.test:8443/ws/v2?a=1"), &url, NULL), 0);
    ch_ws_add_request(&out, &url, (const unsigned char *)"the sample nonce", "chela/1", key);
    assert_string_equal(key, "dGhlIHNhbXBsZSBub25jZQ==");
    assert_string_equal(ch_buf_str(&out),
                        "GET /ws/v2?a=1 HTTP/1.1\r\nHost: h.test:8443\r\nUser-Agent: chela/1\r\n"
                        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames),  cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_masked),  cmocka_unit_test(test_answers),
        cmocka_unit_test(test_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
