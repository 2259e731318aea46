/* test_proxy.c -- which hosts go through a proxy, and what it is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "net/proxy.h"

static const struct {
    const char *list, *url;
    bool want;
} bypass[] = {
    {"", "http://example.com/", false},
    {"", "http://localhost/", true},
    {"", "http://127.0.0.1:8080/", true},
    {"", "http://[::1]/", true},
    {"*", "http://example.com/", true},
    {"example.com", "http://example.com/", true},
    {"EXAMPLE.com", "http://Example.COM:81/", true},
    {"example.com", "http://a.example.com/", false},
    {"example.com", "http://badexample.com/", false},
    {"example.com", "http://example.com.evil.net/", false},
    {".example.com", "http://a.b.example.com/", true},
    {".example.com", "http://example.com/", true},
    {".example.com", "http://badexample.com/", false},
    {"*.example.com", "http://a.example.com/", true},
    {"example.com:81", "http://example.com:81/", true},
    {"example.com:81", "http://example.com/", false},
    {"example.com:443", "https://example.com/", true},
    {".example.com:81", "http://a.example.com:81/", true},
    {"a, b ,c", "http://b/", true},
    {"a b c", "http://c/", true},
    {",,,", "http://a/", false},
    {":80", "http://a/", false},
    {".", "http://a/", false},
    {"a:", "http://a/", false},
    {"a:x", "http://a/", false},
    {"10.0.0.1", "http://10.0.0.1/", true},
    {"10.0.0.1", "http://10.0.0.10/", false},
    {"10.0.0.1:81", "http://10.0.0.1:81/", true},
    {"10.0.0.1:81", "http://10.0.0.1/", false},
    {"10.0.0.0/8", "http://10.9.8.7/", true},
    {"10.0.0.0/8", "http://11.9.8.7/", false},
    {"10.128.0.0/9", "http://10.127.0.1/", false},
    {"10.128.0.0/9", "http://10.200.0.1/", true},
    {"0.0.0.0/0", "http://10.200.0.1/", true},
    {"10.0.0.0/33", "http://10.0.0.0/", false},
    {"10.0.0.0/", "http://10.0.0.0/", false},
    {"10.0.0.0/8", "http://[2001:db8::1]/", false},
    {"2001:db8::1", "http://[2001:DB8:0::1]/", true},
    {"[2001:db8::1]", "http://[2001:db8::1]:81/", true},
    {"[2001:db8::1]:81", "http://[2001:db8::1]:81/", true},
    {"[2001:db8::1]:81", "http://[2001:db8::1]/", false},
    {"[2001:db8::1", "http://[2001:db8::1]/", false},
    {"2001:db8::/32", "http://[2001:db8:ffff::1]/", true},
    {"2001:db8::/32", "http://[2001:db9::1]/", false},
};

static void test_bypass(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(bypass); i++) {
        struct ch_url u;
        assert_int_equal(ch_url_parse(ch_sv_str(bypass[i].url), &u, NULL), 0);
        if (ch_proxy_bypass(ch_sv_str(bypass[i].list), &u) != bypass[i].want)
            fail_msg("'%s' %s: want %d", bypass[i].list, bypass[i].url, bypass[i].want);
    }
}

static const struct {
    const char *url, *want; /* "host port auth"; NULL: refused */
} proxies[] = {
    {"http://proxy.test:3128", "proxy.test 3128 -"},
    {"http://proxy.test:3128/", "proxy.test 3128 -"},
    {"proxy.test:3128", "proxy.test 3128 -"},
    {"http://proxy.test", "proxy.test 80 -"},
    {"http://[::1]:3128", "::1 3128 -"},
    {"http://Aladdin:open%20sesame@p:1", "p 1 Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="},
    {"http://u:@p:1", "p 1 Basic dTo="},
    {"http://u@p:1", "p 1 Basic dTo="},
    {"http://u:p%40%3a%zz%2@p:1", "p 1 Basic dTpwQDolenolMg=="},
    {"u:pw@p:1", "p 1 Basic dTpwdw=="},
    {"https://proxy.test", NULL},
    {"socks5://proxy.test", NULL},
    {"http://", NULL},
    {"http://u:topsecret@bad host", NULL},
};

static void test_settings(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(proxies); i++) {
        struct ch_proxy *p = NULL;
        struct chela_error err = {0};
        CH_BUF_AUTO got = {0};

        int rc = ch_proxy_new(proxies[i].url, &p, &err);
        if (!proxies[i].want) {
            assert_int_equal(rc, CHELA_ECONFIG);
            assert_null(p);
            assert_null(strstr(err.message, "topsecret"));
            continue;
        }
        assert_int_equal(rc, 0);
        ch_buf_addf(&got, "%s %u %s", p->host, p->port, p->auth ? p->auth : "-");
        assert_string_equal(ch_buf_str(&got), proxies[i].want);
        ch_proxy_free(p);
    }
}

static void test_connect(void **state) {
    struct ch_proxy *p = NULL;
    CH_BUF_AUTO got = {0};
    (void)state;

    assert_int_equal(ch_proxy_new("http://u:p@proxy.test:3128", &p, NULL), 0);
    ch_proxy_add_connect(&got, p, "api.test", 443);
    assert_string_equal(ch_buf_str(&got), "CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n"
                                          "Proxy-Authorization: Basic dTpw\r\n\r\n");
    ch_buf_clear(&got);
    ch_proxy_add_connect(&got, p, "2001:db8::1", 8443);
    assert_non_null(strstr(ch_buf_str(&got), "CONNECT [2001:db8::1]:8443 HTTP/1.1\r\n"));
    ch_proxy_free(p);
}

static void test_refusal(void **state) {
    static const struct {
        int status, code;
    } table[] = {{407, CHELA_EAUTH}, {403, CHELA_EPERM}, {502, CHELA_ENET}};
    struct ch_proxy *p = NULL;
    (void)state;

    assert_int_equal(ch_proxy_new("http://u:longsecret@proxy.test:3128", &p, NULL), 0);
    for (size_t i = 0; i < CH_LEN(table); i++) {
        struct chela_error err = {0};
        assert_int_equal(ch_proxy_refused(p, table[i].status, "api.test:443", &err), table[i].code);
        assert_non_null(strstr(err.message, "proxy.test:3128"));
        assert_null(strstr(err.message, "longsecret"));
    }
    ch_proxy_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bypass),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_connect),
        cmocka_unit_test(test_refusal),
    };
    return cmocka_run_group_tests_name("proxy", tests, NULL, NULL);
}
