/* test_url.c -- what is taken for a URL, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "net/url.h"

static const struct {
    const char *in, *want; /* want: "tls kind host port target userinfo" */
} good[] = {
    {"http://example.com", "0 0 example.com 80 / -"},
    {"https://example.com", "1 0 example.com 443 / -"},
    {"HTTPS://Example.COM/V1", "1 0 Example.COM 443 /V1 -"},
    {"http://example.com/", "0 0 example.com 80 / -"},
    {"http://example.com?x=1", "0 0 example.com 80 /?x=1 -"},
    {"http://example.com/a/b?x=1&y=%20#frag", "0 0 example.com 80 /a/b?x=1&y=%20 -"},
    {"http://example.com#frag", "0 0 example.com 80 / -"},
    {"http://example.com:8080/v1", "0 0 example.com 8080 /v1 -"},
    {"http://example.com:/v1", "0 0 example.com 80 /v1 -"},
    {"http://example.com:65535", "0 0 example.com 65535 / -"},
    {"https://example.com:80/", "1 0 example.com 80 / -"},
    {"http://example.com./x", "0 0 example.com 80 /x -"},
    {"http://a_b-c.example/x", "0 0 a_b-c.example 80 /x -"},
    {"http://127.0.0.1:9/x", "0 1 127.0.0.1 9 /x -"},
    {"http://[::1]/x", "0 2 ::1 80 /x -"},
    {"http://[2001:db8::1]:8443/x", "0 2 2001:db8::1 8443 /x -"},
    {"http://[::ffff:127.0.0.1]/", "0 2 ::ffff:127.0.0.1 80 / -"},
    {"http://user:pw@example.com/", "0 0 example.com 80 / user:pw"},
    {"http://a@b:c@example.com/", "0 0 example.com 80 / a@b:c"},
    {"http://@example.com/", "0 0 example.com 80 / "},
    {"http://example.com/a@b:c//d", "0 0 example.com 80 /a@b:c//d -"},
    {"https://x.test/v1beta/models/m:stream?alt=sse",
     "1 0 x.test 443 /v1beta/models/m:stream?alt=sse -"},
    {"http://xn--bcher-kva.example/", "0 0 xn--bcher-kva.example 80 / -"},
};

static void test_good(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(good); i++) {
        struct chela_error err = {0};
        struct ch_url u;
        CH_BUF_AUTO got = {0};

        if (ch_url_parse(ch_sv_str(good[i].in), &u, &err) < 0)
            fail_msg("%s: %s", good[i].in, err.message);
        ch_buf_addf(&got, "%d %d %.*s %u ", u.tls, u.kind, CH_SV_FMT(u.host), u.port);
        ch_url_add_target(&got, &u);
        ch_buf_addf(&got, " %.*s", (int)(u.userinfo.p ? u.userinfo.n : 1),
                    u.userinfo.p ? u.userinfo.p : "-");
        assert_string_equal(ch_buf_str(&got), good[i].want);
    }
}

static const struct {
    const char *in, *message;
} bad[] = {
    {"", "it is empty"},
    {"example.com", "must start with"},
    {"/v1/messages", "must start with"},
    {"http:/example.com", "must start with"},
    {"http:example.com", "must start with"},
    {"ftp://example.com/", "unsupported URL scheme \"ftp\""},
    {"file:///etc/passwd", "unsupported URL scheme \"file\""},
    {"://example.com", "unsupported URL scheme"},
    {"http://", "no host"},
    {"http:///x", "no host"},
    {"http://:80/", "no host"},
    {"http://u@/", "no host"},
    {"http://./", "not a host name"},
    {"http://a..b/", "not a host name"},
    {"http://.a/", "not a host name"},
    {"http://a%41/", "not a host name"},
    {"http://a,b/", "not a host name"},
    {"http://a/b c", "byte 0x20"},
    {"http://a/b\tc", "byte 0x09"},
    {"http://a/\r\nHost: evil", "byte 0x0d"},
    {"http://a/\x7f", "byte 0x7f"},
    {"http://a\\b/", "byte 0x5c"},
    {"http://\xef\xbc\x91.test/", "byte 0xef"},
    {"http://a:0/", "not in 1..65535"},
    {"http://a:65536/", "not in 1..65535"},
    {"http://a:99999999999999999999/", "not in 1..65535"},
    {"http://a:8x/", "not a number"},
    {"http://a:-1/", "not a number"},
    {"http://a:80:80/", "not a number"},
    {"http://2130706433/", "not an IPv4 address"},
    {"http://0/", "not an IPv4 address"},
    {"http://127.1/", "not an IPv4 address"},
    {"http://0177.0.0.1/", "not an IPv4 address"},
    {"http://0x7f.0.0.1/", "not an IPv4 address"},
    {"http://127.0.0.0x1/", "not an IPv4 address"},
    {"http://1.2.3.4.5/", "not an IPv4 address"},
    {"http://256.1.1.1/", "not an IPv4 address"},
    {"http://[::1/", "not an IPv6 address"},
    {"http://[]/", "not an IPv6 address"},
    {"http://[127.0.0.1]/", "not an IPv6 address"},
    {"http://[fe80::1%25eth0]/", "not an IPv6 address"},
    {"http://[::1]x/", "not in 1..65535"},
    {"http://::1/", "no host"},
};

static void test_bad(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(bad); i++) {
        struct chela_error err = {0};
        struct ch_url u;

        int rc = ch_url_parse(ch_sv_str(bad[i].in), &u, &err);
        if (rc != CHELA_EINVAL || !strstr(err.message, bad[i].message))
            fail_msg("%s: %d %s", bad[i].in, rc, err.message);
    }
}

static void test_nul_and_length(void **state) {
    struct chela_error err = {0};
    struct ch_url u;
    CH_BUF_AUTO text = {0};
    (void)state;

    assert_int_equal(ch_url_parse(CH_SV("http://a/\0b"), &u, &err), CHELA_EINVAL);
    ch_buf_add_str(&text, "http://a/");
    while (text.n < CH_LIMIT_URL)
        ch_buf_addc(&text, 'x');
    assert_int_equal(ch_url_parse(ch_buf_sv(&text), &u, &err), 0);
    ch_buf_addc(&text, 'x');
    assert_int_equal(ch_url_parse(ch_buf_sv(&text), &u, &err), CHELA_ELIMIT);

    ch_buf_clear(&text);
    ch_buf_add_str(&text, "http://");
    for (int i = 0; i < 64; i++)
        ch_buf_addc(&text, 'x');
    assert_int_equal(ch_url_parse(ch_buf_sv(&text), &u, &err), CHELA_EINVAL);
}

/* What may be secret stays out of messages. */
static void test_messages_keep_secrets(void **state) {
    static const char *const urls[] = {
        "http://user:hunter2-secret@bad host/",
        "http://user:hunter2-secret@h:99999/",
        "https://h:x/?key=hunter2-secret",
        "https://0x1/?key=hunter2-secret",
        "hunter2-secret",
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(urls); i++) {
        struct chela_error err = {0};
        struct ch_url u;
        assert_true(ch_url_parse(ch_sv_str(urls[i]), &u, &err) < 0);
        assert_null(strstr(err.message, "hunter2"));
    }
}

static void test_loopback(void **state) {
    static const struct {
        const char *url;
        bool want;
    } table[] = {
        {"http://localhost/", true},
        {"http://LocalHost./", true},
        {"http://a.localhost/", true},
        {"http://127.0.0.1/", true},
        {"http://127.255.0.9/", true},
        {"http://[::1]/", true},
        {"http://[::ffff:127.0.0.1]/", true},
        {"http://localhost.example/", false},
        {"http://notlocalhost/", false},
        {"http://128.0.0.1/", false},
        {"http://[::2]/", false},
        {"http://[::ffff:10.0.0.1]/", false},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(table); i++) {
        struct ch_url u;
        assert_int_equal(ch_url_parse(ch_sv_str(table[i].url), &u, NULL), 0);
        if (ch_url_is_loopback(&u) != table[i].want)
            fail_msg("%s", table[i].url);
    }
}

static void test_authority(void **state) {
    static const char *const table[][2] = {
        {"http://a.b/", "a.b"},           {"http://a.b:80/", "a.b"},
        {"http://a.b:443/", "a.b:443"},   {"https://a.b:443/", "a.b"},
        {"http://[::1]/", "[::1]"},       {"https://[::1]:80/", "[::1]:80"},
        {"http://u:p@a.b:81/", "a.b:81"},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(table); i++) {
        struct ch_url u;
        CH_BUF_AUTO got = {0};
        assert_int_equal(ch_url_parse(ch_sv_str(table[i][0]), &u, NULL), 0);
        ch_url_add_authority(&got, &u);
        assert_string_equal(ch_buf_str(&got), table[i][1]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),           cmocka_unit_test(test_bad),
        cmocka_unit_test(test_nul_and_length), cmocka_unit_test(test_messages_keep_secrets),
        cmocka_unit_test(test_loopback),       cmocka_unit_test(test_authority),
    };
    return cmocka_run_group_tests_name("url", tests, NULL, NULL);
}
