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
    unsigned verdict;
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
static void read_all(struct outcome *o, struct ch_sv bytes, size_t first, size_t piece,
                     bool of_client) {
    struct chela_error err = {0};
    struct ch_ws_reader r;
    ch_ws_reader_init(&r, record, o);
    r.of_client = of_client;
    for (size_t at = 0, n = first; at < bytes.n && o->rc == 0; at += n, n = piece) {
        n = CH_MIN(n, bytes.n - at);
        char *copy = ch_memdup(bytes.p + at, n);
        o->rc = ch_ws_feed(&r, ch_sv(copy, n), &err);
        ch_free(copy);
    }
    assert_int_equal(o->rc, err.code);
    o->verdict = r.verdict;
    ch_ws_reader_release(&r);
}

static void check(const char *name, struct ch_sv bytes, const char *want, int rc, bool of_client,
                  unsigned verdict) {
    for (size_t split = 0; split <= bytes.n; split++) {
        struct outcome o = {0};
        read_all(&o, bytes, split ? split : 1, split ? CH_MAX(bytes.n, 1) : 1, of_client);
        if (strcmp(ch_buf_str(&o.log), want) != 0 || o.rc != rc || o.verdict != verdict)
            fail_msg("%s, split at %zu: got %d %u %s", name, split, o.rc, o.verdict,
                     ch_buf_str(&o.log));
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
        {"a reason that is never said", BYTES("\x88\x02\x03\xed"), "", CHELA_EPROTO},
        {"one without a meaning", BYTES("\x88\x02\x13\x88"), "", CHELA_EPROTO},
        {"one of an application", BYTES("\x88\x02\x0f\xa0"), "8:\x0f\xa0;", 0},
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
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        unsigned verdict = cases[i].rc == CHELA_ELIMIT                    ? CH_WS_TOO_BIG
                           : strcmp(cases[i].name, "not UTF-8") == 0 ? CH_WS_NO_TEXT
                           : cases[i].rc < 0                              ? CH_WS_BROKEN
                                                                          : 0;
        check(cases[i].name, cases[i].bytes, cases[i].want, cases[i].rc, false, verdict);
    }
}

/* What a client sends; a mask of zeros changes nothing. */
#define PLAIN "\0\0\0\0"

static void test_of_client(void **state) {
    (void)state;
    static const struct {
        const char *name;
        struct ch_sv bytes;
        const char *want;
        int rc;
        unsigned verdict;
    } cases[] = {
        {"the standard's", BYTES("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"), "1:Hello;", 0, 0},
        {"an empty one", BYTES("\x81\x80" "abcd"), "1:;", 0, 0},
        {"in fragments, each with a mask",
         BYTES("\x01\x81" "aaaa" "\x29" "\x80\x81" "bbbb" "\x0b"), "1:Hi;", 0, 0},
        {"a ping between them", BYTES("\x01\x81" PLAIN "a\x89\x82" PLAIN "hi\x80\x81" PLAIN "b"),
         "9:hi;1:ab;", 0, 0},
        {"no mask", BYTES("\x81\x01" "a"), "", CHELA_EPROTO, CH_WS_BROKEN},
        {"no mask on a ping", BYTES("\x89\x00"), "", CHELA_EPROTO, CH_WS_BROKEN},
        {"an extension", BYTES("\xc1\x81" PLAIN "a"), "", CHELA_EPROTO, CH_WS_BROKEN},
        {"an unknown kind", BYTES("\x83\x81" PLAIN "a"), "", CHELA_EPROTO, CH_WS_BROKEN},
        {"a ping in parts", BYTES("\x09\x81" PLAIN "a"), "", CHELA_EPROTO, CH_WS_BROKEN},
        {"a long ping", BYTES("\x89\xfe\x00\x7e" PLAIN), "", CHELA_EPROTO, CH_WS_BROKEN},
        {"not UTF-8", BYTES("\x81\x81" PLAIN "\xff"), "", CHELA_EPROTO, CH_WS_NO_TEXT},
        {"a reason that is not", BYTES("\x88\x83" PLAIN "\x03\xe8\xff"), "", CHELA_EPROTO,
         CH_WS_NO_TEXT},
        {"too long", BYTES("\x82\xff\0\0\0\0\x7f\0\0\0" PLAIN), "", CHELA_ELIMIT, CH_WS_TOO_BIG},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++)
        check(cases[i].name, cases[i].bytes, cases[i].want, cases[i].rc, true, cases[i].verdict);
}

/* Fragments without a byte in them cost no room, but end all the same. */
static void test_fragments(void **state) {
    (void)state;
    for (int over = 0; over < 2; over++) {
        struct outcome o = {0};
        CH_BUF_AUTO bytes = {0};
        CH_BUF_LIT(&bytes, "\x01\x80" PLAIN);
        for (int i = 2 - over; i < CH_LIMIT_WS_FRAGMENTS; i++)
            CH_BUF_LIT(&bytes, "\x00\x80" PLAIN);
        CH_BUF_LIT(&bytes, "\x80\x80" PLAIN);
        read_all(&o, ch_buf_sv(&bytes), 1, 1000, true);
        assert_string_equal(ch_buf_str(&o.log), over ? "" : "1:;");
        assert_int_equal(o.verdict, over ? CH_WS_TOO_BIG : 0);
        ch_buf_release(&o.log);
    }
}

static void test_sizes(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 125, 126, 127, 65535, 65536, 70000};
    for (size_t k = 0; k < 2 * CH_LEN(sizes); k++) {
        size_t i = k / 2;
        bool of_client = k % 2;
        CH_AUTOFREE char *payload = ch_alloc(sizes[i] + 1);
        CH_BUF_AUTO frame = {0}, want = {0};
        struct outcome o = {0};
        memset(payload, 'x', sizes[i]);
        ch_ws_add_frame(&frame, CH_WS_BINARY, ch_sv(payload, sizes[i]),
                        of_client ? (const unsigned char *)"\x37\xfa\x21\x3d" : NULL);
        read_all(&o, ch_buf_sv(&frame), 3, 1000, of_client);
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
    ch_ws_add_request(&out, &url, (const unsigned char *)"the sample nonce", key);
    assert_string_equal(key, "dGhlIHNhbXBsZSBub25jZQ==");
    assert_string_equal(ch_buf_str(&out),
                        "GET /ws/v2?a=1 HTTP/1.1\r\nHost: h.test:8443\r\n"
                        "User-Agent: chela/" CHELA_VERSION "\r\n"
                        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames),    cmocka_unit_test(test_of_client),
        cmocka_unit_test(test_fragments), cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_masked),    cmocka_unit_test(test_answers),
        cmocka_unit_test(test_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
