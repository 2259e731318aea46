/* test_response.c -- reading a response. Reads split anywhere, so each case
 * runs whole, byte by byte and at every single cut, and must give the same
 * events and the same verdict. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "net/response.h"

struct log {
    struct ch_buf text;
    struct ch_buf body;
    bool stop_at_head, stop_at_data;
    unsigned calls; /* of on_data */
};

static bool on_head(const struct ch_http_head *head, void *user) {
    struct log *log = user;
    ch_buf_addf(&log->text, "%d", head->status);
    for (size_t i = 0; i < head->nheaders; i++)
        ch_buf_addf(&log->text, "|%.*s=%.*s", CH_SV_FMT(head->headers[i].name),
                    CH_SV_FMT(head->headers[i].value));
    return !log->stop_at_head;
}

static bool on_data(struct ch_sv data, void *user) {
    struct log *log = user;
    ch_buf_add_sv(&log->body, data);
    log->calls++;
    return !log->stop_at_data;
}

static const struct ch_response_events events = {on_head, on_data};

/* Feeds a copy, because the reader overwrites its input. */
static int feed(struct ch_response *r, struct ch_sv in, size_t *used, struct chela_error *err) {
    CH_AUTOFREE char *copy = ch_memdup(in.p, in.n);
    return ch_response_feed(r, copy, in.n, used, err);
}

/* Feed in pieces that end at cut and at the end (step 0), or of step bytes. */
static void replay(struct ch_buf *out, struct ch_sv in, bool head, size_t cut, size_t step) {
    struct log log = {0};
    struct ch_response r;
    struct chela_error err = {0};
    size_t at = 0, used = 0;
    int rc = CH_RESPONSE_MORE;

    ch_response_init(&r, "peer", &events, &log);
    r.skip_body = head;
    while (rc == CH_RESPONSE_MORE && at < in.n) {
        size_t n = step ? CH_MIN(step, in.n - at) : at < cut ? cut - at : in.n - at;
        rc = feed(&r, ch_sv(in.p + at, n), &used, &err);
        at += used;
    }
    const char *end = "";
    if (rc == CH_RESPONSE_MORE) {
        rc = ch_response_eof(&r, &err);
        end = " eof";
    }
    ch_buf_addf(out, "%s [%s]", ch_buf_str(&log.text), ch_buf_str(&log.body));
    if (rc == CH_RESPONSE_DONE)
        ch_buf_addf(out, " done%s%s", end, r.keep_alive ? " keep" : "");
    else
        ch_buf_addf(out, " %s%s %d", chela_error_name(rc), end, err.http_status);
    if (rc == CH_RESPONSE_DONE && at < in.n)
        ch_buf_addf(out, " left %zu", in.n - at);
    ch_response_release(&r);
    ch_buf_release(&log.text);
    ch_buf_release(&log.body);
}

#define OK "HTTP/1.1 200 OK\r\n"

static const struct {
    const char *name, *in, *want;
} cases[] = {
    {"counted", OK "Content-Length: 5\r\n\r\nhello", "200|content-length=5 [hello] done keep"},
    {"counted, empty", OK "Content-Length: 0\r\n\r\n", "200|content-length=0 [] done keep"},
    {"chunked", OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
     "200|transfer-encoding=chunked [hello world] done keep"},
    {"chunk extensions and hex",
     OK "Transfer-Encoding: chunked\r\n\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n",
     "200|transfer-encoding=chunked [0123456789] done keep"},
    {"trailers", OK "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-Sum: 1\r\nY: 2\r\n\r\n",
     "200|transfer-encoding=chunked [x] done keep"},
    {"close-delimited", OK "\r\nall of it", "200 [all of it] done eof"},
    {"1.0 close-delimited", "HTTP/1.0 200 OK\r\n\r\nx", "200 [x] done eof"},
    {"1.0 counted", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx",
     "200|content-length=1 [x] done"},
    {"connection: close", OK "Connection: close\r\nContent-Length: 1\r\n\r\nx",
     "200|connection=close|content-length=1 [x] done"},
    {"204", "HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n",
     "204|content-length=9 [] done keep"},
    {"304", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
     "304|content-length=9 [] done keep"},
    {"no reason phrase", "HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx",
     "200|content-length=1 [x] done keep"},
    {"error status with a body",
     "HTTP/1.1 429 Too Many\r\nRetry-After: 3\r\nContent-Length: 2\r\n\r\n{}",
     "429|retry-after=3|content-length=2 [{}] done keep"},
    {"100 first", "HTTP/1.1 100 Continue\r\nX: y\r\n\r\n" OK "Content-Length: 1\r\n\r\nx",
     "200|content-length=1 [x] done keep"},
    {"102, 103 first",
     "HTTP/1.1 102 P\r\n\r\nHTTP/1.1 103 E\r\nLink: a\r\n\r\n" OK "Content-Length: 1\r\n\r\nx",
     "200|content-length=1 [x] done keep"},
    {"101 is not asked for", "HTTP/1.1 101 Switch\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
     " [] EPROTO 101"},
    {"names in lower case, values trimmed",
     OK "X-ABC:   a b \t\r\nEmpty:\r\nContent-Length: 0\r\n\r\n",
     "200|x-abc=a b|empty=|content-length=0 [] done keep"},
    {"a header twice", OK "Set-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 0\r\n\r\n",
     "200|set-cookie=a|set-cookie=b|content-length=0 [] done keep"},
    {"both lengths",
     OK "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
     " [] EPROTO 200"},
    {"chunks twice", OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
     " [] EPROTO 200"},
    {"chunks of another coding", OK "Transfer-Encoding: gzip, chunked\r\n\r\n",
     " [] EPROTO 200"},
    {"a padded chunk size", OK "Transfer-Encoding: chunked\r\n\r\n1   \r\nx\r\n0  \r\n\r\n",
     "200|transfer-encoding=chunked [x] done keep"},
    {"a trailer that is none", OK "Transfer-Encoding: chunked\r\n\r\n0\r\nx\r\n\r\n",
     "200|transfer-encoding=chunked [] EPROTO 200"},
    {"a header in two lines", OK "A: b\r\n c\r\n\r\n", " [] EPROTO 200"},
    {"another version", "HTTP/2.0 200 OK\r\n\r\n", " [] EPROTO 0"},
    {"a later version", "HTTP/1.9 200 OK\r\n\r\n", " [] EPROTO 0"},
    {"a status of two digits", "HTTP/1.1 20 OK\r\n\r\n", " [] EPROTO 0"},
    {"a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n", " [] EPROTO 0"},
    {"a length with a sign", OK "Content-Length: +1\r\n\r\nx", " [] EPROTO 200"},
    {"a list of lengths", OK "Content-Length: 1, 1\r\n\r\nx", " [] EPROTO 200"},
    {"the same length twice", OK "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx",
     " [] EPROTO 200"},
    {"a space before the colon", OK "Content-Length : 1\r\n\r\nx", " [] EPROTO 200"},
    {"an LF after a chunk size", OK "Transfer-Encoding: chunked\r\n\r\n1\nx\r\n0\r\n\r\n",
     "200|transfer-encoding=chunked [] EPROTO 200"},
    {"a control character in a value", OK "A: \x01\r\n\r\n", " [] EPROTO 200"},
    {"kept by an old server",
     "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx",
     "200|connection=keep-alive|content-length=1 [x] done keep"},
    {"a second last chunk", OK "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n0\r\n\r\n",
     "200|transfer-encoding=chunked [x] done keep left 5"},
    {"a second response", OK "Content-Length: 1\r\n\r\nxHTTP/1.1 500 E\r\n\r\n",
     "200|content-length=1 [x] done keep left 18"},
    {"LF line ends", "HTTP/1.1 200 OK\nContent-Length: 1\n\nx", " [] EPROTO 0"},
    {"an LF after a header", OK "Content-Length: 1\n\r\nx", " [] EPROTO 200"},
    {"empty lines first", "\r\n\r\n" OK "Content-Length: 1\r\n\r\nx",
     "200|content-length=1 [x] done keep"},
    {"nothing", "", " [] ENET eof 0"},
    {"cut in the status line", "HTTP/1.1 20", " [] ENET eof 0"},
    {"cut in the head", OK "Content-Le", " [] ENET eof 0"},
    {"cut in a counted body", OK "Content-Length: 5\r\n\r\nhel",
     "200|content-length=5 [hel] ENET eof 200"},
    {"cut in a chunk", OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhel",
     "200|transfer-encoding=chunked [hel] ENET eof 200"},
    {"cut before the last chunk", OK "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n",
     "200|transfer-encoding=chunked [x] ENET eof 200"},
    {"cut after 100", "HTTP/1.1 100 Continue\r\n\r\n", " [] ENET eof 0"},
    {"SSH", "SSH-2.0-OpenSSH_9.2\r\n", " [] EPROTO 0"},
    {"a request", "GET / HTTP/1.1\r\n\r\n", " [] EPROTO 0"},
    {"a TLS alert", "\x15\x03\x01\x00\x02\x02\x46", " [] EPROTO 0"},
    {"bad chunk size", OK "Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
     "200|transfer-encoding=chunked [] EPROTO 200"},
    {"huge chunk size", OK "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
     "200|transfer-encoding=chunked [] EPROTO 200"},
    {"negative length", OK "Content-Length: -1\r\n\r\n", " [] EPROTO 200"},
    {"two lengths", OK "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", " [] EPROTO 200"},
    {"a space in a header name", OK "Bad Name: x\r\n\r\n", " [] EPROTO 200"},
    {"a bare CR in a value", OK "A: b\rc\r\n\r\n", " [] EPROTO 200"},
};

static void check_case(size_t i, const char *how, size_t cut, size_t step) {
    CH_BUF_AUTO got = {0};
    replay(&got, ch_sv_str(cases[i].in), false, cut, step);
    if (strcmp(ch_buf_str(&got), cases[i].want) != 0)
        fail_msg("%s, %s %zu:\n got  %s\n want %s", cases[i].name, how, cut + step,
                 ch_buf_str(&got), cases[i].want);
}

/* Bytes after the end are unused only if they came with it: not when cut. */
static void test_every_split(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        size_t n = strlen(cases[i].in);
        check_case(i, "whole", n, 0);
        if (strstr(cases[i].want, "left"))
            continue;
        for (size_t at = 1; at < n; at++)
            check_case(i, "cut at", at, 0);
        check_case(i, "steps of", 0, 1);
    }
}

static void test_head_request(void **state) {
    CH_BUF_AUTO got = {0};
    (void)state;
    replay(&got, CH_SV(OK "Content-Length: 500\r\n\r\n"), true, 0, 1);
    assert_string_equal(ch_buf_str(&got), "200|content-length=500 [] done keep");
    ch_buf_clear(&got);
    replay(&got, CH_SV(OK "Transfer-Encoding: chunked\r\n\r\n"), true, 0, 1);
    assert_string_equal(ch_buf_str(&got), "200|transfer-encoding=chunked [] done keep");
}

static void test_stop(void **state) {
    static const char in[] = OK "Content-Length: 2\r\n\r\nxy";
    struct log log = {.stop_at_head = true};
    struct ch_response r;
    size_t used;
    (void)state;

    ch_response_init(&r, "peer", &events, &log);
    assert_int_equal(feed(&r, ch_sv_str(in), &used, NULL), CH_RESPONSE_STOPPED);
    assert_int_equal(log.body.n, 0);
    ch_response_release(&r);

    log.stop_at_head = false;
    log.stop_at_data = true;
    ch_response_init(&r, "peer", &events, &log);
    assert_int_equal(feed(&r, ch_sv(in, sizeof(in) - 2), &used, NULL),
                     CH_RESPONSE_STOPPED);
    assert_string_equal(ch_buf_str(&log.body), "x");
    ch_response_release(&r);
    ch_buf_release(&log.text);
    ch_buf_release(&log.body);
}

/* Feed text over and over until the reader has had enough. */
static int feed_until_refused(const char *start, const char *again, uint64_t max_body, size_t most,
                              struct chela_error *err) {
    struct log log = {0};
    struct ch_response r;
    size_t used, fed = 0;

    ch_response_init(&r, "peer", &events, &log);
    r.max_body = max_body;
    int rc = feed(&r, ch_sv_str(start), &used, err);
    for (; rc == CH_RESPONSE_MORE && fed < most; fed += strlen(again))
        rc = feed(&r, ch_sv_str(again), &used, err);
    assert_true(log.body.n <= max_body);
    ch_response_release(&r);
    ch_buf_release(&log.text);
    ch_buf_release(&log.body);
    return rc;
}

static void test_limits(void **state) {
    static const struct {
        const char *name, *start, *again;
        uint64_t max_body;
        size_t most;
        int want;
    } table[] = {
        {"endless header value", OK "A: ", "xxxxxxxxxxxxxxxx", 100, 70000, CHELA_ELIMIT},
        {"endless header name", OK, "xxxxxxxxxxxxxxxx", 100, 70000, CHELA_ELIMIT},
        {"endless header lines", OK, "a: b\r\n", 100, 70000, CHELA_ELIMIT},
        {"endless reason", "HTTP/1.1 200 ", "xxxxxxxxxxxxxxxx", 100, 90000, CHELA_ELIMIT},
        {"endless empty lines", "", "\r\n\r\n\r\n\r\n", 100, 90000, CHELA_EPROTO},
        {"endless 1xx", "", "HTTP/1.1 100 C\r\n\r\n", 100, 70000, CHELA_EPROTO},
        {"endless trailers", OK "Transfer-Encoding: chunked\r\n\r\n0\r\n", "a: b\r\n", 100, 90000,
         CHELA_ELIMIT},
        {"endless chunk extension", OK "Transfer-Encoding: chunked\r\n\r\n5;", "xxxxxxxxxxxxxxxx",
         100, 90000, CHELA_ELIMIT},
        {"endless close-delimited body", OK "\r\n", "xxxxxxxxxxxxxxxx", 100, 200, CHELA_ELIMIT},
        {"endless chunks", OK "Transfer-Encoding: chunked\r\n\r\n", "5\r\nhello\r\n", 100, 600,
         CHELA_ELIMIT},
        {"announced length", OK "Content-Length: 101\r\n\r\n", "x", 100, 0, CHELA_ELIMIT},
        {"just the length", OK "Content-Length: 100\r\n\r\n", "xxxxxxxxxx", 100, 100,
         CH_RESPONSE_DONE},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(table); i++) {
        struct chela_error err = {0};
        int rc = feed_until_refused(table[i].start, table[i].again, table[i].max_body,
                                    table[i].most, &err);
        if (rc != table[i].want)
            fail_msg("%s: %d %s", table[i].name, rc, err.message);
        if (rc < 0 && !strstr(err.message, "peer"))
            fail_msg("%s: no peer in \"%s\"", table[i].name, err.message);
    }
}

/* The chunks of one read come as one piece, and those before a fault or a bound are delivered. */
static void test_chunks_of_a_read(void **state) {
    static const struct {
        const char *chunks, *want;
        int rc;
    } reads[] = {
        {"2\r\nab\r\n3\r\ncde\r\n1\r\nf\r\n0\r\n\r\n", "abcdef", CH_RESPONSE_DONE},
        {"2\r\nab\r\n3;x\r\ncde\r\n1\r\nf\r\n5\r\ngh", "abcdefgh", CH_RESPONSE_MORE},
        {"2\r\nab\r\n3\r\ncde\r\nx", "abcde", CHELA_EPROTO},
        {"2\r\nab\r\n3\r\ncdeX\r\n", "abcde", CHELA_EPROTO},
        {"8\r\nabcdefgh\r\n1\r\ni\r\n2\r\njk\r\n", "abcdefghi", CHELA_ELIMIT},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(reads); i++) {
        struct log log = {0};
        struct ch_response r;
        struct ch_buf in = {0};
        size_t used;
        ch_response_init(&r, "peer", &events, &log);
        r.max_body = 10;
        ch_buf_addf(&in, OK "Transfer-Encoding: chunked\r\n\r\n%s", reads[i].chunks);
        assert_int_equal(feed(&r, ch_buf_sv(&in), &used, NULL), reads[i].rc);
        assert_string_equal(ch_buf_str(&log.body), reads[i].want);
        assert_int_equal(log.calls, 1);
        ch_response_release(&r);
        ch_buf_release(&in);
        ch_buf_release(&log.text);
        ch_buf_release(&log.body);
    }
}

/* A control character is found at every place, a tab is allowed. */
static void test_header_value(void **state) {
    (void)state;
    for (size_t n = 0; n < 20; n++) {
        char text[20];
        memset(text, 'a', sizeof(text));
        assert_true(ch_http1_is_value(ch_sv(text, n)));
        for (size_t at = 0; at < n; at++) {
            for (int c = 0; c < 256; c++) {
                bool control = (c < 32 && c != '\t') || c == 127;
                text[at] = (char)c;
                assert_int_equal(ch_http1_is_value(ch_sv(text, n)), !control);
            }
            text[at] = '\t'; /* the bytes behind a tab are checked, too */
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_split),
        cmocka_unit_test(test_head_request),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_chunks_of_a_read),
        cmocka_unit_test(test_header_value),
    };
    return cmocka_run_group_tests_name("response", tests, NULL, NULL);
}
