/* test_inbound.c -- requests that reach us, as they come: split anywhere, sent
 * ahead, malformed. Each case runs once per chunk size and must end alike. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "net/inbound.h"

#define HOST "Host: a\r\n"

/* want: "METHOD target|body;" for each request, or the status it is refused
 * with. */
static const struct {
    const char *name, *in, *want;
} cases[] = {
    {"no body", "GET /x HTTP/1.1\r\n" HOST "\r\n", "GET /x|;"},
    {"a body", "POST /x HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc", "POST /x|abc;"},
    {"chunks",
     "POST /x HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"
     "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
     "POST /x|abc;"},
    {"two, sent at once", "GET /1 HTTP/1.1\r\n" HOST "\r\nGET /2?q HTTP/1.1\r\n" HOST "\r\n",
     "GET /1|;GET /2?q|;"},
    {"a body, then another request",
     "POST /1 HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\nzGET /2 HTTP/1.1\r\n" HOST "\r\n",
     "POST /1|z;GET /2|;"},
    {"cut off", "POST /x HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nab", ""},
    {"a length twice",
     "POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc", "400"},
    {"a host twice", "GET / HTTP/1.1\r\n" HOST HOST "\r\n", "400"},
    {"length and chunks",
     "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
     "400"},
    {"chunks and length",
     "POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
     "400"},
    {"another coding", "POST / HTTP/1.1\r\nTransfer-Encoding: identity\r\n\r\n", "501"},
    {"a coding in disguise", "POST / HTTP/1.1\r\nTransfer-Encoding : chunked\r\n\r\n", "400"},
    {"a length that is none", "POST / HTTP/1.1\r\nContent-Length: 3x\r\n\r\nabc", "400"},
    {"a negative length", "POST / HTTP/1.1\r\nContent-Length: -3\r\n\r\nabc", "400"},
    {"a large length", "POST / HTTP/1.1\r\nContent-Length: 33554433\r\n\r\n", "413"},
    {"a length past all numbers", "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
     "400"},
    {"a control character", "GET / HTTP/1.1\r\nA: b\x01" "c\r\n\r\n", "400"},
    {"no protocol", "hello\r\n\r\n", "400"},
    {"a response", "HTTP/1.1 200 OK\r\n\r\n", "400"},
    {"chunks twice",
     "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"
     "0\r\n\r\n",
     "400"},
    {"chunks of chunks",
     "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", "501"},
    {"a coding before chunks",
     "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: x, chunked\r\n\r\n0\r\n\r\n", "501"},
    {"a coding that looks like it",
     "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "501"},
    {"a length with a sign", "POST / HTTP/1.1\r\n" HOST "Content-Length: +3\r\n\r\nabc", "400"},
    {"a list of lengths", "POST / HTTP/1.1\r\n" HOST "Content-Length: 3, 3\r\n\r\nabc", "400"},
    {"a length in another base", "POST / HTTP/1.1\r\n" HOST "Content-Length: 0x3\r\n\r\nabc",
     "400"},
    {"a chunk of no size",
     "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\nzz\r\n", "400"},
    {"a chunk of too large a size",
     "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", "400"},
    {"a chunk that goes on past its size",
     "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n", "400"},
    {"a trailer",
     "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\nHost: b\r\n\r\n", "400"},
    {"a header in two lines", "GET / HTTP/1.1\r\n" HOST "A: b\r\n c\r\n\r\n", "400"},
    {"a header before all others", "GET / HTTP/1.1\r\n A: b\r\n" HOST "\r\n", "400"},
    {"a carriage return alone", "GET / HTTP/1.1\r\n" HOST "A: b\rC: d\r\n\r\n", "400"},
    {"a carriage return and a byte instead of the empty line",
     "GET / HTTP/1.1\r\n" HOST "\rX: y\r\n\r\n", "400"},
    {"a head that ends there, of another time", "GET / HTTP/2.0\r\n\rX\r\n a\r\n\r\n", "400"},
    {"a first line with a carriage return alone", "GET / HTTP/1.1\rX\n" HOST "\r\n", "400"},
    {"another time, then a header in two lines", "GET / HTTP/2.0\r\n\r\n a", "505"},
    {"another coding, then a request that is none",
     "POST / HTTP/1.1\r\nTransfer-Encoding: x\r\n\r\nGET / HTTP/1.1\r\n a", "501"},
    {"a header without a name", "GET / HTTP/1.1\r\n" HOST ": b\r\n\r\n", "400"},
    {"a header in two lines, with a tab", "GET / HTTP/1.1\r\n" HOST "A: b\n\tc\r\n\r\n", "400"},
    {"a body that looks like it", "POST /x HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\na\n b",
     "POST /x|a\n b;"},
    {"a request of another age", "GET /\r\n\r\n", "505"},
    {"a request of another time", "GET / HTTP/2.0\r\n" HOST "\r\n", "505"},
    {"a protocol of another kind", "GET / ICE/1.1\r\n\r\n", "400"},
    {"a version that is none", "GET / HTTP/1.11\r\n" HOST "\r\n", "400"},
    {"HTTP/2 without asking", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400"},
    {"a tunnel", "CONNECT a:1 HTTP/1.1\r\n" HOST "\r\n", "501"},
    {"another protocol, please",
     "GET /x HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n", "GET /x|;"},
};

static void play(const char *in, size_t n, size_t chunk, struct ch_buf *out) {
    struct ch_inbound request;
    enum ch_inbound_state state = CH_INBOUND_MORE;
    size_t taken;
    ch_inbound_init(&request);
    for (size_t at = 0; at < n && state != CH_INBOUND_REFUSED; at += taken) {
        state = ch_inbound_feed(&request, ch_sv(in + at, CH_MIN(chunk, n - at)), &taken);
        if (state == CH_INBOUND_REFUSED)
            ch_buf_addf(out, "%d", request.refused);
        if (state != CH_INBOUND_WHOLE)
            continue;
        ch_buf_addf(out, "%s %.*s|%s;", ch_inbound_method(&request),
                    CH_SV_FMT(ch_inbound_target(&request)), ch_buf_str(&request.body));
        ch_inbound_release(&request);
        ch_inbound_init(&request);
    }
    ch_inbound_release(&request);
}

static void test_every_split(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        size_t n = strlen(cases[i].in);
        for (size_t chunk = 1; chunk <= n; chunk++) {
            CH_BUF_AUTO got = {0};
            play(cases[i].in, n, chunk, &got);
            if (strcmp(ch_buf_str(&got), cases[i].want) != 0)
                fail_msg("%s, %zu at once: got '%s', want '%s'", cases[i].name, chunk,
                         ch_buf_str(&got), cases[i].want);
        }
    }
}

static void test_bounds(void **state) {
    (void)state;
    static const struct {
        const char *before, *repeated, *after, *want;
        size_t times;
    } bounds[] = {
        {"GET /", "x", " HTTP/1.1\r\n\r\n", "414", CH_LIMIT_URL},
        {"GET / HTTP/1.1\r\nA: ", "x", "\r\n\r\n", "431", CH_LIMIT_INBOUND_HEADERS},
        {"GET / HTTP/1.1\r\n", "A: b\r\n", "\r\n", "431", CH_LIMIT_INBOUND_HEADER_COUNT + 1},
    };
    for (size_t i = 0; i < CH_LEN(bounds); i++) {
        CH_BUF_AUTO in = {0}, got = {0};
        ch_buf_add_str(&in, bounds[i].before);
        for (size_t k = 0; k < bounds[i].times; k++)
            ch_buf_add_str(&in, bounds[i].repeated);
        ch_buf_add_str(&in, bounds[i].after);
        play(in.p, in.n, 4096, &got);
        assert_string_equal(ch_buf_str(&got), bounds[i].want);
    }
}

static void test_headers(void **state) {
    (void)state;
    const char *in = "GET / HTTP/1.0\r\nX-One:  a b \r\nx-two: \r\nX-ONE: c\r\n\r\n";
    struct ch_inbound r;
    size_t taken;
    ch_inbound_init(&r);
    assert_int_equal(ch_inbound_feed(&r, ch_sv_str(in), &taken), CH_INBOUND_HEAD);
    assert_true(ch_sv_is(ch_inbound_header(&r, "x-one"), "a b"));
    assert_int_equal(ch_inbound_count(&r, "x-one"), 2);
    assert_non_null(ch_inbound_header(&r, "x-two").p);
    assert_int_equal(ch_inbound_header(&r, "x-two").n, 0);
    assert_null(ch_inbound_header(&r, "x-three").p);
    assert_true(ch_inbound_is_old(&r));
    assert_false(ch_inbound_keeps_alive(&r));
    ch_inbound_release(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_split),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
