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
#define CASE(name, in, want) {name, in, sizeof(in) - 1, want}

static const struct {
    const char *name, *in;
    size_t n;
    const char *want;
} cases[] = {
    CASE("no body", "GET /x HTTP/1.1\r\n" HOST "\r\n", "GET /x|;"),
    CASE("a body", "POST /x HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc", "POST /x|abc;"),
    CASE("chunks",
     "POST /x HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"
     "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
     "POST /x|abc;"),
    CASE("two, sent at once", "GET /1 HTTP/1.1\r\n" HOST "\r\nGET /2?q HTTP/1.1\r\n" HOST "\r\n",
     "GET /1|;GET /2?q|;"),
    CASE("a body, then another request",
     "POST /1 HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\nzGET /2 HTTP/1.1\r\n" HOST "\r\n",
     "POST /1|z;GET /2|;"),
    CASE("cut off", "POST /x HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nab", ""),
    CASE("a length twice",
     "POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc", "400"),
    CASE("a host twice", "GET / HTTP/1.1\r\n" HOST HOST "\r\n", "400"),
    CASE("length and chunks",
     "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
     "400"),
    CASE("chunks and length",
     "POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
     "400"),
    CASE("another coding", "POST / HTTP/1.1\r\nTransfer-Encoding: identity\r\n\r\n", "501"),
    CASE("a coding in disguise", "POST / HTTP/1.1\r\nTransfer-Encoding : chunked\r\n\r\n", "400"),
    CASE("a length that is none", "POST / HTTP/1.1\r\nContent-Length: 3x\r\n\r\nabc", "400"),
    CASE("a negative length", "POST / HTTP/1.1\r\nContent-Length: -3\r\n\r\nabc", "400"),
    CASE("a large length", "POST / HTTP/1.1\r\nContent-Length: 33554433\r\n\r\n", "413"),
    CASE("a length past all numbers",
         "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
     "400"),
    CASE("a control character", "GET / HTTP/1.1\r\nA: b\x01" "c\r\n\r\n", "400"),
    CASE("no protocol", "hello\r\n\r\n", "400"),
    CASE("a response", "HTTP/1.1 200 OK\r\n\r\n", "400"),
    CASE("chunks twice",
     "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"
     "0\r\n\r\n",
     "400"),
    CASE("chunks of chunks",
     "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", "501"),
    CASE("a coding before chunks",
     "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: x, chunked\r\n\r\n0\r\n\r\n", "501"),
    CASE("a coding that looks like it",
     "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "501"),
    CASE("a length with a sign", "POST / HTTP/1.1\r\n" HOST "Content-Length: +3\r\n\r\nabc", "400"),
    CASE("a list of lengths", "POST / HTTP/1.1\r\n" HOST "Content-Length: 3, 3\r\n\r\nabc", "400"),
    CASE("a length in another base", "POST / HTTP/1.1\r\n" HOST "Content-Length: 0x3\r\n\r\nabc",
     "400"),
    CASE("a chunk of no size",
     "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\nzz\r\n", "400"),
    CASE("a chunk of too large a size",
     "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", "400"),
    CASE("a chunk that goes on past its size",
     "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n", "400"),
    CASE("a trailer",
     "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\nHost: b\r\n\r\n", "400"),
    CASE("a header in two lines", "GET / HTTP/1.1\r\n" HOST "A: b\r\n c\r\n\r\n", "400"),
    CASE("a header before all others", "GET / HTTP/1.1\r\n A: b\r\n" HOST "\r\n", "400"),
    CASE("a carriage return alone", "GET / HTTP/1.1\r\n" HOST "A: b\rC: d\r\n\r\n", "400"),
    CASE("a carriage return and a byte instead of the empty line",
     "GET / HTTP/1.1\r\n" HOST "\rX: y\r\n\r\n", "400"),
    CASE("a head that ends there, of another time", "GET / HTTP/2.0\r\n\rX\r\n a\r\n\r\n", "505"),
    CASE("a first line with a carriage return alone", "GET / HTTP/1.1\rX\n" HOST "\r\n", "400"),
    CASE("another time, then a header in two lines", "GET / HTTP/2.0\r\n\r\n a", "505"),
    CASE("another coding, then a request that is none",
     "POST / HTTP/1.1\r\nTransfer-Encoding: x\r\n\r\nGET / HTTP/1.1\r\n a", "501"),
    CASE("a header without a name", "GET / HTTP/1.1\r\n" HOST ": b\r\n\r\n", "400"),
    CASE("a header in two lines, with a tab", "GET / HTTP/1.1\r\n" HOST "A: b\n\tc\r\n\r\n", "400"),
    CASE("a body that looks like it", "POST /x HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\na\n b",
     "POST /x|a\n b;"),
    CASE("a request of another age", "GET /\r\n\r\n", "505"),
    CASE("a request of another time", "GET / HTTP/2.0\r\n" HOST "\r\n", "505"),
    CASE("a protocol of another kind", "GET / ICE/1.1\r\n\r\n", "400"),
    CASE("a version that is none", "GET / HTTP/1.11\r\n" HOST "\r\n", "400"),
    CASE("HTTP/2 without asking", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505"),
    CASE("a later version", "GET / HTTP/1.9\r\n" HOST "\r\n", "505"),
    CASE("a version in small letters", "GET / http/1.1\r\n" HOST "\r\n", "400"),
    CASE("a version without a point", "GET / HTTP/11\r\n" HOST "\r\n", "400"),
    CASE("a version with a sign", "GET / HTTP/+1.1\r\n" HOST "\r\n", "400"),
    CASE("a version and a space", "GET / HTTP/1.1 \r\n" HOST "\r\n", "400"),
    CASE("two spaces", "GET  / HTTP/1.1\r\n" HOST "\r\n", "400"),
    CASE("a tab instead of a space", "GET\t/ HTTP/1.1\r\n" HOST "\r\n", "400"),
    CASE("a tab in the target", "GET /\tx HTTP/1.1\r\n" HOST "\r\n", "400"),
    CASE("a space first", " GET / HTTP/1.1\r\n" HOST "\r\n", "400"),
    CASE("no target", "GET HTTP/1.1\r\n" HOST "\r\n", "505"),
    CASE("a space in the target", "GET /a b HTTP/1.1\r\n" HOST "\r\n", "400"),
    CASE("a method that nobody knows", "BREW / HTTP/1.1\r\n" HOST "\r\n", "501"),
    CASE("a method in small letters", "get / HTTP/1.1\r\n" HOST "\r\n", "501"),
    CASE("a method with a NUL", "G\0T / HTTP/1.1\r\n" HOST "\r\n", "400"),
    CASE("a full URL", "GET http://b/ HTTP/1.1\r\n" HOST "\r\n", "400"),
    CASE("a full URL of the same host", "GET http://a/ HTTP/1.1\r\n" HOST "\r\n", "400"),
    CASE("an authority", "GET a:1 HTTP/1.1\r\n" HOST "\r\n", "400"),
    CASE("all servers", "OPTIONS * HTTP/1.1\r\n" HOST "\r\n", "OPTIONS *|;"),
    CASE("bytes beyond ASCII in the target", "GET /\xe5\x90\x8d HTTP/1.1\r\n" HOST "\r\n",
     "GET /\xe5\x90\x8d|;"),
    CASE("LF line ends", "GET / HTTP/1.1\n" HOST "\n", "400"),
    CASE("an LF in the first line", "GET / HTTP/1.1\n" HOST "\r\n", "400"),
    CASE("an LF after a header", "GET / HTTP/1.1\r\nHost: a\n\r\n", "400"),
    CASE("an LF as the empty line", "GET / HTTP/1.1\r\n" HOST "\n", "400"),
    CASE("an LF and a request in a value",
         "GET / HTTP/1.1\r\n" HOST "A: b\nGET /2 HTTP/1.1\r\n\r\n",
     "400"),
    CASE("CR CR LF", "GET / HTTP/1.1\r\r\n" HOST "\r\n", "400"),
    CASE("CR CR LF as the empty line", "GET / HTTP/1.1\r\n" HOST "\r\r\n", "400"),
    CASE("an empty line first", "\r\nGET / HTTP/1.1\r\n" HOST "\r\n", "GET /|;"),
    CASE("many empty lines first", "\r\n\r\n\r\nGET / HTTP/1.1\r\n" HOST "\r\n", "400"),
    CASE("an LF first", "\nGET / HTTP/1.1\r\n" HOST "\r\n", "400"),
    CASE("a NUL in a value", "GET / HTTP/1.1\r\n" HOST "A: b\0c\r\n\r\n", "400"),
    CASE("a NUL in a name", "GET / HTTP/1.1\r\n" HOST "A\0: b\r\n\r\n", "400"),
    CASE("DEL in a value", "GET / HTTP/1.1\r\n" HOST "A: b\x7f\r\n\r\n", "400"),
    CASE("a vertical tab before the colon", "GET / HTTP/1.1\r\n" HOST "A\v: b\r\n\r\n", "400"),
    CASE("a tab before the colon", "GET / HTTP/1.1\r\n" HOST "A\t: b\r\n\r\n", "400"),
    CASE("a name beyond ASCII", "GET / HTTP/1.1\r\n" HOST "\xc3\xa4: b\r\n\r\n", "400"),
    CASE("a name with a slash", "GET / HTTP/1.1\r\n" HOST "a/b: c\r\n\r\n", "400"),
    CASE("a header without a colon", "GET / HTTP/1.1\r\n" HOST "A\r\n\r\n", "400"),
    CASE("no space after the colon", "POST /x HTTP/1.1\r\n" HOST "Content-Length:1\r\n\r\nz",
     "POST /x|z;"),
    CASE("a tab in a value", "GET /x HTTP/1.1\r\n" HOST "A: b\tc\r\n\r\n", "GET /x|;"),
    CASE("two lengths that differ",
     "POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", "400"),
    CASE("an empty length", "POST / HTTP/1.1\r\n" HOST "Content-Length:\r\n\r\n", "400"),
    CASE("a space in a length", "POST / HTTP/1.1\r\n" HOST "Content-Length: 1 2\r\n\r\n", "400"),
    CASE("a length with zeros", "POST /x HTTP/1.1\r\n" HOST "Content-Length: 0003\r\n\r\nabc",
     "POST /x|abc;"),
    CASE("a length with a comma",
         "POST / HTTP/1.1\r\n" HOST "Content-Length: 3,\r\n\r\nabc", "400"),
    CASE("chunks in HTTP/1.0",
     "POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"),
    CASE("chunks and a comma",
     "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked,\r\n\r\n0\r\n\r\n", "501"),
    CASE("chunks in quotes",
     "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n", "501"),
    CASE("no coding", "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding:\r\n\r\n", "501"),
    CASE("chunks in capitals",
     "POST /x HTTP/1.1\r\n" HOST "Transfer-Encoding: CHUNKED\r\n\r\n1\r\nz\r\n0\r\n\r\n",
     "POST /x|z;"),
#define CHUNKED "POST /x HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"
    CASE("a chunk size with zeros", CHUNKED "0001\r\nz\r\n0\r\n\r\n", "POST /x|z;"),
    CASE("a chunk size with many zeros", CHUNKED "0000000000000001\r\nz\r\n0\r\n\r\n", "400"),
    CASE("a chunk size with 0x", CHUNKED "0x1\r\nz\r\n0\r\n\r\n", "400"),
    CASE("a chunk size with a sign", CHUNKED "+1\r\nz\r\n0\r\n\r\n", "400"),
    CASE("a space before a chunk size", CHUNKED " 1\r\nz\r\n0\r\n\r\n", "400"),
    CASE("a space after a chunk size", CHUNKED "1 \r\nz\r\n0\r\n\r\n", "400"),
    CASE("a tab after a chunk size", CHUNKED "1\t\r\nz\r\n0\r\n\r\n", "400"),
    CASE("no chunk size", CHUNKED "\r\nz\r\n0\r\n\r\n", "400"),
    CASE("only an extension", CHUNKED ";a\r\nz\r\n0\r\n\r\n", "400"),
    CASE("an extension", CHUNKED "1;a=\"b\"\r\nz\r\n0;c\r\n\r\n", "POST /x|z;"),
    CASE("an LF in an extension", CHUNKED "1;a\nz\r\n0\r\n\r\n", "400"),
    CASE("a CR in an extension", CHUNKED "1;a\rb\r\nz\r\n0\r\n\r\n", "400"),
    CASE("a NUL in an extension", CHUNKED "1;a\0b\r\nz\r\n0\r\n\r\n", "400"),
    CASE("an LF after a chunk size", CHUNKED "1\nz\r\n0\r\n\r\n", "400"),
    CASE("an LF after a chunk", CHUNKED "1\r\nz\n0\r\n\r\n", "400"),
    CASE("CR and a byte after a chunk", CHUNKED "1\r\nz\rX0\r\n\r\n", "400"),
    CASE("an LF as the end of chunks", CHUNKED "0\r\n\n", "400"),
    CASE("chunks, then another request",
         CHUNKED "1\r\nz\r\n0\r\n\r\nGET /2 HTTP/1.1\r\n" HOST "\r\n",
     "POST /x|z;GET /2|;"),
    CASE("a trailer that is none", CHUNKED "0\r\nx\r\n\r\n", "400"),
    CASE("a folded trailer", CHUNKED "0\r\n x\r\n\r\n", "400"),
    CASE("a tunnel", "CONNECT a:1 HTTP/1.1\r\n" HOST "\r\n", "501"),
    CASE("another protocol, please",
     "GET /x HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n", "GET /x|;"),
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
        size_t n = cases[i].n;
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
        {"GET / HTTP/1.1\r\nA:", " ", "\r\n\r\n", "431", CH_LIMIT_INBOUND_HEADERS},
        {CHUNKED "1;", "x", "\r\nz\r\n0\r\n\r\n", "431", CH_LIMIT_CHUNK_EXTRA + 1},
        {CHUNKED, "1;xxxxxxxx\r\nz\r\n", "0\r\n\r\n", "431", CH_LIMIT_CHUNK_EXTRA / 8 + 1},
    };
    for (size_t i = 0; i < CH_LEN(bounds); i++) {
        CH_BUF_AUTO in = {0}, got = {0};
        ch_buf_add_str(&in, bounds[i].before);
        for (size_t k = 0; k < bounds[i].times; k++)
            ch_buf_add_str(&in, bounds[i].repeated);
        ch_buf_add_str(&in, bounds[i].after);
        for (size_t chunk = 1; chunk <= in.n; chunk = 7 * chunk + 1) {
            ch_buf_clear(&got);
            play(in.p, in.n, chunk, &got);
            assert_string_equal(ch_buf_str(&got), bounds[i].want);
        }
    }
}

/* Whether a connection goes on after the request. */
static void test_keeps_alive(void **state) {
    (void)state;
    static const struct {
        const char *in;
        bool keeps;
    } table[] = {
        {"GET / HTTP/1.1\r\n" HOST "\r\n", true},
        {"GET / HTTP/1.0\r\n" HOST "\r\n", false},
        {"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", false},
        {"GET / HTTP/1.1\r\nConnection: x, Close\r\n\r\n", false},
        {"GET / HTTP/1.1\r\nConnection: x\r\nConnection: close\r\n\r\n", false},
        {"GET / HTTP/1.1\r\nConnection: closed\r\n\r\n", true},
        {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true},
        {"GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", false},
    };
    for (size_t i = 0; i < CH_LEN(table); i++) {
        struct ch_inbound r;
        size_t taken;
        ch_inbound_init(&r);
        assert_int_equal(ch_inbound_feed(&r, ch_sv_str(table[i].in), &taken), CH_INBOUND_HEAD);
        assert_int_equal(ch_inbound_keeps_alive(&r), table[i].keeps);
        ch_inbound_release(&r);
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
        cmocka_unit_test(test_keeps_alive),
        cmocka_unit_test(test_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
