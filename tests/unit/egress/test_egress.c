/* test_egress.c -- which destination which pattern stands for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

#include "base/mem.h"
#include "egress/egress.h"

static void parse(const char *text, struct ch_url *out) {
    struct chela_error err;
    if (ch_url_parse(ch_sv_str(text), out, &err) < 0)
        fail_msg("%s: %s", text, err.message);
}

static struct ch_egress *lists(const char *allow, const char *deny, const char *ask) {
    struct ch_egress *e = NULL;
    struct chela_error err;
    if (ch_egress_new(&(struct ch_egress_lists){allow, deny, ask}, &e, &err) < 0)
        fail_msg("%s", err.message);
    return e;
}

static void test_one_pattern_stands_for_these_destinations(void **state) {
    static const struct {
        const char *pattern, *url;
        bool want;
    } rows[] = {
        {"example.com", "https://example.com/", true},
        {"example.com", "http://example.com/", true},
        {"EXAMPLE.com", "https://Example.COM/x", true},
        {"example.com.", "https://example.com/", true},
        {"example.com", "https://example.com./", true},
        {"example.com", "https://a.example.com/", false},
        {"example.com", "https://badexample.com/", false},
        {"example.com", "https://example.com.evil.net/", false},
        {"example.com", "https://example.com:8443/", false},
        {"example.com", "http://example.com:443/", false},
        {"example.com:8443", "https://example.com:8443/", true},
        {"example.com:8443", "https://example.com/", false},
        {"example.com:*", "https://example.com:1/", true},
        {"*.example.com", "https://a.example.com/", true},
        {"*.example.com", "https://a.b.example.com/", true},
        {"*.example.com", "https://example.com/", false},
        {"*.example.com", "https://badexample.com/", false},
        {"*.example.com:81", "http://a.example.com:81/", true},
        {"*", "https://example.com/", true},
        {"*", "https://example.com:81/", false},
        {"*:81", "https://example.com:81/", true},
        {"*", "https://93.184.216.34/", true},
        {"*", "https://127.0.0.1/", false},
        {"*", "https://localhost/", false},
        {"*", "https://a.localhost/", false},
        {"*", "https://10.0.0.1/", false},
        {"*", "https://169.254.169.254/", false},
        {"*", "https://[::1]/", false},
        {"*", "https://[::ffff:127.0.0.1]/", false},
        {"localhost", "https://localhost/", true},
        {"localhost", "https://127.0.0.1/", false},
        {"127.0.0.1", "https://127.0.0.1/", true},
        {"127.0.0.1", "https://[::ffff:127.0.0.1]/", true},
        {"127.0.0.1", "https://localhost/", false},
        {"127.0.0.0/8", "https://127.1.2.3/", true},
        {"127.0.0.0/8", "https://128.0.0.1/", false},
        {"10.0.0.0/9:81", "http://10.127.0.1:81/", true},
        {"10.0.0.0/9:81", "http://10.128.0.1:81/", false},
        {"::ffff:10.0.0.0/104", "https://10.9.9.9/", true},
        {"[2001:db8::1]", "https://[2001:DB8:0::1]/", true},
        {"2001:db8::1", "https://[2001:db8::1]/", true},
        {"[2001:db8::1]:81", "http://[2001:db8::1]:81/", true},
        {"[2001:db8::]/32", "https://[2001:db8:ffff::1]/", true},
        {"2001:db8::/32", "https://[2001:db9::1]/", false},
        {"0.0.0.0/0", "https://10.0.0.1/", true},
        {"xn--80ak6aa92e.com", "https://xn--80ak6aa92e.com/", true},
        {"apple.com", "https://xn--80ak6aa92e.com/", false},
        {"a.com, b.com", "https://b.com/", true},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        CH_AUTO(ch_egress) e = lists(rows[i].pattern, NULL, NULL);
        struct ch_url url;
        parse(rows[i].url, &url);
        bool got = ch_egress_judge(e, &url).verdict == CH_EGRESS_ALLOW;
        if (got != rows[i].want)
            fail_msg("%s %s: %d", rows[i].pattern, rows[i].url, got);
    }
}

static void test_deny_beats_allow_beats_ask(void **state) {
    static const struct {
        const char *allow, *deny, *ask, *url;
        enum ch_egress_verdict want;
        bool listed;
    } rows[] = {
        {"a.com", "a.com", "a.com", "https://a.com/", CH_EGRESS_DENY, true},
        {"a.com", NULL, "*", "https://a.com/", CH_EGRESS_ALLOW, true},
        {"*", "*.b.com", NULL, "https://x.b.com/", CH_EGRESS_DENY, true},
        {"*", "*.b.com", NULL, "https://b.com/", CH_EGRESS_ALLOW, true},
        {NULL, NULL, "*", "https://c.com/", CH_EGRESS_ASK, true},
        {NULL, NULL, NULL, "https://c.com/", CH_EGRESS_ASK, false},
        {"a.com:81", "a.com", NULL, "https://a.com:81/", CH_EGRESS_DENY, true},
        {"a.com:*", "a.com:22", NULL, "https://a.com:22/", CH_EGRESS_DENY, true},
        {"a.com:*", "a.com:22", NULL, "https://a.com:23/", CH_EGRESS_ALLOW, true},
        {NULL, "*", NULL, "https://127.0.0.1/", CH_EGRESS_DENY, true},
        {"127.0.0.1", "127.0.0.0/8", NULL, "https://[::ffff:127.0.0.1]/", CH_EGRESS_DENY, true},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        CH_AUTO(ch_egress) e = lists(rows[i].allow, rows[i].deny, rows[i].ask);
        struct ch_url url;
        parse(rows[i].url, &url);
        struct ch_egress_finding got = ch_egress_judge(e, &url);
        if (got.verdict != rows[i].want || got.listed != rows[i].listed)
            fail_msg("row %zu: %d %d", i, got.verdict, got.listed);
    }
    struct ch_url url;
    parse("https://a.com/", &url);
    assert_int_equal(ch_egress_judge(NULL, &url).verdict, CH_EGRESS_ASK);
}

/* What the name server said is judged, not the name: the second of two addresses, and the address
 * of a second answer, may be another one. */
static void test_an_address_inside_has_to_be_named(void **state) {
    static const struct {
        const char *allow, *deny, *url, *address, *refused; /* refused NULL: connected to */
    } rows[] = {
        {"*", NULL, "https://a.com/", "93.184.216.34", NULL},
        {"*", NULL, "https://a.com/", "127.0.0.1", "loopback"},
        {"*", NULL, "https://a.com/", "10.0.0.1", "private"},
        {"*", NULL, "https://a.com/", "::1", "loopback"},
        {"*.a.com", NULL, "https://b.a.com/", "10.0.0.1", "private"},
        {"a.com", NULL, "https://a.com/", "10.0.0.1", NULL},
        {"a.com", NULL, "https://a.com/", "169.254.169.254", "link-local"},
        {"a.com", NULL, "https://a.com/", "168.63.129.16", "cloud metadata"},
        {"169.254.169.254", NULL, "https://169.254.169.254/", "169.254.169.254", NULL},
        {"*, 10.0.0.0/8", NULL, "https://a.com/", "10.0.0.1", NULL},
        {"*, 10.0.0.0/8:81", NULL, "https://a.com/", "10.0.0.1", "private"},
        {"a.com", "93.184.0.0/16", "https://a.com/", "93.184.216.34", "denied"},
        {"a.com", "93.184.0.0/16", "https://a.com/", "93.185.216.34", NULL},
        {"a.com", "10.0.0.1", "https://a.com/", "::ffff:10.0.0.1", "denied"},
        {"localhost", NULL, "https://localhost/", "127.0.0.1", NULL},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        CH_AUTO(ch_egress) e = lists(rows[i].allow, rows[i].deny, NULL);
        union {
            struct sockaddr any;
            struct sockaddr_in v4;
            struct sockaddr_in6 v6;
        } at = {.any.sa_family = AF_INET};
        if (inet_pton(AF_INET, rows[i].address, &at.v4.sin_addr) != 1) {
            at.any.sa_family = AF_INET6;
            assert_int_equal(inet_pton(AF_INET6, rows[i].address, &at.v6.sin6_addr), 1);
        }
        struct ch_url url;
        parse(rows[i].url, &url);
        struct ch_egress_finding f = ch_egress_judge(e, &url);
        assert_int_equal(f.verdict, CH_EGRESS_ALLOW);
        const char *got = ch_egress_refuses(e, &url, &at.any, f.named);
        if ((got == NULL) != (rows[i].refused == NULL) ||
            (got && strcmp(got, rows[i].refused) != 0))
            fail_msg("row %zu: %s", i, got ? got : "connected to");
    }
}

static void test_a_pattern_that_is_no_host_is_refused_with_the_reason(void **state) {
    static const struct {
        const char *pattern, *why;
    } rows[] = {
        {"", "it is empty"},
        {"https://example.com", "without scheme and path"},
        {"example.com/path", "expected a name"},
        {".example.com", "*.NAME"},
        {"*example.com", "expected a name"},
        {"a.*.com", "expected a name"},
        {"*.", "expected a name"},
        {"*.*", "expected a name"},
        {"*.10.0.0.1", "expected a name"},
        {"a b", "expected a name"},
        {"a..b", "expected a name"},
        {"example.com..", "expected a name"},
        {".", "*.NAME"},
        {"user@example.com", "expected a name"},
        {"example.com:", "expected a name"},
        {"example.com:0", "expected a name"},
        {"example.com:65536", "expected a name"},
        {"example.com:80:80", "expected a name"},
        {"2130706433", "expected a name"},
        {"0177.0.0.1", "expected a name"},
        {"10.0.0.0/33", "expected a name"},
        {"10.0.0.0/", "expected a name"},
        {"::ffff:10.0.0.0/64", "expected a name"},
        {"[::1", "expected a name"},
        {"\xd0\xb0pple.com", "Punycode"},
    };
    struct chela_error err;
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        if (ch_egress_check(ch_sv_str(rows[i].pattern), &err) != CHELA_EINVAL)
            fail_msg("'%s' is taken", rows[i].pattern);
        if (!strstr(err.message, rows[i].why))
            fail_msg("'%s': %s", rows[i].pattern, err.message);
    }
    struct ch_egress *e = NULL;
    assert_int_equal(ch_egress_new(&(struct ch_egress_lists){.deny = "a.com,"}, &e, &err),
                     CHELA_EINVAL);
    assert_non_null(strstr(err.message, "egress.deny"));
    assert_int_equal(ch_egress_check(ch_sv("a.com\0.evil", 11), &err), CHELA_EINVAL);
}

static void test_the_remedy_is_a_pattern_that_allows_the_destination(void **state) {
    static const char *const urls[] = {"https://a.com/x", "http://a.com/", "http://a.com:81/",
                                       "http://[::1]:8080/", "https://127.0.0.1/"};
    (void)state;
    for (size_t i = 0; i < CH_LEN(urls); i++) {
        CH_BUF_AUTO text = {0};
        struct ch_url url;
        parse(urls[i], &url);
        ch_egress_add_remedy(&text, &url);
        const char *from = strchr(ch_buf_str(&text), '"') + 1;
        CH_AUTOFREE char *pattern = ch_strndup(from, strcspn(from, "\""));
        CH_AUTO(ch_egress) e = lists(pattern, NULL, NULL);
        assert_int_equal(ch_egress_judge(e, &url).verdict, CH_EGRESS_ALLOW);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_pattern_stands_for_these_destinations),
        cmocka_unit_test(test_deny_beats_allow_beats_ask),
        cmocka_unit_test(test_an_address_inside_has_to_be_named),
        cmocka_unit_test(test_a_pattern_that_is_no_host_is_refused_with_the_reason),
        cmocka_unit_test(test_the_remedy_is_a_pattern_that_allows_the_destination),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
