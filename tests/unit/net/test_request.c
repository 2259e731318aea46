/* test_request.c -- a remembered head is used only for a request that would get the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "net/request.h"

struct sample {
    const char *method, *url;
    struct ch_header headers[3];
    size_t nheaders;
    struct ch_sv body;
    bool proxied;
};

static const struct sample samples[] = {
    {"POST",
     "http://a/x",
     {{CH_SV("k"), CH_SV("one")}, {CH_SV("l"), CH_SV("two")}},
     2,
     CH_SV("b"),
     0},
    {"POST",
     "http://a/x",
     {{CH_SV("k"), CH_SV("one")}, {CH_SV("l"), CH_SV("two")}},
     2,
     CH_SV("b, longer"),
     0},
    {"POST",
     "http://a/x",
     {{CH_SV("k"), CH_SV("one")}, {CH_SV("l"), CH_SV("twi")}},
     2,
     CH_SV("b"),
     0},
    {"POST",
     "http://a/x",
     {{CH_SV("k"), CH_SV("one")}, {CH_SV("m"), CH_SV("two")}},
     2,
     CH_SV("b"),
     0},
    {"POST",
     "http://a/x",
     {{CH_SV("k"), CH_SV("one")}, {CH_SV("l"), CH_SV("two")}, {CH_SV("trace"), CH_SV("1")}},
     3,
     CH_SV("b"),
     0},
    {"POST",
     "http://a/x",
     {{CH_SV("k"), CH_SV("one")}, {CH_SV("l"), CH_SV("two")}, {CH_SV("trace"), CH_SV("2")}},
     3,
     CH_SV("b"),
     0},
    {"POST",
     "http://a/x",
     {{CH_SV("k"), CH_SV("one")}, {CH_SV("l"), CH_SV("two")}, {CH_SV("Host"), CH_SV("c")}},
     3,
     CH_SV("b"),
     0},
    {"POST", "http://a/x", {{CH_SV("k"), CH_SV("one")}}, 1, CH_SV("b"), 0},
    {"POST", "http://a/x", {{CH_SV("k"), CH_SV("")}}, 1, CH_SV("b"), 0},
    {"POST", "http://a/x", {{CH_SV("host"), CH_SV("c")}}, 1, CH_SV("b"), 0},
    {"POST", "http://a/x", {{CH_SV("user-agent"), CH_SV("c")}}, 1, CH_SV("b"), 0},
    {"POST", "http://a/x", {{{0}, {0}}}, 0, CH_SV("b"), 0},
    {"POST", "http://a/x", {{{0}, {0}}}, 0, CH_SV("b"), 1},
    {"POST", "http://a/x", {{{0}, {0}}}, 0, CH_SV(""), 1},
    {"POST", "http://a/y", {{{0}, {0}}}, 0, CH_SV("b"), 0},
    {"POST", "http://b/y", {{{0}, {0}}}, 0, CH_SV("b"), 0},
    {"POSTS", "http://b/y", {{{0}, {0}}}, 0, CH_SV("b"), 0},
    {"GET", "http://b/y", {{{0}, {0}}}, 0, CH_SV(""), 0},
    {"GET", "http://b/y", {{{0}, {0}}}, 0, CH_SV("b"), 0},
};

static struct ch_http_request request_of(const struct sample *s) {
    return (struct ch_http_request){.method = s->method,
                                    .url = s->url,
                                    .headers = s->headers,
                                    .nheaders = s->nheaders,
                                    .body = &s->body,
                                    .nbody = 1};
}

static void write_head(struct ch_request_memo *m, const struct sample *s, struct ch_buf *out) {
    static const struct ch_proxy proxy = {.auth = "Basic eA=="};
    struct ch_http_request req = request_of(s);
    struct ch_url url;
    assert_int_equal(ch_url_parse(ch_sv_str(s->url), &url, NULL), 0);
    ch_buf_clear(out);
    ch_request_head(m, out, &req, &url, s->proxied ? &proxy : NULL);
}

/* Whatever was sent before, a head is the one that a client without a memory writes. */
static void test_any_order(void **state) {
    CH_BUF_AUTO fresh = {0};
    CH_BUF_AUTO used = {0};
    struct ch_request_memo memo = {0};
    (void)state;
    const size_t n = CH_LEN(samples);
    for (size_t i = 0; i < n * n * n; i++) {
        struct ch_request_memo none = {0};
        const struct sample *s = &samples[i % n];
        write_head(&memo, &samples[i / n / n], &used);
        write_head(&memo, &samples[i / n % n], &used);
        write_head(&memo, s, &used);
        write_head(&none, s, &fresh);
        assert_string_equal(ch_buf_str(&used), ch_buf_str(&fresh));
        ch_request_forget(&none);
    }
    ch_request_forget(&memo);
}

static void test_known(void **state) {
    CH_BUF_AUTO out = {0};
    struct ch_request_memo memo = {0};
    struct ch_http_request first = request_of(&samples[0]), longer = request_of(&samples[1]);
    (void)state;
    assert_int_equal(ch_request_known(&memo, &first), 0);
    write_head(&memo, &samples[0], &out);
    assert_string_equal(ch_buf_str(&out), "POST /x HTTP/1.1\r\nHost: a\r\n"
                                          "User-Agent: " CH_USER_AGENT "\r\n"
                                          "k: one\r\nl: two\r\nContent-Length: 1\r\n\r\n");
    assert_int_equal(ch_request_known(&memo, &first), 2);
    assert_int_equal(ch_request_known(&memo, &longer), 2); /* the length is no part of it */
    for (size_t i = 2; i < CH_LEN(samples); i++) {
        struct ch_http_request other = request_of(&samples[i]);
        bool longer_by_one = other.nheaders == 3 && !ch_sv_is(other.headers[2].name, "Host");
        assert_int_equal(ch_request_known(&memo, &other), longer_by_one ? 2 : 0);
    }
    ch_request_forget(&memo);
}

/* A header that differs from every request to the next leaves the others known, and is checked. */
static void test_changing_header(void **state) {
    struct ch_header headers[] = {{CH_SV("k"), CH_SV("one")}, {CH_SV("trace"), CH_SV("1")}};
    struct ch_http_request req = {
        .method = "POST", .url = "http://a/x", .headers = headers, .nheaders = 2};
    struct ch_request_memo memo = {0};
    struct ch_url url;
    CH_BUF_AUTO out = {0};
    (void)state;
    assert_int_equal(ch_url_parse(ch_sv_str(req.url), &url, NULL), 0);
    for (unsigned i = 0; i < 3; i++) {
        static const size_t known[] = {0, 0, 1};
        assert_int_equal(ch_request_known(&memo, &req), known[i]);
        ch_request_head(&memo, &out, &req, &url, NULL);
        headers[1].value = i ? CH_SV("3") : CH_SV("2");
    }
    headers[1].value = CH_SV("a\nb");
    assert_int_equal(ch_request_check(&memo, &req, NULL), CHELA_EINVAL);
    ch_request_forget(&memo);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_changing_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
